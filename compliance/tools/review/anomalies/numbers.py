"""The numbers of runs and of their jobs, and the gaps in them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median_low

import msgspec

from podium.compliance.judging.inputs.layout import RESULT_NAME
from podium.compliance.judging.results.result import Result
from podium.compliance.text.words import join_limited, plural
from podium.compliance.tools.review.material import Material, trace
from podium.compliance.tools.review.review_rules import MISSING_NUMBERS
from podium.rules.finding import Finding, Profile

LEAST_NUMBERS = 3
"""Minimum count of numbers that show how runs were numbered."""

MOST_STEP = 4
"""The largest step from one run to the next: the job numbers of a busy cluster say nothing."""

MOST_TIMES = 3
"""Maximum ratio of missing to present numbers; above it, the runs are of another day."""

MOST_FIRST = 100
"""The largest first number of runs, which begin at 0 or 1; larger ones count something else."""

MOST_FILES = 10_000

_JOB_NAME = re.compile(r"(?:^|[^a-z])(?:slurm|pbs|lsf|job|job_?id)[-_.]?(\d{3,9})(?!\d)", re.I)
_OUTPUT = re.compile(r"\.[oe](\d{3,9})$")
"""Names that schedulers give the output of a job: slurm-123456.out, train.o123456."""

_DIGITS = re.compile(r"\d+")


class Numbered(msgspec.Struct, frozen=True):
    """A number, the file that contains it or is named with it, and the line."""

    number: int
    path: str
    line: int | None = None


def missing_numbers(material: Material) -> Iterator[Finding]:
    """Results with gaps in the numbers of jobs, or of runs within longer names."""
    for result in material.timed():
        finding = _of_names(result) or _of_jobs(result)
        if finding is not None:
            yield finding


# --- jobs -----------------------------------------------------------------------------------------


def _of_jobs(result: Result) -> Finding | None:
    """The gaps in the job numbers of paths; if there are none, the gaps in those of logs."""
    logged = [
        Numbered(job[0], run.display_path, job[1])
        for run in result.runs
        if (job := trace(run).job) is not None
    ]
    for noun, jobs in (("jobs in names", [*_named_jobs(result)]), ("jobs in the logs", logged)):
        ordered = sorted({job.number: job for job in reversed(jobs)}.items())
        gap = _gaps([number for number, _ in ordered])
        if gap is not None:
            after = next(job for number, job in ordered if number > gap[0])
            return _found(noun, [number for number, _ in ordered], gap, after)
    return None


def _named_jobs(result: Result) -> Iterator[Numbered]:
    """The jobs in the names of files and folders in the result's folder."""
    folder = result.place.folder
    try:
        paths = [path for path, _ in zip(folder.rglob("*"), range(MOST_FILES), strict=False)]
    except OSError:
        return
    for path in sorted(paths):
        match = _JOB_NAME.search(path.name) or _OUTPUT.search(path.name)
        if match is not None:
            yield Numbered(int(match[1]), result.place.display(path))


def _gaps(numbers: Sequence[int]) -> list[int] | None:
    """The numbers missing from an otherwise even sequence; None if there are none."""
    if len(numbers) < LEAST_NUMBERS:
        return None
    steps = [after - before for before, after in pairwise(numbers)]
    usual_step = median_low(steps)
    if usual_step > MOST_STEP or 2 * steps.count(usual_step) < len(steps):
        return None
    left_out: list[int] = []
    for before, after in pairwise(numbers):
        # Before the list: there may be millions of other jobs in a day between two jobs
        if (after - before) // usual_step > MOST_TIMES * len(numbers):
            return None
        left_out += range(before + usual_step, after - usual_step + 1, usual_step)
    return left_out if 0 < len(left_out) <= MOST_TIMES * len(numbers) else None


# --- numbers of runs ------------------------------------------------------------------------------


def _of_names(result: Result) -> Finding | None:
    """The gaps in the last numbers of names such as `result_5119-2405_06.txt`.

    `result.numbering` covers names that consist of `result_` and a number.
    """
    series: dict[tuple[str, ...], list[Numbered]] = defaultdict(list)
    for run in result.runs:
        parts = _DIGITS.split(run.name)
        numbers = _DIGITS.findall(run.name)
        if numbers and not RESULT_NAME.fullmatch(run.name):
            key = (*parts, *numbers[:-1])
            # Numbers of runs are short; a longer number is a job, a seed or a date
            if len(numbers[-1]) <= 3:
                series[key].append(Numbered(int(numbers[-1]), run.display_path))
    rows = [sorted(numbered, key=lambda entry: entry.number) for numbered in series.values()]
    gaps = [(row, gap) for row in rows if (gap := _not_there([entry.number for entry in row]))]
    if not gaps:
        return None
    row, gap = gaps[0]
    after = next(entry for entry in row if entry.number > gap[0])
    return _found("logs", [entry.number for entry in row], gap, after, others=len(gaps) - 1)


def _not_there(numbers: Sequence[int]) -> list[int]:
    """The numbers missing from a sequence that begins at 0 or 1."""
    if len(numbers) < LEAST_NUMBERS or numbers[0] > MOST_FIRST:
        return []
    present = {*numbers}
    left_out = [
        number for number in range(min(numbers[0], 1), numbers[-1]) if number not in present
    ]
    return left_out if len(left_out) <= MOST_TIMES * len(numbers) else []


def _found(
    noun: str, numbers: Sequence[int], gap: Sequence[int], after: Numbered, others: int = 0
) -> Finding:
    return MISSING_NUMBERS.found(
        Profile.POLICY,
        after.path,
        line=after.line,
        what=noun,
        numbers=join_limited([str(number) for number in numbers], 12),
        missing=join_limited([str(number) for number in gap], 12),
        are="is" if len(gap) == 1 else "are",
        more=f"; also in {plural(others, 'other row')} of names" if others else "",
    )
