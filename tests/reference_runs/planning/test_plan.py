"""`podium run --plan`: the planned memory is the memory that a real step allocates."""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

torch = pytest.importorskip("torch")

import torch.multiprocessing as mp  # noqa: E402

from podium.reference_runs.benchmarks.rnnt.data import Utterances  # noqa: E402
from podium.reference_runs.catalogue import names, task_of  # noqa: E402
from podium.reference_runs.engine.launch import run_request  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks, joined  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.engine.stepper import Stepper  # noqa: E402
from podium.reference_runs.parallel.mesh import parse  # noqa: E402
from podium.reference_runs.planning.fake_step import FakeStepper, fake_step  # noqa: E402
from podium.reference_runs.planning.memory import by_phase, memory  # noqa: E402
from podium.reference_runs.planning.propose import plan  # noqa: E402
from tests.compliance.command_line import podium  # noqa: E402
from tests.reference_runs.planning.measured import peak  # noqa: E402
from tests.reference_runs.planning.printed import Printed, printed  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

    from podium.reference_runs.engine.launch import RunRequest

NEAR = 0.1
CLOSE = (
    *("deepcam", "dlrm_dcnv2", "gpt_oss_20b", "llama2_70b_lora", "llama31_8b", "ncf", "resnet"),
    *("maskrcnn", "retinanet", "rgat", "ssd", "unet3d"),
)
"""Trainers with an accurate plan; others use memory outside of tensors or draw other batches."""


def request(name: str, mesh: str = "", **settings: object) -> RunRequest:
    setting = Setting(device="cpu", mesh=parse(mesh) if mesh else None)
    return run_request(name, setting, {key: str(value) for key, value in settings.items()})


def batches(name: str) -> tuple[Any, Any]:
    """The largest micro-batch of a task and the first micro-batch of its data, at smoke scale."""
    few = {"train_samples": 20_480, "eval_samples": 100} if name in ("dlrm", "dlrm_dcnv2") else {}
    asked = request(name, **few)
    task = task_of(name)(asked.config(), asked.setting, Ranks(torch.device("cpu")))
    task.prepare()
    task.open_data()
    task.build()  # the model of GRPO generates its batches
    return task.largest_batch(), next(iter(task.batches(1, 0)))


def shapes(batch: Any) -> Any:
    """The shape of each tensor of a batch, and whether its numbers are floating-point."""
    if isinstance(batch, torch.Tensor):
        return batch.shape, batch.is_floating_point()
    return [shapes(each) for each in batch]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "llama31_8b" else pytest.mark.long) for name in CLOSE],
)
def test_a_step_needs_the_planned_memory(name: str) -> None:
    planned = by_phase(request(name), 1)["step"]
    measured = peak(request(name), Ranks(torch.device("cpu")))
    assert abs(planned.peak - measured) <= NEAR * measured


@pytest.mark.parametrize(
    "name",
    [
        *("gnmt", "llama31_8b", "llama2_70b_lora"),
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in (
                *("gpt_oss_20b", "maskrcnn", "openfold", "qwen35_397b_grpo"),
                *("stable_diffusion", "transformer"),
            )
        ),
    ],
)
def test_an_evaluation_needs_the_planned_memory(name: str) -> None:
    # Four answers to each of 64 tasks: the number of rollouts of a step
    few = {"eval_samples": 64 if name == "qwen35_397b_grpo" else 16}
    planned = by_phase(request(name, **few), 1)
    measured = peak(request(name, **few), Ranks(torch.device("cpu")), evaluates=True)
    assert abs(planned["evaluation"].peak - measured) <= NEAR * measured
    assert memory(request(name, **few), 1) == max(planned.values(), key=lambda each: each.peak)


