"""Schedules of jobs on devices: the shortest plan, compared with all plans of small cases."""

from __future__ import annotations

import json
from itertools import pairwise, permutations, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.reference_runs.profiling.studies.schedule import planned
from podium.reference_runs.profiling.studies.study import Job, Plan
from tests.compliance.command_line import podium


def fits(
    placed: list[tuple[float, float, int]], begin: float, job: tuple[float, int], m: int
) -> bool:
    """Whether a job of (seconds, devices) that starts at `begin` fits with the placed jobs."""
    seconds, count = job
    moments = [begin, *(other for other, _, _ in placed if begin <= other < begin + seconds)]
    return all(count + sum(n for a, b, n in placed if a <= moment < b) <= m for moment in moments)


def shortest_by_trying(jobs: list[Job], m: int) -> float:
    """The shortest time over all orders and device counts, with each job in its first gap."""
    soonest = float("inf")
    for order in permutations(jobs):
        for counts in product(*([n for n in job.seconds if n <= m] for job in order)):
            placed: list[tuple[float, float, int]] = []
            for job, count in zip(order, counts, strict=True):
                one = (job.seconds[count], count)
                begins = sorted({0.0, *(end for _, end, _ in placed)})
                begin = next(each for each in begins if fits(placed, each, one, m))
                placed.append((begin, begin + one[0], count))
            soonest = min(soonest, max(end for _, end, _ in placed))
    return soonest


def check(plan: Plan, jobs: list[Job], m: int) -> None:
    """Assert that each job runs once for its time, and no device runs two jobs at a time."""
    assert sorted(each.job for each in plan.jobs) == sorted(job.name for job in jobs)
    times = {job.name: job.seconds for job in jobs}
    for each in plan.jobs:
        assert each.end - each.begin == pytest.approx(times[each.job][len(each.devices)])
        assert len(set(each.devices)) == len(each.devices)
        assert set(each.devices) <= set(range(m))
    for device in range(m):
        spans = sorted((p.begin, p.end) for p in plan.jobs if device in p.devices)
        assert all(a[1] <= b[0] + 1e-9 for a, b in pairwise(spans))
    assert plan.seconds == max(each.end for each in plan.jobs)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Job], int]:
    m = draw(st.integers(1, 4))
    jobs = []
    for name in "abcd"[: draw(st.integers(1, 4))]:
        counts = draw(st.sets(st.integers(1, m), min_size=1, max_size=3))
        # Integers, so that ends coincide often; more devices may even be slower
        jobs.append(Job(name=name, seconds={n: float(draw(st.integers(1, 12))) for n in counts}))
    return jobs, m


@settings(max_examples=60, deadline=None)
@given(cases())
def test_the_best_plan_is_as_short_as_any_plan(case: tuple[list[Job], int]) -> None:
    jobs, m = case
    found = planned(jobs, m)
    assert found.proven
    assert found.best.seconds == pytest.approx(shortest_by_trying(jobs, m))
    assert found.bound == found.best.seconds
    for plan in (found.best, *found.naive):
        check(plan, jobs, m)
        assert plan.seconds >= found.best.seconds * (1 - 1e-9)


def scaled(name: str, work: float, loss: float, counts: tuple[int, ...] = (1, 2, 4, 8)) -> Job:
    """A job that loses a share of its efficiency with each doubling."""
    return Job(
        name=name, seconds={n: work / n * (1 + loss) ** (n.bit_length() - 1) for n in counts}
    )


def test_a_job_that_scales_badly_gets_fewer_devices() -> None:
    jobs = [scaled("good", 80, 0.0), scaled("bad", 40, 0.9)]
    found = planned(jobs, 3)
    chosen = {each.job: len(each.devices) for each in found.best.jobs}
    assert chosen["good"] > chosen["bad"]
    after_another = next(each for each in found.naive if each.name == "one after another")
    assert found.best.seconds < after_another.seconds


