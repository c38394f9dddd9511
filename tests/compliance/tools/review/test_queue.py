"""The queue of a review: one row for each cause, with the most serious kinds first."""

from __future__ import annotations

from typing import Any

import pytest

from podium.compliance.reporting.data import RcpEntry, Rules
from podium.compliance.tools.review.kinds import kind_of
from podium.compliance.tools.review.model import (
    Curve,
    Evidence,
    Objection,
    ResultEntry,
    Review,
    RunEntry,
    SubmissionEntry,
    SystemEntry,
)
from podium.compliance.tools.review.render.queue import is_tie, matrix, queue

PLACE = "Acme/results/ex/bert"


def objection(rule: str, *paths: str, severity: Any = "warning", **fields: Any) -> Objection:
    given: dict[str, Any] = {
        "id": f"Acme-{rule}-{len(paths)}",
        "submitter": "Acme",
        "submission": "Acme",
        "message": "a",
        "anomaly": False,
        "official": False,
        "evidence": [Evidence(path=path, message="found") for path in paths],
    }
    return Objection(rule=rule, severity=severity, kind=kind_of(rule), **(given | fields))


def result(name: str = PLACE, benchmark: str = "bert") -> ResultEntry:
    points = [(1.0, 10.0, 0.5), (2.0, 20.0, 0.7)]
    runs = [
        RunEntry(
            path=f"{name}/result_{number}.txt", minutes=9.0 + number, quality=Curve(points=points)
        )
        for number in range(2)
    ]
    return ResultEntry(
        path=name,
        submitter="Acme",
        system=SystemEntry(name="ex"),
        benchmark=benchmark,
        division="closed",
        to_converge=960.0,
        rcp=RcpEntry(verdict="pass", case="found", mean=1000, minimum=940.0),
        runs=runs,
    )


def review(*objections: Objection) -> Review:
    return Review(
        rules=Rules(usage="training", round="5.1", profile="policy", chosen_by="option"),
        submissions=[SubmissionEntry(submitter="Acme", path="Acme", verdict="rejected")],
        results=[result(), result("Acme/results/ex/rgat", "rgat")],
        objections=objections,
    )


def test_rows_are_ordered_by_kind_and_not_by_the_number_of_places() -> None:
    many = [f"Acme/systems/{number}.json" for number in range(200)]
    made = review(
        objection("repo.local-path", *many, severity="error"),
        objection("result.mixed-settings", PLACE),
        objection("rcp.failed", PLACE),
        objection("result.copied-run", f"{PLACE}/result_0.txt"),
    )
    assert [each.kind for each in queue(made)] == ["copies", "convergence", "settings", "hygiene"]


def test_errors_in_the_same_log_share_a_row() -> None:
    log = f"{PLACE}/result_0.txt"
    made = review(
        *(objection(rule, log, severity="error") for rule in ("common.run_stop", "result.x")),
        objection("closed.bert.target", log, severity="error"),
        *(objection("system.placeholder", f"Acme/systems/a{n}.json", id=f"{n}") for n in range(3)),
    )
    first, second = queue(made)
    assert (first.lead.rule, len(first.others)) == ("closed.bert.target", 2)
    assert (second.lead.rule, len(second.others), second.places) == ("system.placeholder", 2, 3)


def test_settled_objections_are_not_listed() -> None:
    assert queue(review(objection("rcp.failed", PLACE, state="withdrawn"))) == []


def test_a_cell_has_its_worst_finding() -> None:
    made = review(
        objection("rcp.failed", PLACE),
        objection("result.x", PLACE, severity="error"),
        objection("code.none", "Acme/benchmarks"),
    )
    bert, rgat, whole = matrix(made, ["bert", "rgat"])["Acme"]
    assert (bert.worst, bert.asked, bert.results) == ("error", 2, 1)
    assert (rgat.worst, rgat.asked, rgat.results) == ("", 0, 1)
    assert (whole.worst, whole.asked) == ("warning", 1)


def test_copies_show_both_curves_and_convergence_shows_its_distance() -> None:
    paths = [f"{PLACE}/result_{number}.txt" for number in range(2)]
    evidence = [Evidence(path=paths[0], message=f"has the losses of {paths[1]}")]
    copied, converged = queue(
        review(
            objection("result.copied-run", evidence=evidence),
            objection("rcp.failed", PLACE),
        )
    )
    assert copied.thumbnail is not None
    assert len(copied.thumbnail.paths) == 2
    assert converged.thumbnail is not None
    assert (converged.thumbnail.places, converged.thumbnail.at) == ([28], 25)


@pytest.mark.parametrize(("taken", "tie"), [(4.0, True), (4.0 + 1e-9, True), (4.01, False)])
def test_a_result_equal_to_the_minimum_is_a_tie(taken: float, tie: bool) -> None:
    assert is_tie(taken, 4.0) is tie
