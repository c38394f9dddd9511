"""Published weights in the layout of Hugging Face, in one or several safetensors files."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from podium.compliance.cli.entry import run  # noqa: E402
from podium.reference_runs.catalogue import find, task_of  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing, LibraryMissing  # noqa: E402
from podium.reference_runs.weights.layout import LLAMA  # noqa: E402
from podium.reference_runs.weights.published import Published  # noqa: E402

LANGUAGE_MODELS = ("llama31_8b", "llama31_405b", "llama2_70b_lora", "gpt_oss_20b")
SHAPE = {"layers": 2, "width": 8, "heads": 2, "kv_heads": 1, "ffn_width": 12, "vocabulary": 16}


def published(name: str) -> dict[str, Any]:
    """Return random tensors with the names of the released model of a benchmark."""
    generator = torch.Generator().manual_seed(7)

    def draw(*shape: int) -> Any:
        return torch.randn(shape, generator=generator)

    width, inner, head = 8, 12, 4
    found = {
        "model.embed_tokens.weight": draw(16, width),
        "model.norm.weight": draw(width),
        "lm_head.weight": draw(16, width),
    }
    for layer in range(2):
        at = f"model.layers.{layer}"
        for part, rows in (("q", 2 * head), ("k", head), ("v", head)):
            found[f"{at}.self_attn.{part}_proj.weight"] = draw(rows, width)
        found[f"{at}.self_attn.o_proj.weight"] = draw(width, 2 * head)
        found[f"{at}.input_layernorm.weight"] = draw(width)
        found[f"{at}.post_attention_layernorm.weight"] = draw(width)
        if name == "gpt_oss_20b":
            found[f"{at}.mlp.router.weight"] = draw(3, width)
            found[f"{at}.mlp.experts.gate_up_proj"] = draw(3, width, 2 * inner)
            found[f"{at}.mlp.experts.down_proj"] = draw(3, inner, width)
            continue
        for part, shape in (("gate", (inner, width)), ("up", (inner, width)), ("down", (8, 12))):
            found[f"{at}.mlp.{part}_proj.weight"] = draw(*shape)
    return found


def write(path: Path, tensors: dict[str, Any]) -> None:
    """Write a safetensors file according to the description of the format."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, tensor in tensors.items():
        raw = tensor.contiguous().view(torch.uint8).numpy().tobytes()
        kind = {torch.float32: "F32", torch.bfloat16: "BF16"}[tensor.dtype]
        place = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": place}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def write_sharded(folder: Path, tensors: dict[str, Any]) -> None:
    """Write two files and their index."""
    files = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    places = {name: files[number % 2] for number, name in enumerate(tensors)}
    for file in files:
        write(folder / file, {name: tensors[name] for name in tensors if places[name] == file})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))


def config(name: str) -> Any:
    more = {"head_width": 4, "experts": 3, "window": 4} if name == "gpt_oss_20b" else {}
    return replace(find(name).smoke(), **SHAPE, **more)


def built(name: str, folder: Path) -> dict[str, Any]:
    """Return the state of the model from which a run with `--weights` starts."""
    setting = Setting(weights=folder, division="open")
    task = task_of(name)(config(name), setting, Ranks(torch.device("cpu")))
    task.check_files()
    return dict(task.build().state_dict())


# --- with the safetensors library ---


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_a_model_starts_from_published_tensors(name: str, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    theirs = published(name)
    write_sharded(tmp_path, theirs)
    ours = built(name, tmp_path)
    assert torch.equal(ours["embedding.weight"], theirs["model.embed_tokens.weight"])
    at = "model.layers.1."
    if name == "llama2_70b_lora":
        qkv = torch.cat([theirs[f"{at}self_attn.{part}_proj.weight"] for part in "qkv"])
        assert torch.equal(ours["blocks.1.attention.qkv.weight"], qkv)
    else:
        assert torch.equal(
            ours["blocks.1.attention.key.weight"], theirs[f"{at}self_attn.k_proj.weight"]
        )
    if name == "gpt_oss_20b":
        # The release interleaves gate and up
        gate = theirs[f"{at}mlp.experts.gate_up_proj"][..., ::2]
        assert torch.equal(ours["blocks.1.mixture.experts.gate_up"][..., : gate.shape[-1]], gate)
    else:
        assert torch.equal(ours["blocks.1.ffn.down.weight"], theirs[f"{at}mlp.down_proj.weight"])


def test_a_single_bfloat16_file_is_read_as_float32(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    half = {name: tensor.bfloat16() for name, tensor in published("llama31_8b").items()}
    write(tmp_path / "model.safetensors", half)
    ours = built("llama31_8b", tmp_path)
    assert ours["output.weight"].dtype is torch.float32
    assert torch.equal(ours["output.weight"], half["lm_head.weight"].float())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("model.norm.weight"), "has no tensor model.norm.weight"),
        (
            lambda t: t.update({"model.layers.0.self_attn.q_proj.bias": torch.zeros(8)}),
            "has a tensor model.layers.0.self_attn.q_proj.bias, which is not in the model",
        ),
        (
            lambda t: t.update({"lm_head.weight": torch.zeros(16, 9)}),
            r"output.weight has shape \(16, 9\); expected \(16, 8\)",
        ),
    ],
    ids=["missing", "unknown", "shape"],
)
def test_a_missing_unknown_or_misshapen_tensor_is_reported_with_its_name(
    change: Any, message: str, tmp_path: Path
) -> None:
    pytest.importorskip("safetensors")
    tensors = published("llama31_8b")
    change(tensors)
    write(tmp_path / "model.safetensors", tensors)
    with pytest.raises(DataMissing, match=message):
        built("llama31_8b", tmp_path)


def test_a_damaged_file_is_reported_with_its_name(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    write_sharded(tmp_path, published("llama31_8b"))
    path = tmp_path / "model-00002-of-00002.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataMissing, match=f"{path.name} cannot be read as safetensors"):
        built("llama31_8b", tmp_path)


# --- without the safetensors library ---


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected a weight_map"),
        ('{"weight_map": []}', "expected a weight_map"),
        (
            '{"weight_map": {"a": "gone.safetensors"}}',
            "names gone.safetensors, which is not a file",
        ),
        (
            '{"weight_map": {"a": "../x.safetensors"}}',
            "names ../x.safetensors, which is not a file",
        ),
    ],
)
def test_an_invalid_index_is_reported(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(DataMissing, match=message):
        Published(tmp_path, LLAMA, ["norm.weight"])


def test_a_missing_library_is_reported_with_the_pip_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    write_sharded(tmp_path, published("llama31_8b"))
    with pytest.raises(LibraryMissing, match=r"pip install safetensors$"):
        built("llama31_8b", tmp_path)


@pytest.mark.parametrize("name", ["llama31_405b", "llama2_70b_lora", "gpt3"])
def test_reference_scale_requires_published_weights(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in ("train.bin", "validation.bin", "validation_labels.bin"):
        (tmp_path / part).touch()
    arguments = ["--scale", "reference", "--data", str(tmp_path), "--output", str(tmp_path / "o")]
    assert run(["run", name, *arguments]) == 2
    said = capsys.readouterr().err
    assert "base.pt is missing; training starts from published weights" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("llama31_8b", "--division open: llama31_8b starts from random weights"),
        ("resnet", "resnet does not start from published weights"),
    ],
)
def test_weights_are_refused_for_a_benchmark_without_published_weights(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--weights", str(tmp_path), "--division", "closed"]
    assert run(["run", name, *arguments, "--output", str(tmp_path / "logs")]) == 2
    assert message in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []
