"""Round selection: options, podium.toml, the folder name, else the newest training round."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from podium.compliance.cli import entry as cli
from podium.rules.catalogue import newest
from tests.builders import LogBuilder

NEWEST = newest("training").name


class Choice(NamedTuple):
    """The `rules` entry of the report."""

    usage: str
    round: str
    chosen_by: str


Chosen = Callable[..., Choice]


@pytest.fixture
def chosen(capsys: pytest.CaptureFixture[str]) -> Chosen:
    """A function that returns the rules by which a path is judged."""

    def choose(*arguments: object) -> Choice:
        capsys.readouterr()
        status = cli.run(["check", "--format", "json", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert status in (0, 1), err
        rules = json.loads(out)["rules"]
        return Choice(rules["usage"], rules["round"], rules["chosen_by"])

    return choose


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert cli.run(["check", *map(str, arguments)]) == 2
    return capsys.readouterr().err


@pytest.fixture
def place(good: LogBuilder, tmp_path: Path) -> Callable[[str], Path]:
    """A function that writes a log into a subfolder of the test's folder."""
    return lambda folder: good.write(tmp_path / folder / "result_0.txt")


def config(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# --- sources of the round ---


def test_the_newest_training_round_is_the_default(
    chosen: Chosen, place: Callable[[str], Path]
) -> None:
    assert chosen(place("a")) == ("training", NEWEST, "default")


@pytest.mark.parametrize("name", ["3.0", "3.0.0", "v3.0", "V3.0.0"])
def test_the_usage_and_round_options_select_the_round(
    chosen: Chosen, place: Callable[[str], Path], name: str
) -> None:
    assert chosen(place("a"), "--round", name) == ("training", "3.0", "option")
    hpc = chosen(place("a"), "--usage", "hpc", "--round", name)
    assert hpc == ("hpc", "3.0", "option")


def test_a_usage_without_a_round_selects_its_newest_round(
    chosen: Chosen, place: Callable[[str], Path]
) -> None:
    assert chosen(place("a"), "--usage", "hpc") == ("hpc", newest("hpc").name, "option")
    assert chosen(place("a"), "--usage", "training") == ("training", NEWEST, "option")


@pytest.mark.parametrize("name", ["3.0", "v3.0", "3.0.0"])
def test_a_config_selects_the_usage_and_the_round(
    chosen: Chosen, place: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    config(tmp_path / "podium.toml", f'usage = "hpc"\nround = "{name}"\n')
    assert chosen(place("a/b")) == ("hpc", "3.0", "config")
    assert chosen(tmp_path) == ("hpc", "3.0", "config")


def test_a_config_may_set_only_the_round(
    chosen: Chosen, place: Callable[[str], Path], tmp_path: Path
) -> None:
    config(tmp_path / "podium.toml", 'round = "4.1"\n')
    assert chosen(place("a")) == ("training", "4.1", "config")


def test_a_config_may_begin_with_a_byte_order_mark(
    chosen: Chosen, place: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "podium.toml").write_text('round = "4.1"\n', encoding="utf-8-sig")
    assert chosen(place("a")) == ("training", "4.1", "config")


def test_the_nearest_config_applies(
    chosen: Chosen, place: Callable[[str], Path], tmp_path: Path
) -> None:
    config(tmp_path / "podium.toml", 'round = "4.1"\n')
    config(tmp_path / "a" / "podium.toml", 'round = "4.0"\n')
    assert chosen(place("a/b")) == ("training", "4.0", "config")
    assert chosen(place("c")) == ("training", "4.1", "config")


@pytest.mark.parametrize(
    ("folder", "usage", "round_"),
    [
        ("training_results_v5.1", "training", "5.1"),
        ("training_results_v0.7", "training", "0.7"),
        ("hpc_results_v3.0", "hpc", "3.0"),
        ("Training_Results_V5.0", "training", "5.0"),
        ("training_results_v5.0/Org/results/box/bert", "training", "5.0"),
        ("hpc_results_v1.0/training_results_v5.1", "training", "5.1"),
        ("submissions_training_5.0", "training", "5.0"),
    ],
)
def test_the_folder_name_selects_the_round(
    chosen: Chosen, place: Callable[[str], Path], folder: str, usage: str, round_: str
) -> None:
    assert chosen(place(folder)) == (usage, round_, "folder")


@pytest.mark.parametrize(
    "folder", ["training_results", "results_v5.1", "training_results_v5.1.bak", "mytraining5.1x"]
)
def test_other_folder_names_do_not_select_a_round(
    chosen: Chosen, place: Callable[[str], Path], folder: str
) -> None:
    assert chosen(place(folder)).chosen_by == "default"


def test_a_folder_of_a_future_round_selects_the_newest_round(
    chosen: Chosen, place: Callable[[str], Path]
) -> None:
    usage, round_, _ = chosen(place("training_results_v99.0"))
    assert (usage, round_) == ("training", NEWEST)
    usage, round_, _ = chosen(place("hpc_results_v99.0"))
    assert (usage, round_) == ("hpc", newest("hpc").name)


# --- precedence ---


def test_options_override_configs_and_configs_override_folder_names(
    chosen: Chosen, place: Callable[[str], Path], tmp_path: Path
) -> None:
    path = place("training_results_v5.0/a")
    assert chosen(path) == ("training", "5.0", "folder")
    config(tmp_path / "b" / "podium.toml", 'round = "4.1"\n')
    other = place("b/training_results_v5.0/a")
    assert chosen(other) == ("training", "4.1", "config")
    assert chosen(other, "--round", "3.1") == ("training", "3.1", "option")


def test_a_usage_option_overrides_a_folder_of_the_other_usage(
    chosen: Chosen, place: Callable[[str], Path]
) -> None:
    path = place("training_results_v5.0")
    assert chosen(path, "--usage", "hpc") == ("hpc", newest("hpc").name, "option")
    assert chosen(path, "--usage", "training") == ("training", "5.0", "folder")


def test_a_round_option_uses_the_usage_of_the_folder_name(
    chosen: Chosen, place: Callable[[str], Path]
) -> None:
    assert chosen(place("hpc_results_v3.0"), "--round", "2.0") == ("hpc", "2.0", "option")


def test_each_file_is_judged_by_the_round_of_its_folder(
    place: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("training_results_v5.0", "training_results_v5.1", "hpc_results_v3.0"):
        place(folder)
    cli.run(["check", "--format", "json", str(tmp_path)])
    report = json.loads(capsys.readouterr().out)
    assert report["rules"]["round"] == "several"
    assert {entry["path"].partition("/")[0]: entry["round"] for entry in report["files"]} == {
        "hpc_results_v3.0": "hpc 3.0",
        "training_results_v5.0": "training 5.0",
        "training_results_v5.1": "training 5.1",
    }
    verdicts = [entry["verdict"] for entry in report["files"]]
    assert verdicts == ["fail", "fail", "pass"]


def test_a_relative_path_selects_the_round_of_its_folder(
    chosen: Chosen, place: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place("training_results_v5.0/a")
    monkeypatch.chdir(path.parent)
    assert chosen("result_0.txt") == ("training", "5.0", "folder")
    assert chosen(".") == ("training", "5.0", "folder")
    monkeypatch.chdir(path.parent.parent)
    assert chosen("a") == ("training", "5.0", "folder")


# --- invalid configs and options ---


@pytest.mark.parametrize(
    "text",
    ["round = ", "round = [", "\x00", 'round = "9.9"', 'usage = "inference"', "round = 5.1x"],
)
def test_an_invalid_config_is_a_usage_error(
    place: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = place("a")
    config(tmp_path / "podium.toml", text)
    assert "podium" in refused(capsys, path)


def test_a_config_that_is_not_utf_8_is_a_usage_error(
    place: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place("a")
    (tmp_path / "podium.toml").write_bytes(b"\xff\xfe")
    assert "podium.toml cannot be read" in refused(capsys, path)


def test_a_config_larger_than_1_mib_is_a_usage_error(
    place: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place("a")
    with (tmp_path / "podium.toml").open("wb") as stream:
        stream.truncate(1 << 40)
    assert "podium.toml cannot be read: it is larger than 1 MiB" in refused(capsys, path)


def test_a_round_may_be_a_number_in_a_config(
    chosen: Chosen, place: Callable[[str], Path], tmp_path: Path
) -> None:
    config(tmp_path / "podium.toml", "round = 4.1\n")
    assert chosen(place("a")) == ("training", "4.1", "config")


def test_an_unknown_round_is_reported_with_the_known_rounds(
    place: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    reported = refused(capsys, place("a"), "--round", "7.7", "--usage", "hpc")
    assert "no hpc round '7.7'" in reported
    assert "1.0, 2.0, 3.0" in reported