def test_a_limited_search_reports_a_lower_bound() -> None:
    jobs = [scaled(f"job {n}", 50 + 7 * n, 0.1 + 0.05 * (n % 5)) for n in range(12)]
    found = planned(jobs, 8, most_states=200)
    assert not found.proven
    assert 0 < found.bound <= found.best.seconds
    check(found.best, jobs, 8)
    # No plan is shorter than the least work divided evenly among the devices
    assert found.bound >= sum(job.seconds[1] for job in jobs) / 8 * (1 - 1e-9)
    assert found.best.seconds <= min(each.seconds for each in found.naive)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.csv"
    rows = [
        "a,1,60",
        "a,2,32",
        "a,4,20",
        "b,1,30",
        "b,2,18",
        "b,4,14",
        "c,1,45",
        "c,2,23",
        "c,4,12",
    ]
    path.write_text("\n".join(["job,devices,minutes", *rows, ""]))
    return path


def test_the_command_prints_and_writes_the_plan(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "plan"
    done = podium("profile", "schedule", str(table), "--devices", "4", "--output", str(out))
    assert (done.exit_code, done.stderr) == (0, "")
    assert "  best                     0:41:00\n" in done.stdout
    assert "one after another        0:46:00  the best saves 10.9%" in done.stdout
    assert "no plan ends sooner" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    kept = json.loads((out / "schedule.json").read_text())
    assert kept["best"]["seconds"] == 41 * 60
    assert "in the best plan" in (out / "schedule.html").read_text()
    assert len((out / "schedule.csv").read_text().splitlines()) == 4


def study(tmp_path: Path, **changes: object) -> Path:
    variants = [
        {"ranks": 1, "state": "measured", "step_ms": 100.0},
        {"ranks": 2, "state": "measured", "step_ms": 60.0},
        {"ranks": 3, "state": "skipped", "step_ms": None},
    ]
    plain = {"kind": "scaling", "benchmark": "ncf", "last_step": 1000, "variants": variants}
    path = tmp_path / "study.json"
    path.write_text(json.dumps({**plain, **changes}))
    return path


def test_a_study_is_scheduled_as_a_whole_run_or_a_number_of_steps(tmp_path: Path) -> None:
    path = study(tmp_path)
    done = podium("profile", "schedule", f"{path}", f"{path}@500", "--devices", "2")
    assert done.exit_code == 0
    # 100 s and 50 s in parallel, compared with 60 s and 30 s in sequence
    assert "  best                     0:01:30\n" in done.stdout
    assert "  ncf #2 " in done.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "jobs.csv cannot be read: No such file or directory"),
        ("job,devices\na,1\n", "jobs.csv: expected the columns job, devices, minutes"),
        ("job,devices,minutes\na,one,3\n", "jobs.csv: expected the columns job, devices, minutes"),
        ("job,devices,minutes\na,1,nan\n", "a: expected times above 0"),
        ("job,devices,minutes\na,0,3\n", "a: expected times above 0"),
        ("job,devices,minutes\na,8,3\n", "a was only measured on more than 4 devices"),
        ("job,devices,minutes\n", "no jobs"),
    ],
)
def test_a_bad_table_is_an_error_of_one_line(text: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    if text is not None:
        path.write_text(text)
    done = podium("profile", "schedule", str(path), "--devices", "4")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


@pytest.mark.parametrize(
    ("changes", "behind", "said"),
    [
        ({"kind": "precision"}, "", "is not a scaling study"),
        ({"variants": []}, "", "ncf: expected times above 0"),
        ({"variants": 3}, "", "expected step times in the study, and a number after @"),
        ({}, "@many", "expected step times in the study, and a number after @"),
    ],
)
def test_a_bad_study_is_an_error_of_one_line(
    changes: dict[str, object], behind: str, said: str, tmp_path: Path
) -> None:
    path = study(tmp_path, **changes)
    done = podium("profile", "schedule", f"{path}{behind}", "--devices", "4")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
