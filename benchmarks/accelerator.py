"""Training steps of the full models on a GPU: samples per second, and fraction of the peak.

    python benchmarks/accelerator.py [NAME ...] [--precision bf16] [--steps 10] [--plan]

Each benchmark runs whole optimizer steps at reference scale, with its trainer's code, on synthetic
batches of the real shape in pinned host memory. If a model does not fit on one GPU, its depth (or
the length of its tables) is reduced, but not its width; the table says so. FLOPs are those that
torch counts in a forward pass, times three (times two for frozen weights); recomputation to save
memory does not count. Memory is the peak of a step after the first, by torch's allocator. With
`--plan`, the memory that `podium run --plan` states for the same step follows it.
"""

from __future__ import annotations

import argparse
import gc
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_map
from torch.utils.data import DataLoader
from torch.utils.flop_counter import FlopCounterMode

from podium.reference_runs.benchmarks.dlrm_dcnv2.config import ROWS
from podium.reference_runs.catalogue import find, task_of
from podium.reference_runs.engine.launch import run_request
from podium.reference_runs.engine.machine.plain_errors import plain_errors
from podium.reference_runs.engine.ranks import joined
from podium.reference_runs.engine.setting import Setting
from podium.reference_runs.engine.stepper import Stepper
from podium.reference_runs.errors import RunFault
from podium.reference_runs.modeling.language.corpus import Batch
from podium.reference_runs.modeling.language.pretraining import Pretraining
from podium.reference_runs.planning.memory import by_phase

PEAK = 989e12
"""Dense bf16 FLOPs per second of an H100 or H200 SXM, according to NVIDIA's data sheets."""

Make = Callable[[Any, Any], Any]
"""A local batch of the real shape, from the task and its config."""


@dataclass(frozen=True)
class Case:
    """The configuration of a benchmark: changes to its config, a batch, and the counted unit."""

    unit: str
    batch: Make
    size: int
    """Samples per step."""
    changes: dict[str, Any] = field(default_factory=dict)
    cut: str = ""
    """Reduced parts of the model."""
    each: int = 1
    """Units per sample, such as tokens of a sequence."""
    backward: int = 2
    """Work of the backward pass, in forward passes."""


def _tokens(_: Any, config: Any) -> Any:
    shape = config.global_batch_size, config.max_sequence_length
    return Batch(*(torch.randint(config.vocabulary, shape) for _ in Batch._fields))


def _images(_: Any, config: Any) -> Any:
    shape = config.global_batch_size, 3, config.image_size, config.image_size
    labels = torch.randint(config.classes, (config.global_batch_size,))
    return torch.randint(256, shape, dtype=torch.uint8), labels


def _scenes(task: Any, config: Any) -> Any:
    from podium.reference_runs.benchmarks.retinanet.boxes import anchors
    from podium.reference_runs.modeling.detection.scenes import Batch

    task.anchors = anchors(config).to(task.device)
    images, _ = _images(task, config)
    count = len(images)
    corner = torch.rand(count, OBJECTS, 2) * config.image_size / 2
    boxes = torch.cat((corner, corner + 16 + torch.rand(count, OBJECTS, 2) * 300), -1)
    return Batch(images, boxes, torch.randint(config.classes, (count, OBJECTS)))


OBJECTS = 8
"""Objects per scene."""


def _volumes(_: Any, config: Any) -> Any:
    shape = config.global_batch_size, *config.training_input_shape
    return torch.randn(shape)[:, None], torch.randint(3, shape)


def _sentences(_: Any, config: Any) -> Any:
    shape = config.global_batch_size, WORDS
    return tuple(torch.randint(4, config.vocabulary, shape) for _ in range(2))


WORDS = 64


def _utterances(_: Any, config: Any) -> Any:
    from podium.reference_runs.benchmarks.rnnt.data import Batch

    count, frames, symbols = config.global_batch_size, 420, 60  # 12.6 s, about the mean
    features = torch.randn(count, frames, config.mel_bands * config.stacked_frames)
    said = torch.randint(config.pieces, (count, symbols))
    lengths = torch.full((count,), frames), torch.full((count,), symbols)
    return Batch(features, lengths[0], said, lengths[1], tuple(range(count)))


def _reviews(_: Any, config: Any) -> Any:
    count = config.global_batch_size
    return torch.randint(1, config.vocabulary, (count, 256)), torch.randint(2, (count,))


def _pairs(_: Any, config: Any) -> Any:
    count = (config.global_batch_size,)
    ids = torch.randint(config.users, count), torch.randint(config.items, count)
    return *ids, torch.randint(2, count).float()


def _clicks(_: Any, config: Any) -> Any:
    count = config.global_batch_size
    tables = zip(config.rows, config.ids, strict=True)
    ids = [torch.randint(rows, (count, each)) for rows, each in tables]
    return torch.randn(count, 13), ids, torch.randint(2, (count,)).float()


