"""The check that the batch of a result divides among the accelerators of its system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.results.result import Result
from podium.compliance.judging.results.rules.batch_rules import NOT_SPREAD
from podium.rules.checks.disclosure import DEVICE_BATCHES
from podium.rules.finding import Finding
from podium.rules.run import as_number


def spreads(result: Result, context: JudgingContext) -> Iterator[Finding]:
    """Compare the batch of a device, times accumulation, with the system description.

    If there are several accelerators for one part of the batch, the model is divided among them. If
    the log has no accumulation, a device may have processed its batch several times. Instances of a
    throughput result are smaller than their system and are not checked.
    """
    description = result.description
    accelerators = description.accelerators if description is not None else None
    if not accelerators or result.weak or not result.runs:
        return
    run = result.runs[0]
    settings = run.facts.settings.as_dict()
    batch = _count(settings, "global_batch_size")
    device = next((key.name for key in DEVICE_BATCHES if key.name in settings), None)
    device_count = _count(settings, device) if device is not None else None
    if device is None or batch is None or device_count is None:
        return
    steps = _count(settings, "gradient_accumulation_steps") or 1
    width = batch / (device_count * steps)
    # Widely used code processes a device's batch twice, and logs an accumulation of 1
    if _divides(width, accelerators) or (steps == 1 and _divides(accelerators, width)):
        return
    product = device if steps == 1 else f"{device} * gradient_accumulation_steps"
    yield NOT_SPREAD.found(
        context.profile,
        run.display_path,
        key=device,
        batch=f"{batch:.15g}",
        width=width,
        product=product,
        accelerators=accelerators,
    )


def _divides(part: float, total: float) -> bool:
    return total % part == 0


def _count(settings: Mapping[str, Any], key: str) -> float | None:
    number = as_number(settings.get(key))
    return number if number is not None and number > 0 else None
