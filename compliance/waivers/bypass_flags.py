"""Flags of `package_checker_params`: what a submission asks the package check to let through.

The file may lie in the submission, in a system's results and in a benchmark's. The official Python
program reads the last two and sees a flag only on a last line without a line end; the official
shell scripts read the first, drop such a line, and pass every other one on as an argument.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from podium.compliance.inputs.listing import Disk
from podium.compliance.waivers.apply import plain_file
from podium.rules.finding import Finding, Profile, Severity, StatedBy

PARAMS_FILE = "package_checker_params"
CITES = "training rules, RCP Rules and Guidelines"

RCP, SEEDS, TRAIN_SAMPLES = "rcp-bypass", "seed-checker-bypass", "rcp-bert-train-samples"
FLAGS = {
    RCP: "a failed comparison with the reference convergence points is let through",
    SEEDS: "seeds are not compared",
    TRAIN_SAMPLES: "BERT's convergence is read from train_samples",
}
"""The flags, and what each does."""

_OFFICIAL_BELOW = frozenset({RCP, SEEDS})


class _Read(msgspec.Struct):
    """One file as both read it: flags with the lines that give them, and what is wrong."""

    flags: dict[str, int] = msgspec.field(default_factory=dict)
    official: frozenset[str] = frozenset()
    findings: list[Finding] = msgspec.field(default_factory=list)


class Params:
    """The flag files of one submission, each read once and when it is asked for.

    `shown` gives a path as reports show it; `disk` is what was listed of the submission already;
    `findings` tells of the files read so far.
    """

    def __init__(
        self,
        root: Path,
        profile: Profile,
        display_path: Callable[[Path], str],
        disk: Disk | None = None,
    ) -> None:
        self._root, self._profile, self._shown = root, profile, display_path
        self._disk = disk or Disk(root)
        self._files: dict[str, _Read] = {}

    def flags(self, result: str) -> frozenset[str]:
        """The flags in force for a result, given its folder's path inside the submission."""
        parts = result.strip("/").split("/")
        levels = dict.fromkeys(("", "/".join(parts[:2]), "/".join(parts)))
        read = [file for level in levels if (file := self._file(level)) is not None]
        if self._profile is Profile.VERIFIER:
            return frozenset().union(*(file.official for file in read))
        return frozenset(flag for file in read for flag in file.flags)

    @property
    def findings(self) -> list[Finding]:
        """What is in force by the files read so far, and what is wrong with them."""
        return [finding for file in self._files.values() for finding in file.findings]

    def _file(self, level: str) -> _Read | None:
        """What the file in a folder says; None where there is none, as nearly everywhere."""
        if level not in self._files and self._disk.has(level, PARAMS_FILE):
            self._files[level] = _Reading(self._root / level / PARAMS_FILE, self).read()
        return self._files.get(level)


class _Reading:
    def __init__(self, path: Path, params: Params) -> None:
        self.path = path
        self.top = path.parent == params._root
        self.verifier = params._profile is Profile.VERIFIER
        self.params = params

    def read(self) -> _Read:
        try:
            data = plain_file(self.path)
        except OSError as error:
            said = f"cannot be read: {error.strerror or error}"
            return _Read(findings=[self._tell("unreadable", None, said, StatedBy.BOTH)])
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
        read = _Read()
        for number, line in enumerate(re.split("\r\n|\r|\n", text), 1):
            name = line.strip().removeprefix("--").replace("_", "-")
            if name in FLAGS:
                read.flags.setdefault(name, number)
            elif name and not self.verifier:
                read.findings.append(self._unknown(name, number))
        read.findings += self._official(data, read)
        in_force = read.official if self.verifier else read.flags
        for flag in sorted(in_force):
            read.findings.append(self._in_force(flag, read.flags.get(flag)))
        return read

    def _unknown(self, name: str, number: int) -> Finding:
        near = difflib.get_close_matches(name.lower(), FLAGS, 1, 0.5)
        mend = f"did you mean {near[0]}?" if near else f"must be one of {', '.join(FLAGS)}"
        said = f"unknown flag {name[:60]!r}; {mend}"
        return self._tell("unknown-flag", number, said, StatedBy.POLICY)

    def _in_force(self, flag: str, number: int | None) -> Finding:
        where = "the whole submission" if self.top else f"all below {self.path.parent.name}"
        said = f"{flag} is in force for {where}: {FLAGS[flag]}"
        return self._tell("in-force", number, said, StatedBy.BOTH, Severity.NOTE)

    # --- as the official programs ---

    def _official(self, data: bytes, read: _Read) -> Iterator[Finding]:
        refused = []
        if self.top:
            *lines, _ = data.decode("utf-8", "replace").split("\n")
            given = [(n, line.strip(" \t")) for n, line in enumerate(lines, 1) if line.strip(" \t")]
            read.official = frozenset(line for _, line in given if line in FLAGS)
            refused = [(number, line) for number, line in given if line not in FLAGS]
        else:
            try:
                text = data.decode()
            except UnicodeDecodeError:
                said = "the official verifier ends without a verdict: the file is not UTF-8 text"
                yield self._tell("verifier-crash", None, said, StatedBy.VERIFIER)
                return
            last = re.split("\r\n|\r|\n", text)[-1]
            read.official = _OFFICIAL_BELOW & {last}
        for number, line in refused:
            said = (
                f"the official verifier refuses --{line:.60}, the argument that its scripts make "
            )
            said += "of this line, and judges nothing"
            yield self._tell("refused", number, said, StatedBy.VERIFIER)
        told = {number for number, _ in refused}
        for flag, number in read.flags.items():
            if flag not in read.official and number not in told:
                yield self._unseen(flag, number)

    def _unseen(self, flag: str, number: int) -> Finding:
        said = f"the official verifier does not see {flag} here"
        if self.top:
            said += ": its scripts drop a line that has no line end"
        elif flag in _OFFICIAL_BELOW:
            said += f": it wants {flag}, so spelled, on the last line and no line end after it"
        else:
            said += ": it takes this flag in the submission's own folder only"
        return self._tell("unseen", number, said, StatedBy.VERIFIER, Severity.WARNING)

    def _tell(
        self,
        rule: str,
        line: int | None,
        said: str,
        stated_by: StatedBy,
        severity: Severity | None = None,
    ) -> Finding:
        if severity is None:
            error = stated_by is StatedBy.BOTH or (stated_by is StatedBy.VERIFIER and self.verifier)
            severity = Severity.ERROR if error else Severity.WARNING
        return Finding(
            f"params.{rule}",
            severity,
            self.params._shown(self.path),
            line,
            None,
            said,
            hint=_HINTS.get(rule, ""),
            cites=CITES,
            stated_by=stated_by,
        )


_HINTS = {
    "unreadable": "make it a plain file with one flag per line",
    "unknown-flag": "write one flag per line",
    "refused": "write the flag with hyphens, without leading ones, and end the line",
    "unseen": "give the flag in the form the official verifier sees, too",
    "verifier-crash": "write the file as plain ASCII text",
}
"""By rule: how to mend what was found."""
