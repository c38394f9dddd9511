"""Every bundled trainer learns its task, and could not reach its target by anything else."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

from compliance import check
from reference_runs.catalogue import find, names
from reference_runs.launch import order, run
from reference_runs.setting import Setting

if TYPE_CHECKING:
    from reference_runs.loop import Outcome

pytestmark = pytest.mark.long

SEEDS = (1, 2, 3, 4, 5)
LIMIT_S = 120
"""Processor time of one smoke run on one thread, which bounds its wall time on two idle cores."""


def train(name: str, seed: int, path: Path, **changes: object) -> Outcome:
    """One run at smoke scale on one thread of the processor."""
    settings = {key: str(value) for key, value in changes.items()}
    ordered = order(name, Setting(seed=seed, device="cpu", cache=path.parent), settings)
    return run(ordered, path, lambda _: None)


@pytest.mark.parametrize("name", names())
def test_every_seed_reaches_the_target_and_only_by_learning(name: str, tmp_path: Path) -> None:
    steps = []
    for seed in SEEDS:
        began = time.process_time()
        outcome = train(name, seed, tmp_path / f"result_{seed}.txt")
        assert outcome.converged, f"seed {seed} ends at {outcome.quality}"
        assert time.process_time() - began < LIMIT_S
        steps.append(outcome.step)
    # As many steps as the slowest seed needed, but nothing to learn by, or nothing to learn.
    rate = find(name).smoke().rate_field
    still = train(name, 1, tmp_path / "still.txt", last_step=max(steps), **{rate: 0.0})
    assert not still.converged, f"without learning it is at {still.quality}"
    lost = train(name, 1, tmp_path / "lost.txt", last_step=max(steps), shuffled_labels=True)
    assert not lost.converged, f"with shuffled labels it is at {lost.quality}"


@pytest.mark.parametrize("name", [each for each in names() if find(each).rounds])
def test_its_log_is_accepted_by_the_newest_round_in_both_profiles(
    name: str, tmp_path: Path
) -> None:
    benchmark = find(name)
    train(name, 1, tmp_path / "result_0.txt")
    for profile in ("policy", "verifier"):
        report = check(
            tmp_path / "result_0.txt",
            round=benchmark.rounds[-1],
            usage=benchmark.usage,
            profile=profile,
        )
        errors = {f.key for f in report.findings if f.severity == "error"}
        assert errors == (PINNED_OPEN.get(name, set()) if profile == "verifier" else set())


PINNED_OPEN = {"llama31_405b": {"max_sequence_length", "eval_samples"}}
"""Constants of the full problem that the official verifier pins in the open division, too."""
