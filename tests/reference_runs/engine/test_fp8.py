"""`podium run --precision fp8`: the layers that compute with 8 bits, and their accuracy."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchao")

from podium.reference_runs.catalogue import task_of  # noqa: E402
from podium.reference_runs.engine.checkpoints.randomness import seed_everything  # noqa: E402
from podium.reference_runs.engine.launch import run_request  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.engine.stepper import Stepper  # noqa: E402
from tests.compliance.command_line import podium  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

# An 8-bit matrix product takes seconds on a CPU without instructions for it
SMALL = {
    "layers": "1",
    "max_sequence_length": "16",
    "global_batch_size": "4",
    "train_samples": "256",
    "eval_samples": "8",
}
SHORT = [
    word
    for name, value in {**SMALL, "last_step": "3", "evaluation_interval": "12"}.items()
    for word in ("--set", f"{name}={value}")
]


def stepper(name: str, precision: Any, **settings: str) -> Stepper:
    """A stepper that is ready to train at smoke scale."""
    request = run_request(name, Setting(device="cpu", precision=precision), settings)
    seed_everything(1)
    task = task_of(name)(request.config(), request.setting, Ranks(torch.device("cpu")))
    task.prepare()
    task.open_data()
    return Stepper(task)


def converted(made: Stepper) -> set[str]:
    """The names of layers that compute with 8 bits."""
    layers = made.model.named_modules()
    return {name for name, layer in layers if type(layer).__name__ == "Float8Linear"}


def losses(made: Stepper) -> list[float]:
    """The losses of ten steps."""
    return [float(each) for each in made.steps(1, 0, 10)]


def test_only_the_projections_of_a_decoder_are_converted() -> None:
    made = stepper("llama31_8b", "fp8")
    projections = ("query", "key", "value", "out", "gate", "up", "down")
    count = len(made.model.blocks)  # type: ignore[arg-type]
    assert len(converted(made)) == count * len(projections)
    assert all(name.startswith("blocks.") for name in converted(made))
    assert all(each.dtype is torch.float32 for each in made.model.parameters())


def test_routers_and_experts_keep_their_precision() -> None:
    found = converted(stepper("gpt_oss_20b", "fp8", max_sequence_length="128", window="32"))
    assert found
    assert all(".attention." in name for name in found)


def test_an_adapted_projection_keeps_its_parameters() -> None:
    """Conversion would remove the adapter."""
    before, after = (
        {name for name, _ in stepper("llama2_70b_lora", each).model.named_parameters()}
        for each in ("bf16", "fp8")
    )
    assert before == after


def test_losses_are_close_to_those_of_single_precision() -> None:
    exact, rounded = (losses(stepper("llama31_8b", each, **SMALL)) for each in ("fp32", "fp8"))
    assert rounded != exact
    # The rounding errors of the 3-bit mantissa average out over a product
    assert rounded == pytest.approx(exact, rel=0.01)


def test_the_log_discloses_fp8(tmp_path: Path) -> None:
    words = ("llama31_8b", *SHORT, "--precision", "fp8", "--output", str(tmp_path), "-q")
    result = podium("run", *words)
    assert "aborted at step 3" in result.stdout, result.stderr
    rows = (line.partition(" ")[2] for line in (tmp_path / "result_0.txt").read_text().splitlines())
    said = {row["key"]: row["value"] for row in map(json.loads, rows)}
    assert said["lowest_numerical_precision_in_linear"] == "fp8"
    assert said["lowest_numerical_precision_in_attn"] == "bfloat16"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("resnet",), "--precision fp8: resnet has no layers that support it; try bf16"),
        (
            ("llama31_8b", "--mesh", "tp=2"),
            (
                "--mesh cannot be combined with --precision fp8 along tp:"
                " 8-bit layers cannot be divided"
            ),
        ),
    ],
)
def test_unsupported_fp8_is_an_error_of_one_line(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    result = podium("run", *words, "--precision", "fp8", "--output", str(tmp_path / "logs"))
    assert result.exit_code == 2
    assert result.stderr == f"podium: {said}\n"
    assert not [*tmp_path.rglob("*.txt")]


def test_a_missing_torchao_is_reported_with_its_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "torchao"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torchao", None)
    words = ("llama31_8b", *SHORT, "--precision", "fp8", "--output", str(tmp_path))
    result = podium("run", *words)
    assert result.exit_code == 2
    assert "requires torchao, which is not installed: pip install torchao" in result.stderr
    assert not [*tmp_path.rglob("*.txt")]
