"""G-PC18: `podium check --earlier TREE` with a round in which a system was previewed."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from podium.logging_spec.reader.read import read_log
from podium.rules.finding import Finding
from tests.builders import LogBuilder, build
from tests.compliance.trees import SAID, Submission, compared
from tests.published import own_copy

MODEL = "Example Accelerator 9"
LORA = "llama2_70b_lora"
MINUTES = 50.0
"""The duration of every run that was previewed on 64 accelerators."""


def result(tree: Submission, nodes: int, minutes: float, status: str, **fields: str) -> Submission:
    """Add a system of `nodes` nodes with a result of `minutes` minutes."""
    name = f"ex_n{nodes}"
    said = {"status": status, "accelerator_model_name": MODEL, "number_of_nodes": str(nodes)}
    tree.system(name, system_name=name, **said | fields)
    start = 100 * nodes + sum(map(ord, str(tree.place)))

    def change(log: LogBuilder) -> LogBuilder:
        for key, value in SAID.items():
            if key in log.names():
                changes = {"submission_platform": name, "number_of_nodes": nodes}
                log = log.set(key, changes.get(key, value))
        return log.lasting(minutes)

    return tree.code().result(name, change=change, start=start)


def submission(tmp_path: Path, round_: str, benchmark: str = LORA) -> Submission:
    log = build("training", round_, "closed", benchmark)
    return Submission(tmp_path / f"training_results_v{round_}", log)


@pytest.fixture
def before(tmp_path: Path) -> Submission:
    """A system of 8 nodes that was previewed in 5.0."""
    return result(submission(tmp_path, "5.0"), 8, MINUTES, "Preview")


def now(tmp_path: Path, nodes: int = 8, minutes: float = MINUTES, **fields: str) -> Submission:
    """The same system, available in 5.1, unless arguments change it."""
    status = fields.pop("status", "Available on-premise")
    return result(submission(tmp_path, "5.1"), nodes, minutes, status, **fields)


def reported(tree: Submission, before: Submission) -> dict[str, Finding]:
    report = compared(tree.root, before.place)
    return {f.id: f for f in report.findings if f.id.startswith("preview.")}


def test_an_equally_fast_system_at_the_same_scale_is_accepted(
    tmp_path: Path, before: Submission
) -> None:
    assert reported(now(tmp_path), before) == {}


def test_more_than_two_percent_more_time_is_reported(tmp_path: Path, before: Submission) -> None:
    assert reported(now(tmp_path, minutes=1.02 * MINUTES), before) == {}
    found = reported(now(tmp_path, minutes=1.031 * MINUTES), before)
    assert set(found) == {"preview.slower"}
    finding = found["preview.slower"]
    assert (finding.severity, finding.path) == ("warning", f"results/ex_n8/{LORA}")
    assert "3.1% more time; expected at most 2% more" in finding.message
    assert "at scale 64" in finding.message


def measured(tree: Submission, watts: float, system: str = "ex_n8") -> Submission:
    """Add a power log to each run of a result: one node that draws constant power."""
    place = tree.root / tree.folder(system)
    for path in place.glob("result_*.txt"):
        times = {record.key: int(record.time_ms) for record in read_log(path).records}
        start, stop = times["run_start"], times["run_stop"]
        said = [(start, "power_measurement_start", None)]
        said += [(time, "power_reading", watts) for time in range(start + 1000, stop, 30_000)]
        said += [(stop, "power_reading", watts), (stop + 1, "power_measurement_stop", None)]
        meter = place / "power" / path.stem / "node_0.txt"
        meter.parent.mkdir(parents=True)
        meter.write_text("".join(map(power_line, said)))
    return tree


def power_line(said: tuple[int, str, float | None]) -> str:
    time, key, value = said
    record = {"namespace": "", "time_ms": time, "event_type": "POINT_IN_TIME", "key": key}
    return ":::MLLOG " + json.dumps(record | {"value": value, "metadata": {}}) + "\n"


def test_energy_is_compared_where_both_systems_were_measured(
    tmp_path: Path, before: Submission
) -> None:
    after = measured(now(tmp_path, 16, 2 * MINUTES), 250, "ex_n16")
    assert "100.0% more time;" in reported(after, before)["preview.slower"].message
    measured(before, 500)
    assert reported(after, before) == {}
    shutil.rmtree(after.root / after.folder("ex_n16") / "power")
    assert "100.0% more time;" in reported(after, before)["preview.slower"].message
    finding = reported(measured(after, 260, "ex_n16"), before)["preview.slower"]
    assert "4.0% more energy; expected at most 2% more" in finding.message
    assert "took 50 min and 1.5 MJ at scale 64" in finding.message


def test_a_larger_system_is_compared_by_time(tmp_path: Path, before: Submission) -> None:
    assert reported(now(tmp_path, 16, MINUTES), before) == {}
    assert set(reported(now(tmp_path, 16, 1.03 * MINUTES), before)) == {"preview.slower"}


def test_a_smaller_system_is_compared_by_time_times_accelerators(
    tmp_path: Path, before: Submission
) -> None:
    assert reported(now(tmp_path, 4, 2 * MINUTES), before) == {}
    finding = reported(now(tmp_path, 4, 2.1 * MINUTES), before)["preview.slower"]
    assert "5.0% more time on all accelerators together" in finding.message


def test_only_the_smallest_and_the_largest_scale_are_compared(
    tmp_path: Path, before: Submission
) -> None:
    result(result(before, 16, 27, "Preview"), 32, 15, "Preview")
    tree = result(now(tmp_path), 32, 15, "Available cloud")
    assert reported(tree, before) == {}
    # Results at scales between them may be slower or missing; the largest may not.
    assert reported(result(tree, 16, 40, "Available cloud"), before) == {}
    finding = reported(result(tree, 32, 16, "Available cloud"), before)["preview.slower"]
    assert finding.path == f"results/ex_n32/{LORA}"


def test_a_preview_without_an_available_system_is_reported(
    tmp_path: Path, before: Submission
) -> None:
    finding = reported(now(tmp_path, status="Preview"), before)["preview.not-followed"]
    assert (finding.severity, finding.path) == ("warning", "systems")
    assert finding.message.startswith("ex_n8 was previewed in training 5.0")
    assert "140 days" in finding.message
    other = now(tmp_path, accelerator_model_name="Another 1")
    assert set(reported(other, before)) == {"preview.not-followed"}


def test_spellings_of_the_same_accelerator_are_equal(tmp_path: Path, before: Submission) -> None:
    assert reported(now(tmp_path, accelerator_model_name="example-accelerator 9"), before) == {}
    assert (
        reported(now(tmp_path, accelerator_model_name="Example Accelerator 9 80GB"), before) == {}
    )


def test_a_system_that_was_already_available_is_not_compared(tmp_path: Path) -> None:
    before = result(submission(tmp_path, "5.0"), 8, MINUTES, "Available cloud")
    assert reported(now(tmp_path, minutes=2 * MINUTES), before) == {}


def test_previews_of_other_submitters_are_not_compared(tmp_path: Path, before: Submission) -> None:
    before.root.rename(before.place / "Bmce")
    assert reported(now(tmp_path, minutes=2 * MINUTES), before) == {}


def test_following_up_one_benchmark_is_enough(tmp_path: Path, before: Submission) -> None:
    retinanet = submission(tmp_path, "5.0", "retinanet")
    result(retinanet, 8, MINUTES, "Preview")
    slow = now(tmp_path, minutes=2 * MINUTES)
    assert set(reported(slow, before)) == {"preview.slower"}
    result(submission(tmp_path, "5.1", "retinanet"), 8, MINUTES, "Available cloud")
    assert reported(slow, before) == {}


def test_an_available_system_without_the_benchmark_is_reported(
    tmp_path: Path, before: Submission
) -> None:
    tree = result(submission(tmp_path, "5.1", "retinanet"), 8, MINUTES, "Available cloud")
    finding = reported(tree, before)["preview.not-followed"]
    assert f"no scored result of {LORA}" in finding.message


def test_a_removed_benchmark_is_a_note(tmp_path: Path) -> None:
    before = submission(tmp_path, "5.0", "bert")
    result(before, 8, MINUTES, "Preview")
    found = reported(now(tmp_path), before)
    assert set(found) == {"preview.not-comparable"}
    assert found["preview.not-comparable"].severity == "note"
    assert "with bert, which training 5.1 cannot" in found["preview.not-comparable"].message


def test_rounds_before_2_0_do_not_compare_previews(tmp_path: Path) -> None:
    before = result(submission(tmp_path, "1.0", "bert"), 8, MINUTES, "preview")
    slow = 2 * MINUTES
    tree = result(submission(tmp_path, "1.1", "bert"), 8, slow, "onprem")
    assert reported(tree, before) == {}
    tree = result(submission(tmp_path, "2.0", "bert"), 8, slow, "onprem")
    assert set(reported(tree, before)) == {"preview.slower"}


@pytest.mark.parametrize(
    ("submission", "earlier"),
    [
        ("training_results_v3.1/Fujitsu", "training_results_v3.0"),
        ("training_results_v2.0/Google", "training_results_v1.0"),
    ],
)
def test_published_previews_are_followed_up_unless_runs_are_slower(
    corpus: Path, tmp_path: Path, submission: str, earlier: str
) -> None:
    tree = tmp_path / submission
    own_copy(corpus / submission, tree)
    assert not [f for f in compared(tree, corpus / earlier).findings if f.id.startswith("preview.")]
    for log in tree.glob("results/*/*/result_*.txt"):  # make each run one hour longer
        log.write_bytes(later_stop(log.read_bytes()))
    found = {f.id for f in compared(tree, corpus / earlier).findings if f.id.startswith("preview.")}
    assert found == {"preview.slower"}


def later_stop(log: bytes) -> bytes:
    """Return the log with its run_stop one hour later."""
    lines = log.splitlines(keepends=True)
    for at, line in enumerate(lines):
        if b'"run_stop"' in line:
            time = re.search(rb'"time_ms": ?(\d+)', line)
            assert time is not None
            late = b"%d" % (int(time[1]) + 3_600_000)
            lines[at] = line[: time.start(1)] + late + line[time.end(1) :]
    return b"".join(lines)


def test_a_renamed_benchmark_is_compared(tmp_path: Path) -> None:
    preview = result(submission(tmp_path, "4.1", "gnn"), 8, MINUTES, "Preview")
    later = submission(tmp_path, "5.0", "rgat")
    found = reported(result(later, 8, 2 * MINUTES, "Available on-premise"), preview)
    assert "rgat" in found["preview.slower"].message
