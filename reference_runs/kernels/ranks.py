"""All-reduce with torch.distributed between processes of this machine, kept for a whole run."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from podium.reference_runs.kernels.mesh_sum import MeshSum
from podium.reference_runs.kernels.timing import FEWEST, FEWEST_LATE, MOST, narrow, timing
from podium.reference_runs.kernels.torch_calls import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from podium.reference_runs.kernels.result import Timing

    Sum = Callable[[torch.Tensor], object]
    """Replaces the elements of a tensor by their sums over all ranks."""

PATIENCE_S = 60.0
"""Seconds to wait for the ranks beyond the time limit of a kernel."""


class RanksLost(Exception):
    """A rank has ended or does not answer."""


class RankGroup:
    """Ranks that sum tensors; started once, ended by `close`.

    On CUDA each rank has a separate device and uses NCCL; elsewhere all share the CPU through Gloo.
    """

    def __init__(self, ranks: int, device: torch.device, limit_s: float) -> None:
        self._ranks, self._device, self._limit = ranks, device, limit_s
        self._folder = tempfile.TemporaryDirectory(prefix="podium-ranks-")
        self._processes: list[Any] = []
        self._lines: list[Connection] = []

    def timing(self, elements: int, rows: int = 1) -> Timing:
        """The times of one all-reduce, each on the slowest rank; over a mesh if there are rows.

        Raises Unsupported if there are too few devices, RanksLost if a rank fails.
        """
        self.start()
        for line in self._lines:
            line.send((elements, rows))
        timings: list[Timing] = [self._answer(line) for line in self._lines]
        return timings[0]

    def start(self) -> None:
        """Connect the ranks if they are not yet connected; raises the same errors as `timing`."""
        if self._processes:
            return
        if self._ranks < 2:
            raise Unsupported("an all-reduce requires --ranks 2 or more")
        if self._device.type == "mps":
            raise Unsupported("torch does not support all-reduce on MPS")
        if self._device.type == "cuda" and torch.cuda.device_count() < self._ranks:
            raise Unsupported(f"{torch.cuda.device_count()} devices for {self._ranks} ranks")
        context = multiprocessing.get_context("spawn")
        meeting = str(Path(self._folder.name) / "meeting")
        threads = max(1, torch.get_num_threads() // self._ranks)
        for rank in range(self._ranks):
            parent_end, rank_end = context.Pipe()
            place = (rank, self._ranks, meeting, self._device.type)
            work = (place, rank_end, self._limit, threads)
            process = context.Process(target=_serve, args=work, daemon=True)
            process.start()
            rank_end.close()
            self._processes.append(process)
            self._lines.append(parent_end)
        for line in self._lines:
            self._answer(line)

    def _answer(self, line: Connection) -> Any:
        try:
            answer = line.recv() if line.poll(self._limit + PATIENCE_S) else "no answer"
        except (EOFError, OSError):
            answer = "a rank has ended"
        if isinstance(answer, str):
            self.close()
            raise RanksLost(answer)
        return answer

    def close(self) -> None:
        """End the ranks; the next call would start new ones."""
        for line in self._lines:
            line.close()
        for process in self._processes:
            process.join(1)
            if process.is_alive():
                process.kill()
                process.join()
        self._processes, self._lines = [], []
        (Path(self._folder.name) / "meeting").unlink(missing_ok=True)


def _serve(place: tuple[int, int, str, str], line: Connection, limit: float, threads: int) -> None:
    """The main function of a rank: join the others, then run all-reduces until the pipe closes."""
    rank, world, meeting, kind = place
    torch.set_num_threads(threads)
    device = torch.device(kind, rank) if kind == "cuda" else torch.device("cpu")
    try:
        dist.init_process_group(
            "nccl" if kind == "cuda" else "gloo",
            init_method=f"file://{meeting}",
            rank=rank,
            world_size=world,
            timeout=timedelta(seconds=limit + PATIENCE_S),
        )
        line.send(None)
        sums: dict[int, Sum] = {1: dist.all_reduce}
        while True:
            elements, rows = line.recv()
            if rows not in sums:
                sums[rows] = MeshSum(rows)
            line.send(_timed(torch.ones(elements, device=device), sums[rows], limit))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        pass
    except RuntimeError as error:
        line.send(str(error).partition("\n")[0])
    finally:
        line.close()
        if dist.is_initialized():
            dist.destroy_process_group()


def _timed(values: torch.Tensor, sum_over_ranks: Sum, limit: float) -> Timing:
    begin = time.perf_counter()
    first = _slowest(values, sum_over_ranks)
    seconds: list[float] = []
    while len(seconds) < MOST:
        seconds.append(_slowest(values, sum_over_ranks))
        late = _agreed(time.perf_counter() > begin + limit, values.device)
        if len(seconds) >= (FEWEST_LATE if late else FEWEST) and (late or narrow(seconds)):
            break
        # Repeated sums would overflow the type
        values.fill_(1)
    return timing(seconds, first=first, cold=None)


def _slowest(values: torch.Tensor, sum_over_ranks: Sum) -> float:
    """Seconds of one all-reduce on the slowest rank."""
    dist.barrier()
    begin = time.perf_counter()
    sum_over_ranks(values)
    if values.is_cuda:
        torch.cuda.synchronize(values.device)
    took = torch.tensor(time.perf_counter() - begin, device=values.device)
    dist.all_reduce(took, dist.ReduceOp.MAX)
    return float(took)


def _agreed(mine: bool, device: torch.device) -> bool:
    """Whether the value is true on any rank: all must stop together."""
    flag = torch.tensor(float(mine), device=device)
    dist.all_reduce(flag, dist.ReduceOp.MAX)
    return bool(flag)
