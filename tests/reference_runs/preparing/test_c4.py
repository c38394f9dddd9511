"""The benchmarks on C4: prepared from the published form, run in the closed division, judged."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.compliance import check  # noqa: E402
from podium.compliance.cli.entry import run  # noqa: E402
from podium.reference_runs.catalogue import find, task_of  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402

LENGTH = 8
"""Tokens of a sequence, which is all that these runs have smaller than the closed division."""

SHAPE: dict[str, Any] = {
    "layers": 1,
    "width": 8,
    "heads": 2,
    "kv_heads": 2,
    "ffn_width": 8,
    "vocabulary": 16,
    "max_sequence_length": LENGTH,
    "gradient_accumulation_steps": 1,
    "recompute": False,
    "workers": 0,
}
MORE: dict[str, dict[str, Any]] = {
    "llama31_8b": {},
    "llama31_405b": {},
    "gpt_oss_20b": {"head_width": 4, "experts": 2, "active_experts": 1, "window": 4},
    "deepseekv3_671b": {
        "query_rank": 4,
        "kv_rank": 4,
        "nope_width": 4,
        "rope_width": 4,
        "value_width": 4,
        "dense_layers": 1,
        "experts": 2,
        "active_experts": 1,
        "expert_width": 8,
        "expert_groups": 1,
        "active_groups": 1,
    },
}
STARTS_TRAINED = ("llama31_405b", "deepseekv3_671b")


def c4(folder: Path, documents: int) -> None:
    """Shards as published, each with so many documents of one sequence and its end."""
    tokenizers = pytest.importorskip("tokenizers")
    words = {"<unk>": 0, "<|end_of_text|>": 1, "</s>": 2, "one": 3, "two": 4}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["<|end_of_text|>", "</s>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    line = json.dumps({"text": " ".join(["one two"] * (LENGTH // 2))[: -len(" two")]}) + "\n"
    for part, numbers, count, lines in (
        ("train", range(768, 1024), 1024, documents),
        ("validation", range(8), 8, 800),
    ):
        text = gzip.compress((line * lines).encode())
        for at in numbers:
            (folder / f"c4-{part}.{at:05d}-of-{count:05d}.json.gz").write_bytes(text)


def changes(name: str) -> list[str]:
    shape = SHAPE | MORE[name]
    return [word for key, value in shape.items() for word in ("--set", f"{key}={value}")]


def base(name: str, folder: Path) -> None:
    """The weights that a benchmark starts from, drawn."""
    settings = {key: str(value) for key, value in (SHAPE | MORE[name]).items()}
    config = find(name).smoke().with_settings(settings)
    task = task_of(name)(config, Setting(device="cpu"), Ranks(torch.device("cpu")))
    torch.save(task.decoder().state_dict(), folder / "base.pt")


LONG = pytest.mark.long


@pytest.mark.parametrize(
    "name",
    [
        "llama31_8b",
        "gpt_oss_20b",
        pytest.param("llama31_405b", marks=LONG),
        pytest.param("deepseekv3_671b", marks=LONG),
    ],
)
def test_prepared_data_serve_a_closed_run(name: str, tmp_path: Path) -> None:
    source, data, logs = tmp_path / "c4", tmp_path / "tokens", tmp_path / "logs"
    source.mkdir()
    c4(source, documents=130)
    words = ["--from", str(source), "--to", str(data), "--jobs", "1", "--quiet"]
    assert run(["data", "prepare", name, *words]) == 0
    if name in STARTS_TRAINED:
        base(name, data)
    words = ["--scale", "reference", "--division", "closed", "--data", str(data), "-q"]
    words += ["--device", "cpu", "--threads", "1", "--output", str(logs), *changes(name)]
    assert run(["run", name, *words]) == 0
    log = logs / "result_0.txt"
    records = [json.loads(line.partition(" ")[2]) for line in log.read_text().splitlines()]
    (found,) = [each["value"] for each in records if each["key"] == "train_samples"]
    assert found == 130 * (256 if name == "llama31_405b" else 128)
    round_name = find(name).rounds[-1]
    for profile in ("policy", "verifier"):
        report = check(str(log), round=round_name, usage="training", profile=profile)
        errors = {each.key for each in report.findings if each.severity == "error"}
        assert errors <= {"max_sequence_length"}


def test_files_of_the_true_size_are_usable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last quarter of C4 has some 5.8 million sequences; the files here are sparse."""
    for part, count in (("train", 5_763_000), ("validation", 1_024)):
        with (tmp_path / f"{part}.bin").open("wb") as stream:
            stream.truncate(count * 8192 * np.dtype(np.uint32).itemsize)
    assert run(["data", "verify", "llama31_8b", str(tmp_path), "--samples", "2"]) == 0
    assert "training    5,763,000 samples" in capsys.readouterr().out