@pytest.mark.long
def test_recurrent_layers_need_at_most_the_planned_evaluation_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exclude the workspace of oneDNN and the raw audio, which are not in the tensors of a GPU."""
    batches, made = Utterances.__getitems__, dict[tuple[int, ...], Any]()

    def known(self: Utterances, indices: Any) -> Any:
        key = (self.training, *indices)
        return made[key] if key in made else made.setdefault(key, batches(self, indices))

    monkeypatch.setattr(Utterances, "__getitems__", known)
    few = {"eval_samples": 16}
    with torch.backends.mkldnn.flags(enabled=False):
        planned = by_phase(request("rnnt", **few), 1)["evaluation"].peak
        measured = peak(request("rnnt", **few), Ranks(torch.device("cpu")), evaluates=True)
    # Layers of fake tensors add their biases out of place
    assert 0 <= planned - measured <= 2 * NEAR * measured


def test_a_beam_search_is_planned_with_its_longest_output() -> None:
    """A longer limit does not change a step, but an evaluation needs more memory."""
    short, long = (by_phase(request("transformer", extra_length=count), 1) for count in (8, 80))
    assert short["step"] == long["step"]
    assert short["evaluation"].peak < long["evaluation"].peak


def test_all_trainers_except_minigo_plan_their_evaluation() -> None:
    assert [name for name in names() if not task_of(name).plans_evaluation] == ["minigo"]


def test_a_plan_keeps_the_number_of_evaluation_samples() -> None:
    """A plan does not generate the evaluation samples: that would take too long."""
    asked = run_request("sentiment", Setting(scale="reference", device="cpu"), {})
    with fake_step(asked, 8, 2) as (stepper, micro):
        assert stepper.task.config.eval_samples == asked.config().eval_samples
        assert len(micro[0][0]) == 16


def test_generation_is_planned_for_the_longest_sequences() -> None:
    """At reference scale, prompt lengths are unknown: caches have the maximum length."""
    sizes = {"layers": 4, "width": 64, "experts": 16, "ffn_width": 64, "vocabulary": 512}
    sizes |= {"gradient_accumulation_steps": 4}
    changes = {name: str(size) for name, size in sizes.items()}
    short, long = (
        by_phase(
            run_request(
                "qwen35_397b_grpo",
                Setting(scale="reference", device="cpu"),
                changes | {"max_sequence_length": str(length)},
            ),
            64,
        )["evaluation"]
        for length in (512, 1024)
    )
    assert long.weights == short.weights
    assert 1.5 < long.activations / short.activations < 2.5


@pytest.mark.parametrize("name", ["llama31_8b", "llama2_70b_lora", "gpt3", "flux1", "sentiment"])
def test_an_evaluation_needs_no_more_memory_than_a_step(name: str) -> None:
    """A rank has as many samples as in training, without the tensors of the backward pass."""
    needs = by_phase(request(name), 1)
    assert needs["evaluation"].peak <= needs["step"].peak


def free_port() -> int:
    """A port that is not in use."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
    return port


def as_rank(number: int, port: int, asked: RunRequest, folder: str) -> None:
    import os

    os.environ |= {"RANK": str(number), "WORLD_SIZE": "2", "LOCAL_RANK": str(number)}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    with joined("cpu", asked.setting.mesh) as ranks:
        found = peak(asked, ranks)
    with open(f"{folder}/{number}", "w") as stream:
        stream.write(str(found))


@pytest.mark.long
@pytest.mark.daily(3)
@pytest.mark.parametrize(
    ("name", "mesh", "micro_batches"),
    [
        ("llama31_8b", "", 1),
        ("llama31_8b", "fsdp=2", 1),
        ("llama31_8b", "tp=2", 1),
        ("llama31_8b", "cp=2", 1),
        ("llama31_8b", "pp=2", 4),
        ("gpt_oss_20b", "ep=2", 1),
        ("retinanet", "sp=2", 2),
        ("ssd", "sp=2", 1),
        ("cosmoflow", "sp=2", 1),
        ("unet3d", "sp=2", 1),
    ],
)
def test_a_rank_of_a_mesh_needs_the_planned_memory(
    name: str, mesh: str, micro_batches: int, tmp_path: Path
) -> None:
    asked = request(name, mesh, gradient_accumulation_steps=micro_batches)
    mp.spawn(as_rank, (free_port(), asked, str(tmp_path)), nprocs=2)
    for number in range(2):
        planned = memory(asked, 2, number).peak
        measured = int((tmp_path / str(number)).read_text())
        assert abs(planned - measured) <= NEAR * measured


def test_each_further_micro_batch_of_a_pipeline_adds_the_same_memory() -> None:
    """Micro-batches beyond those that a stage holds at a time are not planned separately."""
    three, four, six = (
        memory(
            request(
                "llama31_8b", "pp=2", gradient_accumulation_steps=count, global_batch_size=2 * count
            ),
            2,
        ).peak
        for count in (3, 4, 6)
    )
    assert six - four == 2 * (four - three) > 0


