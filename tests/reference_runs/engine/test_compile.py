"""A model that is compiled learns and judges as one that is not, for every benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch._dynamo import config as tracing  # noqa: E402
from torch._dynamo.utils import counters  # noqa: E402
from torch._inductor import config as generating  # noqa: E402

from podium.reference_runs.catalogue import find, names  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from tests.reference_runs.shrunken import losses_of, opened  # noqa: E402

pytestmark = pytest.mark.long

BEFORE, AFTER = 4, 2
"""Steps before the evaluation, and after it."""

NEAR = 1e-6
"""How far losses may be from those of the plain model, relatively."""

JUDGED = 1e-5
"""How far the quality may be: samples with almost the same score may change places."""

ROUGH = {"deepcam": 1e-2, "ssd": 1e-4}
"""Tolerances of models whose rectifiers meet numbers within rounding of 0, where slopes differ. In
double precision the gradients of both DeepCAMs agree to 1e-12; SSD differs by 3e-6 after six steps.
"""

FLAT = {"qwen35_397b_grpo"}
"""Trainers whose loss is 0 but for rounding where all answers have one length: only the quality
shows that the weights have moved."""

DECODED = {"gnmt", "qwen35_397b_grpo", "rnnt", "transformer"}
"""Whose evaluation takes a model's parts, or its answers, word after word: not compiled."""

COMPILED = sorted({*names()} - {"oc20"})


class Done(NamedTuple):
    """What some steps and an evaluation gave, and how many graphs each of them brought."""

    losses: list[float]
    quality: float
    trained: int
    evaluated: int


@pytest.fixture(autouse=True)
def _compiler() -> Iterator[None]:
    """Nothing compiled earlier; the draws of plain torch; an error instead of endless compiling."""
    torch.compiler.reset()
    counters.clear()
    with (
        generating.patch(fallback_random=True),
        tracing.patch(fail_on_recompile_limit_hit=True),
    ):
        yield
    torch.compiler.reset()


def graphs() -> int:
    return int(counters["stats"]["unique_graphs"])


def done(name: str, cache: Path, *, compiled: bool) -> Done:
    setting = Setting(device="cpu", usage=find(name).usage, cache=cache, compile=compiled)
    with opened(name, setting, Ranks(torch.device("cpu"))) as stepper:
        losses = losses_of(stepper, 0, BEFORE)
        trained = graphs()
        quality = stepper.evaluate()
        evaluated = graphs() - trained
        losses += losses_of(stepper, BEFORE, BEFORE + AFTER)
    return Done(losses, quality, trained, evaluated)


@pytest.mark.daily(24)
@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_model_has_the_losses_and_the_quality_of_a_plain_one(
    name: str, tmp_path: Path
) -> None:
    plain, compiled = (done(name, tmp_path, compiled=each) for each in (False, True))
    assert (plain.trained, plain.evaluated) == (0, 0)
    assert compiled.trained > 0
    assert (compiled.evaluated > 0) is (name not in DECODED)
    # The steps have moved the weights: a loss that stays the same would agree, too
    assert name in FLAT or np.ptp(plain.losses) > 1e-4
    near, judged = ROUGH.get(name, NEAR), ROUGH.get(name, JUDGED)
    assert compiled.losses[0] == pytest.approx(plain.losses[0], rel=NEAR, abs=NEAR)
    assert compiled.losses == pytest.approx(plain.losses, rel=near, abs=near)
    assert compiled.quality == pytest.approx(plain.quality, rel=judged)


def test_in_half_precision_experts_are_in_the_same_graph_as_all_else(tmp_path: Path) -> None:
    """Whoever waits for how many tokens each expert has breaks it."""
    found: list[list[float]] = []
    for compiled in (False, True):
        setting = Setting(device="cpu", cache=tmp_path, compile=compiled, precision="bf16")
        with opened("gpt_oss_20b", setting, Ranks(torch.device("cpu"))) as stepper:
            found.append(losses_of(stepper, 0, BEFORE))
    assert graphs() == 1
    assert not counters["graph_break"]
    # Fused operators round to eight bits less often
    assert found[1] == pytest.approx(found[0], rel=1e-3)
