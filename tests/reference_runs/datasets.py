"""Small datasets in the real format of each benchmark that has one, for models of smoke size."""

from __future__ import annotations

import io
import json
import struct
import wave
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from podium.reference_runs.catalogue import find

TRAINING, EVALUATION = 8, 4
"""Numbers of training and evaluation samples in each dataset except that of NCF."""


@dataclass(frozen=True)
class Little:
    """A small dataset of a benchmark, with its settings and the names of its weight files."""

    write: Callable[[Path], None]
    settings: dict[str, Any] = field(default_factory=dict)
    networks: tuple[str, ...] = ()
    """Files of initial weights, which may be read before the clock starts."""
    short: str = ""
    """The file or folder that the error names if there are too few training samples."""
    counts: tuple[int, int] = (TRAINING, EVALUATION)
    tokens: int = 0
    """The number of tokens that the log records as `eval_samples`; 0 if it records samples."""

    @property
    def logged(self) -> tuple[int, int]:
        """The logged values of `train_samples` and `eval_samples`."""
        return self.counts[0], self.tokens or self.counts[1]


def settings(name: str, **more: Any) -> list[str]:
    """Return options of `podium run` that set the shapes of smoke scale at reference scale."""
    smoke = find(name).smoke()
    small = {each.name: getattr(smoke, each.name) for each in fields(smoke)}
    small |= {"train_samples": TRAINING, "eval_samples": EVALUATION, "global_batch_size": 4}
    small |= {"last_step": 2} | LITTLE[name].settings | more
    return [word for key, value in small.items() for word in ("--set", f"{key}={value}")]


def _tokens(folder: Path, *, over: int = 1) -> None:
    rng = np.random.default_rng(1)
    for part, count in (("train", TRAINING), ("validation", EVALUATION)):
        tokens = rng.integers(0, 128, count * 64 + over, dtype=np.uint32)
        tokens.tofile(folder / f"{part}.bin")


def _llama(folder: Path) -> None:
    from podium.reference_runs.modeling.language.llama import Llama

    _tokens(folder)
    config: Any = find("llama31_405b").smoke()
    torch.save(Llama(config).state_dict(), folder / "base.pt")


def _experts(folder: Path) -> None:
    from podium.reference_runs.benchmarks.deepseekv3_671b.model import Decoder

    _tokens(folder)
    config: Any = find("deepseekv3_671b").smoke()
    torch.save(Decoder(config).state_dict(), folder / "base.pt")


def _apart(folder: Path) -> None:
    from podium.reference_runs.benchmarks.gpt3.model import Decoder

    _tokens(folder, over=0)
    config: Any = find("gpt3").smoke()
    torch.save(Decoder(config).state_dict(), folder / "base.pt")


def _pairs(folder: Path) -> None:
    """Write files of four sequences: eight tokens, of which one is the index and two are masked."""
    import h5py  # type: ignore[import-untyped]

    from podium.reference_runs.benchmarks.bert.model import Bert
    from podium.reference_runs.benchmarks.bert.published import is_transposed, published_names

    config: Any = find("bert").smoke()
    weights, names = Bert(config).state_dict(), published_names(config.layers)
    published = {
        name: weights[own].T if is_transposed(name) else weights[own] for own, name in names.items()
    }
    torch.save(published, folder / "base.pt")
    for part, count in (("train", TRAINING), ("eval", EVALUATION)):
        (folder / part).mkdir()
        for begin in range(0, count, 4):
            number = np.arange(begin, begin + 4)
            tokens, mask = np.zeros((4, 32), np.int32), np.tile(np.arange(32) < 8, (4, 1))
            tokens[:, 1] = number
            words = np.stack((number, np.full(4, 9), *np.zeros((2, 4))), -1)
            with h5py.File(folder / part / f"{begin}.hdf5", "w") as file:
                file["input_ids"] = tokens
                file["segment_ids"] = np.zeros_like(tokens)
                file["input_mask"] = mask.astype(np.int8)
                file["masked_lm_positions"] = np.tile([1, 3, 0, 0], (4, 1))
                file["masked_lm_ids"] = words.astype(np.int32)
                file["next_sentence_labels"] = (number % 2).astype(np.int8)


def _lora(folder: Path) -> None:
    _llama(folder)
    _tokens(folder, over=0)
    labels = np.fromfile(folder / "validation.bin", np.uint32).astype(np.int32)
    labels.reshape(EVALUATION, 64)[:, :20] = -100
    labels.tofile(folder / "validation_labels.bin")