@pytest.mark.long
def test_a_plan_reports_the_stage_that_needs_the_most_memory() -> None:
    """The first stage, which holds two micro-batches, unless the last stage has more layers."""
    for layers, stage in ((2, 0), (3, 1)):
        asked = request("llama31_8b", "pp=2", layers=layers, gradient_accumulation_steps=4)
        (found,) = plan(asked, 2, 1 << 40, str)
        needs = [memory(asked, 2, each) for each in range(2)]
        assert found.need == max(needs, key=lambda each: each.peak) == needs[stage]


def test_stages_are_planned_with_and_without_tensor_parallelism() -> None:
    """torch caches shardings with the names of process groups that are gone in the next plan."""
    asked = request("llama31_8b", "pp=2,tp=2", gradient_accumulation_steps=2)
    (cut,) = plan(asked, 4, 1 << 40, str)
    (whole,) = plan(replace(asked, setting=replace(asked.setting, mesh=parse("pp=2"))), 2, 1, str)
    assert cut.need.weights < 0.6 * whole.need.weights


def test_weights_gradients_and_optimizer_state_are_counted_by_parameter() -> None:
    """AdamW keeps two numbers per parameter, and every number has four bytes."""
    asked = request("llama31_8b", gradient_accumulation_steps=2)
    with torch.device("meta"):
        from podium.reference_runs.modeling.language.llama import Llama

        count = sum(each.numel() for each in Llama(asked.config()).parameters())
    need = memory(asked, 1)
    # The gradients of the first micro-batch exist during the second
    assert need.weights == need.gradients == 4 * count
    assert 8 * count <= need.optimizer < 8.1 * count
    assert need.peak == need.kept + need.buffers + need.activations


def test_half_precision_with_a_loss_scale_is_planned() -> None:
    """The optimizer steps only if gradients are finite, which is unknown for fake tensors."""
    half = run_request("llama31_8b", Setting(device="cpu", precision="fp16"), {})
    need, whole = memory(half, 1), memory(request("llama31_8b"), 1)
    assert (need.weights, need.gradients) == (whole.weights, whole.gradients)
    assert need.optimizer == whole.optimizer
    assert need.peak < whole.peak


def test_ranks_that_shard_a_model_need_less_memory() -> None:
    whole, half = (memory(request("llama31_8b", mesh), 2) for mesh in ("", "fsdp=2"))
    assert half.weights == whole.weights / 2
    assert half.buffers > whole.buffers  # weights are gathered
    assert half.peak < whole.peak


def test_meshes_are_tried_until_two_fit() -> None:
    asked = request("llama31_8b")
    said: list[str] = []
    found = plan(asked, 2, 1 << 40, said.append)
    assert [str(each.mesh) for each in found] == ["None", "fsdp=2"]
    assert said == ["the whole model on each", "fsdp=2"]
    too_small = plan(asked, 2, found[1].need.peak, said.append)
    assert [each.fits for each in too_small][1]


