"""How large a system is: as it is described, and as the logs of a result prove it."""

from __future__ import annotations

from collections.abc import Iterable

from podium.compliance.judging.results.result import Result
from podium.compliance.judging.systems.fields import letters
from podium.compliance.judging.systems.values import SystemDescription, says_nothing
from podium.rules.convergence.facts import RunFacts


def hardware(system: SystemDescription) -> str:
    """What a system computes with, however it is spelt: its accelerators, else its processors.

    A Preview may call shorter what later has a longer name: a TPU became a TPU-v4.
    """
    name = system.accelerator_model_name
    if not system.accelerators or says_nothing(name):
        name = system.host_processor_model_name
    return letters(name)


def machine(system: SystemDescription) -> tuple[str, str]:
    """What is the same of a system at every scale: its accelerators, and their hosts."""
    return hardware(system), letters(system.host_processor_model_name)


def scale(system: SystemDescription | None) -> int | None:
    """Accelerators of the whole system; its nodes where it has none."""
    # A system without accelerators is measured by its nodes
    return None if system is None else system.accelerators or system.nodes


def proven_scale(result: Result, pruned: Iterable[RunFacts] = ()) -> float | None:
    """The scale that a result's logs prove, in the unit of its description; None if unknown.

    Logs that give no size leave what is described. Throughput proves as much of the system as all
    its instances have together, `pruned` ones included.
    """
    system = result.description
    described = scale(system)
    runs = [run.facts.run for run in result.runs]
    each = [
        size
        for run in (*runs, *(pruned if result.weak else ()))
        # Nodes are not compared with accelerators
        if (size := run.accelerators if system and system.accelerators else run.nodes)
    ]
    if not each or not described:
        return described
    return min(described, sum(each) if result.weak else max(each))
