"""`podium --install-completion`, `--show-completion`, and `--complete`, which shells call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.compliance.reporting.console import print_text, write_whole

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
    """A script, the file that the shell reads it from, and further instructions."""

    script: str
    variable: str
    default: str
    file: str
    needs: str

    @property
    def path(self) -> Path:
        """The file of the script."""
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
"""By the program name of the shell."""


def answer(option: str, values: Sequence[str]) -> Exit:
    """Run one of the options that come first; raises UsageFault for an unknown shell."""
    if option == "--complete":
        _complete(values)
    elif option == "--show-completion":
        print_text(_shell(values)[1].script)
    else:
        _install(*_shell(values))
    return Exit.CLEAN


def _shell(values: Sequence[str]) -> tuple[str, Shell]:
    """The named shell, else the login shell."""
    name = values[0] if values else os.path.basename(os.environ.get("SHELL", ""))
    if len(values) > 1 or name not in SHELLS:
        names = ", ".join(SHELLS)
        raise UsageFault(f"unknown shell {' '.join(values) or name!r}; expected one of {names}")
    return name, SHELLS[name]


def _install(name: str, shell: Shell) -> None:
    path = shell.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageFault(f"{path.parent} cannot be made: {error.strerror}") from None
    write_whole(path, shell.script)
    needs = shell.needs.format(path=path, folder=path.parent)
    print_text(f"completion for {name} written to {path}\n{needs}\n")


def _complete(words: Sequence[str]) -> None:
    """Print a line for each word that can replace the last word: word, tab, description."""
    from podium.compliance.cli.shell.candidates import candidates

    typed_words, omitted = _joined(words or [""])
    matches = candidates(typed_words[:-1], typed_words[-1])
    lines = (f"{candidate.word[omitted:]}\t{_short(candidate.about)}" for candidate in matches)
    print_text("".join(f"{line.rstrip()}\n" for line in lines))


def _joined(words: Sequence[str]) -> tuple[list[str], int]:
    """The words as podium would get them, and the length that the shell omits of the last word.

    Bash splits `--select=log.*` into three words, and completes only the last of them.
    """
    joined: list[str] = []
    omitted = 0
    for word in words:
        if joined and joined[-1].startswith("--") and word == "=":
            joined[-1] += word
            omitted = len(joined[-1])
        elif joined and omitted and joined[-1].endswith("="):
            joined[-1] += word
        else:
            joined.append(word)
            omitted = 0
    return joined, omitted


def _short(text: str) -> str:
    """A description short enough for a shell."""
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= 60 else f"{one_line[:57]}..."