@pytest.mark.parametrize(
    ("name", "mesh", "changes"),
    [
        *(("llama31_8b", mesh, {"gradient_accumulation_steps": 4}) for mesh in ("fsdp=2", "pp=2")),
        *(("llama31_8b", "", {}), ("llama2_70b_lora", "", {}), ("rgat", "", {})),
        ("dlrm_dcnv2", "", {"sparse_gradients": True}),
    ],
)
def test_no_step_is_planned_if_weights_and_state_alone_are_too_large(
    name: str, mesh: str, changes: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, world = request(name, mesh, **changes), 2 if mesh else 1
    whole, steps = memory(asked, world), list[int]()

    def step(self: FakeStepper, number: int, micro: list[Any]) -> Any:
        steps.append(number)
        return Stepper.step(self, number, micro)

    monkeypatch.setattr(FakeStepper, "step", step)
    bound = memory(asked, world, limit=0)
    assert (whole.is_bound, bound.is_bound) == (False, True)
    assert whole.weights == bound.weights
    assert 0 < bound.kept == bound.peak <= whole.peak
    # For these two trainers, only a step determines the parameters or rows with a gradient
    assert steps == ([1] if name in ("dlrm_dcnv2", "rgat") else [])
    assert memory(asked, world, limit=bound.peak) == whole


@pytest.mark.long
def test_experts_are_divided_among_ranks() -> None:
    found = plan(request("gpt_oss_20b", global_batch_size=8, max_sequence_length=64), 8, 1, str)
    meshes = {str(each.mesh): each.need for each in found}
    assert [*meshes] == ["None", "dp=4,fsdp=2", "dp=2,fsdp=4", "fsdp=8", "ep=8"]
    assert meshes["ep=8"].weights == pytest.approx(meshes["fsdp=8"].weights, rel=0.01)
    assert meshes["ep=8"].weights < 0.2 * meshes["None"].weights


@pytest.mark.long
def test_the_printed_command_of_grpo_has_the_planned_mesh_and_settings() -> None:
    changes = ("layers=4", "max_sequence_length=2048", "gradient_accumulation_steps=8")
    few = [word for change in changes for word in ("--set", change)]
    words = ("qwen35_397b_grpo", "--scale", "reference", "--plan", "--precision", "bf16", *few)
    result = podium("run", *words, "--mesh", "fsdp=2,ep=16", "--memory", "80GiB")
    assert result.exit_code == 0, result.stderr
    assert "at the peak of a step or an evaluation" in result.stdout
    assert f"--precision bf16 --mesh fsdp=2,ep=16 {' '.join(few)}" in result.stdout


@pytest.mark.long
def test_a_plan_prints_no_warnings() -> None:
    """In a separate process, since torch prints some warnings once per process."""
    words = ("run", "llama31_8b", "--plan", "--mesh", "fsdp=2,tp=2")
    result = subprocess.run(
        [sys.executable, "-m", "podium", *words], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "… fsdp=2,tp=2\n")


def test_the_largest_batch_of_gnmt_has_the_longest_sentences() -> None:
    for largest, real in zip(*batches("gnmt"), strict=True):
        assert largest.dtype == real.dtype
        assert len(largest) == len(real)
        assert largest.shape[1] == request("gnmt").config().max_sequence_length + 1
        assert largest.shape[1] >= real.shape[1]


def test_the_largest_batch_of_ssd_has_more_objects_than_a_drawn_batch() -> None:
    known, drawn = batches("ssd")
    assert known.images.shape == drawn.images.shape
    assert known.images.stride() == drawn.images.stride()
    for largest, real in zip(known[1:], drawn[1:], strict=True):
        assert (largest.dtype, len(largest)) == (real.dtype, len(real))
        assert largest.shape[1] > real.shape[1]


def test_recurrent_layers_are_planned_without_sentence_lengths() -> None:
    asked = run_request("gnmt", Setting(scale="reference", device="cpu"), {})
    need = memory(asked, 8)
    assert need.weights == 4 * 160_665_150
    # Attention between all pairs of words of 16 sentences
    assert need.activations > 16 * 76**2 * 1024 * 4


def test_the_largest_batch_of_rnnt_is_at_least_as_long_as_a_drawn_batch() -> None:
    known, drawn = batches("rnnt")
    for largest, real in zip(known[:4], drawn[:4], strict=True):
        assert (largest.dtype, len(largest)) == (real.dtype, len(real))
    for largest, real in zip(known[:3:2], drawn[:3:2], strict=True):
        assert largest.shape[1] >= real.shape[1]
        assert largest.shape[2:] == real.shape[2:]


def test_the_largest_batch_of_stable_diffusion_has_encoded_captions() -> None:
    known, drawn = batches("stable_diffusion")
    assert shapes(known[:3]) == shapes(drawn[:3])
    config = request("stable_diffusion").config()
    assert known.words.shape == (*drawn.words.shape, config.context_width)


@pytest.mark.long
def test_the_largest_rollouts_have_the_longest_sequences() -> None:
    known, drawn = batches("qwen35_397b_grpo")
    longest = request("qwen35_397b_grpo").config().max_sequence_length - 1
    for largest, real in zip(known, drawn, strict=True):
        assert largest.dtype == real.dtype
        assert len(largest) == len(real)
        assert largest.dim() == real.dim()
        assert real.dim() == 1 or real.shape[1] <= largest.shape[1] == longest


@pytest.mark.parametrize("name", ["dlrm", "dlrm_dcnv2", "dlrm_v4_hstu", "flux1", "ncf"])
def test_the_largest_batch_has_the_shapes_of_a_drawn_batch(name: str) -> None:
    known, drawn = batches(name)
    assert shapes(known) == shapes(drawn)


def test_a_full_size_ncf_is_planned_without_drawing_interactions() -> None:
    """The scores of the interactions would need 28 GB."""
    asked = run_request("ncf", Setting(scale="reference", device="cpu"), {})
    assert memory(asked, 1).weights > 100e6


def test_the_largest_batch_of_rgat_is_at_least_as_large_as_a_drawn_batch() -> None:
    known, drawn = batches("rgat")
    assert len(known.labels) == len(drawn.labels)
    for full, real in zip(known.blocks, drawn.blocks, strict=True):
        assert all(len(full.targets[kind]) >= len(real.targets[kind]) for kind in real.targets)
        assert full.sources.keys() == real.sources.keys()
        for relation, rows in real.sources.items():
            assert full.sources[relation].shape[1] == rows.shape[1]
            assert len(full.sources[relation]) >= len(rows)
    for kind, nodes in drawn.features.items():
        assert known.features[kind].shape[1] == nodes.shape[1]
        assert len(known.features[kind]) >= len(nodes)


@pytest.mark.long
def test_a_full_size_dlrm_is_planned_only_with_dense_gradients() -> None:
    words = ("dlrm_dcnv2", "--scale", "reference", "--accelerators", "8", "--plan")
    result = podium("run", *words, "--memory", "80GiB")
    assert result.exit_code == 2
    assert "aten.sparse_mask.default; try --set sparse_gradients=False" in result.stderr
    dense = ("--set", "sparse_gradients=False", "--mesh", "fsdp=8", "--precision", "bf16")
    result = podium("run", *words, *dense, "--memory", "80GiB")
    assert result.exit_code == 0, result.stderr
    # The printed command must start the planned run
    assert f"--precision bf16 --mesh fsdp=8 {' '.join(dense[:2])}" in result.stdout


def test_a_plan_prints_a_table_and_the_command_to_start(tmp_path: Path) -> None:
    result = podium("run", "sentiment", "--plan", "--memory", "1GiB")
    assert result.exit_code == 0, result.stderr
    assert "podium run sentiment --scale smoke" in result.stdout
    assert "at the peak of a step or an evaluation, out of 1.00 GiB" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100
    result = podium("run", "sentiment", "--plan", "--memory", "0.01MiB")
    assert result.exit_code == 1
    assert "too large*\n* a lower bound: weights, gradients and optimizer state" in result.stdout
    assert "none fits" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sentiment", "--memory", "80"), "expected a size such as 80GiB"),
        (("sentiment", "--mesh", "tp=2"), "cannot be divided along tp"),
        (("llama31_8b", "--mesh", "tp=2", "--accelerators", "4"), "needs 2 ranks; got 4"),
        (("minigo",), "its model generates its data"),
        (("sentiment", "--accelerators", "7"), "cannot be divided among 7 ranks"),
    ],
)
def test_a_run_that_cannot_be_planned_is_an_error(words: tuple[str, ...], said: str) -> None:
    result = podium("run", *words, "--plan")
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) <= 2  # the progress and the error


