"""Logs of smoke runs: the errors that each checker reports for each benchmark and round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

pytest.importorskip("torch")

from podium.reference_runs.benchmarks.bert import base as phase1
from podium.reference_runs.benchmarks.qwen35_397b_grpo import base as sums
from podium.reference_runs.benchmarks.qwen35_397b_grpo.config import Qwen35
from podium.reference_runs.benchmarks.unet3d.config import UNet3D
from podium.reference_runs.catalogue import find, names
from tests.reference_runs.smoke import Smoke

Division = Literal["closed", "open"]
Keys = frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run and the keys of the errors in its log; `by` replaces the keys for a checker."""

    run: Smoke
    lacks: Keys
    by: Mapping[str, Keys] = field(default_factory=dict)
    converges: bool | None = None
    prepare: Callable[[pytest.MonkeyPatch], None] | None = None

    @property
    def id(self) -> str:
        """The name in the list of tests."""
        scale = "short" if self.run.settings else "whole"
        return f"{self.run.name}-{self.run.round}-{self.run.division}-{scale}"


def runs(
    name: str,
    division: Division,
    lacks: Iterable[str] = (),
    *,
    rounds: Iterable[str] | None = None,
    seed: int = 1,
    short: Mapping[str, Any] | None = None,
    **more: Any,
) -> Iterator[Case]:
    """Yield a case for each round, by default for all rounds of the benchmark."""
    for each in find(name).rounds if rounds is None else rounds:
        settings = dict(short or {})
        run = Smoke(name=name, round=each, division=division, settings=settings, seed=seed)
        yield Case(run=run, lacks=frozenset(lacks), **more)


def rounds_of(name: str, *excepted: str) -> list[str]:
    return [each for each in find(name).rounds if each not in excepted]


def by_policy(keys: Iterable[str], *more: str) -> dict[str, Keys]:
    """Return the keys that the policy rejects in a smoke run if the other checkers reject fewer."""
    return {"policy": frozenset((*keys, *more))}


def official(*keys: str) -> dict[str, Keys]:
    """Return the keys that the official rules reject if the policy rejects others."""
    return dict.fromkeys(("verifier", "incumbent"), frozenset(keys))


TARGET = ("target",)
"""A short run misses the target of the rules, even if its config loosens the target."""

# --- config changes for runs of a few steps ---

