"""The report as Python callers get it: pydantic models (contract `podium.report/1`).

They are made from the structs of `report.data`. Type checkers see those structs, with the methods
of a model on `Report`; when the program runs, everything below a report is a model as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from podium.compliance.reporting import data
from podium.compliance.reporting.struct_model import Model, model_of
from podium.rules.finding import Finding


class _Report(Model):
    def to_json(self) -> str:
        """The report as JSON text, two spaces deep, non-finite numbers as strings."""
        return self.model_dump_json()

    def to_arrow(self) -> Any:
        """The findings as a `pyarrow.Table`, one row for each, with paths from where you are."""
        from podium.compliance.reporting.frames import to_arrow

        return to_arrow(cast("data.Outcome", self))

    def to_dataframe(self) -> Any:
        """The findings as a `pandas.DataFrame`, one row for each, with paths from where you are."""
        from podium.compliance.reporting.frames import to_dataframe

        return to_dataframe(cast("data.Outcome", self))

    def __repr__(self) -> str:
        """What was judged, how many findings there are, and the verdict: a line each."""
        from podium.compliance.reporting.conclusion import headline
        from podium.compliance.reporting.render.words import counted, judged

        report = cast("data.Outcome", self)
        return "\n".join((judged(report), counted(report), headline(report)))

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, the counts, and each fault once; all is escaped."""
        from podium.compliance.reporting.render.notebook import summary

        return summary(cast("data.Outcome", self))


if TYPE_CHECKING:
    Tool = data.Tool
    Rules = data.Rules
    PluginEntry = data.PluginEntry
    Counts = data.Counts
    SubmissionEntry = data.SubmissionEntry
    RcpEntry = data.RcpEntry
    ResultEntry = data.ResultEntry
    FileEntry = data.FileEntry
    FindingEntry = Finding

    class Report(data.Outcome, _Report, frozen=True):  # type: ignore[metaclass]
        """Everything one call of `podium check` found."""

else:
    # In this order: a struct that is a field must have its model before the struct that has it
    Tool = model_of(data.Tool, module=__name__)
    Rules = model_of(data.Rules, module=__name__)
    PluginEntry = model_of(data.PluginEntry, module=__name__)
    Counts = model_of(data.Counts, module=__name__)
    SubmissionEntry = model_of(data.SubmissionEntry, module=__name__)
    RcpEntry = model_of(data.RcpEntry, module=__name__)
    ResultEntry = model_of(data.ResultEntry, module=__name__)
    FileEntry = model_of(data.FileEntry, module=__name__)
    FindingEntry = model_of(
        Finding,
        module=__name__,
        name="FindingEntry",
        summary="One fault: where, by which rule, what is, what must be, how to fix it.",
        # A report has these even where they are empty; the defaults are for code that finds faults
        required=("expected", "hint", "cites", "stated_by"),
    )
    Report = model_of(data.Outcome, module=__name__, name="Report", base=_Report)


def publish(found: data.Outcome) -> Report:
    """The report of what was found, as Python callers get it."""
    return Report.model_validate(found)
