"""From a benchmark's name and options to logs in a folder."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from podium.logging_spec import Logger
from podium.reference_runs.catalogue import find, need_torch, task_of
from podium.reference_runs.errors import DataMissing, RunFault
from podium.reference_runs.log.legacy_sink import LEGACY_ROUNDS, LegacySink
from podium.reference_runs.parallel.mesh import check, check_world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    import torch

    from podium.reference_runs.catalogue import Benchmark
    from podium.reference_runs.engine.config import Config
    from podium.reference_runs.engine.loop import Outcome, Watch
    from podium.reference_runs.engine.ranks import Ranks
    from podium.reference_runs.engine.setting import Division, Setting
    from podium.reference_runs.parallel.mesh import Mesh

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""Call sites in logs are relative to this folder, so that no log reveals podium's location."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """A run to start: a benchmark, its settings, and changes to its config."""

    benchmark: Benchmark
    setting: Setting
    settings: Mapping[str, str] = field(default_factory=dict)

    def config(self) -> Config:
        """The config of the scale, with the changes; raises UnknownSetting."""
        benchmark = self.benchmark
        make = benchmark.smoke if self.setting.scale == "smoke" else benchmark.reference
        return make().with_settings(self.settings)


def run_request(
    name: str,
    setting: Setting,
    settings: Mapping[str, str],
    asked: tuple[str | None, Division | None] = (None, None),
) -> RunRequest:
    """The request for a run, in the requested round and division or the benchmark's default ones.

    Raises RunFault for a round without this benchmark.
    """
    benchmark = find(name)
    round_name, division = asked
    chosen = round_name or (benchmark.rounds[-1] if benchmark.rounds else setting.round)
    known = benchmark.rounds
    # Any trainer may write the line formats of 0.5 and 0.6, even if it was not in those rounds
    if known and chosen not in known and chosen not in LEGACY_ROUNDS:
        raise RunFault(f"--round is {chosen}; {name} was in {', '.join(known)}")
    if (setting.data is not None or setting.allow_subset) and setting.scale == "smoke":
        option = "--allow-subset" if setting.data is None else "--data"
        raise RunFault(f"{option} requires --scale reference; smoke scale generates its data")
    if setting.data is not None and not setting.data.is_dir():
        raise RunFault(f"--data: folder {setting.data} does not exist")
    if setting.weights is not None and not setting.weights.is_dir():
        raise RunFault(f"--weights: folder {setting.weights} does not exist")
    if setting.allow_subset and division == "closed":
        raise RunFault("--allow-subset requires --division open: closed rules fix the dataset")
    division = "open" if setting.allow_subset else division or benchmark.division
    setting = replace(setting, round=chosen, usage=benchmark.usage, division=division)
    request = RunRequest(benchmark=benchmark, setting=setting, settings=settings)
    if setting.mesh is not None:
        _check_mesh(request, setting.mesh)
    return request


def _check_mesh(request: RunRequest, mesh: Mesh) -> None:
    """Raise RunFault if the run cannot be divided along the mesh; no process has started yet."""
    setting = request.setting
    for option, chosen, reason in (
        ("--shard", setting.shard, "fsdp already shards the optimizer state with the weights"),
        ("--compile", setting.compile, "communication within the model cannot be compiled"),
        ("--precision fp16", setting.precision == "fp16", "ranks cannot share a loss scale"),
        (
            "--precision fp8 along tp",
            setting.precision == "fp8" and mesh.tp > 1,
            "8-bit layers cannot be divided",
        ),
    ):
        if chosen:
            raise RunFault(f"--mesh cannot be combined with {option}: {reason}")
    check(mesh, request.benchmark.axes, request.config())
    if setting.checkpoint is not None and setting.checkpoint.is_file():
        raise RunFault(f"--checkpoint: {setting.checkpoint} is a file; --mesh needs a folder")
    if "WORLD_SIZE" in os.environ:
        check_world(mesh, int(os.environ["WORLD_SIZE"]))


def dry_log(request: RunRequest, sink: Any) -> None:
    """Log only the declarations of the config: no torch, no data, no training."""
    from podium.reference_runs.log.records import hyperparameters

    with Logger(sink, rank=0, root_dir=ROOT) as log:
        hyperparameters(log, request.config(), request.setting)


def run(request: RunRequest, path: Path, watch: Watch) -> Outcome:
    """Train once and write the log, a new file unless the run is resumed.

    Raises RunFault for errors that the user can fix; the log then has the status "aborted".
    """
    with joined_ranks(request) as ranks:
        return _train(request, path, watch, ranks)


def series(
    request: RunRequest,
    folder: Path,
    runs: int,
    follow: Callable[[Path], AbstractContextManager[Watch]],
) -> Iterator[tuple[Path, Outcome]]:
    """Train several times, each with a separate log and seed; the ranks stay connected.

    Log numbers continue after the existing logs of the folder and are never reused, so that no two
    runs of a folder share a seed. A resumed run continues the last log.
    """
    with joined_ranks(request) as ranks:
        # Rank 0 decides: another rank may look when the first log already exists.
        first = ranks.gather(_first_number(folder, resume=request.setting.resume))[0]
        for number in range(first, first + (1 if request.setting.resume else runs)):
            path = folder / f"result_{number}.txt"
            # The policy requires the runs of a result to have different seeds
            seeded = replace(request.setting, seed=request.setting.seed + number)
            with follow(path) as watch:
                outcome = _train(replace(request, setting=seeded), path, watch, ranks)
            yield path, outcome


@contextmanager
def joined_ranks(request: RunRequest) -> Iterator[Ranks]:
    """The connected processes of the run, after the checks that do not need them."""
    need_torch()
    if request.setting.scale == "reference" and request.setting.data is None:
        raise DataMissing(f"--data is required at reference scale: {request.benchmark.data}")
    from podium.reference_runs.engine.machine.plain_errors import plain_errors
    from podium.reference_runs.engine.machine.quiet import quiet
    from podium.reference_runs.engine.ranks import joined

    setting = request.setting
    together = joined(
        setting.device,
        setting.mesh,
        repeatable=setting.scale == "smoke",
    )
    plain = plain_errors(setting, request.benchmark.axes)
    with quiet(), plain, together as ranks, _threads(setting), _tf32(setting, ranks.device):
        yield ranks


def _train(request: RunRequest, path: Path, watch: Watch, ranks: Ranks) -> Outcome:
    from podium.reference_runs.engine.loop import train

    setting, config = request.setting, request.config()
    _check_batch_divides(config, ranks)
    # A dataset of another size may have its first evaluation at another step
    if not setting.allow_subset:
        config.check_evaluated()
    task = task_of(request.benchmark.name)(config, setting, ranks)
    if setting.weights is not None:
        task.check_takes_weights()
    if setting.precision == "fp8":
        from podium.reference_runs.modeling.fp8 import check as check_fp8

        check_fp8(config.name, task.fp8_parts, ranks.device)
    sink: LegacySink | str = str(path)
    if ranks.first:
        _prepare_log(path, setting)
        if setting.usage == "training" and setting.round in LEGACY_ROUNDS:
            sink = LegacySink(path, setting.round, config.name)
    try:
        with Logger(sink, rank=ranks.number, root_dir=ROOT) as log:
            return train(task, log, watch)
    except DataMissing:
        # Nothing was trained, so a new log is not the log of a run
        if ranks.first and not setting.resume:
            path.unlink()
        raise


def _first_number(folder: Path, *, resume: bool) -> int:
    numbers = [
        int(path.stem.removeprefix("result_"))
        for path in folder.glob("result_*.txt")
        if path.stem.removeprefix("result_").isdigit()
    ]
    return max(numbers, default=0) if resume else max(numbers, default=-1) + 1


def _check_batch_divides(config: Config, ranks: Ranks) -> None:
    """Raise RunFault if a global batch cannot be divided evenly: some samples would be lost."""
    size, micro = config.global_batch_size, config.gradient_accumulation_steps
    if size % (micro * ranks.world):
        raise RunFault(
            f"global_batch_size is {size}; expected a multiple of {micro} micro-batches"
            f" x {ranks.world} ranks"
        )


def _prepare_log(path: Path, setting: Setting) -> None:
    if setting.resume and not path.exists():
        raise RunFault(f"--resume: log {path} does not exist")
    # Searched as bytes, since the log may be in the line format of any round
    if setting.resume and b"run_stop" in path.read_bytes():
        raise RunFault(f"--resume: the run in {path} has ended: the log has a run_stop")
    if path.exists() and not setting.resume:
        raise RunFault(f"{path} exists; logs are never overwritten, choose another --output")
    path.parent.mkdir(parents=True, exist_ok=True)


@contextmanager
def _threads(setting: Setting) -> Iterator[None]:
    """Small models are fastest with one thread; larger ones use torch's default."""
    import torch

    before = torch.get_num_threads()
    # Next to a busy core a step took 0.045 s with one thread and 1.0 s with two
    wanted = setting.threads or (1 if setting.scale == "smoke" else before)
    torch.set_num_threads(wanted)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _tf32(setting: Setting, device: torch.device) -> Iterator[None]:
    """Let fp32 matrix products and convolutions use TF32 (10 mantissa bits), if requested."""
    import torch

    if setting.precision != "tf32":
        yield
        return
    # Tensor cores support this type from compute capability 8.0 (Ampere)
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < (8, 0):
        raise RunFault(f"--precision tf32: {device} has no TF32; requires CUDA capability 8.0")
    products, convolutions = torch.backends.cuda.matmul, torch.backends.cudnn
    before = products.allow_tf32, convolutions.allow_tf32
    products.allow_tf32 = convolutions.allow_tf32 = True
    try:
        yield
    finally:
        products.allow_tf32, convolutions.allow_tf32 = before
