"""Plug-ins next to podium's own rules: listing, explanation, examples and findings."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from podium import check
from podium.compliance.judging.plugins.installed import TAKEN
from podium.compliance.rulebook.catalogue import all_rules
from podium.rules.catalogue import USAGES, rounds_of
from tests.builders import LogBuilder
from tests.compliance.command_line import podium
from tests.compliance.judging.plugins.plugged import RULE, plug_in, with_body

FILLER = b"step 1: loss 2.31\n" * 120_000
"""Two megabytes of lines without records; several processes judge files of that size."""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the module search path, without any plug-in."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def log(tmp_path: Path, good: LogBuilder) -> Path:
    """A log with an odd seed and no other violation."""
    return good.set("seed", 41).write(tmp_path / "logs" / "result_0.txt")


def report(*words: Any, status: int = 0) -> dict[str, Any]:
    done = podium(*words, "--round", "5.1", "--format", "json")
    assert (done.exit_code, done.stderr) == (status, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# --- verdicts ---


def test_a_plugin_reports_a_violation_of_its_rule(site: Path, log: Path, good: LogBuilder) -> None:
    plug_in(site)
    (found,) = report("check", log, status=1)["findings"]
    assert found == {
        "id": "acme.seed.odd",
        "severity": "error",
        "path": "result_0.txt",
        "line": good.line_of("seed"),
        "key": "seed",
        "message": "seed is 41; must be even",
        "expected": "",
        "actual": None,
        "hint": "add one",
        "cites": "Acme handbook, Seeds",
        "stated_by": "plugin",
        "waived": False,
        "waived_by": "",
        "caused_by": "",
        "official": False,
    }
    good.set("seed", 42).write(log)
    assert report("check", log)["findings"] == []


def test_a_report_names_the_plugins_that_were_used(site: Path, log: Path) -> None:
    plug_in(site)
    made = report("check", log, status=1)
    assert made["plugins"] == [
        {
            "name": "acme",
            "version": "1.2",
            "distribution": "podium-acme",
            "state": "loaded",
            "why": "",
            "rules": 1,
            "findings": 1,
        }
    ]
    done = podium("check", log, "--round", "5.1")
    assert "with plug-in acme 1.2 (1 rule, 1 finding)" in done.stdout
    assert "rejected only by rules of plug-ins" in done.stdout


@pytest.mark.parametrize("form", ["text", "markdown", "html", "junit"])
def test_text_markdown_html_and_junit_reports_name_the_plugins(
    form: str, site: Path, log: Path
) -> None:
    plug_in(site)
    shown = podium("check", log, "--round", "5.1", "--format", form).stdout
    assert "plug-in acme 1.2 (1 rule, 1 finding)" in html.unescape(shown)
    plug_in(site, "raise ValueError")
    shown = podium("check", log, "--round", "5.1", "--format", form).stdout
    assert "without plug-in acme 1.2, which failed" in html.unescape(shown)


def test_the_junit_report_has_a_separate_verdict_of_plugins(site: Path, log: Path) -> None:
    plug_in(site)
    shown = podium("check", log, "--round", "5.1", "--format", "junit").stdout
    verdicts = dict(re.findall(r'name="verdict of the ([^"]+)" value="(\w+)"', shown))
    assert verdicts == {
        "policy": "accepted",
        "rules of plug-ins": "rejected",
        "official verifier": "accepted",
    }


def test_a_rejection_by_a_plugin_is_not_attributed_to_the_policy(site: Path, log: Path) -> None:
    plug_in(site)
    made = report("check", log, status=1)
    assert (made["verdict"], made["rejected_by"]) == ("rejected", ["plugins"])
    assert (made["official_verdict"], made["files"][0]["verdict"]) == ("accepted", "fail")


def test_the_verifier_profile_uses_no_plugins(site: Path, log: Path) -> None:
    plug_in(site)
    made = report("check", log, "--profile", "verifier")
    assert (made["verdict"], made["plugins"], made["findings"]) == ("accepted", [], [])


def test_an_option_and_a_variable_disable_plugins(
    site: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(site)
    bare = report("--no-plugins", "check", log)
    assert (bare["verdict"], bare["plugins"]) == ("accepted", [])
    # The option does not affect the next call
    assert report("check", log, status=1)["verdict"] == "rejected"
    monkeypatch.setenv("PODIUM_NO_PLUGINS", "1")
    assert report("check", log) == bare
    assert "disabled" in podium("plugins").stdout


def test_the_python_check_uses_plugins_unless_they_are_disabled(
    site: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(site)
    assert check(log, round="5.1").plugins[0].name == "acme"
    assert check(log, round="5.1").verdict == "rejected"
    monkeypatch.setenv("PODIUM_NO_PLUGINS", "1")
    assert check(log, round="5.1").verdict == "accepted"


def test_three_processes_report_the_same_plugin_findings_as_one(
    site: Path, tmp_path: Path, good: LogBuilder
) -> None:
    plug_in(site)
    for number in range(5):
        place = good.set("seed", 40 + number).write(tmp_path / "many" / f"result_{number}.txt")
        place.write_bytes(place.read_bytes() + FILLER)
    one = report("check", tmp_path / "many", "--jobs", "1", status=1)
    assert [each["path"] for each in one["findings"]] == ["result_1.txt", "result_3.txt"]
    assert report("check", tmp_path / "many", "--jobs", "3", status=1) == one


def test_a_rule_of_the_open_division_ignores_a_closed_log(site: Path, log: Path) -> None:
    plug_in(site, RULE.replace("severity=", 'divisions=("open",), severity='))
    assert report("check", log)["findings"] == []


def test_a_plugin_in_the_working_directory_is_ignored(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(plug_in(tmp_path / "here"))
    monkeypatch.chdir(tmp_path / "here")
    assert report("check", log)["plugins"] == []


def test_the_module_of_a_plugin_is_not_loaded_from_the_working_directory(
    site: Path, tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m podium` puts the working directory first on the path."""
    plug_in(site)
    here = tmp_path / "here"
    here.mkdir()
    (here / "acme_rules.py").write_text("raise RuntimeError('not this one')")
    monkeypatch.syspath_prepend(here)
    monkeypatch.chdir(here)
    assert report("check", log, status=1)["plugins"][0]["state"] == "loaded"


