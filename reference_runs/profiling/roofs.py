"""The extended roofline: computing, memory, data and all-reduce at the sizes of one step.

Each rate is measured in the run, after the levels, with the sizes that a step has: its products,
its mean tensor traffic, its batches, and its collectives. The limit whose work takes longest binds.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.distributed as dist
from torch.utils._pytree import tree_leaves

from podium.reference_runs.profiling.clock import CLOCKS, clock_of, wait
from podium.reference_runs.profiling.profile import Limit, Roofs
from podium.reference_runs.profiling.roof import LARGE, SIZES, TRIES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from podium.reference_runs.engine.task import Task
    from podium.reference_runs.profiling.counts import Counter
    from podium.reference_runs.profiling.measuring import Measuring
    from podium.reference_runs.profiling.products import Product

MOST_PRODUCTS = 40
"""Products that are measured: those with the most FLOP."""
SHORTEST_S = 1e-3
"""A shorter work is repeated within one measurement."""
MOST_STEPS, LONGEST_S = 20, 2.0
"""Steps whose data are read, and the seconds after which no more are."""


class Rate(NamedTuple):
    """Work of a step and the rate for it, in FLOP or bytes."""

    per_step: float
    per_s: float


def measured_roofs(made: Measuring, counter: Counter, step_ms: float) -> Roofs | None:
    """The limits of a step; every rank must call it. None if a step has no countable work."""
    task = made.stepper.task
    rates: dict[Any, Rate | None] = {
        "computing": _computing([*counter.products.values()], task.device),
        "memory": _memory(counter.moved, task.device),
        "reading data": _reading(task, made.done),
        "all-reduce": _all_reduce(counter.sent, task),
    }
    flop = rates["computing"].per_step if rates["computing"] else 0.0
    limits = [
        Limit(
            name=name,
            per_s=rate.per_s,
            per_step=rate.per_step,
            ms=rate.per_step / rate.per_s * 1000,
            intensity=None if name == "computing" else flop / rate.per_step,
        )
        for name, rate in rates.items()
        if rate is not None and rate.per_step and rate.per_s
    ]
    if not limits:
        return None
    longest = max(limits, key=lambda limit: limit.ms)
    return Roofs(limits=tuple(limits), binds=longest.name, least_ms=longest.ms, step_ms=step_ms)


def _computing(products: Sequence[Product], device: torch.device) -> Rate | None:
    """FLOP of a step, and FLOP/s of its products, each alone."""
    flop = sum(product.flop * product.count for product in products)
    largest = sorted(products, key=lambda product: -product.flop * product.count)[:MOST_PRODUCTS]
    done, seconds = 0.0, 0.0
    with torch.no_grad():
        for product in largest:
            try:
                took = _best(product.call(device), device)
            except (RuntimeError, TypeError, ValueError):
                continue  # its integers, such as offsets of groups, are not recorded
            done, seconds = done + product.flop * product.count, seconds + took * product.count
    return Rate(flop, done / seconds) if seconds else None


def _memory(moved: Sequence[float], device: torch.device) -> Rate | None:
    """Bytes that the operators move, and bytes/s of a copy that moves as many as most of them."""
    whole = sum(moved)
    if not whole:
        return None
    # The mean size of the call to which a byte belongs; a copy reads and writes
    typical = sum(size * size for size in moved) / whole / 2
    size = int(min(max(typical, 4096), SIZES.get(device.type, LARGE)[1]))
    source = torch.zeros(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return Rate(whole, 2 * size / _best(lambda: target.copy_(source), device))


def _best(work: Callable[[], object], device: torch.device) -> float:
    """Seconds of one call: the best of a few measurements."""
    clock = CLOCKS[clock_of(device)]

    def seconds(times: int) -> float:
        wait(device)
        begin = clock()
        for _ in range(times):
            work()
        wait(device)
        return (clock() - begin) / times

    seconds(1)
    times = max(1, round(SHORTEST_S / max(seconds(1), 1e-7)))
    return min(seconds(times) for _ in range(TRIES))


def _reading(task: Task[Any], done: int) -> Rate | None:
    """Bytes of a step's batches, and bytes/s of the trainer's loader without any training."""
    per_step = task.config.gradient_accumulation_steps
    batches = task.batches(done // task.config.steps_per_epoch + 1, 0)
    first = bytes_in([*islice(batches, per_step)])  # workers start before the first batch
    read, steps, begin = 0.0, 0, time.perf_counter()
    while steps < MOST_STEPS and time.perf_counter() < begin + LONGEST_S:
        size = bytes_in([*islice(batches, per_step)])
        if not size:
            break
        read, steps = read + size, steps + 1
    seconds = time.perf_counter() - begin
    return Rate(read / steps, read / seconds) if first and steps else None


def bytes_in(values: Any) -> int:
    """Bytes of the tensors and arrays in batches."""
    size = 0
    for leaf in tree_leaves(values):
        if hasattr(leaf, "nbytes"):
            size += int(leaf.nbytes)
        elif hasattr(leaf, "__dict__"):
            size += bytes_in(vars(leaf))
    return size


def _all_reduce(sent: Sequence[int], task: Task[Any]) -> Rate | None:
    """Bytes of a step's collectives, and bytes/s of all-reduces of the same sizes."""
    # A pipeline stage may have other collectives than the first rank
    sizes: list[int] = task.ranks.gather([*sent])[0]
    if task.ranks.processes == 1 or not sizes:
        return None
    seconds = {size: _slowest(size, task) for size in dict.fromkeys(sizes)}
    return Rate(sum(sizes), sum(sizes) / sum(seconds[size] for size in sizes))


def _slowest(size: int, task: Task[Any]) -> float:
    """Seconds of one all-reduce on the slowest rank, the best of a few."""
    values = torch.zeros(max(1, size // 4), device=task.device)
    times = []
    for _ in range(TRIES):
        dist.barrier()
        wait(task.device)
        begin = time.perf_counter()
        dist.all_reduce(values)
        wait(task.device)
        times.append(time.perf_counter() - begin)
    return float(min(map(max, zip(*task.ranks.gather(times), strict=True))))
