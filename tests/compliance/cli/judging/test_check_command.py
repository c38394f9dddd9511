"""`podium check` in scripts: exit statuses, formats, options and paths."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest
import zstandard

from podium.compliance.cli import entry as cli
from podium.compliance.exit_codes import Exit
from podium.compliance.judging import files, pipeline
from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.judging.submission import judge as packages
from podium.compliance.reporting.render import FORMATS
from podium.logging_spec.reader.read import read_log
from podium.rules.catalogue import find_round
from tests.builders import LogBuilder, build
from tests.compliance.trees import usual
from tests.locations import ROOT


class Said(NamedTuple):
    """The exit status and the output of a call."""

    status: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The report that was printed as JSON."""
        report: dict[str, Any] = json.loads(self.out)
        return report


Podium = Callable[..., Said]


@pytest.fixture
def podium(capsys: pytest.CaptureFixture[str]) -> Podium:
    """Call the command in this process."""

    def call(*arguments: object) -> Said:
        capsys.readouterr()
        status = cli.run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Said(int(status), out, err)

    return call


@pytest.fixture
def check(podium: Podium) -> Podium:
    """Call `podium check --round 5.1 --format json …`."""
    return lambda *arguments: podium("check", "--round", "5.1", "--format", "json", *arguments)


@pytest.fixture
def log(good: LogBuilder, tmp_path: Path) -> Path:
    """A good log in its own folder."""
    return good.write(tmp_path / "logs" / "result_0.txt")


@pytest.fixture
def bad(good: LogBuilder) -> LogBuilder:
    """A log with one error in both profiles."""
    return good.set("opt_adamw_beta_2", 0.5)


def subprocess_podium(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "podium", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, **options)


def submission(root: Path, *logs: LogBuilder) -> Path:
    """Write a submission with one result from the given logs."""
    for number, one in enumerate(logs):
        one.write(root / "results" / "box" / "llama31_8b" / f"result_{number}.txt")
    (root / "systems").mkdir(parents=True)
    (root / "systems" / "box.json").write_text("{}")
    return root


# --- scores ---


def test_check_with_scores_reads_every_log_once(
    podium: Podium, good: LogBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = submission(tmp_path / "me", *[good] * 10)
    options = (root, "--round", "5.1", "--format", "json")
    alone, scores = podium("check", *options).report, podium("score", *options).report
    read = []

    def counting(path: str, *rest: Any, **options: Any) -> Any:
        read.append(path)
        return read_log(path, *rest, **options)

    monkeypatch.setattr(files, "read_log", counting)
    both = podium("check", *options, "--score", "--jobs", "1").report
    assert both.pop("scores") == scores
    assert both == alone
    assert len(read) == len(set(read)) == 10


def test_scores_with_sarif_are_a_usage_error(podium: Podium, log: Path) -> None:
    said = podium("check", log, "--score", "--format", "sarif")
    assert said.status == Exit.USAGE
    assert "--score needs" in said.err


# --- exit statuses ---


def test_status_0_without_findings(podium: Podium, log: Path) -> None:
    said = podium("check", log, "--round", "5.1")
    assert (said.status, said.err) == (Exit.CLEAN, "")
    assert said.out.endswith("ACCEPTED\n")


def test_status_0_with_warnings_only(check: Podium, good: LogBuilder, log: Path) -> None:
    # The first value violates only the policy; the repeated key is a note
    good.set("cache_clear", False).repeat("opt_name").write(log)
    said = check(log)
    assert said.status == Exit.CLEAN
    assert (said.report["counts"]["warning"], said.report["counts"]["note"]) == (1, 1)
    assert check(log, "--strict").status == Exit.FOUND


def test_status_1_with_an_error(podium: Podium, bad: LogBuilder, log: Path) -> None:
    bad.write(log)
    said = podium("check", log, "--round", "5.1")
    assert (said.status, said.err) == (Exit.FOUND, "")
    assert said.out.endswith("REJECTED\n")
    assert f"result_0.txt:{bad.line_of('opt_adamw_beta_2')}" in said.out
    assert "opt_adamw_beta_2 is 0.5; must be 0.95" in said.out
    assert "help: set opt_adamw_beta_2 to 0.95" in said.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "no/such/path"],
        ["check", ".", "--no-such-option"],
        ["check", ".", "--format", "yaml"],
        ["check", ".", "--usage", "inference"],
        ["check", ".", "--profile", "strict"],
        ["check", ".", "--jobs", "0"],
        ["check", ".", "--jobs", "many"],
        ["no-such-command"],
        ["--no-such-option"],
    ],
)
def test_status_2_for_invalid_arguments(podium: Podium, arguments: list[str]) -> None:
    said = podium(*arguments)
    assert said.status == Exit.USAGE
    assert said.out == ""
    assert said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize("round_", ["9.9", "5", "x", "5.1.2.3", "latest"])
