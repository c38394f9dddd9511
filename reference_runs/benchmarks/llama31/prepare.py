"""Conversion of C4 as published, in compressed JSON lines, to Megatron's token files."""

from __future__ import annotations

import gzip
import json
import shutil
import zlib
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from podium.reference_runs.datasets.prepare import Piece, Recipe
from podium.reference_runs.errors import DataMissing, LibraryMissing
from podium.reference_runs.modeling.language.indexed import read_index, write_index

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHARDS = 1024
TRAINING_SHARDS = {
    "llama31_405b": range(768, SHARDS),
    "llama31_8b": range(768, 896),
    "gpt_oss_20b": range(768, 896),
    "deepseekv3_671b": range(768, 896),
}
"""The shards of C4/en 3.0.1 that the references train on.

The references join the last quarter in two files, and all but one read only the first file.
"""
VALIDATION_SHARDS = 8
VALIDATION_DOCUMENTS = 91_205
"""Number of initial documents of C4's validation part that evaluation sequences are cut from."""
ENDS = {
    "llama31_8b": "<|end_of_text|>",
    "llama31_405b": "</s>",
    "gpt_oss_20b": "<|end_of_text|>",
    "deepseekv3_671b": "<|end_of_text|>",
}
"""End-of-document tokens of Llama 3.1's tokenizer, and of Mixtral 8x22B's."""
AT_ONCE = 1000
"""Documents that are tokenized together."""


class Tokenised(NamedTuple):
    """The tokenization of a shard."""

    part: str
    shard: Path
    tokenizer: Path
    end: str
    most: int | None
    """Maximum number of documents of the part."""


def recipe(name: str, source: Path, tokenizer: Path | None, *, subset: bool) -> Recipe:
    """The recipe for tokenizing C4 for a benchmark; raises DataMissing.

    source: a folder with `c4-train.NNNNN-of-01024.json.gz` and `c4-validation.…`, at any depth.
    tokenizer: a `tokenizer.json` of Hugging Face, or None for the one in `source`. subset: allow
    missing shards.
    """
    vocabulary = tokenizer or source / "tokenizer.json"
    if not vocabulary.is_file():
        raise DataMissing(f"{vocabulary} is missing; name a tokenizer with --tokenizer")
    pieces = [
        Piece(shard.name.partition(".json")[0], partial(tokenise, wanted))
        for shard, wanted in (
            (shard, Tokenised(part, shard, vocabulary, ENDS[name], most))
            for part, numbers, count, most in (
                ("train", TRAINING_SHARDS[name], SHARDS, None),
                ("validation", range(VALIDATION_SHARDS), VALIDATION_SHARDS, VALIDATION_DOCUMENTS),
            )
            for shard in _shards(source, part, numbers, count, subset=subset)
        )
    ]
    described = f"{name} of {source.absolute()} by {vocabulary.absolute()}, {len(pieces)} shards"
    return Recipe(pieces, described, join)


def _shards(
    source: Path, part: str, numbers: Sequence[int], count: int, *, subset: bool
) -> Iterator[Path]:
    """The files of a part in order; raises DataMissing if one is missing."""
    paths = {path.name: path for path in source.rglob(f"c4-{part}.*.json.gz")}
    names = [f"c4-{part}.{number:05d}-of-{count:05d}.json.gz" for number in numbers]
    missing = [name for name in names if name not in paths]
    if missing and not (subset and len(missing) < len(names)):
        hint = "; --allow-subset accepts the existing ones" if len(missing) < len(names) else ""
        raise DataMissing(
            f"{source} lacks {len(missing)} of {len(names)} shards: {missing[0]} to"
            f" {missing[-1]}{hint}"
        )
    yield from (paths[name] for name in names if name in paths)


def tokenise(wanted: Tokenised, folder: Path) -> None:
    """Tokenize a shard into `PART.bin` and its index; raises DataMissing."""
    tokenizer = _tokenizer(wanted.tokenizer)
    end = tokenizer.token_to_id(wanted.end)
    if end is None:
        raise DataMissing(f"{wanted.tokenizer} has no token {wanted.end}, which ends a document")
    kind = "uint16" if tokenizer.get_vocab_size() < 1 << 16 else "int32"
    lengths: list[int] = []
    with (folder / f"{wanted.part}.bin").open("wb") as stream:
        texts = islice(_texts(wanted.shard), wanted.most)
        while some := list(islice(texts, AT_ONCE)):
            for encoded in tokenizer.encode_batch_fast(some, add_special_tokens=False):
                ids = np.array([*encoded.ids, end], kind)
                stream.write(ids.astype(ids.dtype.newbyteorder("<")).tobytes())
                lengths.append(len(ids))
    write_index(folder / f"{wanted.part}.idx", kind, np.array(lengths, np.int32))


def _tokenizer(path: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise LibraryMissing(
            "tokenizers, which this dataset requires, is not installed: pip install tokenizers"
        ) from None
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:
        raise DataMissing(f"{path} cannot be read as a tokenizer: {error}") from None


def _texts(shard: Path) -> Iterator[str]:
    """The documents of a shard; raises DataMissing with the line."""
    line_number = 0
    try:
        with gzip.open(shard, "rt", encoding="utf-8") as lines:
            for line_number, line in enumerate(lines, 1):
                yield _text(shard, line_number, line)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DataMissing(f"{shard} cannot be read after line {line_number}: {error}") from None


def _text(shard: Path, line_number: int, line: str) -> str:
    try:
        text = json.loads(line)["text"]
    except (ValueError, LookupError, TypeError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise DataMissing(f"{shard}:{line_number} is not a JSON object with a text")
    return text


def join(folders: Sequence[Path], whole: Path) -> None:
    """Concatenate the shards, and the requested documents of the validation part."""
    for part, most in (("train", None), ("validation", VALIDATION_DOCUMENTS)):
        paths = [folder / f"{part}.bin" for folder in folders if (folder / f"{part}.bin").exists()]
        indices = [read_index(path.with_suffix(".idx")) for path in paths]
        lengths = np.concatenate([index.lengths for index in indices])[:most]
        kind = indices[0].kind
        with (whole / f"{part}.bin").open("wb") as stream:
            for path in paths:
                with path.open("rb") as shard:
                    shutil.copyfileobj(shard, stream, 1 << 24)
            stream.truncate(int(lengths.sum(dtype=np.int64)) * kind.itemsize)
        write_index(whole / f"{part}.idx", kind.name, lengths)
