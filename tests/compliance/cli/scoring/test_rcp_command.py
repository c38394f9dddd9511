"""`podium rcp`: check, plan, show, lint and make."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from podium.compliance.errors import UsageFault
from podium.compliance.files import optional_imports
from podium.compliance.judging.inputs.round_selection import forget
from podium.compliance.tools.rcp.lint import lint
from podium.compliance.tools.rcp.plan import finished_values, progress_of
from podium.compliance.tools.rcp.plots import Curve, chart
from podium.rules.catalogue import USAGES, find_round, rounds_of
from podium.rules.convergence.data import Point, parse_points, points_of
from podium.rules.convergence.statistics import olympic_mean
from tests.compliance import command_line
from tests.compliance.command_line import Done
from tests.compliance.trees import usual

LORA = "training_results_v4.0/Intel-HabanaLabs/results/HLS-Gaudi2-PT/llama2_70b_lora"
TOO_FAST = "hpc_results_v3.0/HPE+LBNL/results/perlmutter_224x4/strong/openfold"

VALUES = [16, 14, 16, 17, 16, 16, 15, 16, 15, 16]


def podium(*arguments: object, columns: int = 80) -> Done:
    return command_line.podium("rcp", *arguments, columns=columns)


def document(*arguments: object, status: int = 0) -> dict[str, Any]:
    result = podium(*arguments, "--format", "json")
    assert result.exit_code == status, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def official(tmp_path: Path, **records: dict[str, Any]) -> Path:
    path = tmp_path / "points.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def record(size: float, values: list[float], benchmark: str = "resnet") -> dict[str, Any]:
    return {"Benchmark": benchmark, "BS": size, "Hyperparams": {}, "Epochs to converge": values}


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The reference points of the worked example in the rules."""
    slower = [20, 21, 20, 22, 21, 20, 21, 22, 20, 21]
    return official(tmp_path, first=record(128, VALUES), second=record(256, slower))


# --- check ---


def test_check_prints_the_arithmetic_of_a_result(corpus: Path) -> None:
    (found,) = document("check", corpus / LORA)["results"]
    assert (found["verdict"], found["case"], found["batch_size"]) == ("pass", "found", 8)
    assert found["scaling_factor"] == pytest.approx(1.0033670033670032, rel=1e-12)
    assert found["margin"] == pytest.approx(found["submission"] - found["minimum"])
    assert found["evaluation_interval"] == 384
    assert found["margin_in_evaluations"] == pytest.approx(found["margin"] / 384)
    assert sorted(run["rank"] for run in found["runs"]) == [*range(1, 11)]
    text = podium("check", corpus / LORA).output
    for part in ("PASS", "reference mean   3178.67", "margin", "evaluations", "1.003367"):
        assert part in text


def test_a_result_that_converges_too_fast_fails(corpus: Path) -> None:
    result = podium("check", corpus / TOO_FAST)
    assert result.exit_code == 1
    assert result.output.startswith("FAIL")
    assert "interpolated between two reference points" in result.output
    assert "dropped as fastest" in result.output
    quiet = podium("check", corpus / TOO_FAST, "--quiet").output
    assert "dropped as fastest" not in quiet
    assert "margin" in quiet


def test_large_sample_counts_are_printed_without_exponents(tmp_path: Path) -> None:
    made = usual(tmp_path / "training_results_v5.1")
    far = record(1152, [3_000_000] * 5, "llama31_405b")
    far["samples to converge"] = far.pop("Epochs to converge")
    result = podium("check", made.root, "--rcps", official(tmp_path, far=far))
    assert result.exit_code == 1
    margin = next(line for line in result.output.splitlines() if "margin" in line)
    assert "-2" in margin
    assert "e+" not in margin


def test_a_different_result_of_the_verifier_is_reported(corpus: Path) -> None:
    root = corpus / "training_results_v1.0" / "Google"
    found = document("check", root)["results"]
    differing = [one for one in found if one["other"] is not None]
    for one in differing:
        assert "the official verifier's arithmetic gives" in " ".join(one["messages"])
    assert differing


def test_all_results_of_a_round_are_checked(corpus: Path) -> None:
    found = document("check", corpus / "training_results_v4.0")["results"]
    assert len(found) == 9
    folders = [*(corpus / "training_results_v4.0").rglob("result_0.txt")]
    assert folders
    by_verifier = document("check", corpus / "training_results_v4.0", "--profile", "verifier")
    assert {one["verdict"] for one in by_verifier["results"]} == {"pass"}


