"""Dates, speed and scored checkpoints of one result: values in logs that are implausible."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.convergence.facts import RunFacts
from podium.rules.convergence.spread import uneven
from podium.rules.finding import Profile
from podium.rules.model.calendar import PUBLISHED, month_ms
from tests.builders import LogBuilder, build
from tests.compliance.trees import Change, Submission, good, usual

AFTER, LONG_BEFORE, EARLIER = (
    "result.run-after-round",
    "result.run-long-before-round",
    "result.run-of-earlier-round",
)


def on(when: str) -> Change:
    """A change that moves the start of a run to this time."""
    to = datetime.fromisoformat(when).replace(tzinfo=UTC).timestamp() * 1000
    return lambda log: log.shift_all((to - log.first("run_start").time_ms) / 60_000)


def dated(tree: Submission, when: str) -> list[str]:
    """The ids of the findings about dates if one run has this date."""
    tree.log(1, on(when))
    found = (finding.id for verdict in tree.judged() for finding in verdict.findings)
    return [each for each in found if each in (AFTER, LONG_BEFORE, EARLIER)]


# --- dates ---


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("2031-01-01", [AFTER]),
        ("2025-12-01", [AFTER]),
        ("2025-11-30", []),
        ("2024-10-01", []),
        ("2024-09-30", [EARLIER]),
        ("2022-11-01", [EARLIER]),
        ("2022-10-31", [LONG_BEFORE]),
        ("2015-06-01", [LONG_BEFORE]),
    ],
)
def test_a_run_outside_the_year_before_its_round_is_reported(
    tmp_path: Path, when: str, said: list[str]
) -> None:
    """Training 5.1 was published in November 2025."""
    assert dated(usual(tmp_path), when) == said


def test_a_finding_counts_runs_and_names_one(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(1, on("2031-01-01")).log(2, on("2031-02-01"))
    [finding] = tree.reported(AFTER)
    assert finding.path == "results/ex_n8/llama31_405b"
    assert finding.message == (
        "2 of 3 runs began after training 5.1 was published, result_1.txt on 2031-01-01; "
        "expected earlier runs"
    )
    assert tree.reported(AFTER, "verifier") == []


def test_the_verifier_profile_ignores_dates(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(1, on("2031-01-01"))
    assert tree.judged(Profile.VERIFIER.value)[0].findings == []


@pytest.mark.parametrize(("days", "said"), [(0, []), (2, [AFTER])])
def test_an_unpublished_round_accepts_runs_only_up_to_tomorrow(
    tmp_path: Path, days: int, said: list[str]
) -> None:
    later = datetime.fromtimestamp(datetime.now(UTC).timestamp() + days * 86_400, UTC)
    tree = good(tmp_path, "training", "6.1", "llama31_8b", "open")
    assert dated(tree, later.replace(tzinfo=None).isoformat()) == said


def test_a_clock_that_starts_at_0_has_no_date(tmp_path: Path) -> None:
    assert dated(usual(tmp_path), "1970-01-02") == []


def test_a_date_beyond_the_calendar_is_printed_in_milliseconds(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(1, lambda log: log.shift_all(1e25))
    [finding] = tree.reported(AFTER)
    assert "result_1.txt on 6e+29 ms" in finding.message


def test_all_rounds_but_the_newest_have_a_publication_date() -> None:
    for usage in USAGES:
        names = [*rounds_of(usage)]
        dates = [PUBLISHED.get((usage, name)) for name in names]
        # Only the last round may be unpublished
        assert None not in dates[:-1]
        assert dates[:-1] == sorted(filter(None, dates))[: len(dates) - 1]


def test_month_ms_agrees_with_the_calendar() -> None:
    for number in range(12 * 1900, 12 * 2410):
        year, month = divmod(number, 12)
        first = datetime(year, month + 1, 1, tzinfo=UTC)
        assert month_ms(year, month + 1) == first.timestamp() * 1000
    assert month_ms(2024, 13) == month_ms(2025, 1)
    assert month_ms(2025, 0) == month_ms(2024, 12)


# --- speed ---


def facts(minutes: float, samples: float = 1000.0, converged: bool = True) -> RunFacts:
    return RunFacts(f"{minutes:g}", to_converge=samples, converged=converged, minutes=minutes)


@pytest.mark.parametrize(
    ("minutes", "far"),
    [
        ([30, 30, 30, 30], []),
        ([30, 30, 30, 37], []),  # 19 % slower
        ([30, 30, 30, 38], ["38"]),
        ([30, 30, 30, 24], ["24"]),
        ([30, 30, 30, 60, 10], ["10", "60"]),  # the farthest first
        ([10, 20, 30, 40, 50], []),  # no usual speed
        ([30, 60], []),
    ],
)
def test_runs_far_from_the_usual_speed_are_reported(minutes: list[float], far: list[str]) -> None:
    assert [name for name, _ in uneven([*map(facts, minutes)])] == far


def test_a_run_that_needs_more_training_is_not_slow() -> None:
    assert uneven([facts(30), facts(30), facts(30), facts(90, 3000)]) == []


def test_runs_that_do_not_converge_are_not_compared() -> None:
    assert uneven([facts(30), facts(30), facts(30), facts(90, converged=False)]) == []


def test_a_run_of_another_speed_is_a_note_on_its_result(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(1, lambda log: log.lasting(100))
    [finding] = tree.reported("result.uneven-speed")
    assert finding.severity == "note"
    assert finding.message.startswith("result_1.txt trains ")
    assert tree.reported("result.uneven-speed", "verifier") == []


# --- checkpoints ---

LEFT_OUT = "result.checkpoints-left-out"


def diffusion(place: Path, full: int, division: str = "closed") -> Submission:
    """Ten runs that pass at the second checkpoint; `full` of them also score the first one."""
    tree = Submission(place, build("training", "5.0", division, "stable_diffusion"))
    tree.system()
    for number in range(10):
        tree.log(number, scores_all if number < full else scores_last)
    return tree


def scores_all(log: LogBuilder) -> LogBuilder:
    return log.set("eval_accuracy", 200.0, only=0)


def scores_last(log: LogBuilder) -> LogBuilder:
    """Drop the CLIP score of the first checkpoint."""
    return scores_all(log).drop("eval_accuracy", only=1)


@pytest.mark.parametrize(("full", "said"), [(0, True), (1, False), (10, False)])
def test_one_run_in_ten_must_score_all_checkpoints(tmp_path: Path, full: int, said: bool) -> None:
    assert bool(diffusion(tmp_path, full).reported(LEFT_OUT)) == said


def test_the_message_counts_runs_and_checkpoints(tmp_path: Path) -> None:
    [finding] = diffusion(tmp_path, 0).reported(LEFT_OUT)
    assert finding.message == (
        "0 of 10 runs score every checkpoint until the target (result_0.txt has 1 of 2); "
        "expected at least 1"
    )


def test_the_open_division_may_skip_checkpoints(tmp_path: Path) -> None:
    assert diffusion(tmp_path, 0, "open").reported(LEFT_OUT) == []
