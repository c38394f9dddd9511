"""Measurement of a list of kernels: within a budget, and resumable after a kill."""

from __future__ import annotations

import platform
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

import torch

from podium.reference_runs.errors import RunFault
from podium.reference_runs.kernels.memory import available, needed
from podium.reference_runs.kernels.problems import AllReduce, Kind, Problem, bytes_of
from podium.reference_runs.kernels.ranks import RankGroup, RanksLost
from podium.reference_runs.kernels.result import KernelRun, Measured, Status, Timing
from podium.reference_runs.kernels.timing import Prepared, Stopwatch
from podium.reference_runs.kernels.torch_calls import TensorPlace, Unsupported, prepared
from podium.reference_runs.profiling.clock import clock_of
from podium.reference_runs.profiling.roof import TYPES, measured_roof

LIMIT_S = 2.0
"""Maximum seconds of repetitions of a kernel, after its first calls."""
SHARE_OF_BUDGET = 1 / 40
CALLS = 4
"""Minimum number of calls of a kernel."""
MOST_OF_BUDGET = 1 / 10
"""Maximum fraction of a budget for one kernel: slower kernels are skipped, to measure others."""
KEEP_S = 1.0
"""Seconds between writes: a killed run loses the kernels of this period at most."""

NO_TIME = "no time left in the budget"
_UNSUPPORTED = ("not implemented", "not supported", "unsupported", "not available", "only supports")
_NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")


@dataclass(frozen=True)
class Item:
    """A problem to measure, its call if it is not from a list, and its calls per step."""

    problem: Problem
    count: float = 1
    make: Callable[[TensorPlace], Prepared] | None = None


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The conditions of a measurement. Runs are comparable and resumable only if they are equal."""

    source: str
    device: torch.device
    precision: str
    threads: int
    ranks: int

    def empty(self, budget_s: float | None) -> KernelRun:
        """A run with these conditions and no measurements."""
        cuda = self.device.type == "cuda"
        name = torch.cuda.get_device_name(self.device) if cuda else platform.machine()
        return KernelRun(
            source=self.source,
            device=str(self.device),
            device_name=name,
            clock=clock_of(self.device),
            precision=self.precision,
            threads=self.threads,
            ranks=self.ranks,
            torch=str(torch.__version__),
            budget_s=budget_s,
        )

    def listed(self, kernels: tuple[Measured, ...]) -> KernelRun:
        """A run with kernels that are listed but not measured."""
        return replace(self.empty(None), kernels=kernels, complete=True)


def device_of(name: str) -> torch.device:
    """The device that `--device` names; raises RunFault if it does not exist."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise RunFault(f"--device is {name}; expected auto, cpu, cuda or mps") from None
    if device.type == "cuda" and torch.cuda.device_count() <= (device.index or 0):
        raise RunFault(f"--device is {name}; no such CUDA device is visible to torch")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise RunFault("--device is mps; torch does not support it on this machine")
    if device.type not in ("cpu", "cuda", "mps"):
        raise RunFault(f"--device is {name}; expected auto, cpu, cuda or mps")
    return device


def threads_of(wanted: int | None) -> int:
    """Set torch's number of threads, if requested; returns the number in use."""
    if wanted is not None:
        torch.set_num_threads(wanted)
    return torch.get_num_threads()


def allow_tf32(device: torch.device, precision: str) -> None:
    """Allow or forbid TF32 products on a GPU; raises RunFault if the device has no TF32."""
    if precision == "tf32" and device.type != "cuda":
        raise RunFault("--precision tf32 needs --device cuda")
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


class Bench:
    """Measures kernels under given conditions; `close` ends the ranks that it has started."""

    def __init__(self, conditions: Conditions, budget_s: float | None) -> None:
        self.conditions = conditions
        device, precision = conditions.device, conditions.precision
        self._place = TensorPlace(device, TYPES[precision])
        limit = LIMIT_S if budget_s is None else min(LIMIT_S, budget_s * SHARE_OF_BUDGET)
        self._watch = Stopwatch(device, limit)
        self.roof = measured_roof(device, precision)
        self._group = RankGroup(conditions.ranks, device, limit)

    def ready(self, items: Sequence[Item]) -> None:
        """Start the processes that some kernels need, before the budget starts."""
        if any(isinstance(item.problem, AllReduce) for item in items):
            # Errors are reported for each kernel
            with suppress(Unsupported, RanksLost):
                self._group.start()

    def close(self) -> None:
        """End the processes that this object started."""
        self._group.close()

    def least_s(self, problem: Problem) -> float:
        """Minimum seconds for measuring a kernel, from the peak rates of the device."""
        size = bytes_of(problem, self.conditions.precision)
        once = max(problem.flop / self.roof.flop_per_s, size / self.roof.bytes_per_s)
        # Its tensors are filled first
        return CALLS * once + 2 * size / self.roof.bytes_per_s

    def measured(self, item: Item) -> Measured:
        """Measure a kernel, or report why it is skipped."""
        problem, precision = item.problem, self.conditions.precision
        kernel = skipped(item, precision, "")
        room, wanted = available(self.conditions.device), needed(problem, precision)
        if room is not None and wanted > room:
            return replace(kernel, reason=f"needs {_mb(wanted)} of memory; {_mb(room)} are free")
        try:
            return self._rated(replace(kernel, status="measured", timing=self._timing(item)))
        except (Unsupported, NotImplementedError) as error:
            return replace(kernel, reason=_line(error))
        except RanksLost as error:
            return replace(kernel, status="failed", reason=_line(error))
        except (RuntimeError, MemoryError) as error:
            return replace(kernel, status=_status(error), reason=_line(error))

    def _timing(self, item: Item) -> Timing:
        if isinstance(item.problem, AllReduce):
            return self._group.timing(item.problem.elements, item.problem.rows)
        if item.make is not None:
            return self._watch.timing(item.make(self._place))
        return self._watch.timing(prepared(item.problem, self._place))

    def _rated(self, kernel: Measured) -> Measured:
        assert kernel.timing is not None
        seconds = kernel.timing.median_ms / 1000
        rate, flow = kernel.flop / seconds, kernel.bytes / seconds
        alone = not isinstance(kernel.problem, AllReduce)
        return replace(
            kernel,
            tflops=rate / 1e12 if kernel.flop else None,
            gb_per_s=flow / 1e9 if kernel.bytes else None,
            flop_share=rate / self.roof.flop_per_s if kernel.flop else None,
            # The numbers of all ranks are not traffic of one device's memory
            bandwidth_share=flow / self.roof.bytes_per_s if kernel.bytes and alone else None,
        )


