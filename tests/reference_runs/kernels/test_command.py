"""`podium kernels` on the command line: run, resume, export, compare and bad input."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.engine.launch import run_request  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.kernels import lists, session  # noqa: E402
from podium.reference_runs.kernels.problems import Gemm  # noqa: E402
from podium.reference_runs.kernels.recording import Recorder  # noqa: E402
from podium.reference_runs.kernels.trainer import recorded  # noqa: E402
from podium.reference_runs.planning.fake_step import fake_step  # noqa: E402
from tests.compliance import command_line  # noqa: E402

FAST = ("--device", "cpu", "--threads", "1", "--list", "device", "--kind", "gemm")
BRIEF = (*FAST, "--budget", "0.3s")


def podium(*words: object) -> tuple[int, str, str]:
    done = command_line.podium(*words)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a run with a time budget."""
    folder = tmp_path_factory.mktemp("kernels") / "out"
    status, out, err = podium("kernels", "run", *BRIEF, "--output", folder)
    assert (status, err) == (0, "")
    assert "deepbench device, fp32, 1 thread on cpu" in out
    assert "budget 0.3 s: " in out
    assert max(map(len, out.splitlines())) <= 80
    return folder


def load(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "kernels.json").read_text())
    return found


@pytest.mark.long
def test_an_all_reduce_over_a_mesh_is_measured(tmp_path: Path) -> None:
    words = ("--device", "cpu", "--kind", "all_reduce", "--mesh", "2x2", "--budget", "5s")
    status, out, err = podium("kernels", "run", *words, "--output", tmp_path / "out")
    assert (status, err) == (0, "")
    assert " on 2x2 ranks" in out
    made = load(tmp_path / "out")
    assert made["ranks"] == 4
    assert {(each["problem"]["ranks"], each["problem"]["rows"]) for each in made["kernels"]} == {
        (4, 2)
    }
    assert any(each["status"] == "measured" for each in made["kernels"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--mesh", "2"), "--mesh is 2; expected rows and columns, such as 2x4"),
        (("--mesh", "0x4"), "--mesh is 0x4; expected rows and columns, such as 2x4"),
        (("--mesh", "2x4", "--ranks", 6), "--mesh 2x4 has 8 ranks; --ranks is 6"),
    ],
)
def test_an_invalid_mesh_is_an_error(words: tuple[object, ...], said: str) -> None:
    status, out, err = podium("kernels", "run", "--kind", "all_reduce", *words)
    assert (status, out, err) == (2, "", f"podium: {said}\n")


def test_the_output_files_agree(folder: Path) -> None:
    made = load(folder)
    assert (made["complete"], made["clock"], len(made["kernels"])) == (True, "processor", 13)
    done = [each for each in made["kernels"] if each["status"] == "measured"]
    assert done
    with (folder / "kernels.csv").open(newline="") as stream:
        rows = [*csv.DictReader(stream)]
    assert [row["status"] for row in rows] == [each["status"] for each in made["kernels"]]
    page = (folder / "kernels.html").read_text()
    assert all(f">{row['kernel']}<" in page for row in rows)
    assert "default-src 'none'; style-src 'sha256-" in page
    lines = (folder / "deepbench.txt").read_text().splitlines()
    assert lines[0].split() == [*"mnk", "a_t", "b_t", "precision", "time", "(usec)"]
    assert len(lines) == 1 + len(done)
    first = done[0]
    m, n, k = (first["problem"][side] for side in "mnk")
    micro = str(round(first["timing"]["median_ms"] * 1000))
    assert lines[1].split() == [str(m), str(n), str(k), "n", "n", "fp32", micro]


def test_an_interrupted_run_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "KEEP_S", 0)
    whole, left = session.Bench.measured, [2]

    def die(bench: session.Bench, item: session.Item) -> Any:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return whole(bench, item)

    monkeypatch.setattr(session.Bench, "measured", die)
    monkeypatch.setattr(lists, "listed", lambda *_: [Gemm(n, n, n) for n in range(4, 8)])
    out = tmp_path / "out"
    assert podium("kernels", "run", *FAST, "--output", out)[0] == 130
    kept = load(out)
    before = [each for each in kept["kernels"] if each["status"] == "measured"]
    assert (kept["complete"], len(before)) == (False, 2)
    left[0] = 2
    assert podium("kernels", "run", *FAST, "--output", out, "--resume")[0] == 0
    after = load(out)
    assert [each["status"] for each in after["kernels"]] == ["measured"] * 4
    assert after["kernels"][:2] == before


