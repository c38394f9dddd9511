"""`podium data prepare`: datasets from files in their published format."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch")

from podium.compliance.cli.entry import run
from podium.reference_runs.datasets.prepare import work_folder
from podium.reference_runs.modeling.language.files import TokenFile
from tests.compliance.judging.test_workers import alive, until
from tests.locations import ROOT

WORDS = ["<unk>", "<|end_of_text|>", "</s>", "one", "two", "three", "four"]
END = 1


def texts(shard: int) -> list[str]:
    return ["one two", "three", "four four four"][: 1 + shard % 3]


def ids(text: str) -> list[int]:
    return [*(WORDS.index(word) for word in text.split()), END]


def c4(folder: Path) -> None:
    """Write C4 shards as published, with a few documents each, and a word-level tokenizer."""
    tokenizers = pytest.importorskip("tokenizers")
    words = {word: at for at, word in enumerate(WORDS)}
    model = tokenizers.models.WordLevel(words, unk_token="<unk>")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["<|end_of_text|>", "</s>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "en").mkdir()
    for part, numbers, count in (("train", range(768, 1024), 1024), ("validation", range(8), 8)):
        for at in numbers:
            name = f"c4-{part}.{at:05d}-of-{count:05d}.json.gz"
            lines = (json.dumps({"text": text, "url": "u"}) for text in texts(at))
            with gzip.open(folder / "en" / name, "wt", compresslevel=1) as stream:
                stream.write("\n".join(lines))


def gov_report(folder: Path) -> None:
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    rng = np.random.default_rng(1)
    for part, counts in (("train", (2, 1)), ("validation", (1,))):
        for at, count in enumerate(counts):
            tokens = rng.integers(0, 128, (count, 8192))
            labels = np.where(np.arange(8192) < 100, -100, tokens)
            table = pa.table({"input_ids": tokens.tolist(), "labels": labels.tolist()})
            pq.write_table(table, folder / f"{part}-{at:05d}-of-{len(counts):05d}.parquet")


def climate(folder: Path) -> None:
    h5py = pytest.importorskip("h5py")
    rng = np.random.default_rng(1)
    with h5py.File(folder / "stats.h5", "w") as file:
        file["climate/minval"] = np.zeros(4, np.float32)
        file["climate/maxval"] = np.ones(4, np.float32)
    for part, count in (("train", 3), ("validation", 1)):
        (folder / part).mkdir()
        for at in range(count):
            with h5py.File(folder / part / f"data-1996-01-0{at}.h5", "w") as file:
                file["climate/data"] = rng.random((6, 8, 4), np.float32)
                file["climate/labels_0"] = rng.integers(0, 3, (6, 8)).astype(np.float32)


def archive(path: Path, members: Iterable[tuple[str, bytes]]) -> bytes:
    """Write a tar file and return its bytes."""
    with tarfile.open(path, "w") as made:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return path.read_bytes()


def picture(shade: int) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(stream, "JPEG")
    return stream.getvalue()


def imagenet(folder: Path) -> None:
    scratch = folder / "scratch.tar"
    classes = [f"n0000000{at}" for at in range(3)]
    inner = [
        (f"{name}.tar", archive(scratch, [(f"{name}_{at}.JPEG", picture(at)) for at in range(2)]))
        for name in classes
    ]
    scratch.unlink()
    archive(folder / "ILSVRC2012_img_train.tar", inner)
    names = [f"ILSVRC2012_val_0000000{at}.JPEG" for at in range(4)]
    shown = [(name, picture(at)) for at, name in enumerate(names)]
    archive(folder / "ILSVRC2012_img_val.tar", shown)
    labels = "\n".join([classes[2], classes[0], classes[0], classes[1]])
    (folder / "imagenet_2012_validation_synset_labels.txt").write_text(labels + "\n")


RAW: dict[str, Callable[[Path], None]] = {
    "llama31_8b": c4,
    "llama2_70b_lora": gov_report,
    "deepcam": climate,
    "resnet": imagenet,
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    folder.mkdir()
    return folder


def prepare(name: str, source: Path, *more: str) -> int:
    target = source.with_name("made")
    words = ["--from", str(source), "--to", str(target), "--jobs", "1", *more]
    return run(["data", "prepare", name, *words])


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


# --- published formats ---


def test_c4_becomes_token_files_with_document_ends(source: Path, tmp_path: Path) -> None:
    c4(source)
    assert prepare("llama31_8b", source) == 0
    made = tmp_path / "made"
    assert {*files(made)} == {
        *("SHA256SUMS", "train.bin", "train.idx", "validation.bin", "validation.idx")
    }
    for part, shards in (("train", range(768, 896)), ("validation", range(8))):
        wanted = [ids(text) for shard in shards for text in texts(shard)]
        row = TokenFile(made / f"{part}.bin", len(WORDS))
        row.check()
        assert row.index is not None
        assert row.index.kind == "uint16"
        assert row.index.lengths.tolist() == [len(each) for each in wanted]
        assert row.part(0, len(row)).tolist() == [token for each in wanted for token in each]


def test_gov_report_becomes_tokens_and_labels(source: Path, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    gov_report(source)
    assert prepare("llama2_70b_lora", source) == 0
    made = tmp_path / "made"
    for part in ("train", "validation"):
        rows = pq.read_table([*sorted(source.glob(f"{part}-*"))]).column("input_ids").to_pylist()
        assert np.fromfile(made / f"{part}.bin", "<u4").reshape(-1, 8192).tolist() == rows
    labels = np.fromfile(made / "validation_labels.bin", "<i4")
    assert (labels[:100] == -100).all()
    assert labels[100:].tolist() == rows[0][100:]


def test_climate_maps_become_numpy_arrays(source: Path, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    climate(source)
    assert prepare("deepcam", source) == 0
    made = tmp_path / "made"
    for path in sorted(source.glob("*/data-*.h5")):
        with h5py.File(path) as file:
            place = made / path.parent.name
            data = np.load(place / f"{path.stem}.npy")
            label = np.load(place / f"{path.stem.replace('data', 'label')}.npy")
            assert (data == file["climate/data"][()]).all()
            assert (label == file["climate/labels_0"][()]).all()


def test_images_are_extracted_into_folders_of_their_classes(source: Path, tmp_path: Path) -> None:
    imagenet(source)
    assert prepare("resnet", source) == 0
    found = files(tmp_path / "made")
    assert sorted(found) == [
        "SHA256SUMS",
        *(f"train/n0000000{each}/n0000000{each}_{at}.JPEG" for each in range(3) for at in range(2)),
        "val/n00000000/ILSVRC2012_val_00000001.JPEG",
        "val/n00000000/ILSVRC2012_val_00000002.JPEG",
        "val/n00000001/ILSVRC2012_val_00000003.JPEG",
        "val/n00000002/ILSVRC2012_val_00000000.JPEG",
    ]
    assert found["val/n00000002/ILSVRC2012_val_00000000.JPEG"] == picture(0)


# --- all datasets ---


@pytest.mark.parametrize("name", RAW)
def test_checksums_are_correct_and_the_source_is_unchanged(
    name: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    RAW[name](source)
    before = files(source)
    assert prepare(name, source) == 0
    made = tmp_path / "made"
    found = files(made)
    assert f"{made}: {len(found) - 1} files, " in capsys.readouterr().out
    done = subprocess.run(
        ["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=made, check=False, timeout=60
    )
    assert done.returncode == 0
    assert files(source) == before
    assert not work_folder(made).exists()


@pytest.mark.long
@pytest.mark.parametrize("name", RAW)
def test_several_processes_prepare_the_same_files(name: str, source: Path, tmp_path: Path) -> None:
    RAW[name](source)
    assert prepare(name, source) == 0
    alone = files(tmp_path / "made")
    os.rename(tmp_path / "made", tmp_path / "alone")
    assert prepare(name, source, "--jobs", "2") == 0
    assert files(tmp_path / "made") == alone


def test_a_prepared_dataset_is_not_overwritten(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imagenet(source)
    (tmp_path / "made").mkdir()
    assert prepare("resnet", source) == 0
    before = files(tmp_path / "made")
    assert prepare("resnet", source) == 2
    assert "already exists; choose a new folder" in capsys.readouterr().err
    assert files(tmp_path / "made") == before


def killed(words: list[str], pieces: Path, count: int) -> None:
    """Start podium and kill it as soon as `count` pieces are done."""
    process = subprocess.Popen([sys.executable, "-m", "podium", *words])
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        if pieces.is_dir() and len([*pieces.iterdir()]) >= count:
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.001)
    process.wait(60)


def linger(folder: Path) -> None:
    """Prepare a piece for a long time; the name of a file is the ID of the process."""
    (folder / str(os.getpid())).touch()
    time.sleep(600)


PREPARE_LONG = """import sys
from pathlib import Path
from podium.reference_runs.datasets.prepare import Piece, Recipe, prepare
from tests.reference_runs.preparing.test_prepare import linger
pieces = [Piece(name, linger) for name in "ab"]
prepare(Recipe(pieces, ""), Path(sys.argv[1]), 2, lambda _: None)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at in /proc")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_a_call_that_is_ended(how: signal.Signals, tmp_path: Path) -> None:
    target = tmp_path / "made"
    pieces = work_folder(target) / "pieces"

    def workers() -> list[int]:
        return [int(path.name) for path in pieces.glob("*.new/*")]

    call = subprocess.Popen([sys.executable, "-c", PREPARE_LONG, str(target)], cwd=ROOT)
    try:
        assert until(lambda: len(workers()) == 2)
        call.send_signal(how)
        assert call.wait(60) == -how
        assert until(lambda: not any(map(alive, workers())))
    finally:
        call.kill()
        for worker in workers():
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)