SHORT: dict[str, dict[str, Any]] = {
    "bert": {
        "train_samples": 64,
        "eval_samples": 32,
        "evaluation_interval": 32,
        "last_step": 1,
        "target": 0.0,
    },
    "cosmoflow": {"train_samples": 64, "eval_samples": 8, "last_step": 2},
    "deepcam": {"train_samples": 16, "eval_samples": 4, "last_step": 2, "target": 0.0},
    "deepseekv3_671b": {"last_step": 4, "skipped_evaluations": 0, "target": 3.6},
    "dlrm": {"train_samples": 40 * 512, "last_step": 2, "eval_samples": 2000, "target": 0.01},
    "dlrm_dcnv2": {
        "train_samples": 40 * 512,
        "last_step": 2,
        "eval_samples": 2000,
        "target": 0.01,
    },
    "dlrm_v4_hstu": {"days": 1, "train_samples": 2048, "eval_every_data_pct": 1.0, "target": 0.0},
    "flux1": {
        "train_samples": 64,
        "eval_samples": 16,
        "evaluation_frequency": 32,
        "last_step": 2,
        "target": 9.0,
    },
    "gpt3": {"last_step": 16, "evaluation_interval": 256, "eval_samples": 512, "target": 2.69},
    "gpt_oss_20b": {
        "last_step": 1,
        "evaluation_interval": 1,
        "eval_samples": 1,
        "train_samples": 2,
        "global_batch_size": 1,
        "target": 6.0,
    },
    "gnmt": {"train_samples": 64, "eval_samples": 4, "last_step": 1, "extra_length": 1},
    "maskrcnn": {"train_samples": 16, "eval_samples": 4, "target": 0.0, "mask_target": 0.0},
    "minigo": {
        "min_selfplay_games_per_generation": 4,
        "parallel_games": 4,
        "num_readouts": 4,
        "opponent_readouts": 4,
        "match_readouts": 4,
        "gating_games": 4,
        "eval_samples": 8,
        "train_samples": 64,
        "global_batch_size": 32,
        "last_step": 4,
        "max_moves": 10,
        "target": 0.0,
    },
    "oc20": {"train_samples": 32, "eval_samples": 8, "last_step": 2},
    "openfold": {"train_samples": 16, "eval_samples": 4, "val_every_iters": 2, "last_step": 2},
    "qwen35_397b_grpo": {
        "num_prompts_per_step": 2,
        "global_batch_size": 32,
        "last_step": 2,
        "target": 0.0,
    },
    "resnet": {"train_samples": 64, "eval_samples": 20, "target": 0.0},
    "retinanet": {"train_samples": 16, "eval_samples": 4, "target": 0.0},
    "rgat": {
        "papers": 2000,
        "train_samples": 1280,
        "eval_samples": 200,
        "last_step": 2,
        "target": 0.01,
    },
    "rnnt": {"train_samples": 32, "last_step": 1},
    "ssd": {
        "train_samples": 16,
        "eval_samples": 4,
        "last_step": 2,
        "evaluation_epochs": (1, 2),
        "target": 0.0,
    },
    "stable_diffusion": {
        "train_samples": 64,
        "eval_samples": 8,
        "evaluation_interval": 16,
        "last_step": 2,
        "sampling_steps": 2,
    },
    "unet3d": {"last_step": 2, "target": 0.0},
}

# --- keys that the closed rules fix at the full problem size, which smoke runs do not have ---

SAMPLES = ("train_samples", "eval_samples")
OF_GPT3 = ("max_sequence_length", *TARGET)
"""A result must be above 2.6, and the small language of a smoke run is soon below it."""
OF_GPT_OSS = ("opt_learning_rate_decay_steps", "eval_samples", "max_steps")
OF_DEEPSEEK = ("max_sequence_length", "eval_samples", "global_batch_size")
OF_8B = ("max_sequence_length", "eval_samples", "max_steps", "opt_learning_rate_decay_steps")
OF_HSTU = ("opt_base_learning_rate", "opt_sparse_base_learning_rate")
"""The official rules scale these rates with the batch; at smoke scale they are too small."""
OF_MASKRCNN = ("min_image_size", "max_image_size")
OF_OPENFOLD = (
    *("train_samples", "eval_samples", "model_parameters_count", "init_checkpoint_sha256sum"),
    *("train_max_pdb_release_date", "val_min_cameo_submission_date"),
    *("val_max_cameo_submission_date", "val_max_sequence_length", "val_every_iters"),
    *("train_sequence_crop_size", "num_recycling_iters", "max_msa_clusters", "max_extra_msa"),
    *("max_templates", "supervised_chi_loss_weight", "distogram_loss_weight"),
    *("masked_msa_loss_weight", "opt_adam_beta_2"),
)
OF_QWEN35 = ("max_sequence_length", "opt_base_learning_rate")
OF_UNET3D = ("training_input_shape", "validation_input_shape")
OF_405B = ("max_sequence_length", "eval_samples", "opt_base_learning_rate")
STEPS = "opt_learning_rate_decay_steps"
NAMED = ("1.1", "2.0", "2.1")
"""Rounds in which logs of BERT and 3D U-Net name the tensors of the full-size network."""


def early_evaluation(patch: pytest.MonkeyPatch) -> None:
    """Evaluate at step 2; the rules start at epoch 1000, and test_unet3d.py tests that."""
    patch.setattr(UNet3D, "evaluation_steps", lambda _: iter([2]))