def test_plugins_do_not_read_links_that_leave_the_submission(
    site: Path, tmp_path: Path, good: LogBuilder
) -> None:
    from tests.compliance.trees import usual

    plug_in(site, with_body('yield Violation(0, "a log; must not be here", hint="go")'))
    tree = usual(tmp_path / "tree")
    first = min(tree.root.glob("results/*/*/result_*.txt"))
    outside = tmp_path / "outside.txt"
    first.rename(outside)
    first.symlink_to(outside)
    made = json.loads(podium("check", tree.root, "--round", "5.1", "--format", "json").stdout)
    paths = {each["path"] for each in made["findings"] if each["id"] == "acme.seed.odd"}
    assert paths
    assert not any(path.endswith(f"{first.parent.name}/{first.name}") for path in paths)


# --- other features of podium ---


def test_a_plugins_rule_can_be_selected_and_ignored(site: Path, log: Path) -> None:
    plug_in(site)
    assert report("check", log, "--ignore", "acme.*", status=1)["findings"] == []
    assert len(report("check", log, "--select", "acme.*", status=1)["findings"]) == 1
    done = podium("check", log, "--select", "acme.seed.old", "--round", "5.1")
    assert "did you mean acme.seed.odd?" in done.stderr


def test_rules_explain_shows_the_rule_of_a_plugin(site: Path) -> None:
    plug_in(site)
    done = podium("rules", "explain", "acme.seed.odd")
    for text in ("a seed is even", "a plug-in", "Odd seeds are kept", "Acme handbook"):
        assert text in done.stdout
    page = podium("rules", "explain", "acme.seed.odd", "--format", "markdown").stdout
    assert "## `acme.seed.odd`" in page
    assert '"value": 41' in page


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_plugins_rule_is_listed(form: str, site: Path) -> None:
    assert "acme.seed.odd" not in podium("rules", "list", "--all", "--format", form).stdout
    plug_in(site)
    assert "acme.seed.odd" in podium("rules", "list", "--all", "--format", form).stdout


