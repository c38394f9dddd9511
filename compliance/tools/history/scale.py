"""The scale of a system: as described, and as proven by the logs of a result."""

from __future__ import annotations

from collections.abc import Iterable

from podium.compliance.judging.results.result import Result
from podium.compliance.judging.systems.fields import letters
from podium.compliance.judging.systems.values import SystemDescription, says_nothing
from podium.rules.convergence.facts import RunFacts


def hardware(system: SystemDescription) -> str:
    """The accelerators of a system, else its processors, in normalized spelling.

    A Preview may use a shorter name than the available system: a TPU became a TPU-v4.
    """
    name = system.accelerator_model_name
    if not system.accelerators or says_nothing(name):
        name = system.host_processor_model_name
    return letters(name)


def machine(system: SystemDescription) -> tuple[str, str]:
    """The properties of a system that are the same at every scale: accelerators and hosts."""
    return hardware(system), letters(system.host_processor_model_name)


def scale(system: SystemDescription | None) -> int | None:
    """Accelerators of the whole system; its nodes if it has none."""
    # A system without accelerators is measured by its nodes
    return None if system is None else system.accelerators or system.number_of_nodes


def proven_scale(result: Result, pruned: Iterable[RunFacts] = ()) -> float | None:
    """The scale that a result's logs prove, in the unit of its description; None if unknown.

    If the logs do not state a size, the described scale is returned. Throughput proves the total
    size of all its instances, including `pruned` ones.
    """
    system = result.description
    described_scale = scale(system)
    runs = [run.facts.run for run in result.runs]
    scales = [
        size
        for run in (*runs, *(pruned if result.weak else ()))
        # Nodes are not compared with accelerators
        if (size := run.accelerators if system and system.accelerators else run.nodes)
    ]
    if not scales or not described_scale:
        return described_scale
    return min(described_scale, sum(scales) if result.weak else max(scales))
