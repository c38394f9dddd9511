"""`podium data verify`: the dataset of every benchmark, intact and damaged."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from podium.compliance.cli.entry import run
from tests.reference_runs.datasets import LITTLE, settings

TEXTS = ("sentiment", "transformer")
"""Text datasets: a truncated file is still valid."""
LOST = {"oc20": 4}
"""Samples of a truncated file that contains several; each sample is reported."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def verify(name: str, folder: Path, *more: str) -> int:
    return run(["data", "verify", name, str(folder), *settings(name), *more])


def largest(name: str, folder: Path) -> Path:
    """The largest file of a dataset that is not an initial network."""
    files = [each for each in folder.rglob("*") if each.is_file()]
    chosen = [each for each in files if each.name not in LITTLE[name].networks]
    return max(chosen, key=lambda each: each.stat().st_size)


@pytest.mark.parametrize("name", LITTLE)
def test_an_intact_dataset_is_usable_and_a_damaged_file_is_reported(
    name: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    LITTLE[name].write(data)
    assert verify(name, data) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    training, evaluation, last = shown.out.splitlines()
    assert training.startswith(f"training    {LITTLE[name].counts[0]} samples, ")
    assert evaluation.startswith(f"evaluation  {LITTLE[name].counts[1]} samples, ")
    assert last == f"{data}: usable"
    if name in TEXTS:
        return
    path = largest(name, data)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 - 1])
    assert verify(name, data) == 1
    shown = capsys.readouterr()
    said = shown.err.splitlines()
    assert len(said) == LOST.get(name, 1)
    assert all(path.name in each for each in said)
    assert shown.out.splitlines()[-1] == f"{data}: not usable"


def test_every_faulty_sample_is_reported(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    LITTLE["resnet"].write(data)
    wrong = [data / "train" / f"n0{at}" / "a.JPEG" for at in (1, 2, 5)]
    for path in wrong:
        path.write_bytes(b"no image")
    for jobs in ("1", "2"):
        assert verify("resnet", data, "--format", "json", "--jobs", jobs) == 1
        shown = capsys.readouterr()
        found = json.loads(shown.out)
        training, evaluation = found["parts"]
        assert (training["read"], training["faulty"], found["usable"]) == (8, 3, False)
        assert (evaluation["read"], evaluation["faulty"]) == (4, 0)
        assert [str(path) in fault for path, fault in zip(wrong, training["faults"], strict=True)]


def test_the_chosen_samples_include_the_last_sample(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    LITTLE["resnet"].write(data)
    (data / "train" / "n07" / "a.JPEG").write_bytes(b"no image")
    assert verify("resnet", data, "--samples", "2") == 1
    assert "8 samples, 2 read" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["md5", "sha1", "sha256", "sha512"])
def test_files_are_compared_with_their_checksums(
    kind: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    LITTLE["llama31_8b"].write(data)
    files = sorted(data.iterdir())
    lines = [f"{hashlib.new(kind, each.read_bytes()).hexdigest()}  {each.name}" for each in files]
    sums = tmp_path / "published"
    sums.write_text("\n".join(lines))
    assert verify("llama31_8b", data, "--checksums", str(sums)) == 0
    assert f"checksums   2 files of {sums}, all match" in capsys.readouterr().out
    changed = bytearray(files[0].read_bytes())
    changed[0] ^= 1
    files[0].write_bytes(changed)
    assert verify("llama31_8b", data, "--checksums", str(sums)) == 1
    shown = capsys.readouterr()
    assert f"{files[0]} has the {kind} checksum" in shown.err
    assert "2 files" in shown.out
    assert "1 without a match" in shown.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("123  train.bin", "published:2 is not a checksum"),
        (f"{'0' * 64}  ../train.bin", "published:2 is not a checksum"),
        (f"{'0' * 64}  absent.bin", "absent.bin cannot be read: No such file"),
    ],
)
def test_an_invalid_checksum_list_or_a_missing_file_is_reported(
    line: str, message: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    LITTLE["llama31_8b"].write(data)
    sums = tmp_path / "published"
    sums.write_text(f"\n{line}\n")
    assert verify("llama31_8b", data, "--checksums", str(sums)) in (1, 2)
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["resnet", "absent"], 2, "no such folder: absent"),
        (["nothing", "."], 2, "no bundled trainer is named nothing"),
        (["minigo", "."], 1, "checkpoint.npz is missing"),
        (["resnet", ".", "--checksums", "absent"], 2, "--checksums: no such file: absent"),
        (["resnet", ".", "--samples", "0"], 2, "--samples"),
        (["resnet", ".", "--set", "layers"], 2, "--set: expected KEY=VALUE, got 'layers'"),
    ],
)
def test_a_dataset_that_cannot_be_verified_is_reported(
    words: list[str],
    status: int,
    message: str,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(data)
    assert run(["data", "verify", *words]) == status
    assert message in " ".join(capsys.readouterr().err.split())
