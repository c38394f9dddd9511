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
    doubtful = [one for one in logs if _doubtful(one, choice)]
    fits = _fitting(doubtful, choice) if 2 * len(doubtful) > len(logs) else None
    if fits is None:
        return list(findings)
    cause = _cause(doubtful, fits, choice.rules, len(logs), path)
    paths = {one.display_path for one in doubtful}
    folders = {os.path.dirname(path) or "." for path in paths}

    def follows(finding: Finding) -> bool:
        if finding.caused_by or OF_ANOTHER_ROUND not in follows_of(finding.id):
            return False
        # A result is rejected with its logs
        failed = finding.id == TOO_MANY_FAILED_RUNS.id and finding.path in folders
        return failed or finding.path in paths

    return [
        cause,
        *(replace(each, caused_by=cause.id) if follows(each) else each for each in findings),
    ]


def _cause(
    logs: Sequence[FileVerdict], fits: Fitting, rules: Round, total: int, path: str
) -> Finding:
    first, *others = fits.rounds
    dated = f", which matches the date of the logs ({fits.dated})" if fits.dated else ""
    more = f"; they also fit {join_limited([each.title for each in others])}" if others else ""
    return WRONG_ROUND.found(
        Profile.POLICY,
        logs[0].display_path if total == 1 else path,
        remark=f"{dated}{more}",
        count=len(logs),
        total=total,
        judged_by=rules.title,
        broken=join_limited(sorted({f.id for one in logs for f in _broken(one)}), 3),
        fits=first.title,
        options=_options(first, rules),
        others="".join(f", or {_options(each, rules)}" for each in others[:SAMPLE]),
    )


def _options(fits: Round, rules: Round) -> str:
    usage = "" if fits.usage == rules.usage else f"--usage {fits.usage} "
    return f"{usage}--round {fits.name}"


def _broken(one: FileVerdict) -> Iterator[Finding]:
    return (f for f in one.verdict.findings if f.severity is Severity.ERROR)


def _doubtful(one: FileVerdict, choice: Choice) -> bool:
    """Whether a log violates so many rules that it may belong to another round."""
    ids = {found.id for found in _broken(one)}
    unknown = any(each.endswith(".submission_benchmark") for each in ids)
    # A round that the user did not name is doubted after one violation
    least = 1 if choice.chosen_by == "default" else LEAST_RULES
    return one.kind == "log" and (len(ids) >= least or unknown or NO_RECORDS.id in ids)


def _fitting(logs: Sequence[FileVerdict], choice: Choice) -> Fitting | None:
    """The rounds whose rules the logs satisfy: the folder's, those of their time, the newest."""
    sample, rules = _sample(logs), choice.rules
    fitting, read = [*_others(rules)], read_log
    # The first log comes last, because its time is needed and it must stay in memory
    for one in reversed(sample):
        read = cache(read_log)
        fitting = _obeyed(one, fitting, read)
    if not fitting:
        return None
    # If several fit, the folder may name the right round
    named = _named(sample[0])
    if named in fitting:
        return Fitting([named])
    start = _start(read(sample[0].path, fitting[-1].generation))
    timely = [] if start is None else [each for each in fitting if _in_time(start, each)]
    timely.sort(key=lambda each: PUBLISHED[each.usage, each.name])
    rest = [each for each in reversed(fitting) if each not in timely]
    if timely:
        assert start is not None
        return Fitting([*timely, *rest], time.strftime("%Y-%m-%d", time.gmtime(start / 1000)))
    # With few violations and without a matching time, the logs are more likely invalid
    surely = all(_doubtful(one, Choice(rules, "option")) for one in logs)
    return Fitting(rest) if surely else None


def _in_time(start: float, rules: Round) -> bool:
    """Whether a run with this start may have been made for a published round."""
    published = PUBLISHED.get((rules.usage, rules.name))
    if published is None:
        return False
    year, month = published
    return month_ms(year, month - MONTHS) <= start < month_ms(year, month + 1)


def _start(log: Log) -> float | None:
    """The start of a log; None if its clock is outside the time of all rounds."""
    times = [each.time_ms for each in log.records[:1]]
    return next((float(each) for each in times if isinstance(each, int | float)), None)


def _sample(logs: Iterable[FileVerdict]) -> list[FileVerdict]:
    by_benchmark: dict[str | None, FileVerdict] = {}
    for one in logs:
        by_benchmark.setdefault(one.verdict.benchmark, one)
    return [*by_benchmark.values()][:SAMPLE]


def _others(rules: Round) -> Iterator[Round]:
    for usage in sorted(USAGES, key=lambda each: each == rules.usage):
        yield from (each for each in rounds_of(usage).values() if each is not rules)


def _obeyed(
    one: FileVerdict, rounds: Sequence[Round], read: Callable[[str, Generation], Log]
) -> list[Round]:
    """The rounds whose rules a log satisfies, in order."""
    obeyed: set[tuple[str, str]] = set()
    # A log is read once for all rounds that prefer the same format
    for generation in dict.fromkeys(each.generation for each in rounds):
        log = read(one.path, generation)
        alike = (each for each in rounds if each.generation == generation)
        obeyed |= {(each.usage, each.name) for each in alike if not _errors(log, one, each)}
    return [each for each in rounds if (each.usage, each.name) in obeyed]


def _errors(log: Log, one: FileVerdict, rules: Round) -> bool:
    verdict = judge_log(log, rules, Profile.POLICY, one.display_path)
    # In a round without a verifier, a log in another format may violate nothing
    return not log.records or any(f.severity is Severity.ERROR for f in verdict.findings)


def _named(one: FileVerdict) -> Round | None:
    try:
        choice = RoundRequest().choose(one.path)
    except UsageFault:
        return None
    return choice.rules if choice.chosen_by != "default" else None