def test_the_rcps_option_replaces_the_points_of_the_round(example: Path, corpus: Path) -> None:
    folder = corpus / "training_results_v4.0" / "tinycorp"
    found = document("check", folder, "--rcps", example, status=1)["results"]
    assert {one["case"] for one in found} == {"above_range"}
    assert podium("check", folder, "--rcps", example.parent / "none.json").exit_code == 2


def test_results_of_the_open_division_are_not_tested(corpus: Path) -> None:
    found = document("check", corpus / "training_results_v2.0" / "MosaicML")["results"]
    assert {one["verdict"] for one in found} == {"not_applicable"}


def test_mixed_batch_sizes_fail_with_a_reason(tmp_path: Path) -> None:
    made = usual(tmp_path / "training_results_v5.1")
    made.log(1, lambda log: log.set("global_batch_size", 9216))
    result = podium("check", made.root)
    assert result.exit_code == 1
    assert "global_batch_size differs between runs" in " ".join(result.output.split())


@pytest.mark.parametrize("columns", [60, 80])
def test_check_output_fits_the_terminal(corpus: Path, columns: int) -> None:
    for path in (LORA, TOO_FAST, "training_results_v1.0/Google"):
        for line in podium("check", corpus / path, columns=columns).stdout.splitlines():
            assert cell_len(line) <= max(columns, 79), line


# --- plots ---