def _papers(_: Any, config: Any) -> Any:
    from podium.reference_runs.benchmarks.rgat.data import Graph, Seeds
    from podium.reference_runs.benchmarks.rgat.sampling import Csr

    rng = np.random.default_rng(1)
    kinds = sorted({kind for source, _, target in config.relations for kind in (source, target)})
    nodes = config.papers
    ends = (rng.integers(nodes, size=DEGREE * nodes) for _ in range(2 * len(config.relations)))
    edges = {relation: Csr.of(next(ends), next(ends), nodes) for relation in config.relations}
    features = {kind: rng.random((nodes, config.features), np.float32) for kind in kinds}
    ids = rng.permutation(nodes)[: config.global_batch_size]
    graph = Graph(features, edges, rng.integers(config.classes, size=nodes), ids, ids)
    return Seeds(graph, ids, config, seed=1).__getitems__(range(len(ids)))


DEGREE = 12
"""Neighbors per relation."""


def _positions(task: Any, config: Any) -> Any:
    from podium.reference_runs.benchmarks.minigo.games import PLANES

    task.model = task.build()
    count, points = config.global_batch_size, config.board_size**2
    planes = torch.randint(2, (count, PLANES, config.board_size, config.board_size)).float()
    return planes, torch.randn(count, points + 1).softmax(-1), torch.randint(2, (count,)) * 2.0 - 1


def _universes(_: Any, config: Any) -> Any:
    shape = config.global_batch_size, 4, config.size, config.size, config.size
    return torch.randn(shape).abs(), torch.randn(config.global_batch_size, 4).tanh()


def _maps(_: Any, config: Any) -> Any:
    count, side = config.global_batch_size, (config.height, config.width)
    return torch.randn(count, config.channels, *side), torch.randint(3, (count, *side))


def _largest(task: Any, _: Any) -> Any:
    """The batch of the trainer's own plan, with random numbers."""
    return tree_map(_random, task.largest_batch())


def _random(value: Any) -> Any:
    return torch.randn_like(value) if value.is_floating_point() else value


CASES = {
    "cosmoflow": Case("volumes", _universes, 16),
    "deepcam": Case("maps", _maps, 8),
    "dlrm_dcnv2": Case(
        "clicks",
        _clicks,
        65_536,
        {"rows": tuple(min(rows, 20_000_000) for rows in ROWS)},
        "tables of at most 20 million rows",
    ),
    "gnmt": Case("pairs", _largest, 128),
    "gpt_oss_20b": Case("tokens", _tokens, 1, {"layers": 8}, "8 of 24 layers", each=8192),
    "llama2_70b_lora": Case(
        "tokens", _tokens, 1, {"layers": 32}, "32 of 80 layers", each=8192, backward=1
    ),
    "llama31_405b": Case("tokens", _tokens, 1, {"layers": 2}, "2 of 126 layers", each=8192),
    "llama31_8b": Case("tokens", _tokens, 1, each=8192),
    "maskrcnn": Case("images", _largest, 4),
    "minigo": Case("positions", _positions, 4096),
    "ncf": Case("pairs", _pairs, 2048),
    "resnet": Case("images", _images, 512),
    "retinanet": Case("images", _scenes, 32),
    "rgat": Case(
        "papers", _papers, 1024, {"papers": 100_000}, "graph of 100 000 nodes of each kind"
    ),
    "rnnt": Case("utterances", _utterances, 32),
    "sentiment": Case("texts", _reviews, 128),
    "ssd": Case("images", _largest, 128),
    "stable_diffusion": Case("images", _largest, 32),
    "transformer": Case("target words", _sentences, 256, each=WORDS),
    "unet3d": Case("volumes", _volumes, 4),
}
"""Each as large as fits on a GPU of 141 GB."""

BUILDERS = {
    "llama2_70b_lora": ("llama2_70b_lora.model", "adapted_llama"),
    "minigo": ("minigo.model", "DualNet"),
}
"""Models whose trainer starts from published weights: here the weights are random."""

DETECTORS = ("maskrcnn", "retinanet", "ssd")
"""Their backbones are random, too."""


def opened(name: str, case: Case, setting: Setting, ranks: Any) -> Any:
    """The task with the case's shape; its weights are random."""
    config = replace(find(name).reference(), **case.changes)
    config = replace(config, global_batch_size=case.size, gradient_accumulation_steps=1)
    # Nothing is read from this folder
    task: Any = task_of(name)(config, replace(setting, data=Path()), ranks)
    if name in DETECTORS:
        trainer: Any = import_module(f"podium.reference_runs.benchmarks.{name}.train")
        trainer.load_backbone = lambda *_: None
    elif hasattr(task, "start_weights"):
        task.start_weights = lambda: None
    if isinstance(task, Pretraining):
        task.build = task.decoder  # without a base, whose absence makes the trainer generate one
    if name in BUILDERS:
        module, maker = BUILDERS[name]
        make = getattr(import_module(f"podium.reference_runs.benchmarks.{module}"), maker)
        task.build = lambda: make(config)
    return task


