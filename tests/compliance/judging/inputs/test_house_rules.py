"""Project rules: `[[rules]]` of podium.toml, which apply in addition to those of the round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import LogBuilder
from tests.compliance.command_line import podium
from tests.compliance.packs import Loose
from tests.compliance.trees import usual

RULE = """
name = "batch"
key = "global_batch_size"
bound = 1024
text = "we have memory for 1024"
"""


@pytest.fixture
def log(tmp_path: Path, good: LogBuilder) -> Path:
    return good.set("global_batch_size", 1024).write(tmp_path / "result_0.txt")


def write(log: Path, *rules: str, head: str = 'round = "5.1"') -> Path:
    """Write a podium.toml next to a log, with one `[[rules]]` table for each string."""
    path = log.parent / "podium.toml"
    path.write_text("\n".join([head, *(f"[[rules]]\n{rule.strip()}\n" for rule in rules)]))
    return path


def report(log: Path, *options: str) -> dict[str, Any]:
    done = podium("check", log, "--format", "json", *options)
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def house(log: Path, *options: str) -> list[dict[str, Any]]:
    return [each for each in report(log, *options)["findings"] if each["stated_by"] == "house"]


@pytest.mark.parametrize(
    ("bound", "holds"),
    [
        ("1024", True),
        ("1025", False),
        ("[512, 1024]", True),
        ("[512, 2048]", False),
        ("{ at_least = 1024 }", True),
        ("{ at_least = 1025 }", False),
        ("{ at_most = 1024 }", True),
        ("{ at_most = 1023.5 }", False),
        ("{ above = 1023 }", True),
        ("{ above = 1024 }", False),
        ("{ below = 1025 }", True),
        ("{ below = 1024 }", False),
        ("{ multiple_of = 256 }", True),
        ("{ multiple_of = 100 }", False),
        ("{ one_of = [1024] }", True),
        ("{ equals = 1024.0 }", True),
        ("{ at_least = 1, at_most = 2000 }", True),
        ("{ at_least = 1, at_most = 1000 }", False),
        ('"1024"', False),
    ],
)
def test_only_a_value_outside_the_bound_is_a_finding(bound: str, holds: bool, log: Path) -> None:
    write(log, RULE.replace("1024\ntext", f"{bound}\ntext"))
    assert (house(log) == []) is holds


def test_a_finding_quotes_the_rule(log: Path, good: LogBuilder) -> None:
    write(log, RULE.replace("bound = 1024", "bound = 512"))
    (found,) = house(log)
    assert (found["id"], found["severity"], found["key"]) == (
        "house.batch",
        "warning",
        "global_batch_size",
    )
    assert found["message"] == ("global_batch_size is 1024; must be 512 (we have memory for 1024)")
    assert found["line"] == good.line_of("global_batch_size")
    assert found["cites"] == "podium.toml, batch"


def test_an_error_of_a_project_rule_leaves_the_official_verdict_accepted(log: Path) -> None:
    write(log, RULE.replace("bound = 1024", 'bound = 512\nseverity = "error"'))
    made = report(log)
    assert (made["verdict"], made["rejected_by"]) == ("rejected", ["house"])
    assert (made["official_verdict"], made["files"][0]["verdict"]) == ("accepted", "fail")
    done = podium("check", log)
    assert done.exit_code == 1
    assert "rejected only by rules of podium.toml" in done.stdout
    assert house(log, "--profile", "verifier") == []
    assert podium("check", log, "--profile", "verifier").exit_code == 0


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ('benchmark = "llama31_8b"', 1),
        ('benchmark = ["bert", "llama31_8b"]', 1),
        ('benchmark = "bert"', 0),
        ('division = "closed"', 1),
        ('division = "open"', 0),
    ],
)
def test_a_rule_applies_to_the_benchmark_and_division_that_it_names(
    more: str, found: int, log: Path
) -> None:
    write(log, RULE.replace("bound = 1024", f"bound = 512\n{more}"))
    assert len(house(log)) == found


@pytest.mark.parametrize(("required", "found"), [("true", 1), ("false", 0)])
def test_a_missing_key_is_a_finding_only_if_the_rule_requires_it(
    required: str, found: int, log: Path
) -> None:
    write(
        log,
        f'name = "cluster"\nkey = "acme_cluster"\nbound = ["a", "b"]\ntext = "t"\n'
        f"required = {required}",
    )
    assert len(house(log)) == found


def test_the_nearest_podium_toml_applies(log: Path, good: LogBuilder) -> None:
    write(log, RULE.replace("bound = 1024", "bound = 512"))
    below = good.set("global_batch_size", 1024).write(log.parent / "below" / "result_0.txt")
    assert len(house(below)) == 1
    write(below)
    assert house(below) == []


def test_a_rule_can_be_selected_ignored_and_explained(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(log, RULE.replace("bound = 1024", "bound = 512"))
    assert len(house(log, "--select", "house.*")) == 1
    assert house(log, "--ignore", "house.batch") == []
    monkeypatch.chdir(log.parent)
    done = podium("rules", "explain", "house.batch", "--format", "json")
    (reported,) = json.loads(done.stdout)["rules"]
    assert (reported["constraint"], reported["why"]) == (
        "global_batch_size is 512",
        "we have memory for 1024",
    )
    assert '"value": 512' in reported["good"][0]
    assert '"value": 512' not in reported["bad"][0]
    assert "house.batch" in podium("rules", "list", "--all").stdout


def test_two_processes_report_the_same_findings_as_one_process(log: Path, good: LogBuilder) -> None:
    filler = b"step 1: loss 2.31\n" * 120_000
    write(log, RULE.replace("bound = 1024", "bound = 512"))
    for number in range(4):
        place = good.write(log.parent / f"result_{number}.txt")
        place.write_bytes(place.read_bytes() + filler)
    one = report(log.parent, "--jobs", "1")
    assert len([each for each in one["findings"] if each["id"] == "house.batch"]) == 4
    assert report(log.parent, "--jobs", "2") == one


# --- errors in the table ---


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('name = "batch"\n', "", 2, "name is missing"),
        ('text = "we have memory for 1024"', "", 2, "text is missing"),
        ('"batch"', '"Big batch"', 3, "name: string should match"),
        ("global_batch_size", "globl_batch_size", 4, "did you mean global_batch_size?"),
        ("bound = 1024", "bound = { atmost = 4 }", 5, "atmost of bound; did you mean at_most?"),
        ("bound = 1024", "bound = { most = [] }", 5, "unknown field most of bound"),
        ("bound = 1024", "bound = {}", 5, "bound is invalid"),
        ("bound = 1024", "bound = []", 5, "bound is invalid"),
        ("bound = 1024", "bound = { one_of = [] }", 5, "bound is invalid"),
        ("bound = 1024", "bound = { at_least = nan }", 5, "bound is invalid"),
        ("bound = 1024", 'bound = { at_least = "4" }', 5, "bound is invalid"),
        ("bound = 1024", "bound = { multiple_of = 0 }", 5, "bound is invalid"),
        ("bound = 1024", "bound = 2026-01-01", 5, "bound is invalid"),
        ('text = "', 'severity = "fatal"\ntext = "', 6, "severity: input should be"),
        ('text = "', 'code = "import os"\ntext = "', 6, "unknown field code; expected one of"),
        ('text = "', 'division = "both"\ntext = "', 6, "division: input should be"),
    ],
)
def test_an_invalid_rule_is_a_usage_error_with_its_line(
    old: str, new: str, line: int, message: str, log: Path
) -> None:
    assert old in RULE
    path = write(log, RULE.replace(old, new))
    done = podium("check", log)
    assert (done.exit_code, done.stdout) == (2, "")
    (said,) = done.stderr.splitlines()
    assert said.startswith(f"podium: {path}:{line}: ")
    assert message in said


def test_each_error_is_reported_with_the_line_of_its_rule(log: Path) -> None:
    path = write(log, RULE, RULE.replace('"batch"', '"B"'), RULE.replace("= 1024", "= []"))
    done = podium("check", log)
    places = [line.split(": ")[1] for line in done.stderr.splitlines()]
    assert places == [f"{path}:9", f"{path}:17"]


def test_a_duplicate_rule_name_is_reported_with_its_line(log: Path) -> None:
    path = write(log, RULE, RULE)
    done = podium("check", log)
    assert done.stderr == f"podium: {path}:9: duplicate rule name batch\n"


@pytest.mark.parametrize("given", ["rules = 7", 'rules = "all"', "[rules]\nname = 'x'"])
def test_rules_that_are_not_a_list_of_tables_are_a_usage_error(given: str, log: Path) -> None:
    path = log.parent / "podium.toml"
    path.write_text(f'round = "5.1"\n{given}\n')
    done = podium("check", log)
    assert done.exit_code == 2
    assert done.stderr.startswith(
        f"podium: {path}: rules is not a list of tables; expected [[rules]]"
    )


# --- other features of podium ---


def test_a_waiver_on_the_command_line_waives_a_project_rule(log: Path) -> None:
    write(log, RULE.replace("bound = 1024", 'bound = 512\nseverity = "error"'))
    waivers = log.parent / "granted.toml"
    waivers.write_text(
        '[[waiver]]\nrule = "house.*"\nplace = "*"\nreason = "a"\nwho = "b"\nuntil = 2999-01-01\n'
    )
    (found,) = house(log, "--waivers", str(waivers))
    assert found["waived"]
    assert report(log, "--waivers", str(waivers))["verdict"] == "accepted"


@pytest.mark.parametrize(("batch", "status"), [(1, 1), (1_000_000, 0)])
def test_pack_applies_the_project_rules(batch: int, status: int, tmp_path: Path) -> None:
    loose = Loose(tmp_path)
    rule = {"name": "batch", "key": "global_batch_size", "text": "t", "severity": "error"}
    loose.configure(rules=[{**rule, "bound": {"at_most": batch}}])
    assert loose.pack() == status
    assert loose.packed.exists() is (status == 0)


def test_project_rules_do_not_change_results_or_scores(log: Path, tmp_path: Path) -> None:
    tree = usual(tmp_path / "tree")
    before = podium("score", tree.root, "--round", "5.1", "--format", "json").stdout
    write(
        tree.root / "x",
        RULE.replace("bound = 1024", 'bound = -1\nseverity = "error"'),
    )
    made = json.loads(podium("check", tree.root, "--format", "json").stdout)
    assert {each["id"] for each in made["findings"]} == {"house.batch"}
    assert {each["verdict"] for each in made["results"]} == {"accepted"}
    assert {each["verdict"] for each in made["submissions"]} == {"accepted"}
    assert podium("score", tree.root, "--round", "5.1", "--format", "json").stdout == before


def test_a_waiver_on_the_command_line_covers_all_logs_of_a_submission(tmp_path: Path) -> None:
    tree = usual(tmp_path / "round")
    tree.write("podium.toml", f'round = "5.1"\n[[rules]]\n{RULE.strip()}\n')
    waivers = tmp_path / "waivers.toml"
    waivers.write_text(
        '[[waiver]]\nrule = "house.*"\nplace = "*"\nreason = "x"\nwho = "y"\nuntil = 2099-01-01\n'
    )
    plain = house(tree.root)
    assert plain
    assert not any(each["waived"] for each in plain)
    assert all(each["waived"] for each in house(tree.root, "--waivers", str(waivers)))
