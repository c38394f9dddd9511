"""Verdict, case and factor of published and generated results, against the official checker.

The official checker writes and deletes scaling.json: it sees only links in a scratch folder.
"""

from __future__ import annotations

import json
import logging
import math
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from podium.compliance.judging.results.convergence import judge_convergence
from podium.rules import rounds
from podium.rules.catalogue import find_round
from podium.rules.convergence.data import points_of
from podium.rules.convergence.facts import RunFacts
from podium.rules.convergence.result import Convergence
from podium.rules.finding import Profile
from tests.locations import CORPUS
from tests.published import facts_of

_ROUND = re.compile(r"(training|hpc)_results_v([\d.]+)")

OTHER_POINTS = {"training_results_v3.0/IEI/results/nf5468m6_hugectr/dlrm_dcnv2"}
"""Published with a factor of earlier points; today's official checker agrees with podium."""

ROUNDED = {"training_results_v2.0/Google/results/cloud-tpu-v4-4096-TF/ssd"}
"""Published with a factor rounded to three decimals."""


class Folder(NamedTuple):
    """A published result folder."""

    path: Path
    usage: str
    round_name: str

    @property
    def name(self) -> str:
        """The path within the corpus."""
        return self.path.relative_to(CORPUS).as_posix()

    def facts(self) -> list[RunFacts]:
        """Return the runs, as the official checker reads them."""
        return facts_of(self.path, self.usage, self.round_name, Profile.VERIFIER)

    def judge(self) -> Convergence:
        """Return the verdict in the verifier profile."""
        return judge(self.path, self.usage, self.round_name)


def judge(folder: Path, usage: str, round_name: str) -> Convergence:
    facts = facts_of(folder, usage, round_name, Profile.VERIFIER)
    benchmark = str(facts[0].benchmark) if facts else ""
    return judge_convergence(find_round(usage, round_name), benchmark, facts, Profile.VERIFIER)


@cache
def folders() -> list[Folder]:
    """Return the result folders of rounds with reference points."""
    found = []
    for path in sorted({log.parent for log in CORPUS.glob("*/*/results/**/result_*.txt")}):
        match = _ROUND.match(path.relative_to(CORPUS).parts[0])
        assert match is not None
        if not match[2].startswith("0"):
            found.append(Folder(path, match[1], match[2]))
    return found


# --- verdicts recorded in the corpus ---

SAID = (
    ("RCP found", "found"),
    ("RCP Interpolation", "interpolated"),
    ("slower convergence", "below_range"),
)


def recorded() -> Iterator[tuple[Path, str, str, float]]:
    """Yield (folder, verdict, case, factor) of the official checker."""
    packages = json.loads((CORPUS / "package-verdicts.json").read_text())
    for package, verdict in packages.items():
        for name, folder in verdict["folders"].items():
            text = folder["rcp"]
            if text is not None:
                case = next(case for words, case in SAID if words in text)
                factor = verdict["scaling"].get(f"{name}/scaling.json", 1.0)
                yield CORPUS / package / name, "pass" if "Passed" in text else "fail", case, factor


@pytest.mark.corpus
def test_verdicts_cases_and_factors_equal_the_recorded_ones() -> None:
    by_path = {folder.path: folder for folder in folders()}
    count = 0
    for path, verdict, case, factor in recorded():
        found = by_path[path].judge()
        assert (found.verdict, found.case) == (verdict, case), path
        assert math.isclose(found.scaling_factor, factor, rel_tol=1e-6), path
        count += 1
    assert count > 80


@pytest.mark.corpus
def test_factors_equal_the_published_factors() -> None:
    count = 0
    for folder in folders():
        file = folder.path / "scaling.json"
        if not file.exists() or folder.name in OTHER_POINTS:
            continue
        published = json.loads(file.read_text())["scaling_factor"]
        found = folder.judge()
        tolerance = 5e-4 if folder.name in ROUNDED else 1e-9
        assert math.isclose(found.scaling_factor, published, rel_tol=tolerance), folder.name
        count += 1
    assert count >= 20


# --- the official checker, run by the tests ---


@pytest.fixture
def incumbent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    checker = pytest.importorskip("mlperf_logging.rcp_checker.rcp_checker")
    monkeypatch.chdir(tmp_path)
    logging.disable(logging.CRITICAL)
    yield checker
    logging.disable(logging.NOTSET)


