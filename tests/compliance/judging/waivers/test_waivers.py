from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from podium.compliance.errors import UsageFault
from podium.compliance.judging.waivers.file import read_waivers, waivers_in_tree
from podium.compliance.judging.waivers.suppressions import about, mark
from podium.compliance.judging.waivers.waivers import Waivers
from podium.rules.finding import Finding, Severity

TODAY = date(2026, 3, 1)

GOOD = """\
# granted in review
[[waiver]]
rule = "power.*"
place = "results/big/bert"
reason = "the meter reads every two seconds"
who = "review committee"
until = 2026-12-31
"""

OTHER = """
[[waiver]]
rule = "seeds.none"
place = "*"
reason = "old code"
who = "chair"
until = 2026-03-01
"""


def finding(rule: str = "power.cadence", path: str = "results/big/bert/power/result_0") -> Finding:
    return Finding(rule, Severity.ERROR, path, 3, None, "wrong")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "waivers.toml"
    path.write_text(text)
    return path


def loaded(tmp_path: Path, text: str = GOOD) -> Waivers:
    return read_waivers(written(tmp_path, text))


def in_tree(tmp_path: Path, text: str) -> list[Finding]:
    waivers, found = waivers_in_tree(written(tmp_path, text), "waivers.toml")
    assert not (found and waivers.items)
    return found


# --- reading ---


def test_a_good_file_is_read(tmp_path: Path) -> None:
    waivers = loaded(tmp_path, GOOD + OTHER)
    assert [waiver.rule for waiver in waivers.items] == ["power.*", "seeds.none"]
    assert waivers.items[0].until == date(2026, 12, 31)
    assert waivers.lines == (2, 9)
    assert in_tree(tmp_path, GOOD) == []


def test_an_empty_file_waives_nothing(tmp_path: Path) -> None:
    assert loaded(tmp_path, "").items == ()


def test_a_date_may_be_a_string(tmp_path: Path) -> None:
    text = GOOD.replace("2026-12-31", '"2026-12-31"')
    assert loaded(tmp_path, text).items[0].until == date(2026, 12, 31)


FAULTS: dict[str, tuple[str, str, str, int | None]] = {
    "misspelt field": ("place =", "palce =", "unknown field palce; did you mean place?", 2),
    "other field": ("place =", "zzz = 1\nplace =", "unknown field zzz; expected one of rule, ", 2),
    "misspelt table": (
        "[[waiver]]",
        "[[waivers]]",
        "unknown field waivers; did you mean waiver?",
        None,
    ),
    "one table": ("[[waiver]]", "[waiver]", "waiver: input should be a valid list", None),
    "no reason": ('reason = "the meter reads every two seconds"\n', "", "reason is missing", 2),
    "empty reason": ('"the meter reads every two seconds"', '" "', "at least 1 character", 2),
    "no until": ("until = 2026-12-31\n", "", "until is missing", 2),
    "no such day": ("2026-12-31", '"2026-02-30"', "valid date", 2),
    "a moment": ("2026-12-31", "2026-12-31T10:00:00", "date", 2),
    "a number": ('"review committee"', "5", "valid string", 2),
    "no TOML": ("who =", "who", "not valid TOML: ", 6),
}


@pytest.mark.parametrize("case", FAULTS)
def test_an_error_in_the_file_is_reported_with_its_line(tmp_path: Path, case: str) -> None:
    old, new, message, place = FAULTS[case]
    assert old in GOOD
    text = GOOD.replace(old, new)
    found = in_tree(tmp_path, text)
    assert any(message in each.message for each in found)
    assert {each.id for each in found} == {"waivers.invalid"}
    assert {each.severity for each in found} == {Severity.ERROR}
    assert place in {each.line for each in found}
    with pytest.raises(UsageFault, match=r"waivers\.toml"):
        read_waivers(tmp_path / "waivers.toml")


def test_all_errors_are_reported_together(tmp_path: Path) -> None:
    text = GOOD.replace("place =", "palce =") + OTHER.replace("who =", "whom =")
    found = in_tree(tmp_path, text)
    assert {(each.key, each.line) for each in found} == {
        ("place", 2),
        ("palce", 2),
        ("who", 9),
        ("whom", 9),
    }


