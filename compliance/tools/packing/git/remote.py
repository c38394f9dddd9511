"""The remote of a clone: only its plain address is used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from podium.compliance.errors import UsageFault
from podium.compliance.text.terminal import clean
from podium.compliance.tools.packing.git.borrowed import remote_section
from podium.compliance.tools.packing.git.settings import CloneSettings

PROTOCOLS = "file:https:ssh"
"""Protocols that git may use to reach a remote, in the format of GIT_ALLOW_PROTOCOL."""

_NAME = re.compile(r"[A-Za-z0-9_][\w./+-]*", re.ASCII)
_URL = re.compile(r"(?i)(https|ssh)://[^-/]")
_SCP = re.compile(r"[^-/:][^/:]*:(?!//)|[^-/:@]*@?\[[0-9A-Fa-f:]+\]:")
_PARTIAL = re.compile(r"blob:none|blob:limit=\d+[kmg]?|tree:\d+")
_REDIRECTS = ("pushurl", "vcs", "uploadpack", "receivepack", "proxy")
"""Settings that redirect `git push`; podium does not support them."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote in the clone's configuration; its values are validated when they are used."""

    name: str
    values: Mapping[str, Sequence[str]]
    partial: bool
    """Whether the clone is partial, with files only on this remote."""

    def address(self, root: Path) -> str:
        """An https or ssh address, or the absolute path of a local one; raises UsageFault."""
        addresses = self.values["url"]
        if len(addresses) != 1:
            raise UsageFault(
                f"the clone's remote {self.name} has {len(addresses)} addresses; expected one"
            )
        return plain_address(addresses[0], root)

    @property
    def heads(self) -> Sequence[str]:
        """The refspecs for fetching branches."""
        heads = [spec for spec in self.values.get("fetch", ()) if _plain_heads(spec, self.name)]
        return heads or (f"+refs/heads/*:refs/remotes/{self.name}/*",)

    def refuse_redirects(self) -> None:
        """Refuse a remote for which `git push` would not do the same as podium."""
        for key in _REDIRECTS:
            if key in self.values:
                raise UsageFault(
                    f"the clone's configuration has remote.{self.name}.{key}, which podium "
                    "does not support; remove it from .git/config"
                )

    def section(self, root: Path) -> str:
        """The section of a configuration for this remote; empty if its address is invalid."""
        try:
            address = self.address(root)
        except UsageFault:
            # Most calls use no remote; those that do report the error
            return ""
        section = remote_section(self.name, {"url": address})
        # From a folder, git would fetch with the settings of the repository there
        if not self.partial or local_path(address, root) is not None:
            return section
        clone_filter = self.values.get("partialclonefilter", ("",))[-1]
        promises = clone_filter if _PARTIAL.fullmatch(clone_filter) else "blob:none"
        values = {"promisor": "true", "partialclonefilter": promises}
        extension = f"[extensions]\n\tpartialclone = {self.name}\n"
        return section + remote_section(self.name, values) + extension


def remote_name(settings: CloneSettings) -> str:
    """The name of the remote: origin, or the only remote; empty if there is none."""
    names = [name for name, values in settings.remotes.items() if "url" in values]
    name = "origin" if "origin" in names else names[0] if len(names) == 1 else ""
    if name.startswith("-"):
        raise UsageFault(f"the clone has a branch or a remote named {clean(name)}; rename it")
    if name and not (_NAME.fullmatch(name) and ".." not in name):
        raise UsageFault(f"the clone has a remote named {clean(name)}; rename it")
    return name


def chosen_remote(settings: CloneSettings) -> Remote | None:
    """The remote of a clone, or None; raises UsageFault for an unsupported name."""
    name = remote_name(settings)
    return Remote(name, settings.remotes[name], settings.partial == name) if name else None


def plain_address(address: str, root: Path) -> str:
    """An https or ssh address, or the absolute path of a local one; raises UsageFault."""
    local = local_path(address, root)
    if local is not None:
        return str(local)
    if _URL.match(address) or _SCP.match(address):
        return address
    raise _refused(address)


def local_path(address: str, root: Path) -> Path | None:
    """The folder of a local address; None for an https or ssh address. Raises UsageFault."""
    helper = re.match(r"[A-Za-z0-9+.-]*::", address)
    if not address or address.startswith("-") or helper or re.search(r"[\x00-\x1f\x7f]", address):
        raise _refused(address)
    if address.lower().startswith("file://"):
        parts = urlsplit(address)
        if parts.netloc:
            raise _refused(address)
        return Path(unquote(parts.path))
    # As in git: a colon before the first slash ends the name of a host or of a protocol
    return None if ":" in address.partition("/")[0] else root / address


def _refused(address: str) -> UsageFault:
    safe_address = clean(re.sub(r"://[^/\s@]+@", "://", address))
    return UsageFault(
        f"the remote's address is {safe_address or 'empty'}; expected https, ssh, or a folder"
    )


def _plain_heads(spec: str, name: str) -> bool:
    """Whether a refspec maps each branch to the tracking branch of the same name."""
    source, _, target = spec.removeprefix("+").partition(":")
    branch = source.removeprefix("refs/heads/")
    return (
        source.startswith("refs/heads/")
        and target == f"refs/remotes/{name}/{branch}"
        and re.fullmatch(r"[\w./+*-]+", branch, re.ASCII) is not None
    )
