"""Every bundled trainer learns its task, and could not reach its target by anything else."""

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
"""Seeds of each trainer, unless PODIUM_THOROUGH is set: the newest round and the oldest."""
ONE = {
    *("cosmoflow", "deepcam", "deepseekv3_671b", "flux1", "gpt_oss_20b"),
    *("gnmt", "maskrcnn", "minigo", "openfold", "qwen35_397b_grpo", "retinanet", "rnnt"),
    *("ssd", "stable_diffusion", "unet3d"),
}
"""What takes half a minute to two minutes for a seed: only the first."""

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
    # It has no rules for the open division, and ends without a verdict
    **{("gpt3", each): {"verifier": {"verifier-crash"}} for each in ("3.0", "3.1")},
    ("qwen35_397b_grpo", "6.1"): {"verifier": {"max_sequence_length"}},
    **{
        (name, each): {"verifier": {"tensors"}}
        for name in ("bert", "unet3d")
        for each in ("1.1", "2.0", "2.1")
    },
    ("cosmoflow", "0.7"): {"verifier": {"train_samples", "eval_samples"}},
}
"""Constants of the full problem that a smoke run cannot log, by who asks for them; the incumbent
asks for what the verifier profile does. 405B, DeepSeek-V3, GPT-3, DLRMv4 and Qwen3.5: the open
division's. GPT-3's target has a lower bound there, too.
BERT and U-Net: names of their 398 and 50 tensors. CosmoFlow's first round has no official verifier
that would forget its sizes."""

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
"""Those that the policy alone asks for, in every round."""


def rounds_of(name: str) -> list[str | None]:
    """The round of each seed: the newest and the oldest, and those with pinned constants.

    What lies between differs from them in rules that other tests bend one by one.
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
    """One run at smoke scale on one thread of the processor."""
    settings = {key: str(value) for key, value in changes.items()}
    setting = Setting(seed=seed, device="cpu", cache=path.parent)
    request = run_request(name, setting, settings, (round_name, None))
    return run(request, path, lambda _: None)


def has_no_errors(name: str, each: str, path: Path) -> None:
    """Whether all judges accept a log, but for the constants of the full problem."""
    smoke = Smoke(name=name, round=each, division=find(name).division, settings={})
    pinned = PINNED.get((name, each), {})
    for judge, errors in smoke.errors(path).items():
        expected = pinned.get(judge.replace("incumbent", "verifier"), set())
        if judge == "policy":
            expected = expected | OF_POLICY.get(name, set())
        assert errors == expected, (each, judge)


def first(name: str) -> int:
    """The step of the first evaluation."""
    return next(find(name).smoke().evaluation_steps())


@pytest.mark.daily(7)
@pytest.mark.parametrize("name", names()[::-1])  # the last take longest, and so begin first
def test_every_seed_reaches_the_target_and_only_by_learning(name: str, tmp_path: Path) -> None:
    steps = []
    for seed, each in zip(SEEDS, rounds_of(name), strict=False):
        path = tmp_path / f"result_{seed}.txt"
        outcome = train(name, seed, path, each)
        assert outcome.converged, f"seed {seed} in {each} ends at {outcome.quality}"
        # A target that is met at once shows nothing of how a run is evaluated
        assert outcome.step > first(name), f"seed {seed}"
        steps.append(outcome.step)
        if each is not None:
            has_no_errors(name, each, path)
    # As many steps as the slowest seed needed, but nothing to learn
    lost = train(name, 1, tmp_path / "lost.txt", last_step=max(steps), shuffled_labels=True)
    assert lost.quality is not None
    assert not lost.converged, f"with shuffled labels it is at {lost.quality}"
    # Nothing to learn by: what the first evaluation finds is what any later one would
    rate = find(name).smoke().rate_field
    still = train(name, 1, tmp_path / "still.txt", last_step=first(name), **{rate: 0.0})
    assert still.quality is not None
    assert not still.converged, f"without learning it is at {still.quality}"


@pytest.mark.parametrize("name", ["dlrm_v4_hstu", "stable_diffusion"])
def test_a_target_is_approached_in_several_evaluations(name: str, tmp_path: Path) -> None:
    """These two learn abruptly: with few evaluations, a run jumps from a poor quality to the end.

    The evaluation before the last is then still closer to the first than to the target.
    """
    log = tmp_path / "result_1.txt"
    assert train(name, 1, log).converged
    main, target = qualities(log), find(name).smoke().target
    assert len(main) >= 6
    assert abs(main[-2] - target) < abs(main[0] - target) / 2


def qualities(log: Path) -> list[float]:
    """The qualities of a log under its target's metric, which is logged first."""
    records = [json.loads(line.partition(" ")[2]) for line in log.read_text().splitlines()]
    found = [each for each in records if each["key"] == "eval_accuracy"]
    metric = found[0]["metadata"].get("metric")
    return [each["value"] for each in found if each["metadata"].get("metric") == metric]
