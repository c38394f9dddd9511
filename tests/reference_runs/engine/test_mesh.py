"""A model that is divided along a mesh has the losses of an undivided model."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402

from podium.compliance.cli.entry import run as command  # noqa: E402
from podium.logging_spec import Logger  # noqa: E402
from podium.reference_runs.catalogue import find, task_of  # noqa: E402
from podium.reference_runs.engine.checkpoints.checkpoint import load, save  # noqa: E402
from podium.reference_runs.engine.checkpoints.randomness import seed_everything  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks, divided  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.engine.stepper import Stepper  # noqa: E402
from podium.reference_runs.modeling.detection import task as detection  # noqa: E402
from podium.reference_runs.parallel.mesh import check, parse  # noqa: E402
from tests.reference_runs.engine.test_two_ranks import doubled  # noqa: E402

STEPS = 6
CLICKS, PLAYS, VOLUMES, SCENES = "dlrm_dcnv2", "dlrm_v4_hstu", "unet3d", "retinanet"
CROPS = "ssd"
PHOTOS, UNIVERSES = "resnet", "cosmoflow"
IMAGES = "flux1"
ANSWERS = "qwen35_397b_grpo"
STAGED = (("layers", 5), ("gradient_accumulation_steps", 4))
"""Layers for two to four stages of unequal length, and a micro-batch for each stage."""
FEW: dict[str, Any] = {"train_samples": 256, "eval_samples": 66, "recompute": True}
SMALLER: dict[str, dict[str, Any]] = {
    # Each rank has its own dropout, as in the references
    "llama2_70b_lora": {
        "lora_dropout": 0.0,
        "global_batch_size": 16,
        "gradient_accumulation_steps": 2,
    },
    CLICKS: {"train_samples": 6144, "eval_samples": 10_000},
    SCENES: {
        # Feature maps of 9, 5, 3, 2 and 1 rows: unequal parts, and ranks without a row
        "image_size": 72,
        "least_score": 0.0,
        "train_samples": 64,
        "eval_samples": 8,
        "global_batch_size": 8,
    },
    CROPS: {
        # Feature maps of 9, 5, 3, 2, 1 and 1 rows
        "image_size": 72,
        "least_score": 0.0,
        "train_samples": 64,
        "eval_samples": 8,
        "global_batch_size": 8,
        "model_bn_span": 4,
    },
    VOLUMES: {
        "train_samples": 96,
        "eval_samples": 6,
        "global_batch_size": 16,
        "gradient_accumulation_steps": 2,
        # Twice the sides of smoke scale, whose lowest level has only two planes
        "training_input_shape": (8, 8, 8),
        "validation_input_shape": (8, 8, 8),
    },
    PHOTOS: {
        # Feature maps of 36, 18, 9 and 5 rows
        "image_size": 72,
        "units": (1, 1, 1, 1),
        "train_samples": 64,
        "eval_samples": 20,
        "global_batch_size": 8,
        "model_bn_span": 4,
    },
    # Feature maps of 16, 8, 4 and 2 planes: two of four ranks have no plane of the last map
    UNIVERSES: {"train_samples": 64, "eval_samples": 6, "global_batch_size": 8},
    PLAYS: {"days": 1, "train_samples": 2048},
    IMAGES: {"train_samples": 768, "eval_samples": 18, "global_batch_size": 16},
    ANSWERS: {
        # Answers of different lengths: with equal lengths the loss is 0 up to rounding
        "generation_training_rollout_temperature": 3.0,
        # Ranks share the answers to a prompt and evaluate unequal numbers of batches
        "num_prompts_per_step": 1,
        "global_batch_size": 16,
        "train_samples": 64,
        "eval_samples": 9,
        "opt_base_learning_rate": 1e-3,
    },
    "gpt_oss_20b": {"max_sequence_length": 64, "window": 16, "global_batch_size": 8},
}


@dataclass(frozen=True)
class Leg:
    """Steps on a mesh ("" for one process), from the beginning or from a checkpoint."""

    name: str
    mesh: str
    begin: int = 0
    end: int = STEPS
    parts: bool = False
    """Whether the model is divided before it has weights, as at reference scale."""
    more: tuple[tuple[str, Any], ...] = ()
    """Additional settings."""


def stepper_of(leg: Leg, ranks: Ranks, folder: Path) -> tuple[Stepper, Logger]:
    few = SMALLER.get(leg.name, {})
    if hasattr(find(leg.name).smoke(), "recompute") and leg.name != PLAYS:
        few = FEW | few
    changes = {key: str(value) for key, value in {**few, **dict(leg.more)}.items()}
    config = find(leg.name).smoke().with_settings(changes)
    mesh = ranks.mesh and parse(leg.mesh)
    if mesh:
        check(mesh, find(leg.name).axes, config)
    setting = Setting(device="cpu", cache=folder / "cache", mesh=mesh)
    task = task_of(leg.name)(config, setting, ranks)
    if leg.parts:
        base = folder / "base.pt"
        task.start_weights = lambda: base if base.exists() else None
        count_reads(task, folder / f"reads-{leg.name}-{leg.mesh}-{ranks.number}")
    seed_everything(1)
    task.prepare()
    log = Logger(io.StringIO(), rank=ranks.number)
    task.read_in_place()
    task.open_data()
    double_numbers(task)
    if leg.parts:
        # Reference scale builds the model in this way; generated sentences replace its data
        task.setting = replace(setting, scale="reference")
    return Stepper(task), log


def count_reads(task: Any, path: Path) -> None:
    """Record in a file how many initial weights this rank reads."""
    initial = task.initial_weights

    def initial_weights(model: Any) -> Any:
        first, names = initial(model), []

        def counted(name: str, shape: Any) -> Any:
            names.append(name)
            path.write_text(str(len(names)))
            return first(name, shape)

        return counted

    task.initial_weights = initial_weights


def double_numbers(task: Any) -> None:
    """Convert single-precision data to the double precision of the model."""
    if task.config.name == CLICKS:
        for part in (task.training, task.evaluation):
            part.dense, part.labels = (
                each.astype(np.float64) for each in (part.dense, part.labels)
            )
    if task.config.name == PLAYS:
        of_batch = task.loss
        task.loss = lambda model, batch: of_batch(model, doubled(batch))
    if task.config.name == IMAGES:
        # Evaluation loads batches, too
        loaded = task.loaded
        task.loaded = lambda *args: map(doubled, loaded(*args))
    if task.config.name in (SCENES, CROPS):
        # The precision is 0 after a few steps: add up the detections instead
        detection.mean_average_precision = lambda _source, found, _classes: float(
            np.concatenate(found).sum()
        )
    if task.config.name == UNIVERSES:
        task.training, task.evaluation = (
            replace(part, kept=doubled(part.kept)) for part in (task.training, task.evaluation)
        )
    if task.config.name == VOLUMES:
        for part in (task.training.source, task.evaluation):
            part.cases = [each._replace(image=each.image.astype(np.float64)) for each in part.cases]


def travelled(leg: Leg, ranks: Ranks, folder: Path) -> list[float]:
    """Return the loss of each step and the quality at the end."""
    stepper, _ = stepper_of(leg, ranks, folder)
    if leg.begin:
        assert load(stepper, folder / "checkpoint").step == leg.begin
    found = [float(loss) for loss in stepper.steps(1, leg.begin, leg.end - leg.begin)]
    if leg.end < STEPS:
        save(stepper, folder / "checkpoint", leg.end)
        return found
    return [*found, stepper.evaluate()]


def as_rank(rank: int, legs: tuple[Leg, ...], folder: Path, world: int) -> None:
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    # Losses are computed with .float(): make that double precision
    torch.Tensor.float = torch.Tensor.double  # type: ignore[method-assign]
    meeting = f"file://{folder}/meeting-{world}"
    dist.init_process_group("gloo", meeting, rank=rank, world_size=world)
    for number, leg in enumerate(legs):
        if rank and not leg.mesh:
            continue  # only the first process runs without a mesh
        ranks = Ranks(torch.device("cpu"))
        if leg.mesh:
            ranks = divided(Ranks(torch.device("cpu"), rank, world), parse(leg.mesh))
        found = travelled(leg, ranks, folder)
        if rank == 0:
            (folder / f"{number}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


def results(world: int, folder: Path, *legs: Leg) -> list[list[float]]:
    """Run the legs one after another in the same processes and return their results."""
    based = {"llama2_70b_lora", "deepseekv3_671b", "gpt3", ANSWERS}
    for name in {leg.name for leg in legs} & based:
        # Train the base once: otherwise every process would train it
        setting = Setting(cache=folder / "cache")
        task_of(name)(find(name).smoke(), setting, Ranks(torch.device("cpu"))).build()
    mp.spawn(as_rank, (legs, folder, world), nprocs=world)
    return [json.loads((folder / f"{number}.json").read_text()) for number in range(len(legs))]


def assert_close(found: list[float], alone: list[float]) -> None:
    assert len(found) == len(alone) == STEPS + 1
    # The loss must change in training: an untrained model would agree as well
    assert np.ptp(alone[:STEPS]) > 1e-4
    # The loss of a policy is 0 up to rounding if all answers have the same length
    np.testing.assert_allclose(found, alone, rtol=1e-9, atol=1e-12)


@pytest.mark.long
def test_tensor_parallelism_on_two_ranks_has_the_losses_of_one_rank(tmp_path: Path) -> None:
    alone, found = results(2, tmp_path, Leg("llama31_8b", ""), Leg("llama31_8b", "tp=2"))
    assert_close(found, alone)


@pytest.mark.long
def test_pipeline_and_context_parallelism_have_the_losses_of_one_rank(tmp_path: Path) -> None:
    meshes = ("", "pp=4", "pp=2,tp=2", "pp=2,fsdp=2", "pp=2,cp=2", "cp=4", "dp=2,cp=2", "cp=2,tp=2")
    legs = (Leg("llama31_8b", mesh, more=STAGED) for mesh in meshes)
    alone, *divided = results(4, tmp_path, *legs)
    for found in divided:
        assert_close(found, alone)


@pytest.mark.long
@pytest.mark.daily(6)
@pytest.mark.parametrize(
    ("name", "meshes"),
    [
        ("llama31_8b", ("fsdp=4", "dp=2,fsdp=2", "fsdp=2,tp=2", "dp=2,tp=2")),
        ("gpt_oss_20b", ("fsdp=4", "dp=2,fsdp=2", "ep=4", "dp=2,ep=2", "fsdp=2,ep=2")),
        ("llama2_70b_lora", ("fsdp=4", "dp=2,fsdp=2", "pp=2,fsdp=2", "fsdp=2,cp=2")),
        ("deepseekv3_671b", ("fsdp=4", "ep=4", "fsdp=2,ep=2")),
        ("gpt3", ("fsdp=4", "dp=2,fsdp=2")),
        (ANSWERS, ("fsdp=4", "dp=2,fsdp=2", "ep=4", "dp=2,ep=2", "fsdp=2,ep=2")),
        (CLICKS, ("fsdp=4",)),
        (VOLUMES, ("sp=4", "dp=2,sp=2")),
        (SCENES, ("sp=4", "dp=2,sp=2")),
        (CROPS, ("sp=4", "dp=2,sp=2")),
        (PHOTOS, ("sp=4", "dp=2,sp=2")),
        (UNIVERSES, ("sp=4", "dp=2,sp=2")),
        (PLAYS, ("fsdp=4",)),
        (IMAGES, ("fsdp=4", "dp=2,fsdp=2")),
    ],
)
def test_four_ranks_have_the_losses_of_one_rank(
    name: str, meshes: tuple[str, ...], tmp_path: Path
) -> None:
    alone, *divided = results(4, tmp_path, *(Leg(name, mesh) for mesh in ("", *meshes)))
    for found in divided:
        assert_close(found, alone)


@pytest.mark.long
def test_ranks_that_share_a_batch_norm_group_have_the_losses_of_one_rank(tmp_path: Path) -> None:
    spans = {"dp=4": 4, "dp=2,sp=2": 8}
    legs = (
        Leg(PHOTOS, each, more=(("model_bn_span", span),))
        for mesh, span in spans.items()
        for each in ("", mesh)
    )
    alone, found, alone_of_all, found_of_all = results(4, tmp_path, *legs)
    assert_close(found, alone)
    assert_close(found_of_all, alone_of_all)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "before", "after", "more"),
    [
        ("llama31_8b", "fsdp=2,tp=2", "fsdp=4", ()),
        ("llama31_8b", "pp=2,tp=2", "fsdp=2,cp=2", STAGED),
        ("gpt_oss_20b", "fsdp=2,ep=2", "fsdp=4", ()),
        (VOLUMES, "dp=2,sp=2", "sp=4", ()),
    ],
)
def test_a_run_resumes_on_another_mesh_and_in_one_process(
    name: str, before: str, after: str, more: Any, tmp_path: Path
) -> None:
    half = STEPS // 2
    alone, first, second = results(
        4,
        tmp_path,
        Leg(name, "", more=more),
        Leg(name, before, end=half, more=more),
        Leg(name, after, begin=half, more=more),
    )
    (third,) = results(1, tmp_path, Leg(name, "", begin=half, more=more))
    assert_close([*first, *second], alone)
    assert_close([*first, *third], alone)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "meshes"),
    [("llama31_405b", ("fsdp=2,tp=2", "fsdp=4", "pp=2,cp=2")), ("gpt3", ("fsdp=4",))],
)
def test_a_model_divided_before_it_has_weights_starts_from_equal_weights(
    name: str, meshes: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(3)
    task: Any = task_of(name)(find(name).smoke(), Setting(), Ranks(torch.device("cpu")))
    state = task.decoder().state_dict()
    torch.save({key: value.double() for key, value in state.items()}, tmp_path / "base.pt")
    more = (("gradient_accumulation_steps", 2),)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    legs = (Leg(name, mesh, parts=True, more=more) for mesh in ("", *meshes))
    alone, *divided = results(4, tmp_path, *legs)
    for mesh, found in zip(meshes, divided, strict=True):
        assert_close(found, alone)
        # One rank reads for the others of its stage, since stages have different tensors
        reads = {path.name for path in tmp_path.glob(f"reads-{name}-{mesh}-*")}
        readers = (0, 2) if "pp=2" in mesh else (0,)
        assert reads == {f"reads-{name}-{mesh}-{rank}" for rank in readers}


@pytest.mark.long
def test_random_weights_do_not_depend_on_the_parts_that_ranks_draw(tmp_path: Path) -> None:
    legs = (Leg("llama31_8b", mesh, parts=True, more=STAGED) for mesh in ("fsdp=4", "pp=4"))
    first, second = results(4, tmp_path, *legs)
    assert_close(first, second)


# --- invalid meshes ---


@pytest.mark.parametrize(
    ("name", "mesh", "said"),
    [
        ("llama31_8b", "tp", "'tp' is not an axis; expected e.g. dp=2,fsdp=4,tp=2"),
        ("llama31_8b", "tp=0", "'tp=0' is not an axis"),
        ("llama31_8b", "tp=2,tp=2", "names tp twice"),
        ("llama31_8b", "pp=4", "pp is 4; expected at most layers, which is 2"),
        ("llama31_8b", "pp=2", "pp is 2; expected at most gradient_accumulation_steps, which is 1"),
        ("llama31_8b", "cp=3", "cp is 3; twice that must divide max_sequence_length, which is 64"),
        ("llama31_8b", "tp=4", "tp is 4; must divide kv_heads, which is 2"),
        ("llama31_8b", "fsdp=3", "dp x fsdp is 3; must divide global_batch_size, which is 16"),
        ("gpt_oss_20b", "tp=2", "gpt_oss_20b cannot be divided along tp; it has dp, fsdp, ep"),
        ("gpt_oss_20b", "ep=3", "ep is 3; must divide experts, which is 8"),
        ("gpt_oss_20b", "fsdp=8,ep=4", "dp x fsdp x ep is 32; must divide global_batch_size"),
        (
            "llama31_8b",
            "ep=2",
            "llama31_8b cannot be divided along ep; it has pp, dp, fsdp",
        ),
        ("resnet", "fsdp=2", "resnet cannot be divided along fsdp"),
        (
            "llama31_8b",
            "sp=2",
            "llama31_8b cannot be divided along sp; it has pp, dp, fsdp",
        ),
        ("retinanet", "sp=5", "sp is 5; expected at most 4, the rows of the second level"),
        ("resnet", "sp=3", "sp is 3; expected at most 2, the rows of the last stage's features"),
        ("cosmoflow", "sp=5", "sp is 5; expected at most 4, the planes of the last convolution"),
        ("ssd", "sp=9", "sp is 9; expected at most 8, the rows of the backbone's features"),
        ("unet3d", "sp=4", "is (4, 4, 4); expected equal sides that 8 divides"),
    ],
)
def test_an_invalid_mesh_is_an_error_before_a_process_starts(
    name: str,
    mesh: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("podium.reference_runs.engine.machine.processes.start", None)
    assert command(["run", name, "--mesh", mesh, "--output", str(tmp_path)]) == 2
    reported = capsys.readouterr().err
    assert said in reported
    assert reported.count("\n") == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--processes", "3"), "fsdp=2 needs 2 ranks; got 3"),
        (("--shard",), "--mesh cannot be combined with --shard"),
        (("--precision", "fp16"), "--mesh cannot be combined with --precision fp16"),
        (("--compile",), "--compile: communication within the model cannot be compiled"),
        (("--set", "gradient_accumulation_steps=16"), "try --set gradient_accumulation_steps=8"),
        (
            ("--mesh", "tp=2", "--set", "max_sequence_length=63"),
            "tp is 2; must divide max_sequence_length, which is 63",
        ),
    ],
)
def test_an_option_that_conflicts_with_a_mesh_is_reported(
    more: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--mesh", "fsdp=2", "--output", str(tmp_path), *more]
    assert command(["run", "llama31_8b", *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.long
def test_a_run_on_a_mesh_is_traced_and_profiled(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "podium"]
    few = ["--set", "train_samples=256", "--set", "evaluation_interval=192"]
    trace, options = tmp_path / "trace.json", ["--mesh", "fsdp=2", *few]
    run = ["run", "llama31_8b", "--set", "last_step=12", "-q", "--output", str(tmp_path / "logs")]
    done = subprocess.run(
        [*words, *run, *options, "--trace", str(trace)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr  # too few steps to reach the target
    events = json.loads(trace.read_text())["traceEvents"]
    assert any("FSDP::" in each.get("name", "") for each in events)
    folder = tmp_path / "profile"
    profile = ["profile", "trainer", "llama31_8b", "--turns", "1", "--steps", "3"]
    profile += ["--output", str(folder)]
    done = subprocess.run([*words, *profile, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "communication, exposed" in done.stdout
    # The printed list has only the longest operators
    operators = (folder / "operators.csv").read_text()
    assert re.search(r"blocks\.\d\.ffn\.\w+,\w+,aten::mm,", operators), operators


def test_a_study_does_not_accept_a_mesh(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["profile", "trainer", "llama31_8b", "--study", "scaling", "--mesh", "fsdp=2"]
    assert command(words) == 2
    assert "--mesh cannot be used with --study" in capsys.readouterr().err
