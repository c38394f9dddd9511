"""`podium rcp make`: make a record of reference points from runs, in the official form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.compliance.errors import NothingToJudge
from podium.compliance.judging.inputs.log_names import other_logs
from podium.compliance.judging.logs.facts import Facts
from podium.compliance.judging.logs.judge import LogVerdict
from podium.compliance.judging.logs.log_rules import NO_RECORDS, RULE_OF_FAULT
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import judge_paths
from podium.compliance.reporting.json_text import json_text
from podium.compliance.text.words import join_limited, plural
from podium.rules.convergence.data import MEMBERS

if TYPE_CHECKING:
    from podium.rules.model.round import Round


_UNREAD = frozenset(rule.id for rule in (NO_RECORDS, *RULE_OF_FAULT.values()))
"""Rules about unreadable lines and files."""


@dataclass(frozen=True, slots=True)
class MadePoints:
    """The records, and remarks about them: skipped runs, too few runs."""

    text: str
    records: int
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """The author, date and system of the runs: members of the official form."""

    creator: str = ""
    when: str = ""
    platform: str = ""
    precision: str = ""

    def members(self) -> dict[str, str]:
        """The given members."""
        values = {
            "Creator": self.creator,
            "When": self.when,
            "Platform": self.platform,
            "Precision": self.precision,
        }
        return {name: value for name, value in values.items() if value}


def make(paths: Sequence[Path], options: Options, origin: Origin) -> MadePoints:
    """One record per benchmark and batch size, from all converging logs below the paths."""
    files = judge_paths([run for path in paths for run in _runs(path)], options)
    left_out: dict[str, list[str]] = {}
    groups: dict[tuple[str, float], list[Facts]] = {}
    rules = files.inputs.choices[0].rules
    for _, judged in files.verdicts():
        if judged.kind != "log" or not isinstance(judged.verdict.facts, Facts):
            continue
        reason = _unfit(judged.verdict)
        if reason:
            left_out.setdefault(reason, []).append(judged.display_path)
            continue
        run = judged.verdict.facts.run
        assert run.benchmark is not None
        assert run.batch_size is not None
        groups.setdefault((run.benchmark, run.batch_size), []).append(judged.verdict.facts)
    if not groups:
        raise NothingToJudge(f"no log can be used: {_all_of(left_out)}")
    remarks = [
        f"{path} is skipped: {reason}"
        for reason, unfit in left_out.items()
        for path in sorted(unfit)
    ]
    return _made(rules, groups, origin, remarks)


def _runs(path: Path) -> list[Path]:
    """The files with records below a folder: reference runs may have any name."""
    if not path.is_dir():
        return [path]
    logs = [path / name for name in other_logs(path)]
    if not logs:
        raise NothingToJudge(f"nothing to use in {path}: no file below it has log records")
    return logs


def _all_of(left_out: Mapping[str, Sequence[str]]) -> str:
    """Each reason, with the number and the names of its logs."""
    return "; ".join(
        f"{plural(len(paths), 'log')} ({join_limited(sorted(paths), 12)}): {reason}"
        for reason, paths in left_out.items()
    )


def _unfit(verdict: LogVerdict) -> str:
    """The reason why a log cannot be used; empty if it can."""
    facts = verdict.facts
    assert isinstance(facts, Facts)
    run = facts.run
    # Unreadable records are not part of the run, and may be the records that seem to be missing
    unread = next((finding for finding in verdict.findings if finding.id in _UNREAD), None)
    if unread and (run.to_converge is None or run.benchmark is None or run.batch_size is None):
        line = "" if unread.line is None else f"line {unread.line}: "
        return f"{line}{unread.message}"
    if not run.converged or run.to_converge is None:
        return "it did not converge"
    if run.benchmark is None:
        return "it names no benchmark"
    return "" if run.batch_size is not None else "it logs no global_batch_size"


def _made(
    rules: Round,
    groups: dict[tuple[str, float], list[Facts]],
    origin: Origin,
    remarks: list[str],
) -> MadePoints:
    records: dict[str, Any] = {}
    for (benchmark, size), facts in sorted(groups.items()):
        batch_size = int(size) if size == int(size) else size
        name = f"{benchmark}_ref_{batch_size}"
        benchmark_rules = rules.benchmark(benchmark)
        # The official form has a separate member for samples, which only two benchmarks use
        member = MEMBERS[benchmark_rules.convergence.points_unit]
        needed = 2 * benchmark_rules.runs
        if len(facts) < needed:
            remarks.append(f"{name} has {plural(len(facts), 'run')}; a reference needs {needed}")
        settings, mixed = _settings(facts)
        if mixed:
            remarks.append(f"{name}: omitted, because they differ between runs: {mixed}")
        records[name] = {
            "Benchmark": benchmark,
            **origin.members(),
            "BS": batch_size,
            "Hyperparams": settings,
            member: sorted(_plain(log.run.to_converge) for log in facts),
        }
    return MadePoints(json_text(records), len(records), tuple(remarks))


def _settings(facts: Sequence[Facts]) -> tuple[dict[str, Any], str]:
    """The hyperparameters that all runs share, and the names of the others."""
    settings: dict[str, Any] = {}
    mixed = []
    log_settings = [log.settings.as_dict() for log in facts]
    for name in sorted({name for entry in log_settings for name in entry}):
        values = [entry.get(name) for entry in log_settings]
        # It is the record's BS
        if name == "global_batch_size":
            continue
        if all(value == values[0] for value in values):
            settings[name] = values[0]
        else:
            mixed.append(name)
    return settings, ", ".join(mixed)


def _plain(value: float | None) -> float | int:
    assert value is not None
    return int(value) if float(value).is_integer() else value
