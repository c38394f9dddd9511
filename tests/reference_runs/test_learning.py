"""Every bundled trainer learns its task, and could not reach its target by anything else."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

from reference_runs.catalogue import find, names
from reference_runs.launch import order, run
from reference_runs.setting import Setting
from tests.reference_runs.smoke import Smoke

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


PINNED = {
    **{
        ("llama31_405b", each): {"verifier": {"max_sequence_length", "eval_samples"}}
        for each in find("llama31_405b").rounds
    },
    **{("unet3d", each): {"verifier": {"tensors"}} for each in ("1.1", "2.0", "2.1")},
    ("cosmoflow", "0.7"): {
        "policy": {"train_samples", "eval_samples"},
        "verifier": {"train_samples", "eval_samples"},
    },
}
"""Constants of the full problem that a smoke run cannot log, by who asks for them; the incumbent
asks for what the verifier profile does. 405B: the open division's. U-Net: names of its 50 tensors.
CosmoFlow's first round has no official verifier that would forget its sizes."""

ROUNDS = [
    (name, each)
    for name in names()
    for each in find(name).rounds[:-1]
    if each == find(name).rounds[0] or (name, each) in PINNED
]
"""The oldest of each, and those with pinned constants; the newest is that of the five seeds. All
would take a quarter of an hour, and what lies between differs from them in rules that other tests
bend one by one."""


def its_log_has_no_errors(name: str, round_name: str, path: Path) -> None:
    """But for the constants of the full problem."""
    smoke = Smoke(name=name, round=round_name, division=find(name).division, settings={})
    pinned = PINNED.get((name, round_name), {})
    for judge, errors in smoke.errors(path).items():
        assert errors == pinned.get(judge.replace("incumbent", "verifier"), set()), judge


@pytest.mark.parametrize("name", names())
def test_every_seed_reaches_the_target_and_only_by_learning(name: str, tmp_path: Path) -> None:
    steps = []
    for seed in SEEDS:
        began = time.process_time()
        outcome = train(name, seed, tmp_path / f"result_{seed}.txt")
        assert outcome.converged, f"seed {seed} ends at {outcome.quality}"
        assert time.process_time() - began < LIMIT_S
        steps.append(outcome.step)
    if find(name).rounds:
        its_log_has_no_errors(name, find(name).rounds[-1], tmp_path / "result_1.txt")
    # As many steps as the slowest seed needed, but nothing to learn by, or nothing to learn.
    rate = find(name).smoke().rate_field
    still = train(name, 1, tmp_path / "still.txt", last_step=max(steps), **{rate: 0.0})
    assert not still.converged, f"without learning it is at {still.quality}"
    lost = train(name, 1, tmp_path / "lost.txt", last_step=max(steps), shuffled_labels=True)
    assert not lost.converged, f"with shuffled labels it is at {lost.quality}"


@pytest.mark.parametrize(("name", "round_name"), ROUNDS)
def test_its_log_is_accepted_by_older_rounds(name: str, round_name: str, tmp_path: Path) -> None:
    smoke = Smoke(name=name, round=round_name, division=find(name).division, settings={})
    path = tmp_path / "result_0.txt"
    assert smoke.train(path).converged
    its_log_has_no_errors(name, round_name, path)
