"""Every bundled trainer reaches its target, and only by learning its task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

from podium.reference_runs.catalogue import find, names
from podium.reference_runs.engine.launch import run, run_request
from podium.reference_runs.engine.setting import Setting
from tests.reference_runs.smoke import Smoke
from tests.thorough import usually

if TYPE_CHECKING:
    from podium.reference_runs.engine.loop import Outcome

pytestmark = pytest.mark.long

SEEDS = (1, 2, 3, 4, 5)
USUALLY = 2
"""Seeds per trainer unless PODIUM_THOROUGH is set: the newest round and the oldest."""
ONE = {
    *("cosmoflow", "deepcam", "deepseekv3_671b", "flux1", "gpt_oss_20b"),
    *("gnmt", "maskrcnn", "minigo", "openfold", "qwen35_397b_grpo", "retinanet", "rnnt"),
    *("ssd", "stable_diffusion", "unet3d"),
}
"""Trainers that need half a minute to two minutes per seed: they run only the first seed."""

PINNED = {
    **{
        ("llama31_405b", each): {"verifier": {"max_sequence_length", "eval_samples"}}
        for each in find("llama31_405b").rounds
    },
    ("dlrm_v4_hstu", "6.1"): {
        "verifier": {
            *("train_samples", "eval_samples"),
            *("opt_base_learning_rate", "opt_sparse_base_learning_rate"),
        }
    },
    **{
        ("deepseekv3_671b", each): {
            "verifier": {"max_sequence_length", "eval_samples", "global_batch_size"}
        }
        for each in find("deepseekv3_671b").rounds
    },
    **{
        ("gpt3", each): {"verifier": {"max_sequence_length", "opt_base_learning_rate", "target"}}
        for each in ("4.0", "4.1")
    },
    # The verifier has no rules for the open division in these rounds and crashes
    **{("gpt3", each): {"verifier": {"verifier-crash"}} for each in ("3.0", "3.1")},
    ("qwen35_397b_grpo", "6.1"): {"verifier": {"max_sequence_length"}},
    **{
        (name, each): {"verifier": {"tensors"}}
        for name in ("bert", "unet3d")
        for each in ("1.1", "2.0", "2.1")
    },
    ("cosmoflow", "0.7"): {"verifier": {"train_samples", "eval_samples"}},
}
"""Constants of the full problem that a smoke run cannot log, by the profile that requires them.
The official checker requires those of the verifier profile. 405B, DeepSeek-V3, GPT-3, DLRMv4 and
Qwen3.5: constants of the open division, with a lower bound for GPT-3's target. BERT and U-Net: the
names of their 398 and 50 tensors. CosmoFlow: 0.7 has no official checker, and the verifier profile
requires the sizes, which later checkers do not."""

OF_POLICY = {
    "cosmoflow": {"train_samples", "eval_samples"},
    "gnmt": {"eval_samples"},
    "maskrcnn": {"min_image_size", "max_image_size"},
    "oc20": {"train_samples", "eval_samples"},
    "rgat": {"train_samples", "eval_samples"},
    "stable_diffusion": {"eval_samples"},
    "transformer": {"eval_samples"},
    "unet3d": {"training_input_shape", "validation_input_shape"},
}
"""Constants that only the policy profile requires, in every round."""


def rounds_of(name: str) -> list[str | None]:
    """Return the round of each seed: the newest, the oldest, and rounds with pinned constants.

    The other rounds differ only in rules that other tests violate one by one.
    """
    known = find(name).rounds
    return _rounds(name, known)[: usually(1 if name in ONE else USUALLY, len(SEEDS))]


def _rounds(name: str, known: tuple[str, ...]) -> list[str | None]:
    if not known:
        return [None] * len(SEEDS)
    pinned = [each for each in known if (name, each) in PINNED]
    chosen = list(dict.fromkeys((known[-1], known[0], *pinned)))
    assert len(chosen) <= len(SEEDS)
    return [*chosen, *[known[-1]] * (len(SEEDS) - len(chosen))]


def train(
    name: str, seed: int, path: Path, round_name: str | None = None, **changes: object
) -> Outcome:
    """Run a trainer once at smoke scale on the CPU."""
    settings = {key: str(value) for key, value in changes.items()}
    setting = Setting(seed=seed, device="cpu", cache=path.parent)
    request = run_request(name, setting, settings, (round_name, None))
    return run(request, path, lambda _: None)


def has_no_errors(name: str, each: str, path: Path) -> None:
    """Assert that every checker accepts a log, except for constants of the full problem."""
    smoke = Smoke(name=name, round=each, division=find(name).division, settings={})
    pinned = PINNED.get((name, each), {})
    for judge, errors in smoke.errors(path).items():
        expected = pinned.get(judge.replace("incumbent", "verifier"), set())
        if judge == "policy":
            expected = expected | OF_POLICY.get(name, set())
        assert errors == expected, (each, judge)


def first(name: str) -> int:
    """Return the step of the first evaluation."""
    return next(find(name).smoke().evaluation_steps())


@pytest.mark.daily(7)
@pytest.mark.parametrize("name", names()[::-1])  # start the longest trainers first
def test_every_seed_reaches_the_target_only_by_learning(name: str, tmp_path: Path) -> None:
    steps = []
    for seed, each in zip(SEEDS, rounds_of(name), strict=False):
        path = tmp_path / f"result_{seed}.txt"
        outcome = train(name, seed, path, each)
        assert outcome.converged, f"seed {seed} in {each} ends at {outcome.quality}"
        # A target that is reached at the first evaluation would not test later evaluations
        assert outcome.step > first(name), f"seed {seed}"
        steps.append(outcome.step)
        if each is not None:
            has_no_errors(name, each, path)
    # The number of steps of the slowest seed, with nothing to learn
    lost = train(name, 1, tmp_path / "lost.txt", last_step=max(steps), shuffled_labels=True)
    assert lost.quality is not None
    assert not lost.converged, f"with shuffled labels it is at {lost.quality}"
    # The model does not change: every later evaluation would have the quality of the first
    rate = find(name).smoke().rate_field
    still = train(name, 1, tmp_path / "still.txt", last_step=first(name), **{rate: 0.0})
    assert still.quality is not None
    assert not still.converged, f"without learning it is at {still.quality}"


@pytest.mark.parametrize("name", ["dlrm_v4_hstu", "stable_diffusion"])
def test_the_quality_approaches_the_target_over_several_evaluations(
    name: str, tmp_path: Path
) -> None:
    """With few evaluations, these two trainers would jump from a poor quality to the target.

    The second-to-last evaluation would then be closer to the first than to the target.
    """
    log = tmp_path / "result_1.txt"
    assert train(name, 1, log).converged
    main, target = qualities(log), find(name).smoke().target
    assert len(main) >= 6
    assert abs(main[-2] - target) < abs(main[0] - target) / 2


def qualities(log: Path) -> list[float]:
    """Return the qualities of a log in the metric of its target, which is logged first."""
    records = [json.loads(line.partition(" ")[2]) for line in log.read_text().splitlines()]
    found = [each for each in records if each["key"] == "eval_accuracy"]
    metric = found[0]["metadata"].get("metric")
    return [each["value"] for each in found if each["metadata"].get("metric") == metric]