def early_validation(patch: pytest.MonkeyPatch) -> None:
    """Evaluate at step 2 and not after 3840 rollouts, and train the base for one step."""
    patch.setattr(Qwen35, "evaluation_steps", lambda _: iter([2]))
    patch.setattr(sums, "STEPS", 1)


def hardly_trained_base(patch: pytest.MonkeyPatch) -> None:
    """Train the base for 20 steps; the log does not depend on it, and training takes 30 seconds."""
    patch.setattr(phase1, "STEPS", 20)


BERT: dict[str, Any] = {"short": SHORT["bert"], "prepare": hardly_trained_base}


def unet3d_cases() -> Iterator[Case]:
    given: dict[str, Any] = {"short": SHORT["unet3d"], "prepare": early_evaluation}
    yield from runs("unet3d", "open", **given)
    small = by_policy(OF_UNET3D, *TARGET)
    others = rounds_of("unet3d", *NAMED)
    yield from runs("unet3d", "closed", TARGET, rounds=others, by=small, **given)
    # The policy only warns about tensor names.
    with_names = official(*TARGET, "tensors")
    yield from runs("unet3d", "closed", TARGET, rounds=NAMED, by=with_names | small, **given)


QUICK = [
    *runs("bert", "open", TARGET, rounds=("0.7",), **BERT),
    *runs("bert", "open", rounds=rounds_of("bert", "0.7"), **BERT),
    *runs("bert", "closed", TARGET, rounds=rounds_of("bert", *NAMED), **BERT),
    *runs("bert", "closed", TARGET, rounds=NAMED, by=official(*TARGET, "tensors"), **BERT),
    *runs("deepcam", "open", TARGET, short=SHORT["deepcam"], converges=True),
    *runs("deepcam", "closed", TARGET, rounds=("0.7",), short=SHORT["deepcam"], converges=True),
    *runs(
        "deepcam",
        "closed",
        (*TARGET, *SAMPLES),
        rounds=rounds_of("deepcam", "0.7"),
        short=SHORT["deepcam"],
        converges=True,
    ),
    *runs("dlrm", "open", TARGET, rounds=("0.7",), short=SHORT["dlrm"], converges=True),
    *runs("dlrm", "open", rounds=rounds_of("dlrm", "0.7"), short=SHORT["dlrm"], converges=True),
    *runs("dlrm", "closed", TARGET, short=SHORT["dlrm"]),
    *runs("dlrm_dcnv2", "open", short=SHORT["dlrm_dcnv2"], converges=True),
    *runs("dlrm_dcnv2", "closed", (*TARGET, "eval_samples"), short=SHORT["dlrm_dcnv2"]),
    *runs(
        "dlrm_v4_hstu",
        "open",
        by=official(*SAMPLES, *OF_HSTU, *TARGET),
        short=SHORT["dlrm_v4_hstu"],
        converges=True,
    ),
    *runs(
        "dlrm_v4_hstu",
        "closed",
        (
            *(*SAMPLES, *TARGET, "max_sequence_length", "eval_every_data_pct", "eval_accuracy"),
            *("opt_base_learning_rate", "opt_learning_rate_warmup_steps"),
        ),
        short=SHORT["dlrm_v4_hstu"],
    ),
    # In the open division, only the official checker limits the loss.
    *runs("flux1", "open", by=official(*TARGET), short=SHORT["flux1"], converges=True),
    *runs(
        "flux1",
        "closed",
        (*TARGET, "evaluation_frequency"),
        by=by_policy(TARGET, "eval_samples", "evaluation_frequency"),
        short=SHORT["flux1"],
        converges=True,
    ),
    *runs("gnmt", "open", TARGET, short=SHORT["gnmt"]),
    *runs(
        "gnmt",
        "closed",
        by={**official(*TARGET), **by_policy(TARGET, "eval_samples")},
        short=SHORT["gnmt"],
    ),
    *runs("gpt_oss_20b", "open", by=official(*TARGET), short=SHORT["gpt_oss_20b"]),
    *runs("gpt_oss_20b", "closed", (*TARGET, *OF_GPT_OSS), short=SHORT["gpt_oss_20b"]),
    *runs("maskrcnn", "open", TARGET, rounds=("0.7",), short=SHORT["maskrcnn"]),
    *runs("maskrcnn", "open", rounds=rounds_of("maskrcnn", "0.7"), short=SHORT["maskrcnn"]),
    *runs(
        "maskrcnn",
        "closed",
        TARGET,
        by=by_policy(OF_MASKRCNN, *TARGET),
        short=SHORT["maskrcnn"],
    ),
    *runs(
        "minigo",
        "open",
        rounds=rounds_of("minigo", "0.7"),
        short=SHORT["minigo"],
        converges=True,
    ),
    # Two steps reach only a target of 0, which the official checker rejects.
    *runs(
        "qwen35_397b_grpo",
        "open",
        by=official(*TARGET, "max_sequence_length"),
        short=SHORT["qwen35_397b_grpo"],
        prepare=early_validation,
    ),
    *runs("resnet", "open", TARGET, rounds=("0.7",), short=SHORT["resnet"]),
    *runs("resnet", "open", rounds=rounds_of("resnet", "0.7"), short=SHORT["resnet"]),
    *runs("resnet", "closed", TARGET, short=SHORT["resnet"]),
    *runs("retinanet", "open", short=SHORT["retinanet"]),
    *runs("retinanet", "closed", TARGET, short=SHORT["retinanet"]),
    *runs(
        "rgat",
        "closed",
        TARGET,
        by=by_policy(SAMPLES, *TARGET),
        short=SHORT["rgat"],
        converges=True,
    ),
    *runs("ssd", "open", TARGET, rounds=("0.7",), short=SHORT["ssd"]),
    *runs("ssd", "open", rounds=rounds_of("ssd", "0.7"), short=SHORT["ssd"]),
    *runs("ssd", "closed", TARGET, short=SHORT["ssd"]),
    *runs("stable_diffusion", "open", short=SHORT["stable_diffusion"], converges=False),
    *runs(
        "stable_diffusion",
        "closed",
        TARGET,
        by=by_policy(TARGET, "eval_samples"),
        short=SHORT["stable_diffusion"],
        converges=False,
    ),
    *unet3d_cases(),
]