def _images(folder: Path) -> None:
    for part, count in (("train", TRAINING), ("val", EVALUATION)):
        for number in range(10):
            (folder / part / f"n{number:02}").mkdir(parents=True)
        for number in range(count):
            image = Image.new("RGB", (40, 30), (9 * number, 0, 0))
            image.save(folder / part / f"n{number:02}" / "a.JPEG")


def _annotated(images: Path, annotations: Path, count: int) -> None:
    """Write images with one object each, and their annotations."""
    for folder in (images, annotations.parent):
        folder.mkdir(parents=True, exist_ok=True)
    for at in range(count):
        Image.new("RGB", (64, 64)).save(images / f"{at}.jpg")
    notes = {
        "images": [
            {"id": at, "file_name": f"{at}.jpg", "height": 64, "width": 64} for at in range(count)
        ],
        "categories": [{"id": 1}, {"id": 2}, {"id": 5}],
        "annotations": [
            {
                "id": at + 1,
                "image_id": at,
                "category_id": 5,
                "iscrowd": 0,
                "bbox": [9, 9, 20, 20],
                "area": 200.0,
                "segmentation": [[9, 9, 29, 9, 9, 29]],
            }
            for at in range(count)
        ],
    }
    annotations.write_text(json.dumps(notes))


def _scenes(folder: Path) -> None:
    from podium.reference_runs.benchmarks.retinanet.model import Detector

    for part, count in (("train", TRAINING), ("validation", EVALUATION)):
        notes = folder / part / "labels" / "openimages-mlperf.json"
        _annotated(folder / part / "data", notes, count)
    config: Any = find("retinanet").smoke()
    body: Any = Detector(config).backbone["body"]
    torch.save(body.state_dict(), folder / "backbone.pt")


def _coco(folder: Path) -> None:
    from podium.reference_runs.benchmarks.ssd.model import Body

    for part, count in (("train2017", TRAINING), ("val2017", EVALUATION)):
        _annotated(folder / part, folder / "annotations" / f"instances_{part}.json", count)
    config: Any = find("ssd").smoke()
    torch.save(Body(config).state_dict(), folder / "backbone.pt")


def _outlined(folder: Path) -> None:
    from podium.reference_runs.benchmarks.maskrcnn.detector import Detector

    for part, count in (("train2017", TRAINING), ("val2017", EVALUATION)):
        _annotated(folder / part, folder / "annotations" / f"instances_{part}.json", count)
    config: Any = find("maskrcnn").smoke()
    body = Detector(config).body
    # A trained backbone contains the statistics of its norms
    body.measure(128 * torch.randn(4, 3, 64, 64))
    torch.save(body.state_dict(), folder / "backbone.pt")


def _cases(folder: Path) -> None:
    rng = np.random.default_rng(1)
    for number in range(TRAINING + EVALUATION):
        np.save(folder / f"case_{number:05}_x.npy", rng.random((1, 6, 6, 6), np.float32))
        np.save(folder / f"case_{number:05}_y.npy", rng.integers(0, 3, (1, 6, 6, 6), np.uint8))
    (folder / "evaluation_cases.txt").write_text("\n".join(map(str, range(EVALUATION))))


def _weather(folder: Path) -> None:
    from podium.reference_runs.benchmarks.deepcam.config import DeepCam
    from podium.reference_runs.benchmarks.deepcam.data import write

    changes = {"train_samples": str(TRAINING), "eval_samples": str(EVALUATION)}
    config = find("deepcam").smoke().with_settings(changes)
    assert isinstance(config, DeepCam)
    write(config, folder, seed=1)


def tfrecord(counts: Any, parameters: Any) -> bytes:
    """Return a TFRecord file with one record; the checksums are 0 because they are not checked."""

    def part(number: int, content: bytes) -> bytes:
        length, sized = len(content), b""
        while length > 127:
            sized, length = sized + bytes([length & 127 | 128]), length >> 7
        return bytes([number << 3 | 2]) + sized + bytes([length]) + content

    x = part(1, part(1, counts.astype("<i2").tobytes()))
    y = part(2, part(1, parameters.astype("<f4").tobytes()))
    entries = [part(1, part(1, name) + part(2, value)) for name, value in ((b"x", x), (b"y", y))]
    record = part(1, b"".join(entries))
    return struct.pack("<Q", len(record)) + bytes(4) + record + bytes(4)


