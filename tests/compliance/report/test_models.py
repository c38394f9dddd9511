"""The report's models tell all that a check finds, and in the same words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from podium.compliance.report import data as outcome
from podium.compliance.report import models as report
from podium.compliance.report.data import Outcome
from podium.compliance.report.render import renderer
from podium.rules import finding
from tests.compliance.render_reports import CALM, REPORTS

MODELS = {
    **{
        getattr(outcome, name): getattr(report, name)
        for name in (
            *("Tool", "Rules", "Counts", "SubmissionEntry"),
            *("RcpEntry", "ResultEntry", "FileEntry"),
        )
    },
    outcome.Outcome: report.Report,
    finding.Finding: report.FindingEntry,
}


@pytest.mark.parametrize("found", MODELS)
def test_a_model_has_the_fields_of_what_it_is_made_of(found: type) -> None:
    assert tuple(MODELS[found].model_fields) == found.__struct_fields__


@CALM
@given(REPORTS)
def test_the_json_printed_is_the_models(display_path: Outcome) -> None:
    printed = renderer("json")(display_path)
    assert json.loads(printed) == json.loads(report.publish(display_path).to_json())


def test_an_integer_of_any_length_and_half_a_surrogate_pair_are_printed() -> None:
    fault = finding.Finding("a", finding.Severity.ERROR, "\udcff", 1, None, "m", actual=10**30)
    rules = outcome.Rules(usage="training", round="5.1", profile="policy", chosen_by="option")
    (told,) = json.loads(renderer("json")(outcome.conclude(rules, [], [fault])))["findings"]
    assert (told["actual"], told["path"]) == (10**30, "\udcff")
