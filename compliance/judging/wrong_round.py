"""Logs that violate the rules of the chosen round, and satisfy the rules of another."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

import msgspec
from msgspec.structs import replace

from podium.compliance.errors import UsageFault
from podium.compliance.judging.consequences import follows_of
from podium.compliance.judging.files import FileVerdict
from podium.compliance.judging.inputs.round_selection import Choice, RoundRequest
from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.judging.logs.log_rules import NO_RECORDS
from podium.compliance.judging.results.rules.run_rules import TOO_MANY_FAILED_RUNS
from podium.compliance.judging.round_rules import WRONG_ROUND
from podium.compliance.text.words import join_limited
from podium.logging_spec.reader.log import Generation, Log
from podium.logging_spec.reader.read import read_log
from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.consequences import OF_ANOTHER_ROUND
from podium.rules.finding import Finding, Profile, Severity
from podium.rules.model.calendar import PUBLISHED, month_ms
from podium.rules.model.round import Round

LEAST_RULES = 5
"""The least number of violated rules for which a round that the user named is doubted."""

SAMPLE = 3
"""Number of logs, of several benchmarks if possible, with which every other round is tried."""

MONTHS = 14
"""The longest time from a run to the publication of its round."""


class Fitting(msgspec.Struct, frozen=True):
    """The rounds whose rules the logs satisfy, the likeliest first.

    `dated` is the date of the logs if it is in the time of the first round.
    """

    rounds: Sequence[Round]
    dated: str = ""


def mark_consequences(
    findings: Sequence[Finding], logs: Sequence[FileVerdict], choice: Choice, path: str
) -> list[Finding]:
    """The findings; findings about logs that follow from a wrong choice of the round are marked.

    `logs` are the logs of one submission, or loose logs. `path` is the path of the cause.
    """
    doubtful_logs = [file for file in logs if _doubtful(file, choice)]
    fitting = _fitting(doubtful_logs, choice) if 2 * len(doubtful_logs) > len(logs) else None
    if fitting is None:
        return list(findings)
    cause = _cause(doubtful_logs, fitting, choice.rules, len(logs), path)
    paths = {file.display_path for file in doubtful_logs}
    folders = {os.path.dirname(path) or "." for path in paths}

    def follows(finding: Finding) -> bool:
        if finding.caused_by or OF_ANOTHER_ROUND not in follows_of(finding.id):
            return False
        # A result is rejected with its logs
        failed = finding.id == TOO_MANY_FAILED_RUNS.id and finding.path in folders
        return failed or finding.path in paths

    return [
        cause,
        *(
            replace(finding, caused_by=cause.id) if follows(finding) else finding
            for finding in findings
        ),
    ]


def _cause(
    logs: Sequence[FileVerdict], fitting: Fitting, rules: Round, total: int, path: str
) -> Finding:
    first, *others = fitting.rounds
    date = f", which matches the date of the logs ({fitting.dated})" if fitting.dated else ""
    further = (
        f"; they also fit {join_limited([round_.title for round_ in others])}" if others else ""
    )
    return WRONG_ROUND.found(
        Profile.POLICY,
        logs[0].display_path if total == 1 else path,
        remark=f"{date}{further}",
        count=len(logs),
        total=total,
        judged_by=rules.title,
        broken=join_limited(sorted({f.id for file in logs for f in _broken(file)}), 3),
        fits=first.title,
        options=_options(first, rules),
        others="".join(f", or {_options(round_, rules)}" for round_ in others[:SAMPLE]),
    )


def _options(round_: Round, rules: Round) -> str:
    usage = "" if round_.usage == rules.usage else f"--usage {round_.usage} "
    return f"{usage}--round {round_.name}"


def _broken(file: FileVerdict) -> Iterator[Finding]:
    return (f for f in file.verdict.findings if f.severity is Severity.ERROR)


def _doubtful(file: FileVerdict, choice: Choice) -> bool:
    """Whether a log violates so many rules that it may belong to another round."""
    ids = {finding.id for finding in _broken(file)}
    unknown_benchmark = any(rule_id.endswith(".submission_benchmark") for rule_id in ids)
    # A round that the user did not name is doubted after one violation
    minimum = 1 if choice.chosen_by == "default" else LEAST_RULES
    return file.kind == "log" and (len(ids) >= minimum or unknown_benchmark or NO_RECORDS.id in ids)


def _fitting(logs: Sequence[FileVerdict], choice: Choice) -> Fitting | None:
    """The rounds whose rules the logs satisfy: the folder's, those of their time, the newest."""
    sample, rules = _sample(logs), choice.rules
    rounds, reader = [*_others(rules)], read_log
    # The first log comes last, because its time is needed and it must stay in memory
    for file in reversed(sample):
        reader = cache(read_log)
        rounds = _obeyed(file, rounds, reader)
    if not rounds:
        return None
    # If several fit, the folder may name the right round
    named_round = _named(sample[0])
    if named_round in rounds:
        return Fitting([named_round])
    start = _start(reader(sample[0].path, rounds[-1].generation))
    timely = [] if start is None else [round_ for round_ in rounds if _in_time(start, round_)]
    timely.sort(key=lambda round_: PUBLISHED[round_.usage, round_.name])
    others = [round_ for round_ in reversed(rounds) if round_ not in timely]
    if timely:
        assert start is not None
        return Fitting([*timely, *others], time.strftime("%Y-%m-%d", time.gmtime(start / 1000)))
    # With few violations and without a matching time, the logs are more likely invalid
    all_doubtful = all(_doubtful(file, Choice(rules, "option")) for file in logs)
    return Fitting(others) if all_doubtful else None


