"""The processes of a run: a single one, or those that torchrun started."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from podium.reference_runs.errors import Interrupted, RunFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch.distributed.device_mesh import DeviceMesh

    from podium.reference_runs.parallel.mesh import Mesh

PATIENCE = "PODIUM_RANK_TIMEOUT"
"""Environment variable: how many minutes a rank waits for the others before it fails."""
MOST_MINUTES = 7 * 24 * 60
STOPPED = "stopped by SIGTERM, sent by a scheduler or by torchrun after another rank ended"


@dataclass(frozen=True)
class Ranks:
    """One process of the run, and its device."""

    device: torch.device
    rank: int = 0
    world: int = 1
    mesh: DeviceMesh | None = None
    """The axes along which the model is divided; `rank` and `world` then count the ranks that
    process different samples."""
    data: DeviceMesh | None = None
    """The process group of these ranks, if there is a mesh."""
    stopped: Event = field(default_factory=Event, compare=False)
    """Set by SIGTERM."""

    def check_stopped(self) -> None:
        """Raise Interrupted after SIGTERM, since exceptions in destructors do not propagate."""
        if self.stopped.is_set():
            raise Interrupted(STOPPED)

    @property
    def first(self) -> bool:
        """Whether this rank writes the log."""
        return self.number == 0

    @property
    def number(self) -> int:
        """The number of this process among all processes."""
        return self.rank if self.mesh is None else dist.get_rank()

    @property
    def processes(self) -> int:
        """The number of processes, including those that share samples."""
        return self.world if self.mesh is None else dist.get_world_size()

    def sum(self, value: torch.Tensor) -> torch.Tensor:
        """The sum over all ranks that process different samples, on each of them."""
        if self.world > 1:
            # A single rank has no process group
            group = None if self.data is None else self.data.get_group()
            dist.all_reduce(value, group=group)
        return value

    def average(self, values: Iterable[torch.Tensor]) -> None:
        """Replace each floating-point value by its mean over all ranks, in place."""
        if self.world == 1:
            return
        chosen = [value for value in values if value.is_floating_point()]
        # As one tensor: a message for each of a model's many small buffers would be slower
        flat = self.sum(torch.cat([value.flatten() for value in chosen])) / self.world
        means = torch.split(flat, [value.numel() for value in chosen])
        for value, mean in zip(chosen, means, strict=True):
            value.copy_(mean.view_as(value))

    def share(self, items: Sequence[Any]) -> Sequence[Any]:
        """The rank's part of items that are divided among ranks, such as evaluation samples."""
        return items[self.rank :: self.world]

    def batches_of(self, items: Sequence[Any], size: int) -> list[Sequence[Any]]:
        """The rank's part, split into batches of `size` consecutive items."""
        mine = self.share(items)
        return [mine[begin : begin + size] for begin in range(0, len(mine), size)]

    def idle_batches(self, count: int, size: int) -> int:
        """How many fewer batches this rank has than others; on a mesh, all must join in."""
        if self.mesh is None:
            return 0
        most = -(-count // self.world)
        return -(-most // size) - len(self.batches_of(range(count), size))

    def gather(self, mine: Any) -> list[Any]:
        """The values of all ranks, in rank order, on every rank (small picklable objects)."""
        if self.processes == 1:
            return [mine]
        everyone: list[Any] = [None] * self.processes
        dist.all_gather_object(everyone, mine)
        return everyone


def local_rank() -> int:
    """The number of this process on its node, as set by torchrun."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def ranks_per_node() -> int:
    """Processes per node, as set by torchrun."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


@contextmanager
def joined(device: str, mesh: Mesh | None = None, *, repeatable: bool = False) -> Iterator[Ranks]:
    """Join the other processes, if torchrun started several; leave them at the end.

    `repeatable` makes a GPU sum in the same order each time, which is slower. Raises RunFault if
    the device does not exist or the port is in use.
    """
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if repeatable:
        _use_repeatable_kernels()
    chosen = _device(device, local_rank())
    if repeatable and chosen.type == "cuda":
        _use_repeatable_attention()
    with _ended_by_signal() as stopped:
        if world == 1:
            yield Ranks(chosen, stopped=stopped)
            return
        _join("nccl" if chosen.type == "cuda" else "gloo")
        try:
            yield divided(Ranks(chosen, rank, world, stopped=stopped), mesh)
        finally:
            dist.destroy_process_group()


def divided(ranks: Ranks, mesh: Mesh | None) -> Ranks:
    """The ranks with the axes of a mesh, if there is one."""
    if mesh is None:
        return ranks
    from torch.distributed.device_mesh import init_device_mesh

    sizes = mesh.sizes()
    devices = init_device_mesh(
        ranks.device.type, tuple(sizes.values()), mesh_dim_names=tuple(sizes)
    )
    data = devices["dp", "fsdp", "ep"]._flatten("data")
    return replace(ranks, rank=data.get_local_rank(), world=mesh.data, mesh=devices, data=data)


def _join(backend: str) -> None:
    minutes = os.environ.get(PATIENCE, "10")
    if not (minutes.isascii() and minutes.isdigit()) or not 0 < int(minutes) <= MOST_MINUTES:
        raise RunFault(f"{PATIENCE} is {minutes!r}; expected minutes, 1 to {MOST_MINUTES}")
    try:
        dist.init_process_group(backend, timeout=timedelta(minutes=int(minutes)))
    except dist.DistNetworkError as error:
        port = os.environ.get("MASTER_PORT", "?")
        if "EADDRINUSE" not in str(error):
            raise RunFault(f"ranks cannot connect on port {port}: {_first_line(error)}") from None
        raise RunFault(
            f"port {port} is in use; start torchrun with --standalone or another --master-port"
        ) from None


def _device(name: str, local_rank: int) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise RunFault("--device is cuda; no CUDA device is visible to torch; use --device cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise RunFault(f"--device is {name}; expected auto, cpu or cuda") from None
    if device.index is not None and ranks_per_node() > 1:
        count = ranks_per_node()
        raise RunFault(f"--device is {name}, shared by {count} ranks; use --device {device.type}")
    if device.type == "cuda":
        device = torch.device("cuda", local_rank if device.index is None else device.index)
        torch.cuda.set_device(device)
        # Convolutions would use 10 mantissa bits, while the log says fp32.
        torch.backends.cudnn.allow_tf32 = False
    return device


def _use_repeatable_kernels() -> None:
    """Select kernels that give the same bits in every run, where there are several."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # as torch's documentation requires
    # Warnings only: an error would end benchmarks whose kernels have no deterministic form
    torch.use_deterministic_algorithms(True, warn_only=True)
    warnings.filterwarnings("ignore", ".*does not have a deterministic implementation")


def _use_repeatable_attention() -> None:
    """Select the attention of GPUs whose sums have a fixed order."""
    # As long as torch only warns, its fast kernels do not fix it
    torch.backends.cuda.enable_flash_sdp(enabled=False)
    torch.backends.cuda.enable_mem_efficient_sdp(enabled=False)
    torch.backends.cuda.enable_cudnn_sdp(enabled=False)


@contextmanager
def _ended_by_signal() -> Iterator[Event]:
    """Turn SIGTERM into an exception, so that the log of a stopped run says `aborted`.

    The event is set as well: Python drops an exception that is raised in a destructor.
    """
    stopped = Event()

    def stop(_number: int, _frame: object) -> None:
        stopped.set()
        # An exception, not an exit: the open `with` blocks then write run_stop. If another
        # exception has already started that, a second one would interrupt it halfway.
        if sys.exception() is None:
            raise Interrupted(STOPPED)

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread: the caller owns the signals
        yield stopped
        return
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGTERM, before)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
