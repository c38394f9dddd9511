"""Costs from a user's prices, and the arithmetic and files of DAWNBench."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from podium.compliance.errors import UsageFault
from podium.compliance.tools.store.analyses.cost import cost, cost_of, read_prices, same_chip
from podium.compliance.tools.store.analyses.dawnbench import (
    DawnbenchEntry,
    board,
    board_cost,
    board_time,
    read_entry,
    read_training,
)
from tests.compliance.command_line import podium
from tests.compliance.tools.store.made import result

HEAD = "InstanceType,AcceleratorName,AcceleratorCount,Region,Price,SpotPrice,date,source\n"
LINE = "x.large,X1,8,eu,{price},3.5,2026-11-01,price list\n"


def prices(place: Path, text: str) -> Path:
    path = place / "prices.csv"
    path.write_text(text)
    return path


# --- figures of the leaderboard ---


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        *((157.55, "2:38"), (162.34, "2:43"), (561.18, "9:22"), (1085.18, "18:06")),
        *((1132.99, "18:53"), (120.0, "2:00"), (0.1, "0:01"), (3600.5, "1:00:01")),
    ],
)
def test_seconds_are_rounded_up(seconds: float, shown: str) -> None:
    assert board_time(seconds) == shown
    # The leaderboard computes seconds from hours: a rounding error must not add a second
    assert board_time(seconds / 3600 * 3600) == shown


def test_costs_are_rounded_to_cents() -> None:
    assert board_cost(7.4255) == "$7.43"
    assert board_cost(cost_of(10.0, 111.264)) == "$1112.64"


# --- files of the leaderboard ---


FIELDS = {
    "author": "A",
    "author_email": "a@b.c",
    "framework": "F",
    "model": "ResNet",
    "hardware": "8 X1",
    "timestamp": "2019-01-02",
}


def entry(**more: object) -> DawnbenchEntry:
    return DawnbenchEntry(**(FIELDS | more))  # type: ignore[arg-type]


TABLES = {
    "ImageNet": "epoch\thours\ttop1Accuracy\ttop5Accuracy\n1\t0.01\t40\t70\n2\t{hours}\t76\t93\n",
    "CIFAR10": "epoch\thours\ttop1Accuracy\n1\t0.01\t93.9\n2\t{hours}\t94\n3\t9\t95\n",
    "SQuAD": "epoch\thours\tf1Score\n1\t0.01\t0.7\n2\t{hours}\t0.73\n",
}


@pytest.mark.parametrize("task", TABLES)
def test_entries_are_read(task: str, tmp_path: Path) -> None:
    hours = 157.55 / 3600
    (tmp_path / "a.json").write_bytes(msgspec.json.encode(entry(cost_per_hour=24.48)))
    (tmp_path / "a.tsv").write_text(TABLES[task].format(hours=hours))
    training = read_training(tmp_path / "a.tsv")
    assert training.hours == pytest.approx(hours)
    leaderboard_entry = read_entry(tmp_path / "a.json")
    assert leaderboard_entry == entry(cost_per_hour=24.48)
    (row,) = board([(leaderboard_entry, training)]).rows
    assert (row["task"], row["time"], row["cost"]) == (task, 158, 1.07)
    done = podium("results", "cost", "--dawnbench", tmp_path / "a.json")
    assert done.exit_code == 0
    assert "2:38" in done.stdout
    assert "$1.07" in done.stdout
    words = ("results", "cost", "--dawnbench", tmp_path / "a.json", "--format", "json")
    (row,) = json.loads(podium(*words).stdout)["rows"]
    assert (row["time"], row["cost"]) == (158, 1.07)


def test_a_training_that_misses_its_target_has_no_time(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("epoch\thours\ttop1Accuracy\n1\t0.5\t93.99\n")
    training = read_training(tmp_path / "a.tsv")
    assert training.hours is None
    assert board([(entry(), training)]).rows[0]["time"] is None


@pytest.mark.parametrize(
    "text",
    ["", "epoch\thours\n", "epoch\thours\tf1Score\n1\t2\n", "epoch\thours\tf1Score\n1\tx\t1\n"],
)
def test_an_invalid_table_is_reported(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(text)
    with pytest.raises(UsageFault):
        read_training(tmp_path / "a.tsv")


@pytest.mark.parametrize("text", ["{}", "[", '{"author": 1}'])
def test_an_invalid_entry_is_reported(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    done = podium("results", "cost", "--dawnbench", tmp_path / "a.json")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)


# --- prices ---


def test_cost_is_hours_times_price_times_instances(tmp_path: Path) -> None:
    listed = read_prices(prices(tmp_path, HEAD + LINE.format(price=10)))
    rows = cost([result(30), result(30, chips=20), result(30, chip="Y")], listed).rows
    assert [(row["instances"], row["cost"]) for row in rows] == [(1, 5.0), (3, 15.0)]
    assert [row["cost"] for row in cost([result(30)], listed, spot=True).rows] == [1.75]
    assert "price list (2026-11-01)" in cost([result(30)], listed).notes[-1]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("x,X1,8,eu,10,,2026-11-01,\n", "line 2: source is empty"),
        ("x,X1,8,eu,10,,,list\n", "line 2: date is ''"),
        ("x,X1,8,eu,10,,1.11.2026,list\n", "line 2: date is '1.11.2026'"),
        ("x,X1,8,eu,free,,2026-11-01,list\n", "line 2: Price is 'free'"),
        ("x,X1,8,eu,nan,,2026-11-01,list\n", "line 2: Price is 'nan'"),
        ("x,X1,0,eu,1,,2026-11-01,list\n", "line 2: AcceleratorCount is '0'"),
        ("x,X1,1.5,eu,1,,2026-11-01,list\n", "line 2: AcceleratorCount is '1.5'"),
        ("x\n", "line 2: source is empty"),
    ],
)
def test_a_price_with_an_invalid_or_missing_field_is_refused(
    line: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageFault, match=says):
        read_prices(prices(tmp_path, HEAD + line))


def test_a_table_without_a_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="lacks the columns date, source"):
        read_prices(prices(tmp_path, HEAD.replace(",date,source", "")))


@pytest.mark.parametrize(
    ("given", "chip", "same"),
    [
        ("H100", "NVIDIA H100-SXM5-80GB", True),
        ("NVIDIA H100", "NVIDIA H100-SXM5-80GB", True),
        ("H100-PCIe", "NVIDIA H100-SXM5-80GB", False),
        ("A100", "NVIDIA H100-SXM5-80GB", False),
        ("MI300X", "AMD Instinct MI300X 192GB HBM3", True),
        ("", "NVIDIA H100", False),
    ],
)
def test_prices_are_matched_to_chips(given: str, chip: str, same: bool) -> None:
    assert same_chip(given, chip) == same


@pytest.mark.parametrize("words", [(), ("--dawnbench", "a.json", "--chart", "a.svg")])
def test_incompatible_options_are_refused(words: tuple[str, ...]) -> None:
    done = podium("results", "cost", *words)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
