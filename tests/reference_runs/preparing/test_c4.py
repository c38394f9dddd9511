"""Benchmarks on C4: prepare the published files, run in the closed division and check the log."""

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
from podium.reference_runs.datasets.recipes import recipe_of  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402

LENGTH = 8
"""Tokens per sequence, the only logged value of these runs below that of the closed division."""

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
    """Write shards as published; each document is one sequence with its end token."""
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
    """Write random weights that a benchmark starts from."""
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
def test_a_closed_run_on_prepared_data_has_only_the_length_error(name: str, tmp_path: Path) -> None:
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


@pytest.fixture(scope="module")
def empty_shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create all shards of C4 as empty files."""
    folder = tmp_path_factory.mktemp("c4")
    (folder / "tokenizer.json").touch()
    for part, count in (("train", 1024), ("validation", 8)):
        for number in range(count):
            (folder / f"c4-{part}.{number:05d}-of-{count:05d}.json.gz").touch()
    return folder


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("llama31_405b", 1023),
        # The references read only the first half of the last quarter
        ("llama31_8b", 895),
        ("gpt_oss_20b", 895),
        ("deepseekv3_671b", 895),
    ],
)
def test_data_are_prepared_from_the_shards_that_the_reference_trains_on(
    name: str, last: int, empty_shards: Path
) -> None:
    pieces = [piece.name for piece in recipe_of(name, empty_shards, None, subset=False).pieces]
    training = [f"c4-train.{number:05d}-of-01024" for number in range(768, last + 1)]
    validation = [f"c4-validation.{number:05d}-of-00008" for number in range(8)]
    assert pieces == training + validation


def test_token_files_of_full_size_are_usable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last quarter of C4 has about 5.8 million sequences; the files here are sparse."""
    for part, count in (("train", 5_763_000), ("validation", 1_024)):
        with (tmp_path / f"{part}.bin").open("wb") as stream:
            stream.truncate(count * 8192 * np.dtype(np.uint32).itemsize)
    assert run(["data", "verify", "llama31_8b", str(tmp_path), "--samples", "2"]) == 0
    assert "training    5,763,000 samples" in capsys.readouterr().out
