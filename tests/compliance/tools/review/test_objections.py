"""Objections: one for each cause, ordered by kind, ready to be sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.cli import entry as cli
from podium.compliance.exit_codes import Exit
from podium.compliance.tools.review.kinds import KINDS, kind_of
from tests.builders import LogBuilder, build
from tests.compliance.tools.review.rounds import NAME, own, relearned, submission
from tests.compliance.trees import Submission, usual


def review(place: Path, *words: object) -> tuple[dict[str, Any], Path]:
    """Return the review of the round below a folder, and the output folder."""
    output = place / "review"
    said = ["review", str(place / NAME), "--output", str(output), "--no-curves", "-q"]
    assert cli.run([*said, *map(str, words)]) in (Exit.CLEAN, Exit.FOUND)
    return json.loads((output / "review.json").read_text(encoding="utf-8")), output


def objections(made: dict[str, Any], submitter: str = "Acme") -> dict[str, dict[str, Any]]:
    return {each["rule"]: each for each in made["objections"] if each["submitter"] == submitter}


def of_ten(place: Path) -> Submission:
    """A submission with a result of ten runs."""
    which = build("training", "5.1", "closed", "llama2_70b_lora")
    return Submission(place / NAME, which).system().code().result()


def cut(tree: Submission, *numbers: int) -> None:
    """Truncate logs during training."""
    for number in numbers:
        path = tree.root / tree.folder() / f"result_{number}.txt"
        lines = path.read_bytes().splitlines(keepends=True)
        start = next(at for at, line in enumerate(lines) if b"run_start" in line)
        path.write_bytes(b"".join(lines[: start + 4]))


# --- one objection for each cause ---


@pytest.mark.parametrize("numbers", [(0,), (0, 1)])
def test_a_log_that_ends_early_is_one_objection(numbers: tuple[int, ...], tmp_path: Path) -> None:
    of_ten(tmp_path / "whole")
    before, _ = review(tmp_path / "whole")
    cut(of_ten(tmp_path), *numbers)
    made, output = review(tmp_path)
    asked = objections(made)
    assert asked.keys() - objections(before).keys() == {"common.run_stop"}
    one = asked["common.run_stop"]
    assert (one["severity"], len(one["evidence"])) == ("error", len(numbers))
    assert "the last record is epoch_stop in line 25" in one["ask"]
    letter = (output / "objections" / "Acme.md").read_text(encoding="utf-8")
    assert "explain it or replace the run" in letter
    assert letter.count("## ") == len(asked)


def test_an_unfinished_run_in_an_accepted_result_is_one_objection(tmp_path: Path) -> None:
    usual(tmp_path / "whole" / NAME)
    before, _ = review(tmp_path / "whole")
    cut(usual(tmp_path / NAME), 1)
    made, _ = review(tmp_path)
    asked = objections(made)
    assert asked.keys() - objections(before).keys() == {"result.unfinished-run-dropped"}
    one = asked["result.unfinished-run-dropped"]
    assert (one["severity"], one["kind"]) == ("warning", "runs")
    assert "ends during training at line 30; dropped as the slowest" in one["message"]
    assert made["submissions"][0]["verdict"] == "accepted"


def test_duplicate_fields_in_one_file_are_one_objection(tmp_path: Path) -> None:
    tree = submission(tmp_path)
    path = tree.root / "systems" / "ex_n8.json"
    text = path.read_text(encoding="utf-8")
    again = '{"division": "closed", "submitter": "Acme", "status": "x", "framework": "y",'
    path.write_text(text.replace("{", again, 1), encoding="utf-8")
    made, _ = review(tmp_path)
    one = [each for each in made["objections"] if each["rule"] == "system.duplicate-field"]
    assert len(one) == 1
    assert len(one[0]["evidence"]) == 4


def test_evidence_is_grouped_by_result(tmp_path: Path) -> None:
    # The runs of these rounds do not log eval_start
    tree = submission(tmp_path)
    tree.system("ex_n16")
    relearned(tree, 20, "ex_n16")
    tree.log(1, lambda log: own(log, 21).repeat("eval_accuracy"), "ex_n16", start=20)
    path = tree.root / tree.folder("ex_n16") / "result_1.txt"
    log = path.read_text(encoding="utf-8")
    path.write_text(log.replace("eval_accuracy", "eval_start", 1), encoding="utf-8")
    made, output = review(tmp_path)
    one = objections(made)["common.eval_start"]
    first, second = one["folded"]
    assert first["path"].endswith("results/ex_n16/llama31_405b")
    files = ["result_0.txt", "result_2.txt"]
    assert (first["runs"], first["places"], first["files"]) == (3, 2, files)
    assert (second["runs"], second["places"]) == (3, 3)
    letter = (output / "objections" / "Acme.md").read_text(encoding="utf-8")
    assert "results/ex_n8/llama31_405b: 3 of 3 runs, such as: eval_start" in letter
    assert "results/ex_n16/llama31_405b: 2 of 3 runs (result_0.txt, result_2.txt)" in letter


# --- order ---


def test_the_number_of_places_does_not_raise_the_rank(tmp_path: Path) -> None:
    tree = submission(tmp_path)
    tree.log(1, lambda log: own(log, 0).set("seed", 77))
    for number in range(40):
        folder = f"benchmarks/{tree.benchmark}/implementations/ours"
        tree.write(f"{folder}/part {number}.py", "a = '/home/someone/data/x'\n")
    made, output = review(tmp_path)
    rules = [each["rule"] for each in made["objections"]]
    assert rules[0] == "result.copied-run"
    kinds = [KINDS.index(each["kind"]) for each in made["objections"]]
    assert kinds == sorted(kinds)
    (many,) = [each for each in made["objections"] if each["rule"] == "repo.space-in-name"]
    assert len(many["evidence"]) > 10
    # The message about omitted places is not the headline
    assert not many["message"].endswith("not listed")
    index = (output / "index.html").read_text(encoding="utf-8")
    assert index.index("result.copied-run") < index.index("repo.space-in-name")


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("result.copied-run", "copies"),
        ("rcp.failed", "convergence"),
        ("closed.bert.target", "convergence"),
        ("result.mixed-settings", "settings"),
        ("result.unsupported-scaling", "settings"),
        ("closed.rgat.global_batch_size", "settings"),
        ("speed.cut-interval", "clock"),
        ("closed.rgat.eval_accuracy", "evaluation"),
        ("result.too-few-runs", "runs"),
        ("common.run_stop", "runs"),
        ("system.submitter-mismatch", "description"),
        ("repo.local-path", "hygiene"),
        ("code.none", "hygiene"),
    ],
)
def test_a_rule_has_its_kind(rule: str, kind: str) -> None:
    assert kind_of(rule) == kind


# --- requests to the submitter ---


def test_a_finished_run_must_be_explained_or_replaced(tmp_path: Path) -> None:
    tree = submission(tmp_path)
    tree.log(2, lambda log: own(log, 2).set("opt_adamw_beta_2", 0.5))
    made, _ = review(tmp_path)
    (asked,) = {each["ask"] for each in made["objections"] if each["rule"].startswith("closed.")}
    assert asked.startswith("explain it or replace the run")


def test_two_versions_of_the_code_are_an_objection(tmp_path: Path) -> None:
    def moved(log: LogBuilder) -> LogBuilder:
        for key in ("global_batch_size", "opt_base_learning_rate", "opt_name", "max_steps"):
            if key in log.names():
                log = log.meta(key, file="train.py", lineno=40)
        return log

    def first(log: LogBuilder) -> LogBuilder:
        for line, key in enumerate(("global_batch_size", "opt_base_learning_rate", "opt_name")):
            if key in log.names():
                log = log.meta(key, file="train.py", lineno=10 + line)
        return log

    tree = submission(tmp_path)
    relearned(tree, 0, change=first)
    tree.log(1, lambda log: moved(own(log, 1)))
    made, output = review(tmp_path)
    one = objections(made)["result.other-code"]
    assert one["severity"] == "warning"
    letter = (output / "objections" / "Acme.md").read_text(encoding="utf-8")
    assert "## result.other-code" in letter


def test_local_paths_of_the_reviewer_are_not_written(tmp_path: Path) -> None:
    earlier = tmp_path / "home-of-the-reviewer" / "training_results_v5.0"
    submission(tmp_path / "then")
    earlier.parent.mkdir()
    (tmp_path / "then" / NAME).rename(earlier)
    submission(tmp_path)
    _, output = review(tmp_path, "--earlier", earlier)
    texts = {path: path.read_text(encoding="utf-8") for path in output.rglob("*") if path.is_file()}
    assert any("training 5.0, Acme/results" in text for text in texts.values())
    for path, text in texts.items():
        assert "home-of-the-reviewer" not in text, path.name
        assert str(tmp_path) not in text, path.name
