"""The models of a report contain everything that a check finds, under the same names."""

from __future__ import annotations

import json
import math
import pickle

import pytest
from hypothesis import given
from pydantic import BaseModel, ValidationError

from podium.compliance.reporting import data as outcome
from podium.compliance.reporting import models as report
from podium.compliance.reporting.conclusion import conclude
from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.render import renderer
from podium.rules import finding
from tests.compliance.render_reports import CALM, REPORTS

RULES = outcome.Rules(usage="training", round="5.1", profile="policy", chosen_by="option")


def one_fault() -> Outcome:
    fault = finding.Finding("a", finding.Severity.ERROR, "p", 1, None, "m", actual=math.inf)
    convergence = outcome.RcpEntry(verdict="pass", case="found", mean=2.5)
    result = outcome.ResultEntry(
        **{name: name for name in ("path", "submitter", "system", "benchmark", "division")},
        verdict="accepted",
        runs=10,
        failed_runs=0,
        rcp=convergence,
    )
    return conclude(RULES, findings=[fault], results=[result])


def test_python_callers_get_models_at_every_depth() -> None:
    made = report.publish(one_fault())
    parts = [made, made.tool, made.rules, made.counts, *made.findings, *made.results]
    parts += [result.rcp for result in made.results]
    assert [type(part).__name__ for part in parts] == [
        *("Report", "Tool", "Rules", "Counts", "FindingEntry", "ResultEntry", "RcpEntry"),
    ]
    assert all(isinstance(part, BaseModel) for part in parts)


def test_a_report_round_trips_through_json_and_pickle() -> None:
    made = report.publish(one_fault())
    text = made.model_dump_json()
    assert next(iter(json.loads(text))) == next(iter(made.model_dump())) == "schema"
    assert report.Report.model_validate_json(text).model_dump_json() == text
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize("change", [{"verdict": "perhaps"}, {"counts": {"error": "many"}}])
def test_fields_that_violate_the_schema_are_refused(change: dict[str, object]) -> None:
    fields = report.publish(one_fault()).model_dump() | change
    with pytest.raises(ValidationError, match=next(iter(change))):
        report.Report.model_validate(fields)


def test_a_finding_entry_has_every_field_of_a_finding() -> None:
    schema = report.Report.model_json_schema()["$defs"]["FindingEntry"]
    assert {*schema["properties"]} - {*schema["required"]} == {
        "actual",
        "waived",
        "waived_by",
        "caused_by",
        "official",
    }
    assert tuple(schema["properties"]) == finding.Finding.__struct_fields__


@CALM
@given(REPORTS)
def test_the_json_renderer_prints_the_json_of_the_model(found: Outcome) -> None:
    printed = renderer("json")(found)
    assert json.loads(printed) == json.loads(report.publish(found).to_json())


def test_huge_integers_and_lone_surrogates_are_printed_as_json() -> None:
    fault = finding.Finding("a", finding.Severity.ERROR, "\udcff", 1, None, "m", actual=10**30)
    (entry,) = json.loads(renderer("json")(conclude(RULES, findings=[fault])))["findings"]
    assert (entry["actual"], entry["path"]) == (10**30, "\udcff")
