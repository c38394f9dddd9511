"""The flags of `package_checker_params`, with which a submission asks to skip checks.

The file may be in the folder of the submission, of a system's results and of a benchmark's results.
The official Python program reads the last two, and sees a flag only on a last line without a
newline. The official shell scripts read the first, ignore such a line, and pass every other line as
an argument.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from podium.compliance.judging.inputs.listing import Disk
from podium.compliance.judging.waivers.waiver_rules import (
    IN_FORCE,
    REFUSED,
    UNKNOWN_FLAG,
    UNREADABLE,
    UNSEEN,
    VERIFIER_CRASH,
)
from podium.compliance.judging.waivers.waivers import plain_file
from podium.rules.finding import Finding, Profile
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.quirks import QUIRKS

PARAMS_FILE = "package_checker_params"

RCP, SEEDS, TRAIN_SAMPLES = "rcp-bypass", "seed-checker-bypass", "rcp-bert-train-samples"

BYPASSED_RULES = {RCP: "rcp.", SEEDS: "seeds."}
"""The prefix of the rules that each flag skips."""
FLAGS = {
    RCP: "a failed comparison with the reference convergence points is accepted",
    SEEDS: "seeds are not compared",
    TRAIN_SAMPLES: "BERT's convergence is read from train_samples",
}
"""The effect of each flag."""

# The official Python program looks for these two only; it accepts the third only as an argument
_OFFICIAL_BELOW = frozenset({RCP, SEEDS})


class _Read(msgspec.Struct):
    """The content of one file: flags with their lines, the official flags, and findings."""

    flags: dict[str, int] = msgspec.field(default_factory=dict)
    official: frozenset[str] = frozenset()
    findings: list[Finding] = msgspec.field(default_factory=list)


class Params(msgspec.Struct):
    """The flag files of one submission in one profile, each read when it is first needed.

    `disk` is the listing of the submission. `display_path` returns a path as reports show it.
    """

    disk: Disk
    profile: Profile
    display_path: Callable[[Path], str]
    files: dict[str, _Read] = {}

    def flags(self, result: str) -> frozenset[str]:
        """The flags that apply to a result, given its folder's path inside the submission."""
        parts = result.strip("/").split("/")
        # The submission, results/<system>, the result: HPC's strong and weak are not levels
        levels = dict.fromkeys(("", "/".join(parts[:2]), "/".join(parts)))
        for level in levels:
            # Nearly no folder has the file
            if level not in self.files and self.disk.has(level, PARAMS_FILE):
                self.files[level] = _Reading(self.disk.root / level / PARAMS_FILE, self).read()
        files = [self.files[level] for level in levels if level in self.files]
        if QUIRKS[self.profile].reads_last_flag:
            return frozenset().union(*(file.official for file in files))
        return frozenset(flag for file in files for flag in file.flags)

    @property
    def findings(self) -> list[Finding]:
        """Findings about the files read so far, and about the flags that apply."""
        return [finding for file in self.files.values() for finding in file.findings]


class _Reading:
    def __init__(self, path: Path, params: Params) -> None:
        self.path = path
        self.top = path.parent == params.disk.root
        self.profile = params.profile
        self.quirks = QUIRKS[self.profile]
        self.params = params

    def read(self) -> _Read:
        try:
            data = plain_file(self.path)
        except OSError as error:
            return _Read(findings=[self._found(UNREADABLE, None, reason=error.strerror or error)])
        # A byte order mark, which some editors write, is not a part of the first flag
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
        result = _Read()
        for number, line in enumerate(re.split("\r\n|\r|\n", text), 1):
            # Files in published trees spell flags as arguments, and with underscores
            name = line.strip().removeprefix("--").replace("_", "-")
            if name in FLAGS:
                result.flags.setdefault(name, number)
            # `_official` finds lines that the scripts reject; the Python program ignores them
            elif name and not self.quirks.ignores_policy:
                result.findings.append(self._unknown(name, number))
        result.findings += self._official(data, result)
        in_force = result.official if self.quirks.reads_last_flag else result.flags
        scope = "the whole submission" if self.top else f"everything in {self.path.parent.name}"
        for flag in sorted(in_force):
            line_of = result.flags.get(flag)
            finding = self._found(IN_FORCE, line_of, flag=flag, scope=scope, effect=FLAGS[flag])
            result.findings.append(finding)
        return result

    def _unknown(self, name: str, number: int) -> Finding:
        matches = difflib.get_close_matches(name.lower(), FLAGS, 1, 0.5)
        advice = f"did you mean {matches[0]}?" if matches else f"expected one of {', '.join(FLAGS)}"
        return self._found(UNKNOWN_FLAG, number, flag=name[:60], advice=advice)

    # --- as the official programs ---

    def _official(self, data: bytes, result: _Read) -> Iterator[Finding]:
        refused = []
        if self.top:
            # A shell's `read` ignores a last line without a newline, and trims spaces and tabs
            *lines, _ = data.decode("utf-8", "replace").split("\n")
            pairs = [(n, line.strip(" \t")) for n, line in enumerate(lines, 1) if line.strip(" \t")]
            result.official = frozenset(line for _, line in pairs if line in FLAGS)
            refused = [(number, line) for number, line in pairs if line not in FLAGS]
        else:
            try:
                text = data.decode()
            except UnicodeDecodeError:
                yield self._found(VERIFIER_CRASH, None)
                return
            # It compares whole lines from readlines(): only the last line has no newline.
            last = re.split("\r\n|\r|\n", text)[-1]
            result.official = _OFFICIAL_BELOW & {last}
        for number, line in refused:
            yield self._found(REFUSED, number, flag=line[:60])
        reported = {number for number, _ in refused}
        for flag, number in result.flags.items():
            if flag not in result.official and number not in reported:
                reason, form = self._why_unseen(flag), self._seen_form(flag)
                yield self._found(UNSEEN, number, flag=flag, reason=reason, form=form)

    def _why_unseen(self, flag: str) -> str:
        if self.top:
            return "its scripts ignore a line without a newline"
        if flag in _OFFICIAL_BELOW:
            return f"it requires exactly {flag} on the last line, without a newline"
        return "it accepts this flag only in the submission's top folder"

    def _seen_form(self, flag: str) -> str:
        """The form in which the official verifier sees a flag."""
        if self.top:
            return f"{flag} alone on a line, with a newline"
        if flag in _OFFICIAL_BELOW:
            return f"{flag} as the last line, without a newline"
        return f"{flag} in {PARAMS_FILE} in the submission's top folder"

    def _found(self, rule: FixedRule, line: int | None, **fields: Any) -> Finding:
        return rule.found(self.profile, self.params.display_path(self.path), line=line, **fields)
