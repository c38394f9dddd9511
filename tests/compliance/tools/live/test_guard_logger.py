"""A logger for a round logs or raises violations and does not hide other exceptions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from podium.logging_spec import Logger
from podium.logging_spec.emitter import round_guard
from podium.logging_spec.emitter.emit import GuardViolationError
from podium.logging_spec.reader.read import read_log

NAMES: dict[str, Any] = {"round": "6.1", "division": "closed", "benchmark": "llama31_8b"}


def logger(path: Path, **options: Any) -> Logger:
    return Logger(path, rank=0, **NAMES, **options)


def test_a_violation_is_raised_after_the_line_is_written(tmp_path: Path) -> None:
    log = logger(tmp_path / "result_0.txt", on_violation="raise")
    with pytest.raises(GuardViolationError, match=r"is 0\.9; must be 0\.95") as raised:
        log.event("opt_adamw_beta_2", 0.9)
    assert [found.severity for found in raised.value.findings] == ["error"]  # type: ignore[attr-defined]
    assert len(read_log(tmp_path / "result_0.txt").records) == 1


def test_a_violation_is_logged_by_default(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = logger(tmp_path / "result_0.txt")
    log.event("opt_adamw_beta_2", 0.9)
    found = "opt_adamw_beta_2 is 0.9; must be 0.95 (set opt_adamw_beta_2 to 0.95)"
    assert caplog.messages == [f"closed.llama31_8b.opt_adamw_beta_2: {found}"]


def test_a_warning_is_logged_and_not_raised(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = logger(tmp_path / "result_0.txt", on_violation="raise")
    log.event("train_samples", 1000)
    assert "train_samples is 1000" in caplog.messages[0]


def test_missing_keys_are_reported_at_the_end_of_the_log(tmp_path: Path) -> None:
    log = logger(tmp_path / "result_0.txt", on_violation="raise")
    with pytest.raises(GuardViolationError, match="init_start is not logged"):
        log.close()
    log.close()


def test_findings_do_not_hide_an_exception(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError) as raised,
        logger(tmp_path / "result_0.txt", on_violation="raise"),
    ):
        raise ZeroDivisionError
    assert "is not logged" in raised.value.__notes__[0]


def test_nonfinite_values_are_judged(tmp_path: Path) -> None:
    log = logger(tmp_path / "result_0.txt", on_violation="raise", nonfinite="words")
    with pytest.raises(GuardViolationError, match=r"must be 0\.95"):
        log.event("opt_adamw_beta_2", float("nan"))


def test_ranks_that_write_no_log_judge_no_records(tmp_path: Path) -> None:
    log = Logger(tmp_path / "result_0.txt", rank=1, **NAMES, on_violation="raise")
    log.event("opt_adamw_beta_2", 0.9)
    log.close()


def test_rules_are_imported_only_for_a_round(tmp_path: Path) -> None:
    code = (
        "import sys; from podium import Logger; "
        "Logger(sys.argv[1], rank=0).event('seed', 5); "
        "judging = ('podium.rules', 'podium.compliance'); "
        "sys.exit(any(name.startswith(judging) for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "log")], check=True)


def test_missing_rules_are_reported_by_an_import_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "podium.compliance.tools.live.guard", None)
    with pytest.raises(ImportError, match=r"a logger for round 6\.1 needs podium's rules: .*guard"):
        logger(tmp_path / "result_0.txt")


def test_the_emitter_without_podium_asks_for_podium_or_a_guard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_guard, "_make", None)
    with pytest.raises(
        ImportError, match=r"a logger for round 6\.1 .* install podium, or pass a guard"
    ):
        logger(tmp_path / "result_0.txt")
    Logger(tmp_path / "result_1.txt", rank=0, guard=lambda _: (), **NAMES).close()


def test_an_unknown_option_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="'divisoin'"):
        Logger(tmp_path / "result_0.txt", rank=0, round="6.1", divisoin="closed")  # type: ignore[call-arg]
    assert not (tmp_path / "result_0.txt").exists()