def _universes(folder: Path) -> None:
    data = tfrecord(np.ones((16, 16, 16, 4)), np.zeros(4))
    for part, count in (("train", TRAINING), ("validation", EVALUATION)):
        (folder / part).mkdir()
        for at in range(count):
            (folder / part / f"{at}.tfrecord").write_bytes(data)


def _structures(folder: Path) -> None:
    from podium.reference_runs.benchmarks.oc20.config import Oc20
    from podium.reference_runs.benchmarks.oc20.data import write_made

    changes = {"train_samples": str(TRAINING), "eval_samples": str(EVALUATION)}
    config = find("oc20").smoke().with_settings(changes)
    assert isinstance(config, Oc20)
    write_made(folder, config, seed=1)


def _clicks(folder: Path) -> None:
    tables = len(find("dlrm").smoke().rows)  # type: ignore[attr-defined]
    for part, count in (("train", TRAINING), ("test", EVALUATION)):
        clicks = np.ones((count, 14 + tables), "<i4")
        clicks[:, 0] = np.arange(count) % 2
        clicks.tofile(folder / f"terabyte_processed_{part}.bin")


def _days(folder: Path) -> None:
    rng = np.random.default_rng(1)
    ids = find("dlrm_dcnv2").smoke().ids  # type: ignore[attr-defined]
    for day in range(24):
        count = {0: TRAINING, 23: 2 * EVALUATION}.get(day, 0)
        np.save(folder / f"day_{day}_dense.npy", rng.random((count, 13), np.float32))
        np.save(folder / f"day_{day}_labels.npy", np.arange(count, dtype=np.int32)[:, None] % 2)
        tables = {str(at): np.ones((count, each), np.int32) for at, each in enumerate(ids)}
        np.savez(folder / f"day_{day}_sparse_multi_hot.npz", **tables)


