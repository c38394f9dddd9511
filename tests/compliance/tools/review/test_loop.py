"""A review from the first objections to the next state of the round, on the command line."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.cli import entry as cli
from podium.compliance.exit_codes import Exit
from podium.logging_spec.limits import read_toml
from tests.builders import LogBuilder
from tests.compliance.tools.history import test_hyperparameter_borrowing as borrowing
from tests.compliance.tools.review.rounds import NAME
from tests.compliance.trees import Change, Submission, usual

FREE = "max_steps"
"""A setting that no rule of 405B covers."""


def review(capsys: pytest.CaptureFixture[str], *words: object, status: int) -> str:
    """Return the output of a call, and assert its exit status."""
    assert cli.run(["review", *map(str, words), "--no-curves", "--quiet"]) == status
    return capsys.readouterr().out


def found(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "review.json").read_text(encoding="utf-8"))
    return read


def objection(folder: Path, rule: str) -> dict[str, Any]:
    (one,) = [each for each in found(folder)["objections"] if each["rule"] == rule]
    return dict(one)


def record(folder: Path, rule: str) -> Path:
    return folder / "objections" / f"{objection(folder, rule)['id']}.toml"


def say(path: Path, **fields: str) -> None:
    """Edit a record as a reviewer does in a text editor."""
    text = path.read_text(encoding="utf-8")
    for name, value in fields.items():
        (old,) = [line for line in text.splitlines() if line.startswith(f"{name} = ")]
        text = text.replace(old, f"{name} = {json.dumps(value)}")
    path.write_text(text, encoding="utf-8")


def of(log: LogBuilder, name: str) -> LogBuilder:
    return log.set("submission_org", name)


def faultless(
    place: Path, name: str = "Acme", start: int = 0, change: Change = lambda log: log
) -> Submission:
    """A submission without objections."""
    tree = Submission(place / NAME, usual(place / "made").which, name).system().code()
    return tree.result(start=start, change=lambda log: change(of(log, name)))


def first_round(place: Path) -> tuple[Submission, Submission]:
    """Acme has no code and a copied run; a log of Bmce has no seed."""
    acme, bmce = faultless(place), faultless(place, "Bmce", start=40)
    shutil.rmtree(acme.root / "benchmarks")
    folder = acme.root / acme.folder()
    shutil.copy(folder / "result_0.txt", folder / "result_1.txt")
    bmce.log(2, lambda log: of(log, "Bmce").drop("seed"), start=40)
    return acme, bmce


@pytest.fixture
def reviewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The folder of a first review."""
    first_round(tmp_path / "first")
    folder = tmp_path / "review"
    review(capsys, tmp_path / "first" / NAME, "--output", folder, status=Exit.FOUND)
    return folder