# Whole runs only of benchmarks without a short run; tests that train from five seeds run the rest
LONG = [
    *runs(
        "cosmoflow",
        "closed",
        TARGET,
        rounds=rounds_of("cosmoflow", "0.7"),
        by=by_policy(SAMPLES, *TARGET),
        short=SHORT["cosmoflow"],
        converges=False,
    ),
    # HPC 0.7 has no official checker, so the verifier profile also reports the sample counts.
    *runs(
        "cosmoflow",
        "closed",
        (*TARGET, *SAMPLES),
        rounds=("0.7",),
        short=SHORT["cosmoflow"],
        converges=False,
    ),
    # The base meets the target of the rules at once; the policy fixes no values in open
    *runs(
        "deepseekv3_671b",
        "open",
        by=official(*OF_DEEPSEEK),
        short=SHORT["deepseekv3_671b"],
        converges=True,
    ),
    *runs(
        "deepseekv3_671b",
        "closed",
        (*OF_DEEPSEEK, "opt_base_learning_rate", STEPS),
        rounds=("6.0",),
        short=SHORT["deepseekv3_671b"],
        converges=True,
    ),
    # Round 6.1 requires the first evaluation after 25,248 sequences
    *runs(
        "deepseekv3_671b",
        "closed",
        (*OF_DEEPSEEK, "opt_base_learning_rate", STEPS, "eval_accuracy"),
        rounds=("6.1",),
        short=SHORT["deepseekv3_671b"],
        converges=True,
    ),
    # The official verifier of 3.0 and 3.1 has no rules for the open division
    *runs(
        "gpt3",
        "open",
        rounds=("3.0", "3.1"),
        by=official("verifier-crash"),
        short=SHORT["gpt3"],
        converges=True,
    ),
    *runs(
        "gpt3",
        "open",
        rounds=("4.0", "4.1"),
        by=official(*OF_GPT3, "opt_base_learning_rate"),
        short=SHORT["gpt3"],
        converges=True,
    ),
    *runs(
        "gpt3",
        "closed",
        (*OF_GPT3, "opt_base_learning_rate"),
        by=by_policy((*OF_GPT3, "eval_samples", "init_checkpoint_step")),
        short=SHORT["gpt3"],
        converges=True,
    ),
    *runs("llama2_70b_lora", "closed", converges=True),
    *runs("llama31_8b", "open", rounds=rounds_of("llama31_8b")[-1:], converges=True),
    # With a batch of 16, evaluations at a 16th of the scheduled positions look like step counts
    *runs("llama31_8b", "closed", OF_8B, by=by_policy(OF_8B, "eval_accuracy"), converges=True),
    *runs(
        "llama31_405b",
        "closed",
        OF_405B,
        rounds=("5.0",),
        by=by_policy(OF_405B, "opt_end_learning_rate"),
        converges=True,
    ),
    *runs(
        "llama31_405b",
        "closed",
        (*OF_405B, STEPS),
        rounds=("5.1",),
        by=by_policy((*OF_405B, STEPS), "opt_end_learning_rate"),
        converges=True,
    ),
    *runs(
        "llama31_405b",
        "closed",
        (*OF_405B, STEPS),
        rounds=rounds_of("llama31_405b", "5.0", "5.1"),
        by=by_policy((*OF_405B, STEPS), "opt_end_learning_rate", "opt_learning_rate_warmup_steps"),
        converges=True,
    ),
    *runs("qwen35_397b_grpo", "closed", OF_QWEN35, converges=True),
    *runs(
        "oc20",
        "closed",
        TARGET,
        by=by_policy(SAMPLES, *TARGET),
        short=SHORT["oc20"],
        converges=False,
    ),
    *runs(
        "rnnt",
        "closed",
        TARGET,
        rounds=rounds_of("rnnt", "3.1"),
        short=SHORT["rnnt"],
        converges=False,
    ),
    *runs(
        "openfold",
        "closed",
        (*TARGET, *OF_OPENFOLD),
        short=SHORT["openfold"],
        converges=False,
    ),
    *runs("rnnt", "closed", rounds=("3.1",), seed=2, converges=True),
    *runs("transformer", "closed", by=by_policy(["eval_samples"]), seed=2, converges=True),
]


