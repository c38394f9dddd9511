"""An interrupted run resumes from its checkpoint; a run with other settings does not."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

torch = pytest.importorskip("torch")

from podium.compliance import check  # noqa: E402
from podium.compliance.cli.entry import run as command  # noqa: E402
from podium.reference_runs.engine import loop  # noqa: E402
from podium.reference_runs.errors import Interrupted  # noqa: E402
from tests.reference_runs.datasets import LITTLE, settings  # noqa: E402

SHORT = ("--set", "train_samples=256", "--set", "evaluation_interval=48", "--set", "last_step=12")


def podium(*words: object) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = command([str(word) for word in words])
    return status, err.getvalue()


def smoke(folder: Path, *more: object) -> tuple[int, str]:
    state = ("--checkpoint", folder / "state.pt", "--output", folder / "logs")
    return podium("run", "llama31_8b", "-q", "--device", "cpu", *SHORT, *state, *more)


def records(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "logs" / "result_0.txt").read_text()
    return [json.loads(line.partition(" ")[2]) for line in text.splitlines()]


def keys(folder: Path) -> list[str]:
    return [each["key"] for each in records(folder)]


def notes(folder: Path) -> list[str]:
    return [each["value"] for each in records(folder) if each["key"] == "podium_note"]


@contextlib.contextmanager
def cut_short(error: BaseException | int, step: int = 4) -> Any:
    """End a run at `step`, by default before its second evaluation: by an error or a signal."""
    plain = loop.train_block

    def block(stepper: Any, log: Any, bounds: Any, watch: Any) -> float:
        if bounds[0] >= step - 1:
            if isinstance(error, BaseException):
                raise error
            os.kill(os.getpid(), error)
            time.sleep(0.01)
        return plain(stepper, log, bounds, watch)

    with mock.patch.object(loop, "train_block", block):
        yield


def interrupted(folder: Path, *more: object) -> None:
    with cut_short(Interrupted("the node went away")):
        assert smoke(folder, *more)[0] == 1
    assert "run_stop" not in keys(folder)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 1), (signal.SIGINT, 130)])
def test_a_run_stopped_by_a_signal_is_resumed(number: int, status: int, tmp_path: Path) -> None:
    with cut_short(number):
        found, said = smoke(tmp_path)
    assert found == status
    assert len(said.splitlines()) == 1
    assert "run_stop" not in keys(tmp_path)
    assert "interrupted; the run can be resumed after step 3 (--resume)" in notes(tmp_path)
    if number == signal.SIGTERM:
        assert "stopped by SIGTERM" in said
        assert "the run can be resumed after step 3 (--resume)" in said
    found, said = smoke(tmp_path, "--resume")
    assert (found, said) == (1, "")  # too few steps to reach the target
    assert (keys(tmp_path).count("run_start"), keys(tmp_path).count("run_stop")) == (1, 1)
    steps = [
        each["metadata"]["step"] for each in records(tmp_path) if each["key"] == "tracked_stats"
    ]
    assert steps == [3, 6, 9, 12]


def test_a_run_stopped_before_its_first_checkpoint_is_aborted(tmp_path: Path) -> None:
    with cut_short(signal.SIGTERM, step=0):
        assert smoke(tmp_path)[0] == 1
    assert records(tmp_path)[-1]["metadata"]["status"] == "aborted"
    status, said = smoke(tmp_path, "--resume")
    assert status == 2
    assert "has ended" in said


def test_an_error_aborts_a_run_despite_its_checkpoint(tmp_path: Path) -> None:
    with cut_short(torch.OutOfMemoryError("CUDA out of memory")):
        assert smoke(tmp_path)[0] == 1
    assert records(tmp_path)[-1]["metadata"]["status"] == "aborted"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            ("--set", "opt_base_learning_rate=0.0"),
            "opt_base_learning_rate is 0.004 in the checkpoint, 0.0 in this run",
        ),
        (
            ("--set", "global_batch_size=8"),
            "global_batch_size is 16 in the checkpoint, 8 in this run",
        ),
        (("--set", "target=0.9"), "target is 0.68 in the checkpoint, 0.9 in this run"),
        (("--seed", "77"), "--seed is 1 in the checkpoint, 77 in this run"),
        (("--round", "6.0"), "--round is 6.1 in the checkpoint, 6.0 in this run"),
        (("--division", "closed"), "--division is open in the checkpoint, closed in this run"),
        (("--precision", "bf16"), "--precision is fp32 in the checkpoint, bf16 in this run"),
        (
            ("--org", "Acme"),
            "--org is podium reference trainers in the checkpoint, Acme in this run",
        ),
    ],
)
def test_a_run_with_other_settings_is_not_resumed(
    more: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    interrupted(tmp_path)
    before = (tmp_path / "logs" / "result_0.txt").read_bytes()
    status, reported = smoke(tmp_path, *more, "--resume")
    assert status == 2
    assert reported.count("\n") == 1
    assert f"belongs to another run: {said}" in reported
    # The original run can still be resumed
    assert (tmp_path / "logs" / "result_0.txt").read_bytes() == before
    assert smoke(tmp_path, "--resume")[0] == 1


def test_many_differences_are_reported_in_one_line(tmp_path: Path) -> None:
    interrupted(tmp_path)
    more = [f"{name}=0.5" for name in ("target", "opt_base_learning_rate", "opt_adamw_beta_1")]
    words = [word for each in (*more, "opt_adamw_beta_2=0.5") for word in ("--set", each)]
    status, reported = smoke(tmp_path, *words, "--seed", 9, "--resume")
    assert (status, reported.count("\n")) == (2, 1)
    assert reported.endswith("; and 2 more\n")


def test_a_resumed_run_can_have_other_workers_and_threads(tmp_path: Path) -> None:
    interrupted(tmp_path)
    assert smoke(tmp_path, "--set", "workers=1", "--threads", 1, "--resume") == (1, "")


def test_an_old_or_damaged_checkpoint_is_an_error(tmp_path: Path) -> None:
    interrupted(tmp_path)
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    del state["run"]
    torch.save(state, tmp_path / "state.pt")
    status, reported = smoke(tmp_path, "--resume")
    assert (status, reported.count("\n")) == (2, 1)
    assert "was written by an older podium" in reported
    (tmp_path / "state.pt").write_bytes(b"damaged")
    status, reported = smoke(tmp_path, "--resume")
    assert (status, reported.count("\n")) == (2, 1)
    assert "cannot be read" in reported


# --- real data ---


def real(folder: Path, *more: object) -> tuple[int, str]:
    words = ["run", "llama31_8b", "-q", "--device", "cpu", "--scale", "reference"]
    words += ["--data", str(folder / "data"), *settings("llama31_8b")]
    state = ("--checkpoint", folder / "state.pt", "--output", folder / "logs")
    return podium(*words, *state, *more)


@pytest.mark.parametrize("change", ["absent", "longer"])
def test_a_resumed_run_with_missing_or_changed_data_keeps_its_log(
    change: str, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    LITTLE["llama31_8b"].write(tmp_path / "data")
    with cut_short(Interrupted("the node went away"), step=2):
        assert real(tmp_path)[0] == 1
    log, tokens = tmp_path / "logs" / "result_0.txt", tmp_path / "data" / "train.bin"
    before, content = keys(tmp_path), tokens.read_bytes()
    if change == "absent":
        tokens.unlink()
    else:
        tokens.write_bytes(content * 2)
    status, reported = real(tmp_path, "--resume")
    assert (status, reported.count("\n")) == (2, 1)
    assert log.exists()
    assert "run_stop" not in keys(tmp_path)
    assert keys(tmp_path)[: len(before)] == before
    tokens.write_bytes(content)
    assert real(tmp_path, "--resume")[0] in (0, 1)
    assert keys(tmp_path).count("run_stop") == 1


@pytest.mark.long
def test_the_log_of_a_resumed_run_has_no_errors(tmp_path: Path) -> None:
    long = ("--set", "train_samples=65536", "--set", "evaluation_interval=768")
    state = ("--checkpoint", tmp_path / "state.pt", "--output", tmp_path / "logs")
    words = ("run", "llama31_8b", "-q", "--device", "cpu", *long, *state)
    with cut_short(signal.SIGTERM, step=49):
        assert podium(*words)[0] == 1
    assert podium(*words, "--resume")[0] == 0
    log = str(tmp_path / "logs" / "result_0.txt")
    report = check(log, round="6.1", usage="training", profile="policy")
    assert [each for each in report.findings if each.severity == "error"] == []
