"""Formats, probes and trainers that plug-ins provide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podium.compliance.judging.systems.probe import session
from podium.compliance.judging.systems.probe.probe import Probe
from podium.reference_runs import catalogue
from tests.builders import LogBuilder
from tests.compliance.command_line import podium
from tests.compliance.judging.plugins.plugged import plug_in

FORMAT = """
def lines(report):
    '''A line for each finding.'''
    found = [f"{each['path']},{each['line']},{each['id']}" for each in report["findings"]]
    return "\\n".join([report["verdict"], *found]) + "\\n"


FORMATS = {"csv": lines}
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def log(tmp_path: Path, good: LogBuilder) -> Path:
    return good.set("opt_adamw_beta_2", 0.5).write(tmp_path / "logs" / "result_0.txt")


# --- formats ---


def test_a_report_is_printed_in_the_format_of_a_plugin(
    site: Path, log: Path, good: LogBuilder
) -> None:
    plug_in(site, FORMAT, group="podium.formats")
    done = podium("check", log, "--round", "5.1", "--format", "acme.csv")
    line = good.line_of("opt_adamw_beta_2")
    assert (done.exit_code, done.stderr) == (1, "")
    assert done.stdout == f"rejected\nresult_0.txt,{line},closed.llama31_8b.opt_adamw_beta_2\n"
    out = log.parent.parent / "report.csv"
    podium("check", log, "--round", "5.1", "--format", "acme.csv", "--output", out)
    assert out.read_text() == done.stdout
    (reported,) = json.loads(podium("plugins", "--format", "json").stdout)["plugins"]
    assert reported["adds"]["formats"] == ["acme.csv"]


def test_control_characters_in_a_plugin_format_are_escaped(
    site: Path, log: Path, tmp_path: Path
) -> None:
    text = "a\tb\r\né\xa0\u200d\n\x1b[31m\x07\x9b31m\u202e\rc\x00"
    plug_in(site, f"FORMATS = {{'csv': lambda report: {text!r}}}", group="podium.formats")
    words = ("check", log, "--round", "5.1", "--format", "acme.csv")
    shown = "a\tb\r\né\xa0\u200d\n\\x1b[31m\\x07\\x9b31m\\u202e\\rc\\x00"
    assert podium(*words).stdout.splitlines() == shown.splitlines()
    out = tmp_path / "report.csv"
    podium(*words, "--output", out)
    assert out.read_bytes().decode() == shown


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("FORMATS = {'csv': lambda report: 1 / 0}", "fails: ZeroDivisionError"),
        ("FORMATS = {'csv': lambda report: report}", "returns dict from acme.csv"),
        ("FORMATS = {'csv': lambda report: print('x') or ''}", "prints to standard output: 'x'"),
        ("FORMATS = {'csv': lambda report: 'x' * 10**8}", "more than 4 MiB"),
        ("FORMATS = {'csv': lambda report: '\\ud800'}", "Unicode"),
        ("FORMATS = {'xml': str}", "has no format acme.csv; available: acme.xml"),
        ("FORMATS = {'csv': 7}", "has 'csv' at acme_rules; expected a name and a function"),
        ("FORMATS = {}", "expected a mapping"),
        ("import os\nFORMATS = {'csv': lambda report: os._exit(0)}", "ended with status 0"),
    ],
)
def test_a_failing_format_is_replaced_by_the_text_report(
    code: str, why: str, site: Path, log: Path
) -> None:
    plain = podium("--no-plugins", "check", log, "--round", "5.1")
    plug_in(site, code, group="podium.formats")
    out = log.parent.parent / "report.csv"
    words = ("check", log, "--round", "5.1", "--format", "acme.csv", "--output", out)
    done = podium(*words)
    assert (done.exit_code, done.stdout) == (plain.exit_code, plain.stdout)
    (line,) = done.stderr.splitlines()
    assert line.startswith("podium: plug-in acme is skipped: ")
    assert why in line
    assert line.endswith(f"; {out} is not written")
    assert not out.exists()


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("acme.csv", "--format acme.csv: no plug-in acme; there are none"),
        ("csv", "is not one of text, json"),
        (".csv", "is not one of text, json"),
        ("acme.", "is not one of text, json"),
    ],
)
def test_an_unknown_format_is_a_usage_error(form: str, said: str, log: Path) -> None:
    done = podium("check", log, "--format", form)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())