def pinned(batch: Any) -> Any:
    """The batch in pinned memory, like the output of the data loader."""
    return next(iter(DataLoader([batch], batch_size=None, pin_memory=True)))


def attention_flops(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    """FLOPs of two products of every query with every key; causal or not, grouped or not."""
    batch, heads, queries, width = query
    return 2 * batch * heads * queries * key[2] * (width + value[3])


def recurrent_flops(inputs: Any, weights: Any, *_: Any, **__: Any) -> int:
    """FLOPs of the products with each matrix of a recurrent network, at each step.

    Inputs are (steps, batch, width), or packed, (steps of all sequences, width).
    """
    return 2 * math.prod(inputs[:-1]) * sum(math.prod(w) for w in weights if len(w) == 2)


def grouped_flops(rows: Any, weights: Any, *_: Any, **__: Any) -> int:
    """FLOPs of grouped rows, with a separate matrix for each group."""
    return 2 * math.prod(rows) * int(weights[-1])


UNCOUNTED = {
    torch.ops.aten._grouped_mm: grouped_flops,
    torch.ops.aten._scaled_dot_product_flash_attention: attention_flops,
    torch.ops.aten._scaled_dot_product_efficient_attention: attention_flops,
    torch.ops.aten._scaled_dot_product_cudnn_attention: attention_flops,
    torch.ops.aten._cudnn_rnn: recurrent_flops,
}
"""Operators that torch's counter omits, or counts incorrectly if heads share keys."""


def forward_flops(stepper: Stepper, batch: Any) -> int:
    """FLOPs that torch counts in one forward pass."""
    counter = FlopCounterMode(display=False, custom_mapping=UNCOUNTED)
    with counter, torch.no_grad(), stepper._autocast():
        stepper.task.loss(stepper.model, batch)
    return int(counter.get_total_flops())


def planned(name: str, case: Case, setting: Setting) -> str:
    """The GB of a step according to the plan."""
    sizes = {"global_batch_size": case.size, "gradient_accumulation_steps": 1} | case.changes
    request = run_request(name, setting, {key: str(value) for key, value in sizes.items()})
    try:
        return f"{by_phase(request, 1)['step'].peak / 1e9:.1f}"
    except RunFault as error:
        return str(error)


def measured(name: str, case: Case, setting: Setting, ranks: Any, steps: int) -> str:
    """One line of the table, without the plan."""
    torch.manual_seed(1)
    task = opened(name, case, setting, ranks)
    batch = pinned(case.batch(task, task.config))
    stepper = Stepper(task)
    stepper.model.train()
    flops = forward_flops(stepper, batch)
    losses = [float(stepper.step(1 + step, [batch])) for step in range(3)]
    torch.cuda.reset_peak_memory_stats()
    times = []
    for turn in range(3):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for step in range(steps):
            loss = stepper.step(4 + turn * steps + step, [batch])
        losses.append(float(loss))
        times.append((time.perf_counter() - began) / steps)
    seconds = statistics.median(times)
    used = flops * (1 + case.backward) / seconds / PEAK
    gigabytes = torch.cuda.max_memory_allocated() / 1e9
    return (
        f"| {name} | {case.cut or 'whole'} | {case.size * case.each} {case.unit} |"
        f" {1000 * seconds:.1f} | {case.size * case.each / seconds:,.0f} | {100 * used:.1f} % |"
        f" {losses[0]:.3f} to {losses[-1]:.3f} | {gigabytes:.1f} |"
    )


def main() -> None:
    """Print one line for each benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CASES))
    parser.add_argument("--precision", default="bf16", choices=("fp32", "bf16"))
    parser.add_argument("--steps", type=int, default=10, help="steps in each of three turns")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--plan", action="store_true", help="also the memory of the plan")
    options = parser.parse_args()
    setting = Setting(
        scale="reference", precision=options.precision, compile=options.compile, device="cuda"
    )
    with joined("cuda") as ranks:
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {options.precision}")
        print("| benchmark | model | step | ms | per second | of peak | loss | GB | plan |")
        print("|---|---|---|---|---|---|---|---|---|")
        for name in options.names:
            case = CASES[name]
            try:
                with plain_errors(setting, ()):
                    line = measured(name, case, setting, ranks, options.steps)
            except RunFault as error:
                line = f"| {name} | {error} |"
            print(line, planned(name, case, setting) if options.plan else "", "|", flush=True)
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