def parameters() -> Iterator[Any]:
    """Yield the cases; quick cases between the oldest and newest round of a trainer are long."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for case in QUICK:
        kinds.setdefault((case.run.name, case.run.division), []).append(case.id)
    ends = {name for ids in kinds.values() for name in (ids[0], ids[-1])}
    for case in (*QUICK, *LONG):
        marks = (pytest.mark.daily(3), *([] if case.id in ends else [pytest.mark.long]))
        yield pytest.param(case, id=case.id, marks=marks)


@pytest.mark.parametrize("case", parameters())
def test_a_smoke_log_has_exactly_the_expected_errors(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case.prepare is not None:
        case.prepare(monkeypatch)
    path = tmp_path / "result_0.txt"
    outcome = case.run.train(path)
    assert case.converges in (None, outcome.converged)
    found = case.run.errors(path)
    assert {"policy", "verifier"} <= set(found)
    assert found == {judge: case.by.get(judge, case.lacks) for judge in found}


def test_every_benchmark_has_a_case_in_each_of_its_rounds() -> None:
    run = {(case.run.name, case.run.round) for case in (*QUICK, *LONG)}
    # test_minigo.py tests the closed logs of MiniGo, including those of 0.7.
    run |= {("minigo", "0.7")}
    assert run == {(name, each) for name in names() for each in find(name).rounds}