def test_a_plot_without_matplotlib_is_a_usage_error(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(optional_imports, "import_module", missing)
    arguments = ["show", "resnet", "--round", "4.0", "--rcps", example, "--plot"]
    result = podium(*arguments, tmp_path / "x.svg")
    assert result.exit_code == 2
    assert "pip install matplotlib" in result.stderr
    assert "expected a file ending in .svg or .png" in podium(*arguments, tmp_path / "x.gif").stderr
    assert not [*tmp_path.glob("x.*")]


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_plot_is_written_to_a_file(corpus: Path, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"runs.{suffix}"
    assert podium("check", corpus / TOO_FAST, "--plot", path).exit_code == 1
    if suffix == "svg":
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    else:
        assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "curve",
    [
        Curve([(8, 1.0)], [(8, 0.9)], []),
        Curve([(8, 0.0), (16, 0.0)], [], []),
        Curve([(1, 5.0), (4096, 50.0)], [(1, 4.0), (4096, 49.0)], [(64, 60.0)], [(64, 7.0)]),
    ],
)
def test_a_chart_of_any_points_fits_80_columns(curve: Curve) -> None:
    lines = chart(curve, 80)
    assert any("o" in line for line in lines)
    assert all(len(line) <= 80 for line in lines)
    assert chart(Curve([], [], [])) == []


# --- plan ---


def test_plan_computes_the_minimum_of_the_worked_example(example: Path) -> None:
    found = document("plan", "resnet", "--gbs", 128, "--round", "4.0", "--rcps", example)
    assert found["reference"]["mean"] == pytest.approx(15.75)
    assert found["minimum"] == pytest.approx(15.213, abs=5e-4)
    assert (found["case"], found["runs"], found["dropped"]) == ("found", 5, 1)
    between = document("plan", "resnet", "--gbs", 192, "--round", "4.0", "--rcps", example)
    assert between["case"] == "interpolated"
    assert between["reference"]["maximum_speedup"] == pytest.approx(1.0367, abs=1e-3)


def test_finished_runs_determine_the_outlook(example: Path) -> None:
    base = ["plan", "resnet", "--gbs", 128, "--round", "4.0", "--rcps", example, "--finished"]
    progress = document(*base, "15,16,15")["progress"]
    assert (progress["remaining"], progress["outlook"]) == (2, "open")
    assert document(*base, "20,20,20,20")["progress"]["outlook"] == "certain"
    assert document(*base, "9,9,9,9", status=1)["progress"]["outlook"] == "impossible"
    assert document(*base, "x,x", status=1)["progress"]["outlook"] == "impossible"
    assert document(*base, "15,16,15,16,17")["progress"]["outlook"] == "passed"
    assert document(*base, "9,9,9,9,9", status=1)["progress"]["outlook"] == "failed"
    text = podium(*base, "15,16,15").output
    assert "converges at" in text
    assert "If the other runs converge like the reference" in text


@pytest.mark.parametrize("given", ["", "a", "1,,2", "-3", "nan", "1,2,3,4,5,6"])
def test_invalid_finished_runs_are_a_usage_error(example: Path, given: str) -> None:
    base = ["plan", "resnet", "--gbs", 128, "--round", "4.0", "--rcps", example]
    result = podium(*base, f"--finished={given}")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


@given(
    st.lists(st.one_of(st.floats(1, 100), st.just(math.inf)), min_size=1, max_size=9),
    st.floats(1, 100),
    st.integers(1, 2),
)
def test_the_outlook_follows_from_the_remaining_runs(
    finished: list[float], minimum: float, drop: int
) -> None:
    progress = progress_of(finished, 10, drop, minimum, 50.0)
    rest = progress.remaining
    if sum(map(math.isinf, finished)) > drop:
        assert progress.outlook == "impossible"
    elif progress.outlook == "certain":
        assert olympic_mean([*finished, *[0.0] * rest], drop) >= minimum
    elif progress.outlook == "impossible":
        assert olympic_mean([*finished, *[1e12] * rest], drop) < minimum
    else:
        least = progress.least
        assert least is not None
        assert olympic_mean([*finished, *[least * 1.0001] * rest], drop) >= minimum * (1 - 1e-9)
        assert olympic_mean([*finished, *[least * 0.99] * rest], drop) < minimum * (1 + 1e-9)


def test_a_batch_size_without_reference_points_is_reported(example: Path) -> None:
    base = ["plan", "resnet", "--round", "4.0", "--rcps", example, "--gbs"]
    assert document(*base, 512, status=1)["case"] == "above_range"
    below = podium(*base, 64)
    assert below.exit_code == 0
    assert "below every reference point" in below.output
    result = podium("plan", "nothing", "--gbs", 8)
    assert result.exit_code == 2
    assert "is not a benchmark of" in result.stderr
    assert podium("plan", "bert", "--gbs", 8, "--round", "9.9").exit_code == 2


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder below the folder of a submission, as the working directory."""
    folder = tmp_path / "Acme" / "runs"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    forget()
    return folder


@pytest.mark.parametrize(
    ("given", "due"),
    [
        ("2026-10-09", "2026-10-02"),
        ('"2026-10-09"', "2026-10-02"),
        ("2026-03-03T17:00:00Z", "2026-02-24"),
    ],
)
def test_new_points_are_due_a_week_before_the_deadline(here: Path, given: str, due: str) -> None:
    (here.parent / "podium.toml").write_text(f"deadline = {given}\n")
    plan = ("plan", "llama31_8b", "--gbs", 32, "--round", "6.1")
    assert document(*plan)["points_due"] == due
    text = " ".join(podium(*plan).stdout.split())
    assert f"New reference points are due by {due}, 7 days before the deadline of " in text
    assert "Submit evidence for an appeal with the submission." in text


def test_no_due_date_is_printed_without_a_deadline(here: Path) -> None:
    plan = ("plan", "llama31_8b", "--gbs", 32)
    assert document(*plan, "--round", "6.1")["points_due"] is None
    assert "7 days before the deadline (set `deadline`" in " ".join(
        podium(*plan, "--round", "6.1").stdout.split()
    )
    # Earlier rounds have no such date
    (here / "podium.toml").write_text("deadline = 2026-10-09\n")
    forget()
    assert document(*plan, "--round", "6.0")["points_due"] is None
    assert "deadline" not in podium(*plan, "--round", "6.0").stdout


def test_a_deadline_that_is_not_a_date_is_refused(here: Path) -> None:
    (here / "podium.toml").write_text('deadline = "in autumn"\n')
    result = podium("plan", "llama31_8b", "--gbs", 32)
    assert result.exit_code == 2
    assert "deadline is in autumn; expected a date" in " ".join(result.output.split())


def test_the_minimum_includes_the_allowance_of_one_evaluation() -> None:
    base = ["plan", "llama31_405b", "--gbs", 2304, "--round"]
    allowed = document(*base, "5.0")
    assert allowed["reference"]["minimum"] - allowed["minimum"] == pytest.approx(46_080)
    assert finished_values("1, x,2.5") == [1, math.inf, 2.5]
    with pytest.raises(UsageFault):
        finished_values("0")


# --- show ---


@pytest.mark.parametrize("usage", USAGES)
def test_every_benchmark_of_every_round_is_shown(usage: str) -> None:
    for name, rules in rounds_of(usage).items():
        for benchmark in rules.benchmarks:
            points = points_of(usage, name, benchmark)
            if not points:
                continue
            found = document("show", benchmark, "--usage", usage, "--round", name)
            assert len(found["points"]) == len(points)
            assert any(point["policy"]["used"] for point in found["points"])
            text = podium("show", benchmark, "--usage", usage, "--round", name).output
            assert all(cell_len(line) <= 80 for line in text.splitlines())


def test_show_has_the_prunings_of_both_profiles() -> None:
    points = document("show", "llama2_70b_lora", "--round", "5.0")["points"]
    used = {
        way: [point["batch_size"] for point in points if point[way]["used"]]
        for way in ("policy", "verifier")
    }
    assert used["policy"] == [8, 128]
    assert 16 in used["verifier"]
    assert "verifier" in podium("show", "llama2_70b_lora", "--round", "5.0").output


def test_show_of_a_benchmark_without_points_exits_with_0() -> None:
    result = podium("show", "resnet", "--round", "0.7")
    assert result.exit_code == 0
    assert "cannot be tested" in result.output


# --- lint ---


def faults(*points: Point, round_name: str = "4.0") -> list[str]:
    return [fault.id for fault in lint(find_round("training", round_name), points)]


def test_lint_reports_invalid_points() -> None:
    good = Point("a", "resnet", 1024, tuple(float(30 + i % 3) for i in range(10)))
    assert faults(good) == []
    join_limited = Point("b", "resnet", 2048, (40.0, 41.0, 42.0, 43.0))
    assert faults(good, join_limited) == ["rcp.too-few-runs"]
    assert "rcp.too-few-runs" in faults(Point("c", "unet3d", 8, (1e4,) * 8))
    twice = Point("d", "resnet", 1024, tuple(float(31 + i % 4) for i in range(10)))
    assert "rcp.duplicate-batch-size" in faults(good, twice)
    assert "rcp.copied-values" in faults(good, Point("e", "resnet", 4096, good.to_converge))
    assert "rcp.duplicate-id" in faults(good, Point("a", "resnet", 4096, (50.0,) * 10))
    assert faults(Point("f", "nothing", 8, (1.0,) * 10)) == ["rcp.benchmark"]
    assert "rcp.outlier" in faults(Point("g", "resnet", 8, (*good.to_converge[:9], 300.0)))
    assert "rcp.batch-size" in faults(Point("h", "resnet", 8.5, good.to_converge))
    assert "rcp.no-spread" in faults(Point("i", "resnet", 8, (30.0,) * 10))
    assert "rcp.unit" in faults(Point("j", "resnet", 8, (1e6, 1.1e6, 1.2e6) * 4))
    assert "rcp.unit" in faults(Point("k", "llama2_70b_lora", 64, (3.0, 4.0, 5.0) * 8))
    wild = Point("l", "resnet", 8, (1.0, 1, 60, 60, 1, 60))
    assert "rcp.no-minimum" in faults(wild)


def test_lint_compares_points_with_the_rules_of_the_round() -> None:
    values = tuple(float(300_000 + 1000 * i) for i in range(6))
    wrong = Point("a", "llama31_405b", 1152, values, hyperparameters={"opt_adamw_beta_1": 0.5})
    right = Point(
        "a", "llama31_405b", 1152, values, hyperparameters={"opt_base_learning_rate": 8e-05}
    )
    assert faults(wrong, round_name="5.0") == ["rcp.hyperparameter"]
    assert faults(right, round_name="5.0") == []
    for rate, expected in ((0.00010667, []), (0.00010668, ["rcp.hyperparameter"])):
        # The policy prints the rate of 1536 with 8 decimals
        given = {"opt_base_learning_rate": rate}
        rounded = Point("a", "llama31_405b", 1536, values, hyperparameters=given)
        assert faults(rounded, round_name="5.0") == expected


@pytest.mark.parametrize(
    ("precision", "by_5_0", "by_5_1"),
    [
        ("FP32", [], []),
        ("fp32", [], []),
        ("float32", [], []),
        ("BF16", ["rcp.precision"], []),
        ("bfloat16", ["rcp.precision"], []),
        ("BF16 with FP32 accumulation", ["rcp.precision"], []),
        ("FP32, emulated by three passes in BF16", [], []),
        ("FP32 emulated in TF32", [], []),
        ("emulated TF32", ["rcp.precision"], ["rcp.precision"]),
        ("TF32", ["rcp.precision"], ["rcp.precision"]),
        ("FP8/BF16", ["rcp.precision"], ["rcp.precision"]),
        ("MXFP32", ["rcp.precision"], ["rcp.precision"]),
        ("mixed", ["rcp.precision"], ["rcp.precision"]),
        (" ", [], ["rcp.no-precision"]),
        (None, [], ["rcp.no-precision"]),
    ],
)
def test_lint_reports_a_precision_that_the_round_does_not_accept(
    precision: str | None, by_5_0: list[str], by_5_1: list[str]
) -> None:
    values = tuple(float(30 + i % 3) for i in range(10))
    point = Point("a", "retinanet", 256, values, precision=precision)
    assert faults(point, round_name="5.0") == by_5_0
    assert faults(point, round_name="5.1") == by_5_1
    assert faults(point, round_name="6.1") == by_5_1


def test_the_precision_in_a_file_is_compared_with_the_round(tmp_path: Path) -> None:
    first = {"Benchmark": "retinanet", "BS": 256, "Epochs to converge": [4, 5, 6] * 4}
    second = first | {"BS": 512, "Epochs to converge": [6, 7, 8] * 4}
    file = tmp_path / "points.json"
    file.write_text(json.dumps({"a": first | {"Precision": "TF32"}, "b": second}))
    reported = {
        fault["point"]: fault["message"]
        for fault in document("lint", file, "--round", "5.1")["faults"]
        if fault["id"].endswith("precision")
    }
    assert reported == {
        "a": "Precision is TF32; training 5.1 accepts FP32 or BF16",
        "b": "Precision is missing; training 5.1 accepts FP32 or BF16",
    }


def test_the_packaged_points_of_every_round_are_linted() -> None:
    for usage in USAGES:
        for name in rounds_of(usage):
            result = podium("lint", "--usage", usage, "--round", name)
            assert result.exit_code in (0, 1)
            assert result.stderr == ""
            assert all(cell_len(line) <= 80 for line in result.stdout.splitlines())


def test_a_file_of_points_is_linted(example: Path) -> None:
    found = document("lint", example, "--round", "4.0")
    assert (found["points"], found["faults"]) == (2, [])
    example.write_text('{"a": {"BS": 0}}', encoding="utf-8")
    result = podium("lint", example)
    assert result.exit_code == 2
    assert "must be a number above 0" in result.stderr
    example.write_bytes(b"\xff\xfe")
    assert podium("lint", example).exit_code == 2


# --- make ---


def test_make_writes_a_point_from_reference_runs(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "mine.json"
    result = podium("make", corpus / LORA, "--output", output, "--creator", "Acme")
    assert result.exit_code == 1
    assert "a reference needs 20" in result.stderr
    made = json.loads(output.read_text(encoding="utf-8"))
    (point,) = made.values()
    assert [*made] == ["llama2_70b_lora_ref_8"]
    assert (point["Creator"], point["BS"]) == ("Acme", 8)
    assert point["samples to converge"] == sorted(point["samples to converge"])
    (read,) = parse_points(output.read_bytes())
    assert (read.benchmark, len(read.to_converge), read.creator) == ("llama2_70b_lora", 10, "Acme")
    checked = document("check", corpus / LORA, "--rcps", output)["results"]
    assert checked[0]["mean"] == pytest.approx(checked[0]["submission"])


def test_make_names_skipped_runs(tmp_path: Path) -> None:
    made = usual(tmp_path / "training_results_v5.1")
    made.log(1, lambda log: log.meta("run_stop", status="aborted"))
    output = tmp_path / "mine.json"
    result = podium("make", made.root, "--output", output)
    assert "result_1.txt is skipped: it did not converge" in result.stderr
    inside = podium("make", made.root, "--output", made.root / "mine.json")
    assert inside.exit_code == 2
    for number in (0, 2):
        made.log(number, lambda log: log.meta("run_stop", status="aborted"))
    assert podium("make", made.root, "--output", output).exit_code == 2


def later(log: str, milliseconds: int) -> str:
    """Shift all times of a log by some milliseconds."""
    return re.sub(
        r'"time_ms":( ?)(\d+)',
        lambda found: f'"time_ms":{found[1]}{int(found[2]) + milliseconds}',
        log,
    )


def test_runs_outside_the_window_are_named(tmp_path: Path) -> None:
    tree = usual(tmp_path / "training_results_v5.1")
    folder = tree.root / tree.folder()
    log = (folder / "result_0.txt").read_text()
    for number in (3, 4):
        (folder / f"result_{number}.txt").write_text(later(log, number * 10**8))
    [member] = document("check", folder)["results"]
    [message] = [text for text in member["messages"] if "not used" in text]
    assert message.startswith("5 runs, 3 needed: the window of 3 consecutive launches")
    counted, left_out = message.split("; not used: ")
    names = {f"result_{number}.txt" for number in range(5)}
    assert {name for name in names if name in left_out} | {
        name for name in names if name in counted
    } == names
    assert "not used:" in podium("check", folder).stdout
