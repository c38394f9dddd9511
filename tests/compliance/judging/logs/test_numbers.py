"""Numbers in findings: different values are printed so that the difference is visible."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium import check
from podium.compliance.reporting.models import FindingEntry
from podium.compliance.text.words import distinct
from podium.rules.constraints.formula import show, show_logged
from tests.builders import build


def found(folder: Path, key: str, value: Any, round_: str, benchmark: str) -> list[FindingEntry]:
    log = build("training", round_, "closed", benchmark).set(key, value)
    report = check(log.write(folder / "result_0.txt"), round=round_)
    return [each for each in report.findings if each.key == key]


def test_a_rounded_product_is_distinguished_from_the_computed_value(tmp_path: Path) -> None:
    log = build("training", "5.1", "closed", "llama31_405b").set("global_batch_size", 1008)
    log = log.set("opt_base_learning_rate", 7e-05)
    report = check(log.write(tmp_path / "result_0.txt"), round="5.1")
    (finding,) = [each for each in report.findings if each.key == "opt_base_learning_rate"]
    assert finding.message.endswith("(= 7.000000000000001e-05)")
    assert "is 7e-05;" in finding.message
    assert "without tolerance" in finding.hint
    assert finding.official
    # The official verifier accepts the value that the message asks for
    log.set("opt_base_learning_rate", 7.000000000000001e-05).write(tmp_path / "result_0.txt")
    again = check(tmp_path / "result_0.txt", round="5.1")
    assert not [each for each in again.findings if each.key == "opt_base_learning_rate"]


def test_a_logged_float_is_printed_with_its_decimal_point(tmp_path: Path) -> None:
    messages = [
        each.message for each in found(tmp_path, "lora_rank", 7.0, "5.1", "llama2_70b_lora")
    ]
    assert messages
    assert all(message.startswith("lora_rank is 7.0;") for message in messages)


@pytest.mark.parametrize(
    ("value", "logged", "computed"),
    [
        (7.0, "7.0", "7"),
        (7, "7", "7"),
        ([0.9, 1.0], "[0.9, 1.0]", "[0.9, 1]"),
        ({"a": 2.0}, "{a: 2.0}", "{a: 2}"),
        (1e300, "1e+300", "1e+300"),
        (1745912296.0, "1745912296", "1745912296"),  # a time
        (float("inf"), "inf", "inf"),
    ],
)
def test_whole_floats_are_formatted_as_logged_or_as_computed(
    value: Any, logged: str, computed: str
) -> None:
    assert (show_logged(value), show(value)) == (logged, computed)


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ((1.5, 2.0), ["1.5", "2"]),
        ((1.2345678, 1.2345679), ["1.2345678", "1.2345679"]),
        ((3.0, 3.0), ["3", "3"]),
        ((7e-05, 7.000000000000001e-05), ["7e-05", "7.000000000000001e-05"]),
    ],
)
def test_numbers_are_printed_with_enough_digits_to_differ(
    numbers: tuple[float, ...], texts: list[str]
) -> None:
    assert distinct(*numbers) == texts