def test_a_run_is_not_resumed_with_another_number_of_ranks(folder: Path) -> None:
    words = ("kernels", "run", *BRIEF, "--output", folder, "--resume", "--ranks", 3)
    status, _, err = podium(*words)
    assert (status, err) == (2, f"podium: --resume: ranks was 2 in {folder}, now 3\n")


# --- kernels of a trainer ---


def flop_of_step(
    name: str, listed: str = "fp32", **settings: str
) -> tuple[float, float, dict[str, float]]:
    """The FLOP of a smoke step by its exported list and by torch, and those of the list by kind.

    `listed` is the precision of the list; torch counts in single precision.
    """
    from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

    from podium.reference_runs.engine.launch import joined_ranks
    from podium.reference_runs.profiling.session import measuring

    request = run_request(name, Setting(device="cpu"), settings)
    other = run_request(name, Setting(device="cpu", precision=listed), settings)
    with recorded(other, 2, timed=False) as recording:
        kinds: dict[str, float] = {}
        for each in recording.items:
            flop = each.count * each.problem.flop
            kinds[each.problem.kind] = kinds.get(each.problem.kind, 0) + flop
    # torch's counter has formulas for attention, but not for the CPU operator
    own = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    back = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    formulas = {
        own: lambda q, k, v, *_, **__: sdpa_flop_count(q, k, v),
        back: lambda g, q, k, v, *_, **__: sdpa_backward_flop_count(g, q, k, v),
    }
    with (
        joined_ranks(request) as ranks,
        measuring(request, ranks, io.StringIO(), 1) as made,
        FlopCounterMode(display=False, custom_mapping=formulas) as counter,
    ):
        made.block(1)
    return sum(kinds.values()), float(counter.get_total_flops()), kinds


def test_the_list_of_a_decoder_has_the_flop_of_its_step() -> None:
    listed, counted, kinds = flop_of_step("llama31_8b")
    assert listed == pytest.approx(counted, rel=0.01)
    assert kinds["gemm"] > kinds["attention"] > 0


def test_grouped_products_have_the_flop_of_separate_products() -> None:
    few = {"max_sequence_length": "128", "window": "32", "layers": "1"}
    listed, counted, _ = flop_of_step("gpt_oss_20b", "bf16", **few)
    assert listed == pytest.approx(counted, rel=0.01)


@pytest.mark.long
@pytest.mark.parametrize("name", ["resnet", "transformer", "dlrm_dcnv2", "unet3d", "ncf"])
def test_the_list_of_a_trainer_has_the_flop_of_its_step(name: str) -> None:
    listed, counted, _ = flop_of_step(name)
    assert listed == pytest.approx(counted, rel=0.01)


def test_a_fake_step_has_the_kernels_of_a_real_step() -> None:
    request = run_request("llama31_8b", Setting(device="cpu"), {})
    fake = Recorder(None)
    with fake_step(request) as (stepper, micro), fake.recording():
        stepper.step(1, micro)
    with recorded(request, 2, timed=False) as recording:
        real = {each.problem: each.count for each in recording.items}
    heavy = ("gemm", "attention", "embedding")
    found = {each.problem: each.count for each in fake.found.values() if each.problem.kind in heavy}
    assert found == {each: count for each, count in real.items() if each.kind in heavy}


def test_a_list_is_exported_without_measuring() -> None:
    status, out, err = podium(
        *("kernels", "from", "llama31_8b", "--export", "--format", "json", "--device", "cpu")
    )
    assert (status, err) == (0, "")
    made = json.loads(out)
    assert {each["status"] for each in made["kernels"]} == {"skipped"}
    assert made["step"] is None
    products = [each for each in made["kernels"] if each["problem"]["kind"] == "gemm"]
    for each in products:
        sides = dict(each["problem"]["dimensions"])
        assert each["flop"] == 2 * sides["m"] * sides["n"] * sides["k"]
        assert each["bytes"] > 0
        assert each["count"] >= 1
    sums = [each["problem"] for each in made["kernels"] if each["problem"]["kind"] == "all_reduce"]
    assert [(each["elements"], each["ranks"]) for each in sums] == [(227808, 2)]


