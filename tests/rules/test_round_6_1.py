"""Rules of the 6.1 policy since November 2026, except the checkpoints in `test_offline.py`."""

from __future__ import annotations

import pytest

from podium.compliance.rulebook.pages import facts
from podium.rules.catalogue import find_round
from podium.rules.finding import Profile, Severity
from tests.builders import LogBuilder, build

RULES = find_round("training", "6.1")
DLRM = "dlrmv4"
PLACES = ("linear", "attn", "comm")


def weights(log: LogBuilder, profile: Profile = Profile.POLICY) -> dict[str, str]:
    return {found.id: found.severity.value for found in log.judge(profile).findings}


# --- number formats ---


@pytest.mark.parametrize("place", PLACES)
def test_mxfp6_is_approved_from_6_1_on(place: str) -> None:
    key = f"lowest_numerical_precision_in_{place}"
    log = build("training", "6.1", "closed", "llama31_8b")
    assert weights(log.set(key, "mxfp6")) == {}
    assert weights(log.set(key, "mxfp5")) == {f"common.{key}": Severity.ERROR}
    earlier = build("training", "6.0", "closed", "llama31_8b")
    assert f"common.{key}" in weights(earlier.set(key, "mxfp6"))


# --- DLRMv4 ---


@pytest.mark.parametrize(("key", "value"), [("hstu_attn_num_layers", 3), ("history_length", 4086)])
def test_the_size_of_the_recommender_must_match_the_reference(key: str, value: int) -> None:
    good = build("training", "6.1", "closed", DLRM)
    rule = f"closed.{DLRM}.{key}"
    # The official checker does not require the key, so a log may lack it
    logged = good.add(key, value, before="init_stop") if key not in good.names() else good
    assert weights(logged) == {}
    assert weights(logged.drop(key)) == {}
    for wrong in (value - 1, value + 1):
        assert weights(logged.set(key, wrong)) == {rule: "warning"}
        assert weights(logged.set(key, wrong), Profile.VERIFIER) == {}


@pytest.mark.parametrize("batch", [8192, 16_384])
def test_the_learning_rate_must_fit_the_batch_size(batch: int) -> None:
    good = build("training", "6.1", "closed", DLRM)
    unit = 1e-6 * batch / 8192

    def rule(rate: float) -> bool:
        log = good.set("global_batch_size", batch).set("opt_base_learning_rate", rate)
        return f"closed.{DLRM}.opt_base_learning_rate" in weights(log)

    assert not any(map(rule, (0.5 * unit, unit, 1.5 * unit)))
    assert all(map(rule, (0.499 * unit, 1.501 * unit, -unit)))


def test_facts_that_no_log_shows_are_listed() -> None:
    assert any("wall-clock order" in fact for fact in facts(RULES, DLRM))
    assert any("full capacity" in fact for fact in facts(RULES, "qwen35_397b_grpo"))
    assert not any("Not mechanical" in fact for fact in facts(RULES, "llama31_8b"))


@pytest.mark.parametrize("name", ["dlrm_v4_hstu", "hstu"])
def test_other_names_of_dlrmv4_are_known(name: str) -> None:
    assert RULES.benchmark(name).name == DLRM
