"""The report's models tell all that a check finds."""

from __future__ import annotations

import pytest

from compliance import outcome, report

NAMES = (
    *("Tool", "Rules", "Counts", "SubmissionEntry", "RcpEntry", "ResultEntry", "FileEntry"),
    "Outcome",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_has_the_fields_of_what_it_is_made_of(name: str) -> None:
    found = getattr(outcome, name)
    model = report.Report if name == "Outcome" else getattr(report, name)
    assert list(model.model_fields) == list(found.__struct_fields__)