def ask(incumbent: Any, folder: Path, scratch: Path, usage: str, round_name: str) -> Any:
    """Return (verdict, case, factor) of the official checker, which sees only links to the logs."""
    scratch.mkdir()
    for log in folder.glob("result_*.txt"):
        (scratch / log.name).symlink_to(log)
    # With set_scaling it uses this folder; without it, it uses the root of the file system.
    options = {"rcp_pass": "pruned_rcps", "set_scaling": True}
    try:
        passed, text, factor = incumbent.check_directory(
            str(scratch), usage, f"{round_name}.0", False, False, **options
        )
    except Exception:  # the official checker may raise any exception
        return "fail", "none", 1.0
    if text.startswith("Missing RCP"):
        return "missing", None, 1.0
    case = next((case for words, case in SAID if words in text), "none")
    return "pass" if passed else "fail", case, float(factor) if passed else 1.0


def assert_same(found: Convergence, expected: Any, what: object) -> None:
    verdict, case, factor = expected
    assert found.verdict == verdict, (what, found)
    assert case is None or found.case == case, (what, found)
    assert math.isclose(found.scaling_factor, factor, rel_tol=1e-9), (what, found)


@pytest.mark.corpus
@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=pytest.mark.long if part else ()) for part in range(8)]
)
def test_published_results_equal_the_official_checker(
    part: int, incumbent: Any, tmp_path: Path
) -> None:
    for number, folder in enumerate(folders()[part::8]):
        found = folder.judge()
        if found.verdict == "not_applicable":
            continue
        scratch = tmp_path / str(number)
        expected = ask(incumbent, folder.path, scratch, folder.usage, folder.round_name)
        assert_same(found, expected, folder.name)


def line(key: str, value: object, **metadata: object) -> str:
    said = {"key": key, "value": value, "time_ms": 1, "metadata": metadata}
    return f":::MLLOG {json.dumps(said)}\n"


def write_log(path: Path, benchmark: str, size: float, at: float, step: str, status: str) -> None:
    """Write a log with only the records that the official checker reads."""
    text = line("submission_benchmark", benchmark) + line("global_batch_size", size)
    if benchmark == "stable_diffusion":
        for where in (at + 5, at):
            text += line("eval_accuracy", 80, metric="FID", **{step: where})
            text += line("eval_accuracy", 0.2, metric="CLIP", **{step: where})
    else:
        text += line("eval_accuracy", 0.5, epoch_num=at, samples_count=at)
    path.write_text(text + line("run_stop", None, status=status))


def make_result(
    folder: Path, usage: str, round_name: str, benchmark: str, rng: random.Random
) -> tuple[float, int]:
    """Write a result near a reference point; return its batch size and number of failed runs."""
    points = points_of(usage, round_name, benchmark)
    sizes = sorted({point.batch_size for point in points})
    between = rng.randint(int(sizes[0]), int(sizes[-1]))
    beyond = rng.choice((int(sizes[0] / 2) or 1, sizes[-1] + 7))
    size = rng.choice((rng.choice(sizes), rng.choice(sizes), between, between, beyond))
    near = min(points, key=lambda point: abs(point.batch_size - size))
    stretch = rng.choice((1, 1, 0.9, 0.95, 0.97, 0.98, 1.02))
    needed = rounds[usage, round_name].benchmarks[benchmark].runs
    values = [value * stretch for value in rng.choices(near.to_converge, k=needed)]
    if rng.random() < 0.15:
        values = [near.to_converge[0]] * needed
    if all(isinstance(value, int) for value in near.to_converge):
        values = [int(value) for value in values]
    drop = rounds[usage, round_name].benchmarks[benchmark].dropped
    failed = rng.choice((0, 0, 0, drop, drop + 1))
    step = "step_num" if round_name == "3.1" else "samples_count"
    folder.mkdir()
    for index, value in enumerate(values):
        status = "aborted" if index < failed else "success"
        write_log(folder / f"result_{index}.txt", benchmark, size, value, step, status)
    return size, failed


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 12))]
)
def test_generated_results_equal_the_official_checker(
    seed: int, incumbent: Any, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    for usage, round_name in rounds:
        for benchmark in rounds[usage, round_name].benchmarks:
            if not points_of(usage, round_name, benchmark):
                continue
            what = (seed, usage, round_name, benchmark)
            folder = tmp_path / "-".join(map(str, what))
            made = make_result(folder, usage, round_name, benchmark, rng)
            scratch = tmp_path / f"{folder.name}-links"
            expected = ask(incumbent, folder, scratch, usage, round_name)
            assert_same(judge(folder, usage, round_name), expected, (*what, *made))
