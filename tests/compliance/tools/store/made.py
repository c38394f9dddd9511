"""Results for analyses, built without logs."""

from __future__ import annotations

from typing import Any

from podium.compliance.tools.store.analyses.material import ResultRow, RunRow


def run(minutes: float | None, **said: Any) -> RunRow:
    """A scored run whose evaluation takes a tenth of its time; `said` replaces any field."""
    given: dict[str, Any] = {
        "file": "a.txt",
        "line": 1,
        "result": "r",
        "minutes": minutes,
        "converged": True,
        "role": "scored",
        "to_converge": 10.0,
        "init_minutes": 1.0,
        "staging_minutes": None,
        "first_epoch_minutes": 0.5,
        "evaluation_minutes": None if minutes is None else minutes / 10,
        "epochs": 10,
        "joules": None,
    }
    return RunRow(**(given | said))


def result(*minutes: float, runs: tuple[RunRow, ...] = (), **said: Any) -> ResultRow:
    """A closed result of training 5.1 with scored runs of the given minutes."""
    made = runs or tuple(run(each) for each in minutes)
    known = [each.minutes for each in made if each.role == "scored" and each.minutes]
    mean = sum(known) / len(known) if known else None
    given: dict[str, Any] = {
        "suite": "training",
        "round": "5.1",
        "file": "a.txt",
        "line": 1,
        "result": "training_results_v5.1/Acme/results/sys/llama31_8b",
        "submitter": "Acme",
        "system": "sys",
        "benchmark": "llama31_8b",
        "division": "closed",
        "model": "llama31_8b",
        "comparable_from": "5.1",
        "comparable_to": "6.0",
        "category": "Available cloud",
        "scaling": "strong",
        "verdict": "accepted",
        "minutes": mean,
        "factor": 1.0,
        "score": mean,
        "needed": len(made),
        "dropped": 0,
        "nodes": 1,
        "chips": 8,
        "chip": "Acme X1",
        "framework": "",
        "batch_size": 32.0,
        "to_converge": 10.0,
        "unit": "samples",
        "joules": None,
        "models": None,
        "minutes_of_all": None,
        "models_per_minute": None,
    }
    return ResultRow(**(given | said), runs=made)