def _plays(folder: Path) -> None:
    """Write six events of each of four users: three of history, two plays, and one a day later."""
    import pyarrow as pa
    from pyarrow import parquet

    from podium.reference_runs.benchmarks.dlrm_v4_hstu.files import CACHE, COLUMNS

    event, each = np.arange(24), np.arange(24) % 6
    values = {
        "user": event // 6,
        "item": event,
        "time": 1000 * each + 10 * (event // 6) + 86_400 * (each == 5),
        "heard": np.isin(each, (0, 3)) | (event % 12 == 5),
        "liked": each == 1,
        "skipped": np.isin(each, (2, 4)) | (event % 12 == 11),
        "organic": event % 2,
    }
    (folder / CACHE).mkdir(parents=True)
    for field_, name in COLUMNS.items():
        np.save(folder / CACHE / f"{name}.npy", values[field_])
    np.save(folder / CACHE / "user_start.npy", 6 * np.arange(4))
    positions = np.flatnonzero(each > 2)
    np.save(folder / CACHE / "positions_L4086.npy", positions)
    np.save(folder / CACHE / "anchor_ts_L4086.npy", values["time"][positions])
    (folder / "shared_metadata").mkdir()
    for kind, owner in (("artist", event % 6), ("album", event // 3 % 6)):
        table = pa.table({"item_id": event, f"{kind}_id": owner})
        parquet.write_table(table, folder / "shared_metadata" / f"{kind}_item_mapping.parquet")


def _graph(folder: Path) -> None:
    config: Any = find("rgat").smoke()
    rng = np.random.default_rng(1)
    for kind in {kind for source, _, target in config.relations for kind in (source, target)}:
        (folder / kind).mkdir()
        np.save(folder / kind / "node_feat.npy", rng.random((12, 16), np.float32))
    for relation in config.relations:
        place = folder / "__".join(relation)
        place.mkdir()
        np.save(place / "edge_index.npy", rng.integers(0, 12, (30, 2)))
    np.save(folder / "paper" / "node_label_2K.npy", np.arange(12, dtype=np.float32) % 8)
    torch.save(torch.arange(TRAINING), folder / "train_idx.pt")
    torch.save(torch.arange(TRAINING, TRAINING + EVALUATION), folder / "val_idx.pt")


def _ratings(folder: Path) -> None:
    rows = [f"{user},{10 * user + at},3.5,{at}" for user in range(4) for at in range(4)]
    (folder / "ratings.csv").write_text("\n".join(("userId,movieId,rating,timestamp", *rows)))


def _speech(folder: Path) -> None:
    pieces = ("\u2581", *"abcdefgh")
    (folder / "librispeech1023.vocab").write_text("".join(f"{each}\t-1.0\n" for each in pieces))
    parts = {"train-clean-100": 4, "train-clean-360": 2, "train-other-500": 2, "dev-clean": 4}
    for part, count in parts.items():
        rows = []
        for at in range(count):
            name = f"{part}-{at}.wav"
            with wave.open(str(folder / name), "wb") as stream:
                stream.setparams((1, 2, 8000, 0, "NONE", ""))
                sound = 9000 * np.sin(np.arange(4000) * 0.3)
                stream.writeframes(sound.astype("<i2").tobytes())
            row = {"files": [{"fname": name}], "original_duration": 0.5, "transcript": "AB A"}
            rows.append(row)
        (folder / f"librispeech-{part}-wav.json").write_text(json.dumps(rows))


def _encoded(folder: Path) -> None:
    config: Any = find("flux1").smoke()
    rng = np.random.default_rng(1)
    given = encoded_shapes(config)
    for part, count in (("cc12m_preprocessed", TRAINING), ("coco_preprocessed", EVALUATION)):
        rows = [{k: halved(rng.random(v)) for k, v in given.items()} for _ in range(count)]
        if part == "coco_preprocessed":
            rows = [row | {"timestep": at % 8} for at, row in enumerate(rows)]
        # The published data also consists of several files
        write_arrow(folder / part / "data-00000-of-00002.arrow", rows[: count // 2])
        write_arrow(folder / part / "data-00001-of-00002.arrow", rows[count // 2 :])
    (folder / "empty_encodings").mkdir()
    for name, key in (("t5", "t5_encodings"), ("clip", "clip_encodings")):
        empty = np.zeros((1, *given[key]), np.float32)
        np.save(folder / "empty_encodings" / f"{name}_empty.npy", empty)


def encoded_shapes(config: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the columns in a row of FLUX.1, by name."""
    image = (config.latent_channels, config.latent_size, config.latent_size)
    captions = (config.text_length, config.text_width), (config.pooled_width,)
    names = ("mean", "logvar", "t5_encodings", "clip_encodings")
    return dict(zip(names, (image, image, *captions), strict=True))


def halved(numbers: Any) -> bytes:
    """Return numbers as bfloat16 in the bytes of a .npy file of 16-bit integers."""
    stream = io.BytesIO()
    np.save(stream, (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))
    return stream.getvalue()


def write_arrow(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write an Arrow stream, the format in which Hugging Face saves datasets."""
    import pyarrow as pa  # type: ignore[import-untyped]

    path.parent.mkdir(exist_ok=True)
    table = pa.Table.from_pylist(rows)
    with pa.ipc.new_stream(str(path), table.schema) as stream:
        stream.write_table(table)


class Flat(torch.nn.Module):
    """A substitute for a frozen network that returns the first numbers of its input."""

    def __init__(self, numbers: int) -> None:
        super().__init__()
        self.numbers = numbers

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.flatten(1)[:, : self.numbers]


class Same(torch.nn.Module):
    """A substitute for a decoder that returns its input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Spelled(torch.nn.Module):
    """A substitute for a text encoder that repeats the number of each token."""

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return words[:, :, None].float().expand(-1, -1, 32) / 10


def _latents(folder: Path) -> None:
    config: Any = find("stable_diffusion").smoke()
    rng = np.random.default_rng(1)
    image = (2 * config.latent_channels, config.latent_size, config.latent_size)
    for part in ("train", "evaluation", "networks"):
        (folder / part).mkdir()
    for name, count in (("00000", TRAINING // 2), ("00001", TRAINING - TRAINING // 2)):
        np.save(folder / "train" / f"{name}-moments.npy", rng.random((count, *image), np.float32))
        np.save(folder / "train" / f"{name}-tokens.npy", rng.integers(0, 9, (count, 8)))
    np.save(folder / "evaluation" / "tokens.npy", rng.integers(0, 9, (EVALUATION, 8)))
    np.save(folder / "evaluation" / "embedded.npy", rng.random((EVALUATION, 5), np.float32))
    np.savez(folder / "evaluation" / "features.npz", mu=np.zeros(3), sigma=np.eye(3))
    networks = {"text": Spelled(), "decoder": Same(), "features": Flat(3), "embedding": Flat(5)}
    for name, network in networks.items():
        torch.jit.script(network).save(str(folder / "networks" / f"{name}.pt"))


def _reviews(folder: Path) -> None:
    for part, count in (("train", TRAINING), ("test", EVALUATION)):
        for opinion in ("pos", "neg"):
            (folder / part / opinion).mkdir(parents=True)
            for at in range(count // 2):
                (folder / part / opinion / f"{at}.txt").write_text("a good film")


def _sentences(folder: Path) -> None:
    pieces = ["<pad>_", "<EOS>_", *"abcdefghijklmnopqrstuvwxyz0123456789\\;u_"]
    (folder / "vocabulary.txt").write_text("".join(f"'{each}'\n" for each in pieces))
    for language in ("en", "de"):
        (folder / f"train.{language}").write_text("a good one\n" * TRAINING)
        (folder / f"newstest2014.{language}").write_text("a good one\n" * EVALUATION)


def _piecewise(folder: Path) -> None:
    from podium.reference_runs.benchmarks.gnmt.data import (
        REFERENCES,
        SOURCE,
        VOCABULARY,
    )
    from podium.reference_runs.benchmarks.gnmt.data import TRAINING as PAIRS

    (folder / VOCABULARY).write_text("a\ngo@@\nod\none\n")
    for language in ("en", "de"):
        (folder / f"{PAIRS}.{language}").write_text("a go@@ od one\n" * TRAINING)
    (folder / SOURCE).write_text("a go@@ od one\n" * EVALUATION)
    (folder / REFERENCES).write_text("a good one\n" * EVALUATION)


_STREAM = {"evaluation_interval": 4, "max_sequence_length": 64, "vocabulary": 128}

LITTLE = {
    "bert": Little(_pairs, {"evaluation_interval": 4}, ("base.pt",), short="train"),
    "llama31_8b": Little(_tokens, _STREAM, short="train.bin"),
    "llama31_405b": Little(
        _llama, {**_STREAM, "skipped_evaluations": 0}, ("base.pt",), short="train.bin"
    ),
    "gpt_oss_20b": Little(_tokens, _STREAM, short="train.bin"),
    "gpt3": Little(
        _apart,
        {**_STREAM, "eval_samples": EVALUATION * 63},
        ("base.pt",),
        short="train.bin",
        tokens=EVALUATION * 63,
    ),
    "deepseekv3_671b": Little(
        _experts, {**_STREAM, "skipped_evaluations": 0}, ("base.pt",), short="train.bin"
    ),
    "llama2_70b_lora": Little(
        _lora, {**_STREAM, "skipped_evaluations": 0}, ("base.pt",), short="train.bin"
    ),
    "resnet": Little(_images, {"model_bn_span": 4, "last_step": 8}, short="train"),
    "retinanet": Little(_scenes, {}, ("backbone.pt",), short="openimages-mlperf.json"),
    "ssd": Little(
        _coco,
        {"model_bn_span": 4, "evaluation_epochs": (1, 2), "last_step": 4},
        ("backbone.pt",),
        short="instances_train2017.json",
    ),
    "maskrcnn": Little(_outlined, {}, ("backbone.pt",), short="instances_train2017.json"),
    "unet3d": Little(_cases, {}, short="cases.txt"),
    "deepcam": Little(_weather, {"batchnorm_span": 4}, short="train"),
    "cosmoflow": Little(_universes, {}, short="train"),
    "oc20": Little(_structures, {}, short="train"),
    "dlrm": Little(_clicks, {}, short="processed_train.bin"),
    "dlrm_dcnv2": Little(_days, {}, short="labels.npy"),
    "dlrm_v4_hstu": Little(_plays, {"days": 1}, short="positions_L4086.npy"),
    "rgat": Little(_graph, {}, short="train_idx.pt"),
    "ncf": Little(
        _ratings,
        {"users": 4, "items": 16, "train_samples": 60, "eval_negatives": 3, "last_step": 15},
        short="ratings.csv",
        counts=(60, 4),
    ),
    "flux1": Little(
        _encoded,
        {"evaluation_frequency": 4},
        short="cc12m_preprocessed",
    ),
    "rnnt": Little(_speech, {"data_train_num_buckets": 1}, short="wav.json"),
    "stable_diffusion": Little(
        _latents,
        {"evaluation_interval": 4},
        short="train",
    ),
    "sentiment": Little(_reviews, {}, short="train"),
    "gnmt": Little(_piecewise, {}, short=".en and .de"),
    "transformer": Little(_sentences, {}, short="train.en and .de"),
}