@pytest.mark.long
def test_the_list_of_a_full_size_model_has_the_expected_flop() -> None:
    status, out, _ = podium(
        *("kernels", "from", "llama31_8b", "--scale", "reference", "--export", "--format", "csv"),
        *("--set", "global_batch_size=1", "--set", "gradient_accumulation_steps=1"),
    )
    assert status == 0
    rows = [*csv.DictReader(io.StringIO(out))]
    # 6 FLOP for each parameter of a product and each of 8192 tokens; the backward pass recomputes
    # the feed-forward layers, which have 176e6 parameters in each of 32 blocks
    flop = sum(float(row["count"]) * float(row["flop"]) for row in rows if row["kind"] == "gemm")
    assert flop == pytest.approx((6 * 7.504e9 + 2 * 32 * 176.2e6) * 8192, rel=0.01)


@pytest.mark.long
@pytest.mark.parametrize("name", ["llama31_8b", "resnet"])
def test_kernels_explain_most_of_a_step(name: str) -> None:
    request = run_request(name, Setting(device="cpu"), {})
    with recorded(request, 2) as recording:
        assert recording.step is not None
        share = sum(recording.in_step_ms.values()) / recording.step.ms
    # A call from Python takes slightly longer than in a step: the share can exceed 1
    assert 0.8 <= share <= 1.25


# --- comparing ---


def test_two_sheets_are_compared_and_their_notes_are_printed(tmp_path: Path) -> None:
    status, out, err = podium("kernels", "compare", "NV_V100", "NV_V100:mixed_fp16")
    assert (status, err) == (0, "")
    assert "112.3" in out  # the fastest product of the sheet, in TFLOP/s
    assert "K is 1530 in 8 rows" in out
    status, out, _ = podium("kernels", "compare", "NV_V100", "AMD_MI25", "--format", "json")
    gemm = {row["device"]: row for row in json.loads(out)["rows"] if row["part"] == "gemm"}
    assert gemm["AMD_MI25:fp32"]["total_ms"] == pytest.approx(3298.357)
    assert gemm["NV_V100:fp32"]["speed"] == pytest.approx(1)


def test_a_run_is_compared_with_a_sheet(folder: Path) -> None:
    words = ("kernels", "compare", folder, "NV_P100", "--each", "--format", "csv")
    status, out, err = podium(*words)
    assert (status, err) == (0, "")
    devices = {row["device"] for row in csv.DictReader(io.StringIO(out))}
    assert devices == {str(folder), "NV_P100:fp32"}


@pytest.mark.long
def test_a_comparison_is_drawn_as_a_chart(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    chart = tmp_path / "chart.svg"
    assert podium("kernels", "compare", "NV_T4", "NV_V100", "--chart", chart)[0] == 0
    text = chart.read_text()
    assert "NV_T4:fp32" in text
    assert "convolution forward" in text


def test_the_sheets_are_listed() -> None:
    status, out, _ = podium("kernels", "compare", "--list")
    assert status == 0
    assert "NV_V100:mixed_fp16" in out.splitlines()
    assert len(out.splitlines()) == 14


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--device", "abacus"], "--device is abacus; expected auto, cpu, cuda or mps"),
        (["run", "--device", "cuda:99"], "--device is cuda:99; no such CUDA device"),
        (["run", "--precision", "tf32", "--device", "cpu"], "--precision tf32 needs --device cuda"),
        (
            ["run", "--budget", "soon"],
            "--budget: expected a time such as 60s, 5m or 1h, got 'soon'",
        ),
        (["run", "--budget", "0s"], "--budget: expected a time such as 60s, 5m or 1h, got '0s'"),
        (["run", "--resume"], "--resume needs --output"),
        (["run", "--kind", "sparse_gemm"], "list training has no kernel of this kind"),
        (["from", "resnot"], "no bundled trainer is named resnot; did you mean resnet"),
        (["from", "minigo", "--scale", "reference"], "its model generates its data"),
        (
            ["from", "llama31_8b", "--set", "last_step"],
            "--set: expected KEY=VALUE, got 'last_step'",
        ),
        (["compare"], "nothing to compare"),
        (["compare", "NV_V10"], "neither a file nor a public sheet is named NV_V10"),
    ],
)
def test_bad_input_is_an_error_of_one_line(words: list[str], said: str) -> None:
    status, out, err = podium("kernels", *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kernels": 3}', "[" * 10000])
def test_a_file_that_is_not_a_kernels_file_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "kernels.json").write_text(text)
    status, out, err = podium("kernels", "compare", tmp_path)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "kernels.json is not a kernels file" in err


def test_a_folder_that_is_not_empty_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    status, _, err = podium("kernels", "run", *BRIEF, "--output", tmp_path)
    assert (status, err.count("\n")) == (2, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