def test_the_sarif_report_describes_the_rule_of_a_plugin(site: Path, log: Path) -> None:
    plug_in(site)
    done = podium("check", log, "--round", "5.1", "--format", "sarif")
    tool = json.loads(done.stdout)["runs"][0]["tool"]
    (rule,) = tool["driver"]["rules"]
    assert tool["extensions"] == [{"name": "acme", "version": "1.2"}]
    assert rule["shortDescription"]["text"] == "A seed is even."


def test_plugins_are_listed_with_the_rules_that_they_add(site: Path) -> None:
    assert podium("plugins").stdout == "no plug-in is installed\n"
    plug_in(site)
    plug_in(site, "raise RuntimeError('no')", name="bad")
    done = podium("plugins", "--format", "json")
    assert done.exit_code == 1
    acme, bad = json.loads(done.stdout)["plugins"]
    assert (acme["state"], acme["adds"]["rules"]) == ("loaded", ["acme.seed.odd"])
    assert (bad["state"], bad["adds"]["rules"]) == ("failed", [])
    assert bad["why"].startswith("fails: RuntimeError: no (bad_rules.py:1)")
    shown = podium("plugins").stdout
    assert "1 rule" in shown
    assert "bad failed: fails: RuntimeError: no" in shown


# --- examples ---


def test_rules_test_runs_the_examples_of_a_plugin(site: Path) -> None:
    plug_in(site)
    done = podium("rules", "test", "acme")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "ok    acme.seed.odd")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"seed", 41', '"seed", 40', "finds nothing in its bad example"),
        ('"seed", 42', '"seed", 43', "finds a violation in its good example"),
        ('bad=excerpt(at(0, "seed", 41)),', "", "an example is missing"),
        ("'''Odd seeds are kept for tests.'''", "", "no docstring"),
        ("a seed is even", "a seed is even.", "a period"),
        ("Acme handbook, Seeds", "", "`cites` is empty"),
        ("; must be even", " is odd", "its message is"),
        ("add one", "", "no hint"),
        ('at(0, "seed", 42)', "'a step'", "not a log"),
    ],
)
def test_a_rule_with_a_wrong_example_or_text_fails_its_test(
    old: str, new: str, problem: str, site: Path
) -> None:
    assert old in RULE
    plug_in(site, RULE.replace(old, new))
    done = podium("rules", "test", "acme")
    assert done.exit_code == 1
    assert problem in " ".join(done.stdout.split())


def test_rules_test_refuses_an_unknown_plugin(site: Path) -> None:
    plug_in(site)
    done = podium("rules", "test", "acne")
    assert (done.exit_code, done.stderr) == (2, "podium: no plug-in acne; did you mean acme?\n")


# --- names ---


def test_the_prefixes_of_all_rule_ids_are_reserved_names() -> None:
    ids = {
        rule.id
        for usage in USAGES
        for rules in rounds_of(usage).values()
        for rule in all_rules(rules)
    }
    ours = {"house", "plugin", "podium"}
    assert {each.partition(".")[0] for each in ids} | ours == TAKEN


def test_plugin_hosting_is_not_imported_if_no_plugin_is_installed(log: Path) -> None:
    assert report("check", log)["plugins"] == []
    import subprocess

    code = (
        "import sys; from podium.compliance.cli.entry import run; "
        f"run(['check', {str(log)!r}, '--round', '5.1']); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "podium.compliance.judging.plugins.installed" in loaded
    assert not loaded & {
        "importlib.metadata",
        "multiprocessing",
        "podium.compliance.judging.plugins.hosting",
    }
