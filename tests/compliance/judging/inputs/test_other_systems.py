"""Logs from other systems, as described in docs/support.md."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders import LogBuilder
from tests.compliance.command_line import podium


def findings(path: Path) -> list[dict[str, Any]]:
    done = podium("check", path, "--round", "5.1", "--format", "json")
    found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return found


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: codecs.BOM_UTF8 + data,
        lambda data: codecs.BOM_UTF8 + data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b'"metadata": {}', b'"metadata": {"file": "C:\\\\a.py"}', 1),
    ],
    ids=["line ends", "mark", "both", "paths"],
)
def test_a_log_from_windows_has_the_same_findings(
    change: Callable[[bytes], bytes], tmp_path: Path, good: LogBuilder
) -> None:
    for log in (good, good.set("opt_adamw_beta_2", 0.5)):
        data = log.bytes()
        assert change(data) != data
        plain, changed = tmp_path / "plain.txt", tmp_path / "changed.txt"
        plain.write_bytes(data)
        changed.write_bytes(change(data))
        reported = [(each["id"], each["line"], each["message"]) for each in findings(changed)]
        assert reported == [(each["id"], each["line"], each["message"]) for each in findings(plain)]
    assert reported


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_utf_16_log_is_reported_with_the_iconv_command(
    encoding: str, tmp_path: Path, good: LogBuilder
) -> None:
    path = tmp_path / "result_0.txt"
    path.write_bytes(good.bytes().decode().encode(encoding))
    (found,) = [each for each in findings(path) if each["id"] == "log.encoding"]
    assert "UTF-16" in found["message"]
    assert found["hint"].startswith("convert it: iconv -f UTF-16")
