"""Checks of disclosed values: seeds, and parallelism that must match the batch."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from podium.logging_spec import keys as k
from podium.logging_spec.reader.record import Record
from podium.rules.checks import Context, check
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.checks.points import TRAINING
from podium.rules.checks.values import of_all
from podium.rules.checks.watch import on, once
from podium.rules.citations import OWN
from podium.rules.consequences import Follows
from podium.rules.constraints.bounds import near_whole
from podium.rules.constraints.formula import show, show_logged
from podium.rules.finding import StatedBy
from podium.rules.run import Run
from podium.rules.table import Violation

PARALLELISMS = (k.TENSOR_PARALLELISM, k.PIPELINE_PARALLELISM, k.CONTEXT_PARALLELISM)

DEVICE_BATCHES = (k.MICRO_BATCH_SIZE, k.LOCAL_BATCH_SIZE, k.D_BATCH_SIZE)
"""Keys of the batch of one device, the standard key first; older logs have the others."""

_DISCLOSED = [k.MICRO_BATCH_SIZE.name, k.GRADIENT_ACCUMULATION_STEPS.name]

_PARALLEL = tuple(key.name for key in (k.NUMBER_OF_NODES, k.ACCELERATORS_PER_NODE, *PARALLELISMS))


def _count(run: Run, key: k.Key) -> float | None:
    number = run.number(key.name)
    return number if number is not None and number > 0 else None


@check(
    "disclosure.batch-not-composed",
    key="global_batch_size",
    says="the global batch consists of whole micro-batches: micro_batch_size (or the batch of a "
    "device) times gradient_accumulation_steps times the data-parallel width",
    cites=f"{OWN}, Plausibility",
    stated_by=StatedBy.PODIUM,
    bad=excerpt(
        at(0, "global_batch_size", 32),
        at(0, "micro_batch_size", 3),
        at(0, "gradient_accumulation_steps", 4),
    ),
    good=excerpt(
        at(0, "global_batch_size", 32),
        at(0, "micro_batch_size", 2),
        at(0, "gradient_accumulation_steps", 4),
    ),
    watches=(
        on(
            "global_batch_size",
            *(key.name for key in DEVICE_BATCHES),
            "gradient_accumulation_steps",
            *_PARALLEL,
            when=once,
        ),
    ),
)
def batch_not_composed(run: Run, _: Context) -> Iterator[Violation]:
    """The disclosed values must match the batch size that the convergence check uses.

    The data-parallel width is the number of accelerators divided by tensor, pipeline and context
    parallelism; if the log does not state it, the quotient must at least be a whole number.
    """
    batch = _count(run, k.GLOBAL_BATCH_SIZE)
    counts = {key.name: _count(run, key) for key in _parts(run)}
    factors = [factor for factor in counts.values() if factor is not None]
    if batch is None or len(factors) < len(counts) or not factors:
        return
    width = batch / prod(factors)
    expected = _data_parallel(run) if [*counts] == _DISCLOSED else None
    if (width < 1 or not near_whole(width)) if expected is None else width != expected:
        factor = "a whole multiple of" if expected is None else f"{show(expected)} *"
        requirement = f"{factor} {' * '.join(counts)} (= {show(prod(factors))})"
        yield Violation(
            run.where["global_batch_size"][0],
            f"global_batch_size is {show(batch)}; must be {requirement}",
            requirement,
            batch,
            "correct the value that the run did not use",
        )


def _parts(run: Run) -> list[k.Key]:
    """The factors of the global batch in a log: the batch of a device, accumulation steps."""
    devices = [key for key in DEVICE_BATCHES if key.name in run.where][:1]
    return [key for key in (*devices, k.GRADIENT_ACCUMULATION_STEPS) if key.name in run.where]


def _data_parallel(run: Run) -> float | None:
    """The number of model replicas; None if the log does not state it or it is not whole."""
    nodes, per_node = _count(run, k.NUMBER_OF_NODES), _count(run, k.ACCELERATORS_PER_NODE)
    model = 1.0
    for key in PARALLELISMS:
        # One unknown factor leaves the product unknown, represented as 0
        model *= _count(run, key) or 0.0
    if nodes is None or per_node is None or not model:
        return None
    width = nodes * per_node / model
    # The other check reports numbers that do not divide; here they would appear twice
    return width if near_whole(width) else None


@check(
    "disclosure.accelerators-not-divided",
    key="tensor_parallelism",
    says="tensor, pipeline and context parallelism together divide the number of accelerators",
    cites=f"{OWN}, Plausibility",
    stated_by=StatedBy.PODIUM,
    bad=excerpt(
        at(0, "number_of_nodes", 2),
        at(0, "accelerators_per_node", 8),
        at(0, "tensor_parallelism", 3),
        at(0, "pipeline_parallelism", 1),
        at(0, "context_parallelism", 1),
    ),
    good=excerpt(
        at(0, "number_of_nodes", 2),
        at(0, "accelerators_per_node", 8),
        at(0, "tensor_parallelism", 4),
        at(0, "pipeline_parallelism", 1),
        at(0, "context_parallelism", 1),
    ),
    watches=(on(*_PARALLEL, when=once),),
)
def not_divided(run: Run, _: Context) -> Iterator[Violation]:
    """Each accelerator holds one part of one replica of the model."""
    if "tensor_parallelism" not in run.where:
        return
    counts = [_count(run, key) for key in (k.NUMBER_OF_NODES, k.ACCELERATORS_PER_NODE)]
    degrees = [_count(run, key) for key in PARALLELISMS]
    if None in counts or None in degrees:
        return
    accelerators = (counts[0] or 0) * (counts[1] or 0)
    model = (degrees[0] or 0) * (degrees[1] or 0) * (degrees[2] or 0)
    if not near_whole(accelerators / model):
        yield Violation(
            run.where["tensor_parallelism"][0],
            f"tensor * pipeline * context parallelism is {show(model)}; must divide the "
            f"{show(accelerators)} accelerators",
            f"a divisor of {show(accelerators)}",
            model,
            "correct the number that the run did not use",
        )


CLOSED = ("closed",)


@check(
    "seed.missing",
    follows=(Follows("seeds.none"),),
    key="seed",
    says="a closed run logs at least one seed",
    cites=TRAINING + "Random numbers",
    divisions=CLOSED,
    bad=at(0, "submission_division", "closed"),
    good=excerpt(at(0, "submission_division", "closed"), at(0, "seed", 1_234_567)),
)
def seed_missing(run: Run, context: Context) -> Iterator[Violation]:
    """Seeds come from the clock or another random source, and no two runs may share a seed."""
    if context.limits.seeds_logged and "seed" not in run.where:
        yield Violation(
            None,
            "seed is not logged; must be logged at least once",
            "at least once",
            None,
            "log the seed of the random generators of the run",
        )


def _is_integer(value: Any) -> bool:
    if isinstance(value, str):
        # Not int(value), which raises on very long numbers and accepts 1_000
        return value.strip().lstrip("+-").isdecimal()
    # isinstance accepts True as an int
    return type(value) is int


def _no_integer(_: Run, record: Record) -> bool:
    return not _is_integer(record.value)


@check(
    "seed.not-integer",
    follows=(Follows("seeds.not-integer"),),
    key="seed",
    says="a seed is an integer",
    cites=TRAINING + "Random numbers",
    divisions=CLOSED,
    bad=at(0, "seed", 1.5),
    good=at(0, "seed", 15),
    watches=(on("seed", when=_no_integer),),
)
def seed_not_integer(run: Run, context: Context) -> Iterator[Violation]:
    """The official checker truncates: 1.5, 1.9 and true would all be the same seed."""
    if not context.limits.seeds_logged:
        return
    records = run.records
    faults = [i for i in run.where.get("seed", ()) if not _is_integer(records[i].value)]
    if faults:
        value = records[faults[0]].value
        yield Violation(
            faults[0],
            f"seed is {show_logged(value)}{of_all(faults, run.where['seed'])}; must be an integer",
            "an integer",
            show_logged(value),
            "log the integer that was passed to the random generator",
        )


CHECKS = (batch_not_composed, not_divided, seed_missing, seed_not_integer)
