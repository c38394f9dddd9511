"""An error that causes many findings is reported; the others are marked as consequences."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.compliance import check
from podium.compliance.reporting.models import FindingEntry
from tests.builders import LogBuilder, build


def found(path: Path, data: bytes) -> tuple[list[FindingEntry], list[FindingEntry]]:
    """The findings of a log without a cause, and the findings with a cause."""
    path.write_bytes(data)
    findings = check(path, round="5.1").findings
    own = [each for each in findings if not each.caused_by]
    return own, [each for each in findings if each.caused_by]


@pytest.fixture
def log() -> LogBuilder:
    return build("training", "5.1", "closed", "llama31_8b")


@pytest.fixture
def good(log: LogBuilder) -> bytes:
    return log.bytes()


def test_an_empty_log_has_one_error(tmp_path: Path) -> None:
    own, caused = found(tmp_path / "result_0.txt", b"")
    assert [each.id for each in own] == ["log.no-records"]
    assert {each.caused_by for each in caused} == {"log.no-records"}
    assert len(caused) > 10
    counts = check(tmp_path / "result_0.txt", round="5.1").counts
    assert (counts.error, counts.caused) == (1, len(caused))


@pytest.mark.parametrize(
    ("encoding", "named"),
    [
        ("utf-16", "UTF-16 (little-endian)"),
        ("utf-16-le", "UTF-16 (little-endian)"),
        ("utf-16-be", "UTF-16 (big-endian)"),
        ("utf-32", "UTF-32 (little-endian)"),
    ],
)
def test_another_encoding_is_reported_with_its_name(
    encoding: str, named: str, tmp_path: Path, good: bytes
) -> None:
    own, _ = found(tmp_path / "result_0.txt", good.decode().encode(encoding))
    assert [(each.id, named in each.message) for each in own] == [("log.encoding", True)]


def test_a_log_repeated_by_ranks_has_one_error(tmp_path: Path, good: bytes) -> None:
    lines = good.splitlines(keepends=True)
    own, caused = found(tmp_path / "result_0.txt", b"".join(line * 8 for line in lines))
    assert [each.id for each in own] == ["log.repeated-by-ranks"]
    assert own[0].message == "every record is logged 8 times; must be logged once"
    assert own[0].severity == "error"
    assert {each.caused_by for each in caused} == {"log.repeated-by-ranks"}


def test_ranks_that_disagree_are_not_reported_as_repeats(tmp_path: Path, log: LogBuilder) -> None:
    both = log.bytes() + log.set("seed", 77).bytes()
    own, _ = found(tmp_path / "result_0.txt", both)
    assert own
    assert "log.repeated-by-ranks" not in {each.id for each in own}


def test_another_error_in_a_log_repeated_by_ranks_is_reported(
    tmp_path: Path, log: LogBuilder
) -> None:
    lines = log.set("opt_adamw_beta_2", 0.5).bytes().splitlines(keepends=True)
    own, _ = found(tmp_path / "result_0.txt", b"".join(line * 2 for line in lines))
    assert {each.id for each in own} == {
        "log.repeated-by-ranks",
        "closed.llama31_8b.opt_adamw_beta_2",
    }


def test_a_good_log_has_no_findings(tmp_path: Path, good: bytes) -> None:
    assert found(tmp_path / "result_0.txt", good) == ([], [])
