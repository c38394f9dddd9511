"""A replacement for the common folder of a repository: its objects and refs, our configuration.

Git reads configuration, attributes and hooks from the folder that GIT_COMMON_DIR names. The
replacement has a new configuration, and links to the objects and refs of the clone, so that git
writes there. HEAD and the index stay in the clone, and git changes them as usual.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.text.terminal import clean
from podium.compliance.tools.packing.git.directory import (
    is_git_folder,
    read_small,
    refuse_odd_files,
)
from podium.compliance.tools.packing.git.settings import CloneSettings

_LINKED = ("objects", "refs", "packed-refs", "shallow", "worktrees")
_LISTS_BYTES = 16 << 20
_ALTERNATES = 10
"""The longest chain of alternate object stores."""


def lend(folder: Path, common: Path, settings: CloneSettings, *, remote: str = "") -> None:
    """Fill an empty folder so that it replaces the common folder of a repository.

    `remote` is the section of the configuration for the remote.
    """
    refuse_odd_alternates(common / "objects")
    for name in _LINKED:
        # Git creates missing files through a broken link
        (folder / name).symlink_to(common / name)
    (folder / "logs").mkdir()
    with suppress(OSError):
        (common / "logs/refs").mkdir(parents=True, exist_ok=True)
    if (common / "logs/refs").is_dir():
        (folder / "logs/refs").symlink_to(common / "logs/refs")
    (folder / "info").mkdir()
    if os.path.lexists(common / "info/exclude"):
        (folder / "info/exclude").write_bytes(read_small(common / "info/exclude", _LISTS_BYTES))
    text = _configuration(settings) + remote
    (folder / "config").write_text(text, encoding="utf-8", errors="surrogateescape")


def lend_whole(folder: Path, common: Path, settings: CloneSettings) -> None:
    """Fill an empty folder so that git can fetch from it and push to it."""
    lend(folder, common, settings)
    if common.name != ".git":
        with (folder / "config").open("a", encoding="utf-8") as stream:
            stream.write("[core]\n\tbare = true\n")
    (folder / "HEAD").write_bytes(read_small(common / "HEAD", 4096))


def _configuration(settings: CloneSettings) -> str:
    lines = ["[core]", "\trepositoryformatversion = 1", "\tbare = false"]
    lines.append("\tlogallrefupdates = true")
    lines += [
        f"\t{key.removeprefix('core.')} = {value}" for key, value in sorted(settings.core.items())
    ]
    lines += ["[extensions]", "\tnoop = true"]
    if settings.object_format != "sha1":
        lines.append(f"\tobjectformat = {settings.object_format}")
    return "\n".join(lines) + "\n"


def remote_section(name: str, settings: Mapping[str, str]) -> str:
    """The section of a configuration for a remote."""
    lines = [f"[remote {_quoted(name)}]"]
    lines += [f"\t{key} = {_quoted(value)}" for key, value in settings.items()]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def refuse_odd_alternates(objects: Path) -> None:
    """Raise UsageFault if an object store has an alternate that git cannot read safely."""
    waiting, visited = [(objects, 0)], {os.path.realpath(objects)}
    while waiting:
        store, depth = waiting.pop()
        if depth:
            refuse_odd_files(store)
        if not os.path.lexists(store / "info/alternates"):
            continue
        if depth == _ALTERNATES:
            raise UsageFault(f"{clean(str(store))} exceeds {_ALTERNATES} levels of alternates")
        for line in read_small(store / "info/alternates", _LISTS_BYTES).split(b"\n"):
            if not line or line.startswith(b"#"):
                continue
            alternate = Path(os.path.realpath(store / os.fsdecode(line)))
            if line.startswith(b'"') or not alternate.is_dir():
                raise UsageFault(
                    f"{clean(str(store / 'info/alternates'))} does not name a folder of objects"
                )
            if str(alternate) not in visited:
                visited.add(str(alternate))
                waiting.append((alternate, depth + 1))


def local_repository(path: Path) -> Path:
    """The git folder of a repository on this machine; raises UsageFault for any other folder."""
    inner = path / ".git" if (path / ".git").is_dir() else path
    if not is_git_folder(inner):
        raise UsageFault(f"the remote {clean(str(path))} is not a git repository")
    refuse_odd_files(inner)
    return inner


def refuse_hooks(path: Path, inner: Path, settings: CloneSettings) -> None:
    """Raise UsageFault for a repository with hooks: podium does not run them, but one may veto."""
    hooks = ["core.hooksPath"] if settings.hooks else []
    with suppress(OSError):
        names = (name for name in os.listdir(inner / "hooks") if not name.endswith(".sample"))
        hooks += sorted(name for name in names if os.access(inner / "hooks" / name, os.X_OK))
    if hooks:
        raise UsageFault(
            f"the remote {clean(str(path))} has a hook ({clean(hooks[0])}), which podium does not "
            "run; use `git push`"
        )
