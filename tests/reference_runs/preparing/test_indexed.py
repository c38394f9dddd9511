"""Token files of Megatron; megatron-core 0.16.1 wrote the bytes in this test."""

from __future__ import annotations

from pathlib import Path

import pytest

np = pytest.importorskip("numpy")

from podium.reference_runs.errors import DataMissing  # noqa: E402
from podium.reference_runs.modeling.language.files import TokenFile  # noqa: E402
from podium.reference_runs.modeling.language.indexed import read_index, write_index  # noqa: E402

DOCUMENTS = [5, 9, 2], [7, 2], [1, 1, 1, 2]
"""Each document was added as one sequence."""
TOKENS = [token for document in DOCUMENTS for token in document]
WRITTEN = {
    "int32": (
        "050000000900000002000000070000000200000001000000010000000100000002000000",
        (
            "4d4d494449445800000100000000000000040300000000000000040000000000000003000000020000000400"
            "000000000000000000000c000000000000001400000000000000000000000000000001000000000000000200"
            "0000000000000300000000000000"
        ),
    ),
    "uint16": (
        "050009000200070002000100010001000200",
        (
            "4d4d494449445800000100000000000000080300000000000000040000000000000003000000020000000400"
            "0000000000000000000006000000000000000a00000000000000000000000000000001000000000000000200"
            "0000000000000300000000000000"
        ),
    ),
}


def written(kind: str, folder: Path) -> Path:
    """The path of a token file of a type, with its index in the same folder."""
    tokens, index = (bytes.fromhex(each) for each in WRITTEN[kind])
    (folder / "train.bin").write_bytes(tokens)
    (folder / "train.idx").write_bytes(index)
    return folder / "train.bin"


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_megatron_file_is_read(kind: str, tmp_path: Path) -> None:
    path = written(kind, tmp_path)
    index = read_index(path.with_suffix(".idx"))
    assert index.kind == kind
    assert index.lengths.tolist() == [len(each) for each in DOCUMENTS]
    assert index.documents.tolist() == [0, 1, 2, 3]
    assert index.bytes == path.stat().st_size
    row = TokenFile(path, 16)
    row.check()
    assert len(row) == len(TOKENS)
    assert row.part(0, 7).tolist() == TOKENS[:7]


@pytest.mark.parametrize("kind", WRITTEN)
def test_the_index_is_written_as_megatron_writes_it(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "train.idx"
    write_index(path, kind, np.array([len(each) for each in DOCUMENTS], np.int32))
    assert path.read_bytes().hex() == WRITTEN[kind][1]


@pytest.mark.parametrize(
    ("at", "byte", "message"),
    [
        (0, 0x4E, "is not a Megatron index of version 1"),
        (9, 2, "is not a Megatron index of version 1"),
        (17, 6, "has type 6; expected uint8"),
        (18, 4, "4 sequences need"),
        (54, 14, "sequence 1 does not follow the previous one"),
    ],
)
def test_a_damaged_index_is_an_error(at: int, byte: int, message: str, tmp_path: Path) -> None:
    path = written("int32", tmp_path)
    index = bytearray(path.with_suffix(".idx").read_bytes())
    index[at] = byte
    path.with_suffix(".idx").write_bytes(index)
    with pytest.raises(DataMissing, match=message):
        TokenFile(path, 16).check()


def test_a_truncated_token_file_is_an_error(tmp_path: Path) -> None:
    path = written("int32", tmp_path)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(DataMissing, match=r"train\.bin"):
        TokenFile(path, 16).check()
