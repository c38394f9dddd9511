"""The processes of a run: one alone, or those that torchrun started."""

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
"""Environment variable: how many minutes a rank waits for the others before it gives up."""
MOST_MINUTES = 7 * 24 * 60
STOPPED = "stopped by SIGTERM: a scheduler's, or torchrun's when another rank ended"


@dataclass(frozen=True)
class Ranks:
    """One process among those of the run, and the device it works on."""

    device: torch.device
    rank: int = 0
    world: int = 1
    mesh: DeviceMesh | None = None
    """The axes that the model is divided along; `rank` and `world` then count those ranks that
    take different samples."""
    data: DeviceMesh | None = None
    """Those ranks, where there is a mesh."""
    stopped: Event = field(default_factory=Event, compare=False)
    """Set by SIGTERM."""

    def check_stopped(self) -> None:
        """Raise Interrupted after SIGTERM, for exceptions in destructors go no further."""
        if self.stopped.is_set():
            raise Interrupted(STOPPED)

    @property
    def first(self) -> bool:
        """Whether this is the rank that logs."""
        return self.number == 0

    @property
    def number(self) -> int:
        """Which process it is, among all of them."""
        return self.rank if self.mesh is None else dist.get_rank()

    @property
    def processes(self) -> int:
        """How many there are, those that share samples included."""
        return self.world if self.mesh is None else dist.get_world_size()

    def sum(self, value: torch.Tensor) -> torch.Tensor:
        """The sum over all ranks that take different samples, on each of them."""
        if self.world > 1:
            # Without a second rank there is no process group to ask
            group = None if self.data is None else self.data.get_group()
            dist.all_reduce(value, group=group)
        return value

    def average(self, values: Iterable[torch.Tensor]) -> None:
        """Replace each floating-point value by its mean over all ranks, in place."""
        if self.world == 1:
            return
        chosen = [value for value in values if value.is_floating_point()]
        # As one tensor: a message for each of a model's many small buffers would take longer
        flat = self.sum(torch.cat([value.flatten() for value in chosen])) / self.world
        means = torch.split(flat, [value.numel() for value in chosen])
        for value, mean in zip(chosen, means, strict=True):
            value.copy_(mean.view_as(value))

    def share(self, items: Sequence[Any]) -> Sequence[Any]:
        """The part of this rank in what is to be shared out, such as evaluation samples."""
        return items[self.rank :: self.world]

    def batches_of(self, items: Sequence[Any], size: int) -> list[Sequence[Any]]:
        """The share of this rank, cut into batches of `size` neighbors."""
        mine = self.share(items)
        return [mine[begin : begin + size] for begin in range(0, len(mine), size)]

    def idle_batches(self, count: int, size: int) -> int:
        """How many batches fewer this rank has than another; on a mesh, where all work on each."""
        if self.mesh is None:
            return 0
        most = -(-count // self.world)
        return -(-most // size) - len(self.batches_of(range(count), size))

    def gather(self, mine: Any) -> list[Any]:
        """What every rank has, in the order of ranks, on each of them (small picklable things)."""
        if self.processes == 1:
            return [mine]
        everyone: list[Any] = [None] * self.processes
        dist.all_gather_object(everyone, mine)
        return everyone


def local_rank() -> int:
    """The number of this process among those of its node, as torchrun sets it."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def ranks_per_node() -> int:
    """Processes of each node, as torchrun sets it."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


@contextmanager
def joined(device: str, mesh: Mesh | None = None, *, repeatable: bool = False) -> Iterator[Ranks]:
    """Join the other processes, if torchrun started several; leave them at the end.

    `repeatable` has a GPU do the same sums in the same order each time, which takes longer.
    Raises RunFault where the device is not there or the port is taken.
    """
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if repeatable:
        _use_repeatable_kernels()
    chosen = _device(device, local_rank())
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
    """The ranks along the axes of a mesh, if one is given."""
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
        raise RunFault(f"{PATIENCE} is {minutes!r}; must be minutes, 1 to {MOST_MINUTES}")
    try:
        dist.init_process_group(backend, timeout=timedelta(minutes=int(minutes)))
    except dist.DistNetworkError as error:
        port = os.environ.get("MASTER_PORT", "?")
        if "EADDRINUSE" not in str(error):
            raise RunFault(f"the ranks cannot meet at port {port}: {_first_line(error)}") from None
        raise RunFault(
            f"port {port} is taken; start torchrun with --standalone or another --master-port"
        ) from None


def _device(name: str, local_rank: int) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise RunFault("--device is cuda; no CUDA device is visible to torch, use --device cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise RunFault(f"--device is {name}; must be auto, cpu or cuda") from None
    if device.index is not None and ranks_per_node() > 1:
        count = ranks_per_node()
        raise RunFault(f"--device is {name}; {count} ranks share it: use --device {device.type}")
    if device.type == "cuda":
        device = torch.device("cuda", local_rank if device.index is None else device.index)
        torch.cuda.set_device(device)
        # Convolutions would drop to 10 bits of mantissa, while the log says fp32.
        torch.backends.cudnn.allow_tf32 = False
    return device


def _use_repeatable_kernels() -> None:
    """Choose, where there is a choice, the kernels that give the same bits in every run."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # as torch's notes want it
    # Only warned of: an error would end benchmarks whose kernels have no such form
    torch.use_deterministic_algorithms(True, warn_only=True)
    warnings.filterwarnings("ignore", ".*does not have a deterministic implementation")


@contextmanager
def _ended_by_signal() -> Iterator[Event]:
    """Make SIGTERM an exception, so that the log of a run that is stopped says `aborted`.

    The event tells of it, too: Python drops an exception that comes up in a destructor.
    """
    stopped = Event()

    def stop(_number: int, _frame: object) -> None:
        stopped.set()
        # An exception, not an exit: the open `with` blocks then write run_stop. Where another
        # exception has them do so already, a second one would end run_stop's writing half-way.
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
