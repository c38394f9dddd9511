"""`podium rules drift`: planted differences are reported, and no others."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.tools.drift.installed import Installed
from podium.compliance.tools.drift.translate import translated
from podium.compliance.tools.drift.whole_round import compare_round
from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.model.round import Round
from tests.compliance.command_line import podium
from tests.compliance.tools.drift.upstream import Release
from tests.docs.pages import Copy, copied

BENCHMARK = "llama31_8b"


def rows(*words: object, status: int) -> list[dict[str, Any]]:
    """Run the command and return the rows to change."""
    done = podium("rules", "drift", *words, "--format", "json")
    assert done.exit_code == status, done.output
    found = json.loads(done.stdout)
    assert found["schema"] == "podium.rules-drift/1"
    assert found["logs"] > 100
    listed: list[dict[str, Any]] = found["rows"]
    return listed


@pytest.fixture
def release(tmp_path: Path) -> Release:
    """A copy of the installed release that tests edit."""
    return Release(tmp_path / "release")


# --- current rounds ---


def test_the_installed_release_agrees_and_no_files_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = {*os.listdir(tmp_path)}
    assert rows("--round", "6.1", "--benchmark", "qwen35_397b_grpo", status=0) == []
    assert {*os.listdir(tmp_path)} == before


@pytest.mark.long
@pytest.mark.daily(8)
@pytest.mark.parametrize(
    "rules",
    [rules for usage in USAGES for rules in rounds_of(usage).values() if rules.verified],
    ids=lambda rules: rules.title,
)
def test_the_installed_release_agrees_on_a_round(rules: Round) -> None:
    assert rows("--usage", rules.usage, "--round", rules.name, status=0) == []


# --- planted differences ---

LOWER = "(v['value'] <= 3.4) and v['value'] > 0.0"

PLANTED: dict[str, tuple[str, Callable[[Release], Release], str, str]] = {
    "another value": (
        "opt_adamw_beta_2",
        lambda made: made.edit(
            f"6.1/closed_{BENCHMARK}", "v['value'] == 0.95", "v['value'] == 0.9"
        ),
        "0.95; exactly once",
        "v['value'] == 0.9; EXACTLY_ONE",
    ),
    "a looser bound": (
        "max_sequence_length",
        lambda made: made.edit(
            f"6.1/closed_{BENCHMARK}", "v['value'] == 8192", "v['value'] > 4095"
        ),
        "8192; exactly once",
        "v['value'] > 4095; EXACTLY_ONE",
    ),
    "one more name": (
        "opt_name",
        lambda made: made.edit(
            f"6.1/closed_{BENCHMARK}", "v['value'] == 'adamw'", "v['value'] in ['adamw', 'muon']"
        ),
        '"adamw"; exactly once',
        "v['value'] in ['adamw', 'muon']; EXACTLY_ONE",
    ),
    "a key that is new": (
        "lora_rank",
        lambda made: made.add_key(f"6.1/closed_{BENCHMARK}", "lora_rank", "EXACTLY_ONE", ""),
        "",
        "EXACTLY_ONE",
    ),
    "an optional key that is bounded": (
        "lora_rank",
        lambda made: made.add_key(
            f"6.1/closed_{BENCHMARK}", "lora_rank", "OPTIONAL", "v['value'] == 16"
        ),
        "",
        "v['value'] == 16; OPTIONAL",
    ),
    "another target": (
        "eval_accuracy",
        lambda made: made.edit(f"6.1/closed_{BENCHMARK}", "3.3)", "3.4)"),
        "metadata with samples_count; some: at most 3.3; some: above 0.0; at least once",
        f"'samples_count' in v['metadata']; some: {LOWER}; AT_LEAST_ONE",
    ),
}


SUMMARY = "result_summarizer/result_summarizer.py"

TABLES: dict[str, tuple[str, str, str, str, str, str]] = {
    "another number of runs": (
        "benchmark_meta.py",
        f"'{BENCHMARK}': 10,",
        f"'{BENCHMARK}': 12,",
        "runs",
        "10",
        "12",
    ),
    "another value of a reference point": (
        f"rcp_checker/training_6.1.0/rcps_{BENCHMARK}.json",
        '"BS": 16,',
        '"BS": 24,',
        f"reference point {BENCHMARK}_ref_16",
        "batch size 16, 20 runs",
        "batch size 24, 20 runs",
    ),
    "an alias that is new": (
        SUMMARY,
        "if benchmark == 'mask':\n        return 'maskrcnn'",
        f"if benchmark == 'tundra':\n        return '{BENCHMARK}'",
        "alias tundra",
        "",
        BENCHMARK,
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_change_outside_the_rule_files_is_reported(tmp_path: Path, name: str) -> None:
    file, before, after, key, ours, theirs = TABLES[name]
    release = Release(tmp_path / "release", with_points=True)
    path = release.rules.parent / file
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))
    (rules,) = [one for one in rounds_of("training").values() if one.name == "6.1"]
    about = Installed.about(str(release.python))
    (row,) = compare_round(rules, about, BENCHMARK)
    assert (row.benchmark, row.key) == (BENCHMARK, key)
    assert row.ours.startswith(ours)
    assert row.theirs.startswith(theirs)


@pytest.mark.parametrize("usage", USAGES)
def test_the_installed_release_has_the_same_tables(usage: str) -> None:
    about = Installed.about()
    found = [row for rules in rounds_of(usage).values() for row in compare_round(rules, about)]
    assert [row for row in found if rounds_of(usage)[row.round].verified] == []


@pytest.mark.long
@pytest.mark.parametrize("name", PLANTED)
def test_only_the_changed_row_is_reported(release: Release, name: str) -> None:
    key, plant, ours, theirs = PLANTED[name]
    plant(release)
    words = ("--python", release.python, "--round", "6.1", "--benchmark", BENCHMARK)
    (found,) = rows(*words, status=1)
    where = (found["usage"], found["round"], found["division"], found["benchmark"], found["key"])
    assert where == ("training", "6.1", "closed", BENCHMARK, key)
    assert (found["ours"], found["theirs"]) == (ours, theirs)
    assert {each["ours"] != each["theirs"] for each in found["examples"]} == {True}


@pytest.mark.long
def test_a_common_row_is_reported_without_a_benchmark(release: Release) -> None:
    release.edit("6.1/closed_common", "v['value'] > 0", "v['value'] > 1")
    words = ("--python", release.python, "--round", "6.1", "--benchmark", "flux1")
    found = rows(*words, status=1)
    (row,) = [each for each in found if each["file"] == "closed_common"]
    assert (row["division"], row["benchmark"]) == ("closed", "")
    assert row["key"] == "gradient_accumulation_steps"


@pytest.mark.long
def test_a_difference_is_printed_as_text(release: Release) -> None:
    PLANTED["another value"][1](release)
    words = ("--python", release.python, "--round", "6.1", "--benchmark", BENCHMARK)
    done = podium("rules", "drift", *words)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[:4] == [
        f"training 6.1, closed, {BENCHMARK}",
        "  opt_adamw_beta_2",
        "    ours    0.95; exactly once",
        "    theirs  v['value'] == 0.9; EXACTLY_ONE",
    ]
    assert "    log     value 0.95: ours accepts, theirs rejects" in lines
    assert lines[-1].endswith("logs checked with both.")
    assert lines[-1].startswith("1 row to change: mlperf-logging ")
    assert max(map(len, lines)) <= 80


def test_a_changed_row_in_our_tables_is_reported(tmp_path: Path) -> None:
    """The tables change in a copy of the source, and the release stays the same."""
    copy = copied(tmp_path)
    path = copy.root / "rules" / "training" / "benchmarks" / f"{BENCHMARK}.py"
    text = path.read_text()
    assert text.count("equals(0.95)") == 1
    path.write_text(text.replace("equals(0.95)", "equals(0.96)"))
    words = ("--round", "6.1", "--benchmark", BENCHMARK, "--format", "json")
    done = copy.podium("rules", "drift", *words)
    assert done.returncode == 1, done.stderr
    assert {row["key"] for row in json.loads(done.stdout)["rows"]} == {"opt_adamw_beta_2"}


# --- requests that cannot be compared ---


def test_a_missing_official_package_is_reported(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n')
    python.chmod(0o755)
    done = podium("rules", "drift", "--python", python)
    assert done.exit_code == 2
    assert "install mlperf-logging" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--python", "/nowhere/python"), "cannot be started"),
        (("--round", "9.9"), "nothing to compare"),
        (("--round", "6.1", "--benchmark", "nothing"), "nothing to compare"),
        (("--draft", "x.py"), "--draft needs --round"),
    ],
)
def test_an_invalid_request_is_refused(words: tuple[str, ...], message: str) -> None:
    done = podium("rules", "drift", *words)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


# --- drafts ---


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """A copy of the source that tests edit."""
    return copied(tmp_path)


@pytest.mark.long
def test_a_draft_of_a_new_round_agrees_with_the_release(copy: Copy, release: Release) -> None:
    """Simple rules are drafted in full; other rules are marked, and the test completes them."""
    release.add_round("6.2")
    release.edit("6.2/closed_gpt_oss_20b", "v['value'] == 8192", "v['value'] in [8192, 16384]")
    release.add_key("6.2/closed_gpt_oss_20b", "lora_rank", "EXACTLY_ONE", "v['value'] >= 16")
    module = copy.root / "rules" / "training" / "v6_2.py"
    drift = ("rules", "drift", "--python", str(release.python), "--round", "6.2")
    done = copy.podium(*drift, "--draft", str(module))
    assert done.returncode == 1, done.stderr

    text = module.read_text()
    assert 'retires=("flux1",)' in text
    assert "introduces=(OCEAN_SMALL,)" in text
    assert "row(k.MAX_SEQUENCE_LENGTH, one_of(8192, 16_384))," in text
    (left,) = [line for line in text.splitlines() if "To write: v[" in line]
    assert left.strip() == "# To write: v['value'] == 0.1 * s['rate']"
    text = text.replace(
        "row(k.OPT_END_LEARNING_RATE)",
        "row(k.OPT_END_LEARNING_RATE, equals(0.1 * logged(k.OPT_BASE_LEARNING_RATE)))",
    ).replace(
        "from podium.rules.model",
        "from podium.rules.constraints.formula import logged\nfrom podium.rules.model",
        1,
    )
    module.write_text(text)
    listed = copy.root / "rules" / "training" / "__init__.py"
    names = listed.read_text()
    listed.write_text(names.replace('*("6.0", "6.1"),', '*("6.0", "6.1", "6.2"),'))

    done = copy.podium(*drift)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("No disagreement: ")


TESTS = {
    "v['value'] == 0.9": (["equals(0.9)"], []),
    "v['value'] == 'cosine'": (['equals("cosine")'], []),
    "v['value'] != ''": (["not_empty()"], []),
    "0 < v['value'] <= 1": (["above(0)", "at_most(1)"], []),
    "v['value'] < 1 and v['value'] >= -1": (["below(1)", "at_least(-1)"], []),
    "(v['value'] > 0) & (v['value'] < 2)": (["above(0)", "below(2)"], []),
    " is_integer(v['value']) and v['value'] > 0 ".strip(): (["whole()", "above(0)"], []),
    "v['value'] in ['a', 'b']": (['one_of("a", "b")'], []),
    "'epoch_num' in v['metadata']": (['has("epoch_num")'], []),
    "v['value'] == 12000 - s['steps']": ([], ["v['value'] == 12000 - s['steps']"]),
    "v['value'] > 0 or v['value'] == -1": ([], ["v['value'] > 0 or v['value'] == -1"]),
    "v['value'] == 1 and len(v['value']) > 1": (["equals(1)"], ["len(v['value']) > 1"]),
    "v['value'] not in [1]": ([], ["v['value'] not in [1]"]),
    "no python": ([], ["no python"]),
}


@pytest.mark.parametrize("test", TESTS)
def test_simple_expressions_become_constraints_and_others_remarks(test: str) -> None:
    assert translated(test) == TESTS[test]