# --- printed commands ---

WHOLE = (
    *(
        "cosmoflow",
        "deepcam",
        "ncf",
        "oc20",
        "resnet",
        "rnnt",
        "sentiment",
        "unet3d",
    ),
    *("retinanet", "stable_diffusion", "minigo"),
)
"""Small models: a plan would draw a whole batch of data, or cannot compute the step."""
SLOW = ("deepseekv3_671b", "gpt3", "flux1", "gpt_oss_20b", "llama2_70b_lora", "dlrm_v4_hstu")
LARGEST = {"--trace": 131}
"""GiB of the H200 on which the run with this option was made; other runs have 80 GiB."""

FIT_ONE = ("bert", "gnmt", "maskrcnn", "rgat", "ssd", "transformer")
"""Models that fit on one accelerator."""

COMMANDS = [each for each in printed() if each.name not in WHOLE]


@pytest.mark.long
@pytest.mark.daily(6)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda each: " ".join(each.words)[:60])
def test_a_documented_command_fits_in_memory(command: Printed) -> None:
    asked = command.request()
    limit = next((size for option, size in LARGEST.items() if option in command.words), 80)
    (found,) = plan(asked, command.ranks, limit << 30, str) if asked.setting.mesh else (None,)
    need = found.need if found else memory(asked, command.ranks)
    assert need.peak <= limit << 30, command.place


def test_commands_of_models_too_large_for_one_accelerator_have_a_mesh() -> None:
    """Weights, gradients and optimizer state alone need 16 bytes per trained parameter."""
    divided = {each.name: each for each in COMMANDS if each.mesh}
    assert {*divided} >= {*SLOW, "llama31_8b", "dlrm_dcnv2"}
    for command in COMMANDS:
        assert command.mesh or command.name in FIT_ONE or "--trace" in command.words
        if command.mesh:
            assert parse(command.mesh).world == command.ranks
