"""A packed tree is judged by the round that it was packed for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podium import check
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from tests.compliance.packs import Loose

MARKER = ".Acme.podium.json"


@pytest.fixture
def apart(tmp_path: Path) -> Loose:
    """A podium.toml that packs the tree into a folder outside its own."""
    return Loose(tmp_path).configure(into="../packed")


def test_check_of_the_packed_tree_agrees_with_pack(apart: Loose) -> None:
    assert apart.pack() == Exit.CLEAN
    report = check(apart.place / "packed" / "Acme")
    assert (report.verdict, report.rules.round) == ("accepted", "5.1")
    assert report.rules.chosen_by == "pack"
    assert "from podium pack" in repr(report)
    # Results in the tree and the folder above the tree are judged by the same round
    assert check(apart.place / "packed").rules.round == "5.1"
    assert check(apart.place / "packed/Acme/results/ex_n8").rules.round == "5.1"


def test_packing_again_writes_no_files(apart: Loose) -> None:
    assert apart.pack() == Exit.CLEAN
    marker = apart.place / "packed" / MARKER
    before = marker.stat().st_mtime_ns
    assert apart.pack() == Exit.CLEAN
    assert marker.stat().st_mtime_ns == before
    assert sorted(os.listdir(apart.place / "packed")) == [MARKER, "Acme"]


def test_a_tree_below_podium_toml_needs_no_marker_file(tmp_path: Path) -> None:
    loose = Loose(tmp_path)
    assert loose.pack() == Exit.CLEAN
    assert os.listdir(loose.packed.parent) == ["Acme"]
    assert check(loose.packed).rules.chosen_by == "config"


def test_a_round_option_that_overrides_podium_toml_is_recorded(tmp_path: Path) -> None:
    loose = Loose(tmp_path).configure(round="5.0")
    assert loose.pack("--round", "5.1") == Exit.CLEAN
    assert check(loose.packed).rules.round == "5.1"


def test_an_option_or_a_nearer_podium_toml_overrides_the_marker(apart: Loose) -> None:
    assert apart.pack() == Exit.CLEAN
    tree = apart.place / "packed" / "Acme"
    assert check(tree, round="6.0").rules.round == "6.0"
    (tree / "podium.toml").write_text('round = "5.0"\n')
    assert check(tree).rules.round == "5.0"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": "podium.packed/1"}', '{"round": 5}'])
def test_an_invalid_marker_is_reported_with_its_name(text: str, apart: Loose) -> None:
    assert apart.pack() == Exit.CLEAN
    (apart.place / "packed" / MARKER).write_text(text)
    with pytest.raises(UsageFault, match=r"\.Acme\.podium\.json"):
        check(apart.place / "packed" / "Acme")


def test_an_unknown_round_in_the_marker_is_a_usage_error(apart: Loose) -> None:
    assert apart.pack() == Exit.CLEAN
    marker = apart.place / "packed" / MARKER
    marker.write_text(marker.read_text().replace("5.1", "9.9"))
    with pytest.raises(UsageFault, match=r"no training round '9\.9'"):
        check(apart.place / "packed" / "Acme")
