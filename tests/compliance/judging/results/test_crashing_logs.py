"""No profile accepts a log on which the official checker crashes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.compliance.command_line import podium
from tests.compliance.trees import Submission, usual

Damage = Callable[[dict[str, Any]], None]
"""A change to each record of a log."""


def value(key: str, instead: object) -> Damage:
    def damage(record: dict[str, Any]) -> None:
        if record["key"] == key:
            record["value"] = instead

    return damage


def position(instead: object) -> Damage:
    def damage(record: dict[str, Any]) -> None:
        if record["key"] == "eval_accuracy":
            record["metadata"]["samples_count"] = instead

    return damage


def no_time(record: dict[str, Any]) -> None:
    record["time_ms"] = None


def broken(line: str, damage: Damage) -> str:
    head, token, body = line.partition(":::MLLOG ")
    record = json.loads(body)
    damage(record)
    return f"{head}{token}{json.dumps(record)}\n"


CRASHES: dict[str, Damage] = {
    "a quality as text": value("eval_accuracy", "tensor(5.5)"),
    "a quality of null": value("eval_accuracy", None),
    "a quality in a list": value("eval_accuracy", [5.5]),
    "a batch size as text": value("global_batch_size", "1152"),
    "a batch size of null": value("global_batch_size", None),
    "a position as text": position("1"),
    "a position of null": position(None),
    "a time of null": no_time,
}


@pytest.fixture
def tree(tmp_path: Path) -> Submission:
    return usual(tmp_path / "training_results_v5.1")


@pytest.mark.parametrize("name", CRASHES)
def test_a_log_that_crashes_the_official_checker_is_rejected(name: str, tree: Submission) -> None:
    log = tree.root / tree.folder() / "result_1.txt"
    lines = log.read_text().splitlines()
    log.write_text("".join(broken(line, CRASHES[name]) for line in lines))
    by_policy = podium("check", tree.root)
    assert by_policy.exit_code == 1
    assert "OFFICIAL VERIFIER: rejects" in by_policy.stdout
    first = by_policy.stdout.partition("\nerror ")[2]
    assert first.split()[0] in ("[log.wrong-type]", "[log.missing-field]")
    assert "result_1.txt:" in re.sub(r"\s", "", first)
    assert podium("check", tree.root, "--profile", "verifier").exit_code == 1
    official = podium("compat", "package_checker", tree.root, "training", "5.1.0")
    assert official.exit_code == 1
    assert "PACKAGE CHECKER FOUND ERRORS" in official.stdout + official.stderr


@pytest.mark.parametrize("line", ["[... truncated ...]", "MLLOG {'key': 'seed'}"])
def test_a_line_that_the_official_reader_skips_does_not_reject(line: str, tree: Submission) -> None:
    log = tree.root / tree.folder() / "result_1.txt"
    log.write_text(f"{line}\n{log.read_text()}")
    assert "OFFICIAL VERIFIER: accepts" in podium("check", tree.root).stdout
