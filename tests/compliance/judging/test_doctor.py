"""`podium doctor`: the unfinished steps of a submission, in order, with a command for each."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from podium.compliance.cli.entry import run
from podium.compliance.exit_codes import Exit
from podium.compliance.reporting.conclusion import conclude
from podium.compliance.reporting.models import FindingEntry, Report, Rules, publish
from podium.compliance.tools.doctor import STEPS, by_step
from podium.rules.finding import Finding, Severity
from tests.compliance.trees import Submission, usual


def doctor(tree: Submission, *more: str) -> int:
    return run(["doctor", str(tree.root), "--round", tree.rules.name, "--jobs", "1", *more])


def states(text: str) -> dict[str, str]:
    """The state of each step."""
    lines = (line.partition(". ")[2] for line in text.splitlines() if line[:2].strip().isdigit())
    return dict(line.split(": ", 1) for line in lines)


def test_a_complete_submission_is_reported_as_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor(usual(tmp_path)) == Exit.CLEAN
    out = capsys.readouterr().out
    assert set(states(out).values()) == {"done"}
    assert "Complete.\n      $ podium bundle " in out


def test_the_suggested_command_of_a_complete_submission_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = usual(tmp_path / "trees")
    for folder in (tmp_path, tree.root):
        monkeypatch.chdir(folder)
        assert doctor(tree) == Exit.CLEAN
        last = capsys.readouterr().out.splitlines()[-1]
        command = shlex.split(last.partition("$ podium ")[2])
        assert run(command) == Exit.CLEAN
        capsys.readouterr()


def test_pack_is_suggested_for_a_complete_submission_with_podium_toml(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path).write("podium.toml", 'round = "5.1"\n')
    assert doctor(tree) == Exit.CLEAN
    assert f"Complete.\n      $ podium pack {tree.root}\n" in capsys.readouterr().out


def test_the_output_names_who_would_reject_the_submission(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path)
    tree.log(3)
    assert doctor(tree) == Exit.FOUND
    assert "; the official verifier would reject this submission." in capsys.readouterr().out
    tree = usual(tmp_path / "both")
    tree.log(2, lambda log: log.set("opt_name", "sgd")).log(1, lambda log: log.drop("opt_name"))
    assert doctor(tree) == Exit.FOUND
    last = " ".join(capsys.readouterr().out.split())
    assert "; the policy and the official verifier would reject this submission." in last


@pytest.mark.parametrize(
    ("broken", "step", "command"),
    [
        ("result", "runs of each result", "--select 'result.*'"),
        ("system", "system descriptions", "podium system check"),
        ("code", "code and documents", "--select 'code.*'"),
        ("seed", "seeds", "--select 'seeds.*'"),
        ("log", "logs", "/results"),
        ("misspelt", "layout of files", "--select 'tree.*'"),
    ],
)
def test_an_unfinished_step_is_listed_with_its_command(
    broken: str, step: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path)
    if broken == "result":
        (tree.root / tree.folder() / "result_2.txt").unlink()
    elif broken == "system":
        tree.system(host_memory_capacity="")
    elif broken == "code":
        shutil.rmtree(tree.root / "benchmarks")
    elif broken == "seed":
        tree.result(change=lambda log: log.drop("seed"))
    elif broken == "log":
        tree.result(change=lambda log: log.set("opt_adamw_beta_1", 0.5))
    else:
        (tree.root / tree.folder()).rename(tree.root / "results/ex_n8/lama31_405b")
    assert doctor(tree) == Exit.FOUND
    out = capsys.readouterr().out
    assert "to do" in states(out)[step]
    assert command in out
    assert "Not complete: " in out


def test_steps_are_in_order_and_show_at_most_five_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path)
    for number in range(8):
        tree.system(f"s{number}", host_memory_capacity="")
    assert doctor(tree) == Exit.FOUND
    out = capsys.readouterr().out
    assert list(states(out)) == [step.title for step in STEPS]
    assert out.count("    - ") == 6
    assert "    - and 3 more" in out


def test_the_output_of_init_is_not_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "Acme"
    arguments = ["init", str(place), "--submitter", "Acme", "--round", "5.1", "--system", "ex_n8"]
    assert run([*arguments, "--benchmark", "llama31_405b"]) == Exit.CLEAN
    capsys.readouterr()
    assert run(["doctor", str(place)]) == Exit.FOUND
    out = capsys.readouterr().out
    assert out.startswith("Acme: checked against the policy of training 5.1\n")
    reported = states(out)
    unfinished = ("system descriptions", "runs of each result", "code and documents")
    assert all("to do" in reported[step] for step in unfinished)


@pytest.mark.parametrize("left", ["systems", "results", ""])
def test_missing_folders_of_a_new_submission_are_reported(
    left: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / left).mkdir(exist_ok=True)
    assert run(["doctor", str(tmp_path)]) == Exit.FOUND
    out = capsys.readouterr().out
    assert ("systems/ is missing" in out) is (left != "systems")
    assert ("results/ is missing" in out) is (left != "results")


def test_a_round_that_is_not_specified_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path)
    run(["doctor", str(tree.root)])
    assert "no round is specified" in capsys.readouterr().out
    doctor(tree)
    assert "no round is specified" not in capsys.readouterr().out


def test_a_path_that_is_not_one_submission_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path)
    assert run(["doctor", str(tmp_path)]) == Exit.USAGE
    assert "is a folder of submissions" in capsys.readouterr().err
    assert run(["doctor", str(tmp_path / "nowhere")]) == Exit.USAGE
    log = tree.root / tree.folder() / "result_0.txt"
    assert run(["doctor", str(log)]) == Exit.USAGE


def test_names_are_escaped_in_the_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path)
    tree.system("evil\x1b[31m\nname").result("evil\x1b[31m\nname", runs=1, start=9)
    doctor(tree)
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"evil\x1b[31m\nname" in out.replace("\n      ", "")


def report_of(*findings: Finding) -> Report:
    rules = Rules(usage="training", round="5.1", profile="policy", chosen_by="option")
    return publish(conclude(rules, findings=findings))


@pytest.mark.parametrize(
    ("finding", "to_do", "advised"),
    [
        (Finding("seeds.none", Severity.ERROR, "x", None, None, "m"), 1, 0),
        (Finding("code.none", Severity.WARNING, "x", None, None, "m"), 1, 0),
        (Finding("system.bad-count", Severity.WARNING, "x", None, None, "m"), 0, 1),
        (Finding("result.overlapping-runs", Severity.NOTE, "x", None, None, "m"), 0, 0),
        (Finding("seeds.none", Severity.ERROR, "x", None, None, "m", waived=True), 0, 0),
        (Finding("new.rule", Severity.ERROR, "x", None, None, "m"), 1, 0),
    ],
)
def test_errors_and_missing_parts_are_to_do_and_warnings_are_advice(
    finding: Finding, to_do: int, advised: int
) -> None:
    parts = by_step(report_of(finding))
    found: list[FindingEntry] = [each for part in parts for each in part.to_do]
    assert (len(found), sum(part.advised for part in parts)) == (to_do, advised)