def test_three_objections_are_compared_with_the_next_tree(
    reviewed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {each["rule"]: each for each in found(reviewed)["objections"]}
    assert {"code.none", "result.copied-run"} <= asked.keys()
    assert asked["code.none"]["submitter"] == "Acme"
    assert all(each["state"] == "open" for each in asked.values())
    seeds = {rule for rule, each in asked.items() if each["submitter"] == "Bmce"}
    # This objection includes the missing seed of each log
    assert seeds == {"seeds.none"}

    say(record(reviewed, "code.none"), state="waived", by="Ann", date="2026-11-20", comment="ok")
    say(record(reviewed, "result.copied-run"), state="answered", by="Bob", comment="looks")

    # The next state: Bmce has repeated its run and changed a setting without an objection
    acme, _ = first_round(tmp_path / "second")
    faultless(
        tmp_path / "second", "Bmce", 40, change=lambda log: log.add(FREE, 7, before="run_start")
    )
    acme.write("systems/notes.txt", "new\n")
    after = tmp_path / "review-2"
    reported = review(
        capsys,
        tmp_path / "second" / NAME,
        *("--against", reviewed, "--output", after),
        status=Exit.FOUND,
    )

    for rule in seeds:
        assert objection(after, rule)["change"]["kind"] == "fixed"
        assert objection(after, rule)["state"] == "fixed"
    kept = objection(after, "code.none")
    assert (kept["state"], kept["by"], kept["comment"]) == ("waived", "Ann", "ok")
    assert kept["change"]["kind"] == "standing"
    assert objection(after, "result.copied-run")["state"] == "answered"
    against = found(after)["against"]
    assert against["counts"]["fixed"] == len(seeds)
    (changed,) = against["results"]
    assert changed["path"] == "Bmce/results/ex_n8/llama31_405b"
    assert changed["asked"] is True  # an objection was about its log
    assert changed["settings"] == {FREE: [None, 7]}
    assert "do not allow borrowed settings" in changed["allowed"]
    assert against["files"]["added"] == ["Acme/systems/notes.txt"]
    assert "Acme/systems/notes.txt" in against["unasked"]
    assert "Acme/systems/notes.txt" in reported


def test_an_unchanged_round_leaves_every_objection_standing(
    reviewed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    after = tmp_path / "again"
    words = (tmp_path / "first" / NAME, "--against", reviewed, "--output", after)
    review(capsys, *words, status=Exit.FOUND)
    kinds = {each["change"]["kind"] for each in found(after)["objections"]}
    assert kinds == {"standing"}
    against = found(after)["against"]
    assert against["results"] == against["unasked"] == []


def test_a_fixed_objection_that_reappears_is_reopened(
    reviewed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say(record(reviewed, "code.none"), state="fixed")
    after = tmp_path / "again"
    words = (tmp_path / "first" / NAME, "--against", reviewed, "--output", after)
    review(capsys, *words, status=Exit.FOUND)
    again = objection(after, "code.none")
    assert (again["state"], again["change"]["kind"]) == ("open", "reopened")


def test_settings_of_another_submitter_are_reported_as_borrowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = tmp_path / "review", tmp_path / "review-2"
    own, lent = (borrowing.setting(**{borrowing.RATE: each}) for each in (4e-4, 5e-4))
    for place, change in (("first", own), ("second", lent)):
        tree = borrowing.result(tmp_path / place, change)
        borrowing.result(tmp_path / place, lent, "Bmce")
        words = (
            ("--against", before, "--output", after) if before.exists() else ("--output", before)
        )
        assert cli.run(["review", str(tree.place), *map(str, words), "--no-curves"]) != Exit.USAGE
    changed = found(after)["against"]["results"][0]
    assert changed["path"].startswith("Acme/")
    assert changed["lender"] == "Bmce/results/ex_n8/llama2_70b_lora"
    assert changed["settings"] == {borrowing.RATE: [4e-4, 5e-4]}
    assert "borrowed as a group" in changed["allowed"]


def test_an_objection_added_by_a_reviewer_is_kept(
    reviewed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (reviewed / "objections" / "mine.toml").write_text(
        'id = "mine"\nsubmitter = "Bmce"\nmessage = "which cooling?"\nstate = "open"\n'
    )
    after = tmp_path / "again"
    words = (tmp_path / "first" / NAME, "--against", reviewed, "--output", after)
    review(capsys, *words, status=Exit.FOUND)
    assert objection(after, "")["message"] == "which cooling?"
    assert tomllib.loads((after / "objections/mine.toml").read_text())["message"]
    assert "which cooling?" in (after / "objections" / "Bmce.md").read_text()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('id = "mine"\nstate = "closed"\n', "Invalid enum value 'closed'"),
        ('id = "other"\n', "expected the name of the file"),
        ('id = "mine"\nstatus = "open"\n', "unknown field `status`"),
        ("id = \n", "Invalid value"),
    ],
)
def test_an_invalid_record_is_reported_and_not_changed(
    reviewed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, complaint: str
) -> None:
    path = reviewed / "objections" / "mine.toml"
    path.write_text(text)
    words = ["review", str(tmp_path / "first" / NAME), "--against", str(reviewed)]
    assert cli.run(words) == Exit.USAGE
    reported = capsys.readouterr().err
    assert complaint in reported
    assert "mine.toml" in reported
    assert path.read_text() == text


def test_every_record_is_valid_toml(reviewed: Path) -> None:
    paths = sorted((reviewed / "objections").glob("*.toml"))
    assert len(paths) == len(found(reviewed)["objections"])
    for path in paths:
        fields = read_toml(path.read_text(encoding="utf-8"))
        assert fields["id"] == path.stem
        assert fields["state"] == "open"


def test_a_letter_has_the_evidence_and_the_rule(reviewed: Path) -> None:
    text = (reviewed / "objections" / "Acme.md").read_text(encoding="utf-8")
    assert "confidential" in text
    assert "## result.copied-run" in text
    assert "Acme/results/ex_n8/llama31_405b/result_1.txt" in text
    assert "training rules, Benchmark Results" in text
    assert "Bmce" not in text


@pytest.mark.parametrize("name", ["review.json", "files.json"])
def test_a_folder_that_is_not_a_review_is_refused(
    reviewed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (reviewed / name).write_text('{"schema": 1')
    words = ["review", str(tmp_path / "first" / NAME), "--against", str(reviewed)]
    assert cli.run(words) == Exit.USAGE
    assert "is not a review by podium" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../../escaped", "/tmp/escaped", ".hidden", "a/b", ""])
def test_an_objection_id_that_is_not_a_file_name_is_refused(
    reviewed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    made = found(reviewed)
    made["objections"][0]["id"] = name
    (reviewed / "review.json").write_text(json.dumps(made))
    after = tmp_path / "after"
    words = ["review", str(tmp_path / "first" / NAME), "--against", str(reviewed)]
    assert cli.run([*words, "--output", str(after)]) == Exit.USAGE
    assert "has the objection id" in capsys.readouterr().err
    assert not after.exists()