def _in_time(start: float, rules: Round) -> bool:
    """Whether a run with this start may have been made for a published round."""
    published = PUBLISHED.get((rules.usage, rules.name))
    if published is None:
        return False
    year, month = published
    return month_ms(year, month - MONTHS) <= start < month_ms(year, month + 1)


def _start(log: Log) -> float | None:
    """The start of a log; None if its clock is outside the time of all rounds."""
    times = [record.time_ms for record in log.records[:1]]
    return next((float(time_ms) for time_ms in times if isinstance(time_ms, int | float)), None)


def _sample(logs: Iterable[FileVerdict]) -> list[FileVerdict]:
    by_benchmark: dict[str | None, FileVerdict] = {}
    for file in logs:
        by_benchmark.setdefault(file.verdict.benchmark, file)
    return [*by_benchmark.values()][:SAMPLE]


def _others(rules: Round) -> Iterator[Round]:
    for usage in sorted(USAGES, key=lambda name: name == rules.usage):
        yield from (round_ for round_ in rounds_of(usage).values() if round_ is not rules)


def _obeyed(
    file: FileVerdict, rounds: Sequence[Round], reader: Callable[[str, Generation], Log]
) -> list[Round]:
    """The rounds whose rules a log satisfies, in order."""
    names: set[tuple[str, str]] = set()
    # A log is read once for all rounds that prefer the same format
    for generation in dict.fromkeys(round_.generation for round_ in rounds):
        log = reader(file.path, generation)
        group = (round_ for round_ in rounds if round_.generation == generation)
        names |= {(round_.usage, round_.name) for round_ in group if not _errors(log, file, round_)}
    return [round_ for round_ in rounds if (round_.usage, round_.name) in names]


def _errors(log: Log, file: FileVerdict, rules: Round) -> bool:
    verdict = judge_log(log, rules, Profile.POLICY, file.display_path)
    # In a round without a verifier, a log in another format may violate nothing
    return not log.records or any(f.severity is Severity.ERROR for f in verdict.findings)


def _named(file: FileVerdict) -> Round | None:
    try:
        choice = RoundRequest().choose(file.path)
    except UsageFault:
        return None
    return choice.rules if choice.chosen_by != "default" else None
