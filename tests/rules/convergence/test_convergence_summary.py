"""Minutes and joules, compared with the summaries of the official summarizer."""

from __future__ import annotations

import csv
import json
import math
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from podium.compliance.judging.power.check import PoweredRun, check_power
from podium.compliance.judging.results.factor import choose_factor
from podium.compliance.judging.results.score import (
    olympic_energy,
    score_result,
    score_throughput,
)
from podium.rules.catalogue import find_round
from podium.rules.convergence.facts import RunFacts
from podium.rules.finding import Profile
from tests.locations import CORPUS
from tests.published import facts_of

# --- summaries of the official summarizer ---


def submissions() -> list[Path]:
    """Return the submissions of rounds that the official summarizer supports."""
    found = sorted({path.parent for path in CORPUS.glob("*/*/results")})
    return [path for path in found if path.parent.name != "hpc_results_v0.7"]


LONG = (pytest.mark.long, pytest.mark.daily(3))
QUICK = {"training_results_v5.0/tinycorp", "training_results_v4.1/FlexAI"}


def copy_of(submission: Path, scratch: Path) -> Path:
    """Link the logs of a submission into a folder, and copy its scaling.json files."""
    copied = scratch / submission.name
    for path in submission.rglob("*"):
        if path.is_file():
            target = copied / path.relative_to(submission)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.name == "scaling.json":
                shutil.copyfile(path, target)
            else:
                target.symlink_to(path)
    return copied


def summary(copied: Path, usage: str, round_name: str) -> Iterator[tuple[str, str, str]]:
    """Yield (benchmark, column, text) of the official tables, including the detailed table."""
    module = "mlperf_logging.result_summarizer"
    command = [
        sys.executable,
        "-m",
        module,
        str(copied),
        usage,
        f"{round_name}.0",
        "--csv",
        "o.csv",
    ]
    subprocess.run(command, cwd=copied.parent, capture_output=True, check=False)
    for file in (copied.parent / "o.csv", copied.parent / "o_detailed.csv"):
        head: list[str] = []
        for row in csv.reader(file.read_text().splitlines()) if file.exists() else ():
            if row and row[0] == "division":
                head = row
                continue
            for name, text in zip(head, row, strict=False):
                if text:
                    benchmark, _, column = name.partition(":")
                    yield benchmark, column or "minutes", text


def summaries_differ(submission: Path, scratch: Path) -> str:
    """Return the first difference between the official numbers and ours, or an empty string."""
    usage, round_name = submission.parent.name.split("_results_v")
    verdicts = json.loads((CORPUS / "verdicts.json").read_text())
    ours, theirs = defaultdict(list), defaultdict(list)
    for folder in sorted({log.parent for log in submission.glob("results/**/result_*.txt")}):
        facts = []
        for run in facts_of(folder, usage, round_name, Profile.VERIFIER):
            path = (folder / run.name).relative_to(CORPUS).as_posix()
            # In the summary, a run fails only if its log violates rules.
            refused = "" if verdicts[path]["ok"] else "its log violates rules"
            facts.append(replace(run, converged=True, refused=refused))
        if folder.parent.name == "weak":
            found = score_throughput(usage, round_name, folder.name, facts)
            ours[folder.name, "time_to_train_all"].append(found.time_to_train_all)
            continue
        file = folder / "scaling.json"
        given = json.loads(file.read_text())["scaling_factor"] if file.exists() else None
        factor = choose_factor(given)
        name = folder.name
        result = score_result(usage, round_name, name, facts, Profile.VERIFIER, factor)
        ours[name, "minutes"].append(result.score)
    for benchmark, column, text in summary(copy_of(submission, scratch), usage, round_name):
        if (benchmark, column) in ours:
            theirs[benchmark, column].append(float(text))
    for key, values in ours.items():
        mine = sorted(value for value in values if value is not None)
        same = len(mine) == len(theirs[key]) and all(
            math.isclose(one, other, rel_tol=1e-9)
            for one, other in zip(mine, sorted(theirs[key]), strict=True)
        )
        if not same and theirs[key]:
            return f"{submission}: {key}: {mine} against {theirs[key]}"
    return ""


@pytest.mark.corpus
@pytest.mark.parametrize(
    "submission",
    [
        pytest.param(path, id=name, marks=() if name in QUICK else LONG)
        for path in submissions()
        for name in [f"{path.parent.name}/{path.name}"]
    ],
)
def test_minutes_equal_the_official_summary(submission: Path, tmp_path: Path) -> None:
    pytest.importorskip("mlperf_logging")
    assert summaries_differ(submission, tmp_path) == ""


def power_lines(run: RunFacts, name: str, seed: int) -> str:
    """Return a power log with readings outside the run, in reverse order for one node."""
    assert run.start_ms is not None
    assert run.stop_ms is not None
    begin, end = run.start_ms - 5000, run.stop_ms + 3000
    lines: list[tuple[str, float, float | None, dict[str, str]]] = []
    if name.startswith("sw"):
        lines.append(("interconnect_power_est", begin, 500.0 + seed, {}))
    else:
        lines.append(("power_measurement_start", begin, None, {}))
        lines.append(("conversion_eff", begin, 0.9, {"measurement_type": "AC"}))
        times = range(int(begin) - 2000, int(end) + 4000, 997)
        step = -1 if name == "node_1" else 1
        lines += [("power_reading", t, 900.0 + t * 31 % 457, {}) for t in times[::step]]
        if name == "node_0":
            lines.append(("power_measurement_stop", end, None, {}))
    said = ({"key": k, "time_ms": int(t), "value": v, "metadata": m} for k, t, v, m in lines)
    return "".join(f":::MLLOG {json.dumps(one)}\n" for one in said)


@pytest.mark.corpus
def test_energy_equals_the_official_summary(tmp_path: Path) -> None:
    pytest.importorskip("mlperf_logging")
    copied = copy_of(CORPUS / "training_results_v4.1/FlexAI", tmp_path)
    folder = next(copied.glob("results/*/bert"))
    (folder / "scaling.json").unlink(missing_ok=True)
    facts = facts_of(folder, "training", "4.1", Profile.VERIFIER)
    marks = []
    for index, run in enumerate(facts):
        power = folder / "power" / Path(run.name).stem
        power.mkdir(parents=True)
        for name in ("node_0", "node_1", "sw_0"):
            (power / f"{name}.txt").write_text(power_lines(run, name, index))
        marks.append(PoweredRun(Path(run.name).stem, run.start_ms, run.stop_ms))
    energies = check_power(folder, marks, 2, find_round("training", "4.1"), Profile.VERIFIER, str)
    joules = [energies.energies[mark.stem] for mark in marks]
    result = score_result("training", "4.1", "bert", facts, Profile.VERIFIER)
    theirs = [text for _, column, text in summary(copied, "training", "4.1") if column == "Energy"]
    assert [float(text) for text in theirs] == [pytest.approx(olympic_energy(result, joules))]
