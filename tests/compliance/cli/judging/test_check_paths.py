"""The paths that `podium check` prints: relative to the working directory or --relative-to."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from urllib.request import url2pathname
from xml.etree import ElementTree as ET

import pytest

from podium.compliance import check
from podium.compliance.exit_codes import Exit
from tests.builders import build
from tests.compliance.command_line import Done, podium
from tests.compliance.trees import usual
from tests.locations import ROOT

OPTIONS = ("--round", "5.1")

FROM = {
    "parent": ("round", ["Acme"]),
    "parent, in full": ("round", ["{round}/Acme"]),
    "inside": ("round/Acme", ["."]),
    "below": ("round/Acme/results", [".."]),
    "below, in full": ("round/Acme/results", ["{round}/Acme"]),
    "elsewhere": ("else where", ["{round}/Acme"]),
    "elsewhere, by a relative path": ("else where", ["../round/Acme"]),
    "elsewhere, relative to the round": (
        "else where",
        ["{round}/Acme", "--relative-to", "{round}"],
    ),
    "inside, relative to the round": ("round/Acme", [".", "--relative-to", ".."]),
    "relative to a folder beside": ("round", ["Acme", "--relative-to", "../else where"]),
    "the round": ("round", ["."]),
    "the round by its parent": (".", ["round"]),
    "several": ("round", ["Acme", "Other"]),
    "several, relative to the parent": ("round", ["Acme", "{round}/Other", "--relative-to", ".."]),
    "a result": ("round/Acme", ["results"]),
    "by a link": ("else where", ["Acme"]),
    "by a link, relative to the round": ("else where", ["Acme", "--relative-to", "../round"]),
}
"""The working directory and the arguments of a call; {round} is the round's absolute path."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two submissions with errors and missing files, and a folder with a link to the first."""
    top = tmp_path_factory.mktemp("world")
    for name in ("Acme", "Other"):
        tree = usual(top / name)
        root = top / "round" / name
        root.parent.mkdir(exist_ok=True)
        folder = tree.root / tree.folder()
        tree.log(2, lambda log: log.set("opt_adamw_beta_2", 0.5))
        (folder / "result_1.txt").unlink()
        (folder / "result x%.txt").write_text("stray")
        for code in (tree.root / "benchmarks").rglob("*"):
            if code.is_file():
                code.unlink()
        shutil.move(tree.root, root)
        (root / "LICENSE").unlink(missing_ok=True)
        shutil.move(root / "systems" / "ex_n8.json", root / "systems" / "ex_n9.json")
    (top / "else where").mkdir()
    (top / "else where" / "Acme").symlink_to(top / "round" / "Acme")
    return top