# --- probes ---

PROBE = """
def cluster():
    '''The cluster's database.'''
    return {"interconnect": "ours", "number_of_nodes": 8}


PROBES = {"cluster": cluster}
"""


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which podium's own probe finds nothing; a real probe takes seconds."""
    monkeypatch.setattr(session, "probe_node", lambda _: Probe())


def described(tmp_path: Path) -> tuple[dict[str, str], str]:
    file = tmp_path / "ex.json"
    done = podium("system", "init", file, "--no-input", "--round", "5.1", "--replace")
    return json.loads(file.read_text()), " ".join(done.output.split())


@pytest.mark.usefixtures("machine")
def test_the_probe_of_a_plugin_fills_the_fields_that_it_knows(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = PROBE.replace("interconnect", "host_networking")
    plug_in(site, probe, group="podium.probes")
    made, _ = described(tmp_path)
    assert (made["host_networking"], made["number_of_nodes"]) == ("ours", "8")
    monkeypatch.setenv("PODIUM_NO_PLUGINS", "1")
    assert described(tmp_path)[0]["host_networking"] != "ours"


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("PROBES = {'a': lambda: 1 / 0}", "plug-in acme is not used: fails: ZeroDivisionError"),
        ("PROBES = {'a': lambda: 7}", "returns int from acme.a; expected a mapping"),
        (
            "PROBES = {'a': lambda: {'framework': []}}",
            "returns an invalid value of 'framework' from acme.a",
        ),
        ("PROBES = {'a': lambda: {'frame': 'x'}}", "acme: unknown field frame"),
    ],
)
def test_the_failing_probe_of_a_plugin_is_reported(
    code: str, why: str, site: Path, tmp_path: Path
) -> None:
    plug_in(site, code, group="podium.probes")
    made, said = described(tmp_path)
    assert made["system_name"] == "ex"
    assert why in said


# --- trainers ---


def test_the_trainer_of_a_plugin_is_listed_and_writes_a_dry_log(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "ADDED", {})
    plug_in(site, "TRAINERS = {'mine': 'acme_mine'}", group="podium.trainers")
    home = site / "acme_mine"
    home.mkdir()
    (home / "__init__.py").touch()
    (home / "config.py").write_text(
        "from dataclasses import replace\n"
        "from podium.reference_runs.benchmarks.sentiment.config import BENCHMARKS as THEIRS\n"
        "BENCHMARKS = (replace(THEIRS[0], name='mine'),)\n"
    )
    assert "acme.mine        from the plug-in package acme_mine" in podium("run", "--list").stdout
    log = tmp_path / "dry.txt"
    done = podium("run", "acme.mine", "--dry-log", "--output", log)
    assert (done.exit_code, done.stderr) == (0, "")
    assert log.read_text().startswith(":::MLL")


def test_an_unknown_trainer_is_reported_with_the_available_ones(site: Path) -> None:
    plug_in(site, "TRAINERS = {'mine': 'acme_mine'}", group="podium.trainers")
    done = podium("run", "acme.other", "--dry-log")
    assert (done.exit_code, done.stderr) == (
        2,
        "podium: no plug-in has the trainer acme.other; available: acme.mine\n",
    )


def test_a_trainer_with_the_name_of_a_bundled_trainer_is_refused(site: Path) -> None:
    plug_in(site, "TRAINERS = {'resnet': 'acme_mine'}", group="podium.trainers")
    done = podium("run", "acme.resnet", "--dry-log")
    assert done.exit_code == 2
    assert "provides a trainer resnet, which podium already bundles" in done.stderr