def test_pieces_finished_before_a_kill_are_kept(source: Path, tmp_path: Path) -> None:
    c4(source)
    target = tmp_path / "made"
    pieces = work_folder(target) / "pieces"
    words = ["data", "prepare", "llama31_8b", "--from", str(source), "--to", str(target)]
    killed([*words, "--jobs", "1"], pieces, 5)
    assert not target.exists()
    done = {each: each.stat().st_ino for each in pieces.iterdir() if each.suffix != ".new"}
    assert len(done) >= 4
    seen: dict[Path, int] = {}

    def look(event: str, about: tuple[Any, ...]) -> None:
        if event == "shutil.rmtree" and Path(about[0]) == work_folder(target):
            seen.update({each: each.stat().st_ino for each in pieces.iterdir()})

    sys.addaudithook(look)
    assert prepare("llama31_8b", source) == 0
    assert seen.items() >= done.items()
    made = files(target)
    os.rename(target, tmp_path / "first")
    assert prepare("llama31_8b", source) == 0
    assert files(target) == made


def test_pieces_of_another_source_are_an_error(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imagenet(source)
    work = work_folder(tmp_path / "made")
    work.mkdir()
    (work / "plan.json").write_text('"resnet of /elsewhere"')
    assert prepare("resnet", source) == 2
    assert "has pieces of another source or setting; remove it" in capsys.readouterr().err


# --- bad sources ---


def shard(source: Path, number: int) -> Path:
    return source / "en" / f"c4-train.{number:05d}-of-01024.json.gz"


def broken(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


BAD: list[tuple[str, str, Callable[[Path], object], str]] = [
    (
        "llama31_8b",
        "tokenizer.json",
        Path.unlink,
        "tokenizer.json is missing; name a tokenizer",
    ),
    ("llama31_8b", "tokenizer.json", broken(b"{}"), "tokenizer.json cannot be read as a tokenizer"),
    (
        "llama31_8b",
        shard(Path(), 800).as_posix(),
        Path.unlink,
        "lacks 1 of 128 shards: c4-train.00",
    ),
    ("llama31_8b", shard(Path(), 800).as_posix(), cut, "cannot be read after line"),
    ("llama31_8b", shard(Path(), 800).as_posix(), broken(b"none"), "cannot be read after line 0"),
    (
        *("llama31_8b", shard(Path(), 800).as_posix()),
        broken(gzip.compress(b'{"text": "one"}\n{"url": 1}\n')),
        "json.gz:2 is not a JSON object with a text",
    ),
    (
        "llama2_70b_lora",
        "validation-00000-of-00001.parquet",
        Path.unlink,
        "no validation-*.parquet",
    ),
    ("llama2_70b_lora", "train-00001-of-00002.parquet", cut, "cannot be read as Parquet"),
    ("deepcam", "stats.h5", Path.unlink, "stats.h5 cannot be read as HDF5"),
    ("deepcam", "train/data-1996-01-01.h5", broken(b"none"), "01-01.h5 cannot be read as HDF5"),
    ("resnet", "ILSVRC2012_img_val.tar", Path.unlink, "ILSVRC2012_img_val.tar is missing"),
    ("resnet", "ILSVRC2012_img_val.tar", cut, "ILSVRC2012_img_val.tar"),
    ("resnet", "ILSVRC2012_img_train.tar", broken(b"none"), "cannot be read as an archive"),
    (
        *("resnet", "imagenet_2012_validation_synset_labels.txt"),
        broken(b"n00000000\n"),
        "has 4 images; imagenet_2012_validation_synset_labels.txt has 1",
    ),
    (
        *("resnet", "imagenet_2012_validation_synset_labels.txt"),
        broken(b"../n0000\n"),
        "contains '../n0000'; expected classes",
    ),
]


@pytest.mark.parametrize(("name", "at", "harm", "message"), BAD)
def test_a_bad_source_file_is_reported_and_creates_no_dataset(
    name: str,
    at: str,
    harm: Callable[[Path], object],
    message: str,
    source: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    RAW[name](source)
    harm(source / at)
    assert prepare(name, source) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert message in said
    assert not (tmp_path / "made").exists()


def test_allow_subset_accepts_fewer_shards(source: Path, tmp_path: Path) -> None:
    c4(source)
    for number in range(770, 1024):
        shard(source, number).unlink()
    assert prepare("llama31_8b", source, "--allow-subset") == 0
    row = TokenFile(tmp_path / "made" / "train.bin", len(WORDS))
    wanted = [ids(text) for at in (768, 769) for text in texts(at)]
    assert row.part(0, len(row)).tolist() == [token for each in wanted for token in each]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["rnnt", "--from", "."],
            "rnnt: podium cannot prepare this dataset, only those of deepcam, ",
        ),
        (["nothing", "--from", "."], "no bundled trainer is named nothing"),
        (["resnet", "--from", "absent"], "--from: folder absent does not exist"),
        (["llama31_8b", "--from", ".", "--tokenizer", "no"], "--tokenizer: file no does not exist"),
    ],
)
def test_a_bad_argument_is_reported(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["data", "prepare", *words, "--to", "made"]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