def test_a_table_header_inside_a_string_gives_no_line(tmp_path: Path) -> None:
    text = GOOD.replace('"the meter reads every two seconds"', '"""\n[[waiver]]\n"""')
    assert loaded(tmp_path, text).lines == (None,)


@pytest.mark.parametrize("what", ["absent", "folder", "fifo", "link", "not text", "large", "loop"])
def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path, what: str) -> None:
    path = tmp_path / "waivers.toml"
    if what == "folder":
        path.mkdir()
    elif what == "fifo":
        os.mkfifo(path)
    elif what == "link":
        (tmp_path / "real.toml").write_text(GOOD)
        path.symlink_to("real.toml")
    elif what == "not text":
        path.write_bytes(b"\xff\xfe")
    elif what == "large":
        path.write_text("#" * (1 << 21))
    elif what == "loop":
        path.symlink_to(path)
    _, found = waivers_in_tree(path, "waivers.toml")
    assert [each.id for each in found] == ["waivers.invalid"]
    assert found[0].message.startswith("cannot be read: ")
    if what == "link":
        assert len(read_waivers(path).items) == 1  # the user's own link is followed
        return
    with pytest.raises(UsageFault, match="cannot be read"):
        read_waivers(path)


# --- applying ---


def test_a_finding_of_the_rule_at_the_place_is_waived(tmp_path: Path) -> None:
    waivers = loaded(tmp_path)
    [waived] = mark([finding()], waivers, TODAY)
    assert [*about(waivers, [waived], TODAY)] == []
    assert waived.waived
    assert waived.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("rule", "path", "waived"),
    [
        ("power.markers", "results/big/bert", True),
        ("powers", "results/big/bert", False),
        ("power.markers", "results/big/bert2/result_0.txt", False),
        ("power.markers", "results/other/bert/power", False),
        ("seeds.none", "results/big/bert/result_0.txt", False),
    ],
)
def test_rule_and_place_both_must_match(tmp_path: Path, rule: str, path: str, waived: bool) -> None:
    assert mark([finding(rule, path)], loaded(tmp_path), TODAY)[0].waived is waived


@pytest.mark.parametrize(
    "place", ["*", ".", "results/*/bert", "results/big/", "results/big/bert/power*"]
)
def test_places_are_paths_folders_or_globs(tmp_path: Path, place: str) -> None:
    waivers = loaded(tmp_path, GOOD.replace("results/big/bert", place))
    assert mark([finding()], waivers, TODAY)[0].waived


@pytest.mark.parametrize("rule", ["internal.rule-crashed", "waivers.invalid"])
def test_errors_of_podium_and_of_waivers_cannot_be_waived(tmp_path: Path, rule: str) -> None:
    waivers = loaded(tmp_path, GOOD.replace("power.*", "*"))
    assert not mark([finding(rule)], waivers, TODAY)[0].waived


def test_a_waiver_applies_until_the_end_of_its_last_day(tmp_path: Path) -> None:
    waivers = loaded(tmp_path, OTHER)
    none = finding("seeds.none")
    assert [each.waived for each in mark([none], waivers, TODAY)] == [True]
    assert [*about(waivers, [none], TODAY)] == []
    [kept] = mark([none], waivers, date(2026, 3, 2))
    [expired] = about(waivers, [kept], date(2026, 3, 2))
    assert not kept.waived
    assert (expired.id, expired.severity, expired.line) == ("waivers.expired", "warning", 2)
    assert "seeds.none" in expired.message
    assert "2026-03-01" in expired.message


def test_a_waiver_that_covers_nothing_is_a_note(tmp_path: Path) -> None:
    [unused] = about(loaded(tmp_path), [], TODAY)
    assert (unused.id, unused.severity, unused.line) == ("waivers.unused", "note", 2)


def test_findings_are_unchanged_without_waivers() -> None:
    findings = [finding("b"), finding("a")]
    assert mark(findings, Waivers(), TODAY) == findings
    assert [*about(Waivers(), findings, TODAY)] == []
