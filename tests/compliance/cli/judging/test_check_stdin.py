"""`podium check -`: standard input is judged like a file with the same bytes."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from podium.compliance.exit_codes import Exit
from tests.builders import LogBuilder, build
from tests.compliance.command_line import Done, podium
from tests.compliance.judging.systems.test_check import good as description
from tests.locations import ROOT

Given = Callable[..., Done]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """Call `podium check` with bytes on standard input."""

    def call(data: bytes, *arguments: object) -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return podium("check", *arguments)

    return call


@pytest.fixture
def bad() -> LogBuilder:
    """A log with one error."""
    return build("training", "5.1", "closed", "llama31_8b").set("opt_adamw_beta_2", 0.5)


def report_of(done: Done) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(done.stdout)
    return report


JSON = ("--round", "5.1", "--format", "json")

CONTENTS: dict[str, Callable[[bytes], bytes]] = {
    "a log": lambda data: data,
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
    "half of a gzip": lambda data: gzip.compress(data)[:-200],
    "nothing": lambda _: b"",
    "no log": lambda _: b"epoch 1\n" * 10,
    "noise of any bytes": lambda data: b"\x00\xff" * 999 + b"\n" + data,
    "a log that begins with a brace": lambda data: b'{"a": 1}\n' + data,
    "a large log": lambda data: b"noise of a program\n" * 600_000 + data,
}


@pytest.mark.parametrize("content", CONTENTS)
def test_a_log_on_standard_input_is_judged_like_a_file(
    content: str, given: Given, bad: LogBuilder, tmp_path: Path
) -> None:
    data = CONTENTS[content](bad.bytes())
    (tmp_path / "file").write_bytes(data)
    streamed, filed = given(data, "-", *JSON), podium("check", tmp_path / "file", *JSON)
    assert streamed.exit_code == filed.exit_code
    # Standard input is not in a folder
    anywhere = re.sub('"base": ".*"', '"base": ""', filed.stdout)
    assert streamed.stdout == anywhere.replace('"file"', '"<stdin>"')
    assert streamed.stderr == ""


def test_a_log_of_an_older_round_is_judged_like_a_file(given: Given, tmp_path: Path) -> None:
    older = build("training", "0.6", "closed", "resnet").drop("run_stop")
    options = ("--round", "0.6", "--format", "json")
    report = report_of(given(older.bytes(), "-", *options))
    assert (report["files"][0]["path"], report["files"][0]["benchmark"]) == ("<stdin>", "resnet")
    filed = report_of(podium("check", older.write(tmp_path / "file"), *options))
    assert report["counts"] == filed["counts"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\n  "])
def test_a_system_description_is_recognized_by_its_content(given: Given, mark: bytes) -> None:
    data = mark + json.dumps(description(status="onprem"), indent=1).encode()
    report = report_of(given(data, "-", *JSON))
    assert [(one["path"], one["kind"]) for one in report["files"]] == [("<stdin>", "system")]
    assert "system.bad-status" in {one["id"] for one in report["findings"]}


@pytest.mark.parametrize("options", [[], ["--relative-to", ".."]])
@pytest.mark.parametrize("name", ["text", "junit", "markdown", "sarif", "github"])
def test_every_format_names_standard_input(
    name: str, options: list[str], given: Given, bad: LogBuilder
) -> None:
    done = given(bad.bytes(), "-", "--round", "5.1", "--format", name, *options)
    assert done.exit_code == Exit.FOUND
    shown = done.stdout.replace("&lt;", "<").replace("&gt;", ">").replace("&#60;", "<")
    assert "<stdin>" in shown.replace("&#62;", ">")
    if name == "sarif":  # standard input has no path, so the URI is the folder
        uris = {
            one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for one in json.loads(done.stdout)["runs"][0]["results"]
        }
        assert uris == {"."}
    if name == "github":
        assert "file=" not in done.stdout


def test_standard_input_is_accepted_next_to_files(
    given: Given, bad: LogBuilder, tmp_path: Path
) -> None:
    log = bad.write(tmp_path / "result_0.txt")
    report = report_of(given(bad.bytes(), log, "-", *JSON, "--jobs", "2"))
    assert [file["path"] for file in report["files"]] == [str(log), "<stdin>"]
    [first, second] = report["findings"]
    assert {**first, "path": ""} == {**second, "path": ""}


def test_standard_input_is_accepted_only_once(given: Given, bad: LogBuilder) -> None:
    done = given(bad.bytes(), "-", "-")
    assert (done.exit_code, done.stdout) == (Exit.USAGE, "")
    assert "only once" in done.stderr


def test_the_round_of_standard_input_is_that_of_the_working_directory(
    given: Given, bad: LogBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "podium.toml").write_text('round = "5.0"\n')
    monkeypatch.chdir(tmp_path)
    rules = report_of(given(bad.bytes(), "-", "--format", "json"))["rules"]
    assert (rules["round"], rules["chosen_by"]) == ("5.0", "config")


def test_standard_input_can_be_scored(given: Given, bad: LogBuilder) -> None:
    report = report_of(given(bad.bytes(), "-", "--score", *JSON))
    [result] = report["scores"]["results"]
    assert result["benchmark"] == "llama31_8b"
    assert [run["path"] for run in result["run_list"]] == ["<stdin>"]


def process(data: bytes | None, tmp_path: Path) -> subprocess.CompletedProcess[bytes]:
    close = {} if data is not None else {"preexec_fn": lambda: os.close(0)}
    return subprocess.run(
        [sys.executable, "-m", "podium", "check", "-", *JSON],
        input=data,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=False,
        **close,  # type: ignore[call-overload]
    )


def test_no_temporary_file_is_left(bad: LogBuilder, tmp_path: Path) -> None:
    done = process(bad.bytes(), tmp_path)
    assert (done.returncode, done.stderr) == (Exit.FOUND, b"")
    assert [*tmp_path.iterdir()] == []


def test_a_closed_standard_input_is_reported(tmp_path: Path) -> None:
    done = process(None, tmp_path)
    assert (done.returncode, done.stdout) == (Exit.USAGE, b"")
    assert done.stderr == b"podium: standard input cannot be read: Bad file descriptor\n"
