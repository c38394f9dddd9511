"""What makes a shell ask podium for words: a script for each, and where it looks for one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_BASH = """\
_podium() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\\t'*}")
    done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _podium podium
"""

_ZSH = """\
#compdef podium
_podium() {
    local line
    local -a found shown
    while IFS= read -r line; do
        found+=("${line%%$'\\t'*}")
        shown+=("${line/$'\\t'/  -- }")
    done < <("${words[1]}" --complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( $#found )); then
        compadd -l -d shown -a found
    else
        _files
    fi
}
if [[ "${zsh_eval_context[-1]}" == loadautofunc ]]; then
    _podium "$@"
else
    compdef _podium podium
fi
"""

_FISH = """\
function __podium_words
    set -l words (commandline --tokenize --current-process --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor)
    set -l found ($words[1] --complete $words[2..-1] "$current" 2>/dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete --command podium --no-files --arguments '(__podium_words)'
"""


class Shell(NamedTuple):
    """A script, the file below a folder that the shell reads, and what else it needs."""

    script: str
    variable: str
    default: str
    file: str
    needs: str

    @property
    def path(self) -> Path:
        """Where the script belongs."""
        return Path(os.environ.get(self.variable) or Path.home() / self.default) / self.file


SHELLS = {
    "bash": Shell(
        _BASH,
        "XDG_DATA_HOME",
        ".local/share",
        "bash-completion/completions/podium",
        "bash-completion reads it; without that package, add to ~/.bashrc: source {path}",
    ),
    "zsh": Shell(
        _ZSH,
        "ZDOTDIR",
        "",
        ".zfunc/_podium",
        "add to ~/.zshrc, before compinit: fpath+=({folder})",
    ),
    "fish": Shell(
        _FISH, "XDG_CONFIG_HOME", ".config", "fish/completions/podium.fish", "fish reads it"
    ),
}
"""By the name of the shell's program."""