def call(world: Path, where: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> Done:
    folder, arguments = FROM[where]
    monkeypatch.chdir(world / folder)
    given = [each.format(round=world / "round") for each in arguments]
    done = podium("check", *given, *OPTIONS, *options)
    assert (done.exit_code, done.stderr) == (Exit.FOUND, "")
    return done


def root_of(world: Path, where: str) -> Path:
    """The folder that the printed paths are relative to."""
    folder, arguments = FROM[where]
    here = world / folder
    if "--relative-to" in arguments:
        return here / arguments[-1].format(round=world / "round")
    return here


somewhere = pytest.mark.parametrize("where", FROM)


@somewhere
def test_every_annotation_names_an_existing_path(
    world: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = call(world, where, monkeypatch, "--format", "github")
    files = re.findall(r"^::\w+ (?:file=([^,]*),)?(?:line=\d+,)?title=", done.stdout, re.MULTILINE)
    places = [unquote(each) for each in files]
    assert any(each.endswith("result_2.txt") for each in places)
    assert [each for each in places if not (root_of(world, where) / each).exists()] == []


@somewhere
def test_every_uri_names_an_existing_path(
    world: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    [run] = json.loads(call(world, where, monkeypatch, "--format", "sarif").stdout)["runs"]
    base = run["originalUriBaseIds"]["%SRCROOT%"]["uri"]
    assert base.endswith("/")
    assert Path(url2pathname(base.removeprefix("file://"))).samefile(root_of(world, where))
    uris = []
    for each in run["results"]:
        place = each["locations"][0]["physicalLocation"]["artifactLocation"]
        relative = "uriBaseId" in place
        assert relative != place["uri"].startswith("file:///")
        uris.append(f"{base}{place['uri']}" if relative else place["uri"])
    assert any(each.endswith("/result_2.txt") for each in uris)
    paths = [url2pathname(each.removeprefix("file://")) for each in uris]
    assert [each for each in paths if not Path(each).exists()] == []


def logs_of(name: str, text: str) -> set[str]:
    """The paths of the log with the wrong hyperparameter, as printed in a format."""
    if name == "junit":
        cases = ET.fromstring(text).iter("testcase")
        paths = {f"{case.get('classname')}/{case.get('name')}" for case in cases}
    elif name == "json":
        report = json.loads(text)
        front = f"{report['base']}/" if report["base"] else ""
        paths = {
            each["path"] if each["path"].startswith("/") else front + each["path"]
            for each in report["findings"]
        }
    elif name == "text":
        paths = set(re.findall(r"^FAIL  (\S.*\.txt)", text, re.MULTILINE))
    else:
        paths = set(re.findall(r"<code>(.*?\.txt)</code>|`(.*?\.txt)`", text))
        paths = {first or second for first, second in paths}
    return {path for path in paths if path.endswith("result_2.txt")}


@somewhere
@pytest.mark.parametrize("name", ["text", "junit", "markdown", "json"])
def test_every_format_prints_paths_that_exist(
    world: Path, where: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("podium.compliance.reporting.console.WIDEST", 1000)
    folder, arguments = FROM[where]
    monkeypatch.chdir(world / folder)
    given = [each.format(round=world / "round") for each in arguments]
    whole = ["--full"] if name == "text" else []
    done = podium("check", *given, *OPTIONS, "--format", name, *whole, columns=1000)
    found = logs_of(name, done.stdout.replace("&#95;", "_"))
    assert found
    assert all((root_of(world, where) / path).is_file() for path in found)


def test_the_message_names_a_missing_file(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = call(world, "parent", monkeypatch, "--format", "github")
    paths = {
        each["path"]
        for each in json.loads(call(world, "parent", monkeypatch, "--format", "json").stdout)[
            "findings"
        ]
    }
    missing = [path for path in paths if not (world / "round" / "Acme" / path).exists()]
    assert missing
    for path in missing:
        assert re.search(rf"^::\w+ file=[^,]*,title=.*?::Acme/{path}: ", done.stdout, re.MULTILINE)


def test_the_json_report_has_the_base_of_its_paths(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reported(where: str) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(
            call(world, where, monkeypatch, "--format", "json").stdout
        )
        return report

    reports = {where: reported(where) for where in FROM}
    bases = {where: report["base"] for where, report in reports.items()}
    whole = str(world / "round" / "Acme")
    assert bases == {
        "parent": "Acme",
        "parent, in full": "Acme",
        "inside": "",
        "below": "..",
        "below, in full": whole,
        "elsewhere": whole,
        "elsewhere, by a relative path": "../round/Acme",
        "elsewhere, relative to the round": "Acme",
        "inside, relative to the round": "Acme",
        "relative to a folder beside": whole,
        "the round": "",
        "the round by its parent": "round",
        "several": "",
        "several, relative to the parent": "round",
        "a result": "results",
        "by a link": "Acme",
        "by a link, relative to the round": "Acme",
    }
    # Paths in the JSON report stay relative to the PATH argument
    alone = {w: report["findings"] for w, report in reports.items() if bases[w].endswith("Acme")}
    for where, findings in alone.items():
        assert findings == alone["parent"], where


def test_a_single_log_is_shown_with_its_folder(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world / "round")
    log = "Acme/results/ex_n8/llama31_405b/result_2.txt"
    assert (world / "round" / log).is_file()
    done = podium("check", log, *OPTIONS)
    assert done.stdout.startswith(f"FAIL  {log}")
    report = json.loads(podium("check", log, *OPTIONS, "--format", "json").stdout)
    assert (report["base"], report["files"][0]["path"]) == (log.rpartition("/")[0], "result_2.txt")


def test_a_report_of_the_python_api_has_the_base(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    assert check("round/Acme", round="5.1").base == "round/Acme"
    monkeypatch.chdir(world / "round" / "Acme")
    assert check(".", round="5.1").base == ""


def test_system_check_prints_paths_like_check(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world / "round")
    (world / "else where" / "bad.json").write_text("{}")
    done = podium("system", "check", "../else where/bad.json", *OPTIONS, "--format", "github")
    assert "file=../else where/bad.json," in done.stdout
    options = ("--format", "github", "--relative-to", "..")
    done = podium("system", "check", "../else where/bad.json", *OPTIONS, *options)
    assert "file=else where/bad.json," in done.stdout


@pytest.mark.parametrize("folder", ["none", "pyproject.toml"])
def test_relative_to_needs_an_existing_folder(folder: str) -> None:
    done = podium("check", ROOT, "--relative-to", ROOT / folder)
    assert (done.exit_code, done.stdout) == (Exit.USAGE, "")
    assert "--relative-to" in done.stderr
    assert "no such folder" in done.stderr


def test_an_empty_path_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = podium("check", "")
    assert (done.exit_code, "a PATH is empty" in done.stderr) == (2, True)


@pytest.mark.parametrize("ending", ["tar", "tgz", "tar.gz", "tar.zst", "zip"])
def test_an_archive_is_not_a_log(ending: str, tmp_path: Path) -> None:
    build("training", "5.1", "closed", "llama31_8b").write(tmp_path / "logs" / "run.log")
    path = tmp_path / f"logs.{ending}"
    kind = "zip" if ending == "zip" else "tar"
    shutil.make_archive(str(tmp_path / "made"), kind, tmp_path / "logs")
    (tmp_path / f"made.{kind}").rename(path)
    done = podium("check", path, *OPTIONS)
    assert (done.exit_code, "is an archive; unpack it" in done.stderr) == (2, True)
