"""`podium init` writes the complete skeleton of a submission or no files."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import pytest

from podium.compliance.cli.entry import run
from podium.compliance.exit_codes import Exit
from podium.compliance.judging.systems.fields import FIELDS

FULL = ("--system", "ex_n8", "--system", "ex_n16", "--benchmark", "llama31_8b")


def init(folder: Path, *more: str, round_: str = "5.1") -> int:
    return run(["init", str(folder), "--submitter", "Acme & Söhne", "--round", round_, *more])


def paths(folder: Path) -> set[str]:
    return {each.relative_to(folder).as_posix() for each in folder.rglob("*")}


def test_a_skeleton_has_the_files_and_folders_of_a_submission(tmp_path: Path) -> None:
    assert init(tmp_path / "Acme", *FULL) == Exit.CLEAN
    assert {
        "README.md",
        "podium.toml",
        "systems/ex_n8.json",
        "systems/ex_n16.json",
        "results/ex_n8/llama31_8b",
        "results/ex_n16/llama31_8b",
        "benchmarks/llama31_8b/implementations",
    } <= paths(tmp_path / "Acme")


def test_a_description_has_every_field_and_the_known_values(tmp_path: Path) -> None:
    init(tmp_path / "Acme", *FULL, "--division", "open")
    description = json.loads((tmp_path / "Acme/systems/ex_n8.json").read_text(encoding="utf-8"))
    assert list(description) == list(FIELDS)
    known = {name: value for name, value in description.items() if value}
    assert known == {"submitter": "Acme & Söhne", "division": "open", "system_name": "ex_n8"}


def test_podium_toml_has_usage_round_and_submitter(tmp_path: Path) -> None:
    init(tmp_path / "Acme", "--usage", "hpc", "--submitter", 'A "B" \\ C', round_="v3.0")
    settings = tomllib.loads((tmp_path / "Acme/podium.toml").read_text(encoding="utf-8"))
    given = {"usage": "hpc", "round": "3.0", "submitter": 'A "B" \\ C'}
    assert settings == given | {"division": "closed", "into": "../packed"}


def test_hpc_results_are_in_the_strong_folder(tmp_path: Path) -> None:
    more = ("--usage", "hpc", "--system", "ex", "--benchmark", "deepcam")
    assert init(tmp_path / "Acme", *more, round_="3.0") == Exit.CLEAN
    assert (tmp_path / "Acme/results/ex/strong/deepcam").is_dir()


def test_a_folder_with_files_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "Acme").mkdir()
    (tmp_path / "Acme/mine").write_text("mine")
    assert init(tmp_path / "Acme", *FULL) == Exit.USAGE
    assert paths(tmp_path) == {"Acme", "Acme/mine"}


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_file_or_link_in_place_of_the_folder_is_kept(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "Acme"
    if kind == "file":
        place.write_text("mine")
    else:
        (tmp_path / "elsewhere").mkdir()
        os.symlink("elsewhere", place)
    assert init(place, *FULL) == Exit.USAGE
    assert not any(path.endswith("podium.toml") for path in paths(tmp_path))


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "Acme").mkdir()
    assert init(tmp_path / "Acme", *FULL) == Exit.CLEAN
    assert (tmp_path / "Acme/podium.toml").is_file()


def test_a_write_error_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("podium.compliance.files.atomic.os.replace", full)
    assert init(tmp_path / "Acme", *FULL) == Exit.USAGE
    assert paths(tmp_path) == set()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--benchmark", "lama31_8b"), "did you mean llama31_8b?"),
        (("--division", "Closed"), "is not one of 'closed', 'open'"),
        (("--system", "../x"), "expected letters"),
        (("--system", "two words"), "expected letters"),
        (("--system", ".hidden"), "expected letters"),
        (("--system", ""), "expected letters"),
        (("--system", "aux"), "Windows rejects the name"),
        (("--round", "9.9"), "no training round"),
        (("--usage", "inference"), "is not one of"),
        (("--submitter", "\x1b[31m"), "printable"),
        (("--submitter", " "), "printable"),
    ],
)
def test_invalid_names_are_refused(
    more: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(tmp_path / "Acme", *more) == Exit.USAGE
    assert said in capsys.readouterr().err
    assert paths(tmp_path) == set()


def test_written_files_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    init(tmp_path / "Acme", *FULL)
    out = capsys.readouterr().out
    assert "  systems/ex_n8.json\n" in out
    assert out.endswith(f"next: podium doctor {tmp_path / 'Acme'}\n")


def test_podium_toml_has_the_given_systems_and_benchmarks(tmp_path: Path) -> None:
    assert init(tmp_path / "Acme", *FULL) == Exit.CLEAN
    text = (tmp_path / "Acme/podium.toml").read_text(encoding="utf-8")
    known = tomllib.loads(text)["systems"]
    assert known == {name: f"systems/{name}.json" for name in ("ex_n8", "ex_n16")}
    tables = tomllib.loads(re.sub(r"(?m)^# (?=\[\[|[a-z_]+ = )", "", text))
    assert [(each["system"], each["benchmark"]) for each in tables["results"]] == [
        ("ex_n8", "llama31_8b"),
        ("ex_n16", "llama31_8b"),
    ]
    assert [each["benchmark"] for each in tables["code"]] == ["llama31_8b"]


def test_a_readme_that_podium_toml_does_not_name_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(tmp_path / "Acme", *FULL) == Exit.CLEAN
    with (tmp_path / "Acme/podium.toml").open("a", encoding="utf-8") as file:
        file.write('[[results]]\nsystem = "ex_n8"\nbenchmark = "llama31_8b"\nlogs = ["../*.log"]\n')
    capsys.readouterr()
    run(["pack", str(tmp_path / "Acme"), "--dry-run"])
    assert "README.md: podium.toml does not name it" in capsys.readouterr().out