def skipped(item: Item, precision: str, reason: str) -> Measured:
    """A kernel that is not measured."""
    size = bytes_of(item.problem, precision)
    return Measured(
        problem=item.problem,
        status="skipped",
        flop=item.problem.flop,
        bytes=size,
        count=item.count,
        reason=reason,
    )


def measure(
    items: Sequence[Item],
    bench: Bench,
    *,
    budget_s: float | None = None,
    order: Sequence[int] | None = None,
    known: Mapping[Problem, Measured] | None = None,
    keep: Callable[[KernelRun], None] = lambda _: None,
    watch: Callable[[int], None] = lambda _: None,
) -> KernelRun:
    """Measure every unmeasured kernel; `keep` receives each intermediate state of the run.

    With a budget, `order` says which kernels come first. `watch` receives the number done.
    """
    conditions, known = bench.conditions, known or {}
    bench.ready(items)
    end = time.perf_counter() + (budget_s or 0)
    run = replace(conditions.empty(budget_s), roof=bench.roof)
    kernels = [skipped(item, conditions.precision, NO_TIME) for item in items]
    kept = 0.0
    for done, index in enumerate(range(len(items)) if order is None else order):
        item = items[index]
        if item.problem in known:
            kernels[index] = replace(known[item.problem], count=item.count)
        elif budget_s is None or _fits(bench.least_s(item.problem), budget_s, end):
            kernels[index] = bench.measured(item)
        watch(done + 1)
        if time.perf_counter() > kept + KEEP_S:
            keep(replace(run, kernels=_as_far(kernels)))
            kept = time.perf_counter()
    return replace(run, kernels=tuple(kernels), notes=_notes(kernels, budget_s), complete=True)


def _fits(least_s: float, budget_s: float, end: float) -> bool:
    return least_s < min(budget_s * MOST_OF_BUDGET, end - time.perf_counter())


def _as_far(kernels: Sequence[Measured]) -> tuple[Measured, ...]:
    return tuple(kernel for kernel in kernels if kernel.reason != NO_TIME)


def _notes(kernels: Sequence[Measured], budget_s: float | None) -> tuple[str, ...]:
    left = sum(kernel.reason == NO_TIME for kernel in kernels)
    if budget_s is None or not left:
        return ()
    done = len(kernels) - left
    return (
        f"budget {budget_s:g} s: {done} of {len(kernels)} kernels, spread over kinds and sizes",
    )


def spread(problems: Sequence[Problem]) -> list[int]:
    """An order in which every prefix is spread over the kinds, and over the sizes of each."""
    groups: dict[Kind, list[int]] = {}
    for index in sorted(range(len(problems)), key=lambda index: _size(problems[index])):
        groups.setdefault(problems[index].kind, []).append(index)
    turns = zip_longest(
        *([group[index] for index in halved(len(group))] for group in groups.values())
    )
    return [index for index in chain.from_iterable(turns) if index is not None]


def halved(count: int) -> Iterator[int]:
    """The numbers below `count`: the middle one, the middles of both halves, and so on."""
    spans = deque([(0, count)])
    while spans:
        low, high = spans.popleft()
        if low < high:
            middle = (low + high) // 2
            yield middle
            spans += [(low, middle), (middle + 1, high)]


def _size(problem: Problem) -> tuple[float, float]:
    return problem.flop, bytes_of(problem, "fp32")


def _status(error: Exception) -> Status:
    text = str(error).lower()
    known = any(sign in text for sign in (*_UNSUPPORTED, *_NO_MEMORY))
    return "skipped" if known or isinstance(error, MemoryError) else "failed"


def _line(error: Exception) -> str:
    return (str(error).partition("\n")[0] or type(error).__name__)[:200]


def _mb(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"
