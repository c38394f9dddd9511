"""Logs that break the rules of the round they are judged by, and obey those of another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from podium.compliance.errors import UsageFault
from podium.compliance.judging.consequences import follows_of
from podium.compliance.judging.files import FileVerdict
from podium.compliance.judging.inputs.round_selection import RoundRequest
from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.judging.logs.log_rules import NO_RECORDS
from podium.compliance.judging.results.rules.run_rules import TOO_MANY_FAILED_RUNS
from podium.compliance.judging.round_rules import WRONG_ROUND
from podium.compliance.text.words import join_limited
from podium.logging_spec.reader.read import Log, read_log
from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.consequences import OF_ANOTHER_ROUND
from podium.rules.finding import Finding, Profile, Severity
from podium.rules.model.round import Round

LEAST_RULES = 5
"""Broken rules of a log below which it is not doubted that its round is the right one."""

SAMPLE = 3
"""Logs, of several benchmarks if there are, that every other round is tried on."""


def mark_consequences(
    findings: Sequence[Finding], logs: Sequence[FileVerdict], rules: Round, path: str
) -> list[Finding]:
    """The findings, those about logs marked that follow from their being judged by a wrong round.

    `logs` are those of one submission, or loose ones; `path` is where the cause is reported.
    """
    doubtful = [one for one in logs if _doubtful(one)]
    fits = _fitting(doubtful, rules) if 2 * len(doubtful) > len(logs) else None
    if fits is None:
        return list(findings)
    broken = sorted({f.id for one in doubtful for f in _broken(one)})
    options = f"--round {fits.name}"
    if fits.usage != rules.usage:
        options = f"--usage {fits.usage} {options}"
    cause = WRONG_ROUND.found(
        Profile.POLICY,
        path,
        count=len(doubtful),
        total=len(logs),
        judged_by=rules.title,
        broken=join_limited(broken, 3),
        fits=fits.title,
        options=options,
    )
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


def _broken(one: FileVerdict) -> Iterator[Finding]:
    return (f for f in one.verdict.findings if f.severity is Severity.ERROR)


def _doubtful(one: FileVerdict) -> bool:
    """Whether a log breaks so many rules that it may be of another round."""
    ids = {found.id for found in _broken(one)}
    unknown = any(each.endswith(".submission_benchmark") for each in ids)
    return one.kind == "log" and (len(ids) >= LEAST_RULES or unknown or NO_RECORDS.id in ids)


def _fitting(logs: Sequence[FileVerdict], rules: Round) -> Round | None:
    """The round whose rules the logs break nowhere: the folder's if it fits, else the newest."""
    sample = _sample(logs)
    fitting = [*_others(rules)]
    for one in sample:
        fitting = _obeyed(one, fitting)
    if not fitting:
        return None
    # Where several fit, the folder may say which is meant
    named = _named(sample[0])
    return named if named in fitting else fitting[-1]


def _sample(logs: Iterable[FileVerdict]) -> list[FileVerdict]:
    by_benchmark: dict[str | None, FileVerdict] = {}
    for one in logs:
        by_benchmark.setdefault(one.verdict.benchmark, one)
    return [*by_benchmark.values()][:SAMPLE]


def _others(rules: Round) -> Iterator[Round]:
    for usage in sorted(USAGES, key=lambda each: each == rules.usage):
        yield from (each for each in rounds_of(usage).values() if each is not rules)


def _obeyed(one: FileVerdict, rounds: Sequence[Round]) -> list[Round]:
    """The rounds whose rules a log breaks nowhere, in order."""
    obeyed: set[tuple[str, str]] = set()
    # A log is read once for all rounds that prefer the same format
    for generation in dict.fromkeys(each.generation for each in rounds):
        log = read_log(one.path, generation)
        alike = (each for each in rounds if each.generation == generation)
        obeyed |= {(each.usage, each.name) for each in alike if not _errors(log, one, each)}
    return [each for each in rounds if (each.usage, each.name) in obeyed]


def _errors(log: Log, one: FileVerdict, rules: Round) -> bool:
    verdict = judge_log(log, rules, Profile.POLICY, one.display_path)
    # In a round without a verifier a log of another format may break nothing
    return not log.records or any(f.severity is Severity.ERROR for f in verdict.findings)


def _named(one: FileVerdict) -> Round | None:
    try:
        choice = RoundRequest().choose(one.path)
    except UsageFault:
        return None
    return choice.rules if choice.chosen_by != "default" else None
