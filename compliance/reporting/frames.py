"""The findings of a report as a table with one row each, for pandas and Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium.compliance.files.optional_imports import needed
from podium.compliance.reporting.placing import joined

if TYPE_CHECKING:
    from podium.compliance.reporting.data import Outcome

TEXTS = (
    *("id", "severity", "path", "key", "message", "expected", "actual", "hint", "cites"),
    *("stated_by", "waived_by", "caused_by"),
)
"""Columns of strings; null if a finding has no such value."""


def to_arrow(report: Outcome) -> Any:
    """Make a `pyarrow.Table` of the findings; raises UsageFault without pyarrow."""
    arrow = needed("pyarrow", "to_arrow()")
    kinds = {"line": arrow.int64(), "waived": arrow.bool_(), "official": arrow.bool_()}
    columns = {
        name: arrow.array(values, kinds.get(name, arrow.string()))
        for name, values in _columns(report).items()
    }
    return arrow.table(columns)


def to_dataframe(report: Outcome) -> Any:
    """Make a `pandas.DataFrame` of the findings; raises UsageFault without pandas."""
    pandas = needed("pandas", "to_dataframe()")
    frame = pandas.DataFrame(_columns(report))
    # Without this, a column with missing line numbers would have floats
    return frame.astype({"line": "Int64", "waived": "bool", "official": "bool"})


def _columns(report: Outcome) -> dict[str, list[Any]]:
    """The values by column; paths are relative to the working directory."""
    findings = report.findings
    columns = {name: [_text(getattr(finding, name)) for finding in findings] for name in TEXTS}
    columns["path"] = [joined(report.base, finding.path) for finding in findings]
    for name in ("line", "waived", "official"):
        columns[name] = [getattr(finding, name) for finding in findings]
    return columns


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