def test_status_2_for_an_unknown_round(podium: Podium, log: Path, round_: str) -> None:
    said = podium("check", log, "--round", round_)
    assert said.status == Exit.USAGE
    assert said.err.startswith("podium: no training round")
    assert "5.1" in said.err  # the message lists the existing rounds


def test_status_2_if_there_is_nothing_to_check(podium: Podium, tmp_path: Path) -> None:
    said = podium("check", tmp_path)
    assert said.status == Exit.USAGE
    assert "nothing to check" in said.err
    (tmp_path / "notes.txt").write_text("no log")
    assert podium("check", tmp_path).status == Exit.USAGE
    (tmp_path / "link").symlink_to(tmp_path / "none")
    assert "broken link" in podium("check", tmp_path / "link").err


def test_status_2_if_one_of_several_paths_does_not_exist(podium: Podium, log: Path) -> None:
    assert podium("check", log, log.parent / "none.txt").status == Exit.USAGE


def test_status_3_for_a_crash_on_one_file_keeps_the_other_findings(
    check: Podium, good: LogBuilder, bad: LogBuilder, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad.write(log.parent / "result_1.txt")
    good.write(log.parent / "result_2.txt")
    judge = judge_log

    def fail(*arguments: Any, **options: Any) -> Any:
        if "result_0.txt" in arguments:
            raise RuntimeError("a bug")
        return judge(*arguments, **options)

    monkeypatch.setattr(files, "judge_log", fail)
    said = check(log.parent)
    assert said.status == Exit.INTERNAL
    found = {f["path"]: f["id"] for f in said.report["findings"] if f["severity"] == "error"}
    assert found["result_0.txt"].startswith("internal.")
    assert found["result_1.txt"] == "closed.llama31_8b.opt_adamw_beta_2"
    assert [entry["verdict"] for entry in said.report["files"]] == ["fail", "fail", "pass"]
    assert "Traceback" not in said.out + said.err


def test_status_3_for_a_crash_on_one_submission_keeps_the_others(
    check: Podium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        shutil.copytree(usual(tmp_path / "one").root, tmp_path / "round" / name)
        shutil.rmtree(tmp_path / "one")
    judge = packages.judge_submission

    def fail(tree: Any, *arguments: Any, **options: Any) -> Any:
        if tree.submitter == "first":
            raise RuntimeError("a bug")
        return judge(tree, *arguments, **options)

    monkeypatch.setattr(packages, "judge_submission", fail)
    said = check(tmp_path / "round", "--round", "5.1", "--select", "seeds.*")
    assert said.status == Exit.INTERNAL
    assert [(f["id"], f["path"]) for f in said.report["findings"]] == [
        ("internal.rule-crashed", "first")
    ]
    verdicts = [(one["path"], one["verdict"]) for one in said.report["submissions"]]
    assert verdicts[0] == ("first", "rejected")
    assert [path for path, _ in verdicts] == ["first", "second"]


def test_status_3_for_a_crash_of_the_check_says_how_to_report_it(
    podium: Podium, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a bug")

    monkeypatch.setattr(pipeline, "check_inputs", fail)
    said = podium("check", log)
    assert said.status == Exit.INTERNAL
    assert said.err.startswith("podium: internal error: RuntimeError: a bug (")
    assert "report" in said.err
    assert "Traceback" not in said.err


def test_an_invalid_rule_table_is_reported_with_its_location(
    podium: Podium, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def next_round(*_: Any, **__: Any) -> Any:
        find_round("training", "6.1").next("6.2", retires=("flux",))

    monkeypatch.setattr(pipeline, "check_inputs", next_round)
    said = podium("check", log)
    assert said.status == Exit.INTERNAL
    [line] = said.err.splitlines()
    assert line.startswith(
        "podium: a table of rules is invalid: training 6.2 retires flux, which does not exist "
        f"({Path(__file__).name}:"
    )


def test_status_130_after_an_interrupt(
    podium: Podium, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "check_inputs", interrupt)
    said = podium("check", log)
    assert (said.status, said.out) == (Exit.INTERRUPTED, "")
    assert "Traceback" not in said.err


@pytest.mark.parametrize(("module", "name"), [(pipeline, "check_inputs"), (files, "judge_log")])
def test_status_130_if_the_handling_of_an_interrupt_fails(
    podium: Podium, log: Path, monkeypatch: pytest.MonkeyPatch, module: Any, name: str
) -> None:
    def stumble(*_: Any, **__: Any) -> Any:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("cannot join thread before it is started")

    monkeypatch.setattr(module, name, stumble)
    said = podium("check", log)
    assert (said.status, said.out) == (Exit.INTERRUPTED, "")


def test_status_130_after_ctrl_c_during_the_check(good: LogBuilder, tmp_path: Path) -> None:
    data = good.bytes()
    for number in range(6000):
        (tmp_path / f"result_{number}.txt").write_bytes(data)
    command = [sys.executable, "-m", "podium", "check", str(tmp_path), "--jobs", "1"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.8)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    if process.returncode in (0, 1):
        pytest.skip("the work was done before it could be interrupted")
    assert process.returncode == Exit.INTERRUPTED
    assert out == ""
    assert "Traceback" not in err


def test_a_closed_output_pipe_is_not_an_error(good: LogBuilder, tmp_path: Path) -> None:
    for number in range(300):
        good.drop("opt_name").write(tmp_path / f"result_{number}.txt")
    command = f"{sys.executable} -m podium check {tmp_path} --round 5.1 | head -n 1"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


# --- formats ---


@pytest.fixture
def mixed(good: LogBuilder, bad: LogBuilder, tmp_path: Path) -> Path:
    """A folder with good logs, a bad log, an empty log and a file that is not a log."""
    folder = tmp_path / "mixed"
    good.write(folder / "a" / "result_0.txt")
    bad.write(folder / "a" / "result_1.txt")
    good.noise(0, b":::MLLOG [1]").write(folder / "b" / "result_0.txt")
    (folder / "b" / "result_1.txt").write_bytes(b"")
    (folder / "b" / "result_2.txt").write_bytes(b"epoch 1\n")
    return folder


REPORT = {
    "schema": str,
    "tool": {"name": str, "version": str},
    "rules": {"usage": str, "round": str, "profile": str, "chosen_by": str},
    "verdict": ("accepted", "rejected"),
    "counts": {"error": int, "warning": int, "note": int, "waived": int},
    "submissions": list,
    "results": list,
    "files": list,
    "findings": list,
}
FILE = {
    "path": str,
    "kind": ("log", "system", "power", "other"),
    "verdict": ("pass", "fail"),
    "benchmark": str | None,
    "division": str | None,
    "minutes": float | int | None,
    "converged": bool | None,
}
FINDING = {
    "id": str,
    "severity": ("error", "warning", "note"),
    "path": str,
    "line": int | None,
    "key": str | None,
    "message": str,
    "expected": str,
    "actual": object,
    "hint": str,
    "cites": str,
    "stated_by": ("verifier", "policy", "both", "podium"),
    "waived": bool,
}


def follows(value: Any, shape: Any) -> bool:
    """Whether JSON has the members of a shape, with their types or listed strings."""
    if isinstance(shape, dict):
        return shape.keys() <= value.keys() and all(follows(value[k], shape[k]) for k in shape)
    return value in shape if isinstance(shape, tuple) else isinstance(value, shape)


def test_the_json_report_has_the_documented_members(check: Podium, mixed: Path) -> None:
    report = check(mixed).report
    assert follows(report, REPORT)
    assert report["schema"] == "podium.report/1"
    assert [*report][:4] == ["schema", "tool", "rules", "verdict"]
    assert all(follows(entry, FILE) for entry in report["files"])
    assert all(follows(finding, FINDING) for finding in report["findings"])
    assert [entry["path"] for entry in report["files"]] == [
        *("a/result_0.txt", "a/result_1.txt"),
        *("b/result_0.txt", "b/result_1.txt", "b/result_2.txt"),
    ]
    assert [entry["verdict"] for entry in report["files"]] == [
        "pass",
        "fail",
        "fail",
        "fail",
        "fail",
    ]
    own = [finding["severity"] for finding in report["findings"] if not finding["caused_by"]]
    assert report["counts"]["error"] == own.count("error") > 0
    assert report["counts"]["caused"] == len(report["findings"]) - len(own)
    (first,) = [f for f in report["findings"] if f["path"] == "a/result_1.txt"]
    assert (first["key"], first["actual"], first["expected"]) == ("opt_adamw_beta_2", 0.5, "0.95")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_reports_the_error(podium: Podium, mixed: Path, name: str) -> None:
    said = podium("check", mixed, "--round", "5.1", "--format", name)
    assert (said.status, said.err) == (Exit.FOUND, "")
    assert said.out.endswith("\n")
    assert "closed.llama31_8b.opt_adamw_beta_2" in said.out
    assert "result_1.txt" in said.out


def test_sarif_and_junit_are_well_formed(podium: Podium, mixed: Path) -> None:
    sarif = podium("check", mixed, "--round", "5.1", "--format", "sarif").report
    assert sarif["version"] == "2.1.0"
    assert len(sarif["runs"][0]["results"]) > 3
    junit = ET.fromstring(podium("check", mixed, "--round", "5.1", "--format", "junit").out)
    assert int(junit.get("tests") or 0) == 5
    assert int(junit.get("failures") or 0) == 4


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_renders_a_report_without_findings(
    podium: Podium, log: Path, name: str
) -> None:
    said = podium("check", log, "--round", "5.1", "--format", name)
    assert (said.status, said.err) == (Exit.CLEAN, "")
    assert said.out.strip()


ODD_VALUES = {
    "half of a character": '"\\ud800"',
    "nul": '"\\u0000\\u001b[31m"',
    "lines": '"one\\ntwo\\r\\u2028three"',
    "markup": '"<b>&]]>|`*_ %0A::error::"',
    "wide": '"\\u65e5\\u672c\\u202e\\u200b"',
    "nan": "NaN",
    "infinite": "-Infinity",
    "huge": "7" * 400,
    "deep": "[" * 200 + "]" * 200,
    "long": json.dumps("x" * 5000),
    "object": '{"a": {"b": [NaN, null, "\\ud800"]}}',
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("value", ODD_VALUES, ids=str)
def test_odd_values_in_a_log_do_not_break_a_format(
    podium: Podium, good: LogBuilder, log: Path, name: str, value: str
) -> None:
    data = good.set("opt_name", "@@").bytes().replace(b'"@@"', ODD_VALUES[value].encode())
    log.write_bytes(data)
    said = podium("check", log, "--round", "5.1", "--format", name)
    assert (said.status, said.err) == (Exit.FOUND, "")
    assert "opt_name" in said.out
    said.out.encode()
    assert "\x1b" not in said.out
    if name in ("json", "sarif"):
        json.loads(said.out, parse_constant=pytest.fail)
    elif name == "junit":
        ET.fromstring(said.out)


def test_text_fits_80_columns(podium: Podium, mixed: Path, good: LogBuilder) -> None:
    deep = mixed.joinpath(*["a_rather_long_folder_name"] * 5)
    log = good.drop("opt_name", "init_start", "run_stop").set("submission_org", "")
    log.set("opt_adamw_beta_1", "word " * 30).write(deep / "result_0.txt")
    for profile in ("policy", "verifier"):
        said = podium("check", mixed, "--round", "5.1", "--profile", profile)
        assert max(map(len, said.out.splitlines())) <= 80


def test_github_is_the_default_format_in_a_workflow(
    podium: Podium, mixed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = podium("check", mixed, "--round", "5.1").out
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    said = podium("check", mixed, "--round", "5.1")
    assert said.out.startswith("::error file=")
    assert podium("check", mixed, "--round", "5.1", "--format", "text").out == text
    monkeypatch.setenv("GITHUB_ACTIONS", "false")
    assert podium("check", mixed, "--round", "5.1").out == text


def test_quiet_prints_less_with_the_same_status(podium: Podium, mixed: Path) -> None:
    loud = podium("check", mixed, "--round", "5.1")
    quiet = podium("check", mixed, "--round", "5.1", "--quiet")
    assert quiet.status == loud.status
    assert 0 < len(quiet.out) < len(loud.out)
    assert podium("check", mixed, "--round", "5.1", "--no-color").out == loud.out


# --- select, ignore, strict ---


def ids(said: Said) -> set[str]:
    return {finding["id"] for finding in said.report["findings"]}


def test_select_and_ignore_accept_globs(check: Podium, good: LogBuilder, log: Path) -> None:
    good.drop("opt_name", "run_stop").noise(0, b":::MLLOG [1]").write(log)
    everything = ids(check(log))
    assert {"log.not-an-object", "common.run_stop", "closed.llama31_8b.opt_name"} <= everything
    assert ids(check(log, "--select", "log.*")) == {i for i in everything if i.startswith("log.")}
    two = check(log, "--select", "common.run_stop", "--select", "*.opt_name")
    assert ids(two) == {"common.run_stop", "closed.llama31_8b.opt_name"}
    assert ids(check(log, "--select", "common.run_stop, *.opt_name")) == ids(two)
    assert ids(check(log, "--ignore", "c*")) == {i for i in everything if not i.startswith("c")}
    both = check(log, "--select", "c*", "--ignore", "common.*")
    assert ids(both) == {i for i in everything if i.startswith("closed")}


def test_an_ignored_error_changes_the_verdict_to_not_judged(
    check: Podium, bad: LogBuilder, log: Path
) -> None:
    bad.write(log)
    said = check(log, "--ignore", "*.opt_adamw_beta_2")
    assert (said.status, said.report["verdict"]) == (Exit.FOUND, "not judged")
    assert said.report["rejected_by"] == ["policy", "verifier"]
    assert (said.report["findings"], said.report["counts"]["error"]) == ([], 0)
    assert said.report["files"][0]["verdict"] == "fail"
    assert check(log, "--ignore", "*.opt_adamw_beta_2", "--only-selected").status == Exit.CLEAN
    assert check(log, "--select", "closed.*", "--only-selected").status == Exit.FOUND


@pytest.mark.parametrize(
    ("glob", "said"),
    [
        (
            "comon.run_stop",
            "'comon.run_stop' matches no rule; did you mean common.run_stop or common.run_start?",
        ),
        ("zz*", "'zz*' matches no rule; see podium rules list --all"),
        ("log.*,sytem.*", "'sytem.*' matches no rule; did you mean system.*?"),
        (
            "closed.lama31_8b.*",
            "'closed.lama31_8b.*' matches no rule; did you mean closed.llama31_8b.*",
        ),
        ("*.opt_adamw_beta_9", "'*.opt_adamw_beta_9' matches no rule; did you mean "),
    ],
)
@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_a_glob_that_matches_no_rule_is_refused_with_a_suggestion(
    glob: str, said: str, option: str, check: Podium, log: Path
) -> None:
    reported = check(log, option, glob)
    assert (reported.status, reported.out) == (Exit.USAGE, "")
    assert reported.err.startswith(f"podium: {option} {said}")
    assert reported.err.count("\n") == 1


def test_every_glob_that_matches_no_rule_is_reported(check: Podium, log: Path) -> None:
    reported = check(log, "--select", "zz*,log.*,yy*")
    assert reported.status == Exit.USAGE
    assert [line.split()[2] for line in reported.err.splitlines()] == ["'zz*'", "'yy*'"]


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_select_and_ignore_accept_rules_of_older_rounds(
    option: str, check: Podium, log: Path
) -> None:
    reported = check(log, option, "log.*,closed.minigo.*,result.too-few-runs")
    assert (reported.status, reported.err) == (Exit.CLEAN, "")


def test_strict_fails_only_the_file_with_the_finding(
    check: Podium, good: LogBuilder, log: Path
) -> None:
    good.set("cache_clear", False).write(log)
    good.write(log.parent / "result_1.txt")
    assert check(log.parent).report["verdict"] == "accepted"
    said = check(log.parent, "--strict")
    assert said.report["verdict"] == "rejected"
    assert [entry["verdict"] for entry in said.report["files"]] == ["fail", "pass"]


def test_the_verifier_profile_does_not_report_a_policy_rule(
    check: Podium, good: LogBuilder, log: Path
) -> None:
    good.set("opt_end_learning_rate", 0.5).write(log)
    assert check(log, "--profile", "verifier").report["findings"] == []
    (finding,) = check(log).report["findings"]
    assert (finding["key"], finding["severity"]) == ("opt_end_learning_rate", "error")
    assert finding["stated_by"] == "policy"


# --- output ---


@pytest.mark.parametrize("name", FORMATS)
def test_an_output_file_contains_the_printed_report(
    podium: Podium, mixed: Path, tmp_path: Path, name: str
) -> None:
    printed = podium("check", mixed, "--round", "5.1", "--format", name)
    place = tmp_path / "report"
    said = podium("check", mixed, "--round", "5.1", "--format", name, "--output", place)
    assert said == (printed.status, "", "")
    assert place.read_text(encoding="utf-8") == printed.out


def test_output_replaces_a_file_atomically(
    podium: Podium, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "out" / "report.txt"
    place.parent.mkdir()
    place.write_text("old")
    replaced: list[tuple[str, str]] = []
    replace = os.replace

    def watch(source: Any, target: Any) -> None:
        replaced.append((place.read_text(), Path(source).read_text()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", watch)
    assert podium("check", log, "--round", "5.1", "--output", place).status == Exit.CLEAN
    assert [old for old, _ in replaced] == ["old"]
    assert replaced[0][1] == place.read_text()
    assert [path.name for path in place.parent.iterdir()] == ["report.txt"]


def test_a_failed_output_keeps_the_old_file(
    podium: Podium, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "out" / "report.txt"
    place.parent.mkdir()
    place.write_text("old")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    said = podium("check", log, "--round", "5.1", "--output", place)
    assert said.status == Exit.USAGE
    assert "No space left on device" in said.err
    assert place.read_text() == "old"
    assert [path.name for path in place.parent.iterdir()] == ["report.txt"]


@pytest.mark.parametrize(
    "place", ["logs/report.txt", "logs/deep/er.txt", "logs/result_0.txt", "logs"]
)
def test_output_inside_the_tree_is_refused(
    podium: Podium, log: Path, tmp_path: Path, place: str
) -> None:
    before = snapshot(tmp_path)
    said = podium("check", log.parent, "--round", "5.1", "--output", tmp_path / place)
    assert said.status == Exit.USAGE
    assert "is inside the tree" in said.err
    assert snapshot(tmp_path) == before


def test_output_inside_the_tree_is_refused_for_every_spelling_of_a_path(
    podium: Podium, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(log.parent)
    monkeypatch.chdir(log.parent)
    for folder, place in ((".", "report"), ("..", "x"), ("../link", "report"), (".", "../logs/x")):
        assert podium("check", folder, "--round", "5.1", "--output", place).status == Exit.USAGE
    assert podium("check", tmp_path / "link", "--output", log.parent / "x").status == Exit.USAGE
    assert podium("check", log, "--output", log).status == Exit.USAGE
    assert [path.name for path in log.parent.iterdir()] == ["result_0.txt"]


def test_output_that_cannot_be_written_is_a_usage_error(
    podium: Podium, log: Path, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "none" / "report.txt", tmp_path / "folder"):
        said = podium("check", log, "--round", "5.1", "--output", place)
        assert said.status == Exit.USAGE
        assert "cannot be written" in said.err
    assert [*(tmp_path / "folder").iterdir()] == []
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "folder"}


# --- paths ---


def display_path(said: Said) -> list[str]:
    return [entry["path"] for entry in said.report["files"]]


def test_a_log_may_have_any_name(check: Podium, good: LogBuilder, tmp_path: Path) -> None:
    for name in ("my.log", "result", "RESULT 1.TXT", "-1", "日本.txt"):
        said = check("--", good.write(tmp_path / name))
        assert (said.status, display_path(said)) == (Exit.CLEAN, [name])


def test_compressed_logs_have_the_same_findings(check: Podium, bad: LogBuilder, log: Path) -> None:
    bad.write(log)
    (log.parent / "result_1.txt.gz").write_bytes(gzip.compress(bad.bytes()))
    (log.parent / "result_2.txt.zst").write_bytes(zstandard.compress(bad.bytes()))
    said = check(log.parent)
    assert display_path(said) == ["result_0.txt", "result_1.txt.gz", "result_2.txt.zst"]
    found = [(f["id"], f["line"], f["actual"]) for f in said.report["findings"]]
    assert len(found) == 3
    assert len(set(found)) == 1


def test_a_folder_is_searched_for_logs_by_name(
    check: Podium, good: LogBuilder, tmp_path: Path
) -> None:
    for name in (
        "result_0.txt",
        "deep/er/result_10.txt",
        "x/result_0-1_0.txt",
        ".hid/result_1.txt",
    ):
        good.write(tmp_path / name)
    for name in ("result.txt", "results_0.txt", "result_0.log", "result_0.txt.bak", "a.txt"):
        (tmp_path / name).write_text("no log")
    assert display_path(check(tmp_path)) == [
        *(".hid/result_1.txt", "deep/er/result_10.txt", "result_0.txt", "x/result_0-1_0.txt"),
    ]


def test_a_folder_with_results_and_systems_is_one_submission(
    check: Podium, good: LogBuilder, tmp_path: Path
) -> None:
    root = submission(tmp_path / "me", *[good] * 10)
    said = check(root)
    logs = [path for path in display_path(said) if path.endswith(".txt")]
    assert logs == sorted(f"results/box/llama31_8b/result_{n}.txt" for n in range(10))
    (entry,) = said.report["submissions"]
    assert entry["path"] in ("", ".")
    (result,) = said.report["results"]
    assert (result["path"], result["runs"]) == ("results/box/llama31_8b", 10)


def test_all_submissions_of_a_round_are_judged(
    check: Podium, good: LogBuilder, tmp_path: Path
) -> None:
    for name in ("me", "you"):
        submission(tmp_path / name, good)
    # A folder without `systems` is not a submission; its logs are judged anyway.
    good.write(tmp_path / "unfinished" / "result_0.txt")
    said = check(tmp_path)
    assert [entry["path"] for entry in said.report["submissions"]] == ["me", "you"]
    assert [path for path in display_path(said) if path.endswith(".txt")] == [
        "me/results/box/llama31_8b/result_0.txt",
        "unfinished/result_0.txt",
        "you/results/box/llama31_8b/result_0.txt",
    ]


def test_several_paths_are_shown_relative_to_the_working_directory(
    check: Podium, good: LogBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good.write(tmp_path / "a" / "result_0.txt")
    good.write(tmp_path / "b" / "result_0.txt")
    monkeypatch.chdir(tmp_path)
    said = check("a", "b/result_0.txt")
    assert display_path(said) == ["a/result_0.txt", "b/result_0.txt"]
    assert display_path(check("a", "a/result_0.txt", "a")) == ["a/result_0.txt"]  # no duplicates


def test_a_folder_named_like_a_log_is_reported(
    check: Podium, good: LogBuilder, tmp_path: Path
) -> None:
    good.write(tmp_path / "result_1.txt")
    (tmp_path / "result_0.txt").mkdir()
    said = check(tmp_path)
    assert said.status == Exit.FOUND
    assert display_path(said) == ["result_0.txt", "result_1.txt"]
    assert {f["path"]: f["id"] for f in said.report["findings"] if f["id"] != "log.no-records"} == {
        "result_0.txt": "log.unreadable-file"
    }


def test_a_broken_file_does_not_hide_other_files(
    check: Podium, good: LogBuilder, tmp_path: Path
) -> None:
    data = good.bytes()
    files = {
        "result_0.txt": data,
        "result_1.txt": b"",
        "result_2.txt": os.urandom(5000),
        "result_3.txt": b"\x1f\x8b broken",
        "result_4.txt": gzip.compress(data)[:-40],
        "result_5.txt": b":::MLLOG " + b"[" * 100_000,
        "result_6.txt": data,
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "result_7.txt")
    (tmp_path / "result_8.txt").symlink_to("nowhere")
    (tmp_path / "result_9.txt").symlink_to("result_9.txt")
    said = check(tmp_path)
    assert said.status == Exit.FOUND
    verdicts = {entry["path"]: entry["verdict"] for entry in said.report["files"]}
    good_ones = ["result_0.txt", "result_6.txt"]
    assert [path for path, verdict in verdicts.items() if verdict == "pass"] == good_ones
    assert len(verdicts) == 10
    assert not [f for f in said.report["findings"] if f["id"].startswith("internal.")]


def test_links_to_a_parent_folder_are_not_followed(check: Podium, log: Path) -> None:
    (log.parent / "again").symlink_to(log.parent)
    (log.parent / "up").symlink_to("..")
    assert display_path(check(log.parent)) == ["result_0.txt"]


@pytest.mark.parametrize("name", FORMATS)
def test_odd_file_names_do_not_break_a_format(
    podium: Podium, bad: LogBuilder, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "a b\n\x1b[31m&<>|%"
    bad.write(folder / "result_0.txt")
    bad.write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")) / "result_1.txt")
    said = podium("check", tmp_path, "--round", "5.1", "--format", name)
    assert (said.status, said.err) == (Exit.FOUND, "")
    assert "\x1b" not in said.out
    assert "result_1.txt" in said.out


# --- the checked tree is not changed ---


def snapshot(root: Path) -> dict[str, tuple[Any, ...]]:
    """Every path below a folder, with everything that a write would change."""
    found = {}
    for path in sorted([root, *root.rglob("*")]):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns, content)
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_check_does_not_change_the_tree(podium: Podium, mixed: Path, name: str) -> None:
    submission(mixed / "sub", build("training", "5.1", "closed", "llama31_8b"))
    before = snapshot(mixed)
    for path in (mixed, mixed / "sub", mixed / "a" / "result_0.txt"):
        for jobs in (1, 2):
            podium("check", path, "--round", "5.1", "--format", name, "--jobs", jobs)
    assert snapshot(mixed) == before


def test_a_read_only_tree_is_judged(
    good: LogBuilder, tmp_path: Path, read_only: Callable[[Path], None]
) -> None:
    good.write(tmp_path / "tree" / "result_0.txt")
    read_only(tmp_path / "tree")
    done = subprocess_podium("check", tmp_path / "tree", "--round", "5.1")
    following = "next: podium init FOLDER --submitter NAME --round 5.1\n"
    assert (done.returncode, done.stderr) == (Exit.CLEAN, following)


@pytest.fixture
def read_only() -> Iterator[Callable[[Path], None]]:
    """Make a folder read-only, and restore its permissions at the end."""
    locked: list[Path] = []

    def lock(folder: Path) -> None:
        folder.chmod(0o555)
        locked.append(folder)

    yield lock
    for folder in locked:
        folder.chmod(0o755)


# --- the program ---


def test_python_m_podium_is_the_command(log: Path) -> None:
    done = subprocess_podium("check", log, "--round", "5.1")
    assert (done.returncode, done.stderr) == (Exit.CLEAN, "")
    assert "1 log checked against training 5.1 (profile policy, from the options)" in done.stdout
    assert subprocess_podium("check", "nowhere").returncode == Exit.USAGE


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_output_works_in_any_terminal_encoding(
    good: LogBuilder, tmp_path: Path, encoding: str
) -> None:
    name = "日本 é 😀"
    good.set("opt_name", name).write(tmp_path / "result_0.txt")
    env = os.environ | {"PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "podium", "check", str(tmp_path), "--round", "5.1"]
    for form in ("text", "json"):
        asked = [*command, "--format", form]
        done = subprocess.run(asked, capture_output=True, cwd=ROOT, env=env, check=False)
        assert (done.returncode, done.stderr) == (Exit.FOUND, b"")
        assert b"opt_name" in done.stdout
    reported = json.loads(done.stdout.decode(encoding))["findings"]
    assert name in {finding["actual"] for finding in reported}


def test_help_has_examples_and_the_exit_statuses(podium: Podium) -> None:
    said = podium("check", "--help")
    assert said.status == Exit.CLEAN
    assert "podium check result_0.txt --round 5.1" in " ".join(said.out.split())
    for option in ("--round", "--usage", "--profile", "--select", "--ignore", "--strict", "--jobs"):
        assert option in said.out
    assert "Exit status: 0 no errors" in " ".join(said.out.split())


def test_the_version_is_that_of_the_distribution(podium: Podium) -> None:
    said = podium("--version")
    assert (said.status, said.out) == (Exit.CLEAN, f"podium {version('podium')}\n")


# --- special outputs ---


def test_a_pipe_is_written_and_not_replaced(podium: Podium, log: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    podium("check", log, "--round", "5.1", "--format", "json", "--output", pipe)
    text, _ = reader.communicate(timeout=30)
    assert json.loads(text)["schema"] == "podium.report/1"
    assert pipe.is_fifo()


def test_score_is_accepted_in_a_workflow(
    podium: Podium, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    reported = podium("check", log, "--round", "5.1", "--score")
    assert "--score needs" not in reported.err
    assert reported.status in (0, 1)


def test_a_superscript_digit_in_a_file_name_is_accepted(
    podium: Podium, log: Path, tmp_path: Path
) -> None:
    shutil.copy(log, tmp_path / "result_1²3.txt")
    assert podium("check", tmp_path, "--round", "5.1", "--format", "json").status in (0, 1)


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000 + "]" * 5000])
@pytest.mark.parametrize("name", ["podium.toml", "waivers.toml"])
def test_toml_beyond_the_limits_of_python_is_reported_in_one_line(
    podium: Podium, log: Path, tmp_path: Path, name: str, value: str
) -> None:
    (tmp_path / name).write_text(f"x = {value}\n")
    options = ["--waivers", tmp_path / name] if name == "waivers.toml" else []
    shutil.copy(log, tmp_path / "result_0.txt")
    said = podium("check", tmp_path / "result_0.txt", *options)
    assert (said.status, said.err.count("\n")) == (2, 1)
    assert name in said.err
