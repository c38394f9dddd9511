"""The official package checker's last lines, and the usual three tools in a row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from podium.compliance.cli.compat.checkers import compat_repo
from podium.compliance.cli.compat.result_summarizer import summarize
from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.listing import Disk
from podium.compliance.judging.inputs.round_selection import RoundRequest
from podium.compliance.judging.inputs.submission_folders import is_submission
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.judging.results.convergence import judge_convergence
from podium.compliance.judging.waivers.bypass_flags import (
    BYPASSED_RULES,
    RCP,
    TRAIN_SAMPLES,
    Params,
)
from podium.compliance.judging.waivers.file import Waiver
from podium.compliance.judging.waivers.waivers import Waivers
from podium.compliance.text.terminal import clean
from podium.logging_spec.reader.read import read_log
from podium.rules.catalogue import find_round
from podium.rules.convergence.facts import run_facts
from podium.rules.finding import Finding, Profile
from podium.rules.model.benchmark import Benchmark
from podium.rules.run import Run

if TYPE_CHECKING:
    from podium.compliance.reporting.data import FileEntry, Outcome, ResultEntry

GOOD = "INFO - PACKAGE CHECKER FOUND NO ERRORS, SUCCESS !"
BAD = "INFO - PACKAGE CHECKER FOUND ERRORS, LOOK INTO ERROR LOG LINES AND FIX THEM."
RULE = f"INFO - {'-' * 30}"
"""Scripts look for these lines."""


@dataclass(frozen=True, slots=True)
class Flags:
    """The official flags; `bypass` has the flags of package_checker_params by name."""

    werror: bool = False
    quiet: bool = False
    bypass: frozenset[str] = frozenset()


def compat_package(folder: Path, usage: str, ruleset: str, flags: Flags) -> tuple[str, bool]:
    """The text for one submission, and whether the official package checker accepts it.

    If the official checker crashes, the submission is not accepted.
    """
    _must_be_submission(folder, RoundRequest(usage, ruleset))
    options = Options(
        usage=usage,
        round=ruleset,
        profile=Profile.VERIFIER,
        strict=flags.werror,
        waivers=_waivers(flags),
    )
    report = check_paths([folder], options)
    # The repository checker checks names and links
    passed = not any(_rejects(finding) for finding in report.findings)
    lines = [_line(finding) for finding in report.findings if _printed(finding, flags)]
    # Warnings make a log fail, and a result fails with more such logs than it may drop
    if flags.werror:
        failures = [entry for entry in report.results if _fails_strictly(entry, report)]
        lines += [
            f"ERROR - {clean(failure.path)}: too many logs have warnings" for failure in failures
        ]
        passed = passed and not failures
    if TRAIN_SAMPLES in flags.bypass:
        passed, messages = _by_train_samples(folder, report, passed, flags)
        lines += messages
    text = "\n".join([*lines, RULE, GOOD if passed else BAD, RULE])
    return f"{text}\n", passed


def compat_verify(folder: Path, usage: str, ruleset: str) -> tuple[str, bool]:
    """Package check, summary of results, repository check; whether both checks pass.

    The flags come from the submission's package_checker_params, as in the official script, but in
    every spelling.
    """
    _must_be_submission(folder, RoundRequest(usage, ruleset))
    # Read as in the policy profile: the official scripts drop a last line without a line end
    params = Params(Disk(folder), Profile.POLICY, str)
    flags = Flags(bypass=params.flags(""))
    text, accepted = compat_package(folder, usage, ruleset, flags)
    summary, _ = summarize(str(folder), usage, ruleset, None, None)
    repository, clean_tree = compat_repo(folder, usage, ruleset)
    return f"{text}{summary}{repository}", accepted and clean_tree


def _must_be_submission(folder: Path, request: RoundRequest) -> None:
    if not folder.is_dir():
        raise UsageFault(f"no such folder: {folder}")
    if not is_submission(folder, request):
        raise UsageFault(f"{folder} is not a submission: expected folders results and systems")


def _waivers(flags: Flags) -> tuple[Waivers, ...]:
    """Waivers for the rules that the flags bypass, and for faults of the shell scripts only."""
    bypassed = BYPASSED_RULES.items()
    rules = [(f"{prefix}*", f"--{flag}") for flag, prefix in bypassed if flag in flags.bypass]
    # Only the shell scripts read bypass flags at the top of a submission
    rules.append(("params.refused", "the program itself does not read the file"))
    items = tuple(
        Waiver(rule=rule, place="*", reason=reason, who="the command line", until=date.max)
        for rule, reason in rules
    )
    return (Waivers("", items, (None,) * len(items)),)


def _fails_strictly(entry: ResultEntry, report: Outcome) -> bool:
    failures = sum(file.verdict == "fail" for file in _logs_of(entry, report))
    # One bad log of a result (four for unet3d) passes: the olympic mean drops the slowest runs
    return failures > _benchmark(entry, report).dropped


def _logs_of(entry: ResultEntry, report: Outcome) -> list[FileEntry]:
    return [f for f in report.files if f.kind == "log" and f.path.rpartition("/")[0] == entry.path]


def _benchmark(entry: ResultEntry, report: Outcome) -> Benchmark:
    return find_round(report.rules.usage, report.rules.round).benchmark(entry.benchmark)


def _printed(finding: Finding, flags: Flags) -> bool:
    if finding.id.startswith("repo."):
        return False  # reported by the repository checker
    return finding.severity == "error" or (finding.severity == "warning" and not flags.quiet)


def _rejects(finding: Finding) -> bool:
    counts = finding.severity == "error" and not finding.waived
    return counts and not finding.id.startswith("repo.")


def _line(finding: Finding) -> str:
    severity = "ERROR" if finding.severity == "error" and not finding.waived else "WARNING"
    location = f"{finding.path}, line {finding.line}" if finding.line else finding.path
    return f"{severity} - {clean(location)}: {clean(finding.message)} [{finding.id}]"


# --- BERT in train_samples ---


def _by_train_samples(
    folder: Path, report: Outcome, passed: bool, flags: Flags
) -> tuple[bool, list[str]]:
    """Check BERT's convergence again, counted in train_samples; return the resulting verdict.

    The verdict changes only if convergence alone decided it.
    """
    lines, failing = [], set()
    entries = [
        entry for entry in report.results if _benchmark(entry, report).convergence.in_train_samples
    ]
    for entry in entries:
        if entry.rcp is None:
            continue
        verdict, messages = _recount(folder, entry, report)
        lines.append(
            f"INFO - {clean(entry.path)}: in train_samples {verdict} {clean(messages)}".rstrip()
        )
        if verdict not in ("pass", "not_applicable") and RCP not in flags.bypass:
            failing.add(entry.path)
    if not lines:
        return passed, []
    results = {entry.path for entry in entries}
    other_errors = any(
        _rejects(finding)
        and not (finding.id.startswith("rcp.") and finding.path in results)
        and not _tolerated(finding, report)
        for finding in report.findings
    )
    return not failing and not other_errors, lines


def _tolerated(finding: Finding, report: Outcome) -> bool:
    """Whether a log's error counts only through its result, which reports the error itself."""
    logs = {file.path for file in report.files if file.kind == "log"}
    return finding.path in logs and not finding.id.startswith("seeds.")


def _recount(folder: Path, entry: ResultEntry, report: Outcome) -> tuple[str, str]:
    rules = find_round(report.rules.usage, report.rules.round)
    runs = []
    for file in _logs_of(entry, report):
        log = read_log(str(folder / file.path))
        run = Run(log.records, log.line)
        runs.append(run_facts(run, rules, Profile.VERIFIER, file.path, train_samples=True))
    convergence = judge_convergence(
        rules,
        entry.benchmark,
        runs,
        Profile.VERIFIER,
        division=entry.division or None,
        weak=entry.scaling == "weak",
    )
    return convergence.verdict, "; ".join(convergence.messages)
