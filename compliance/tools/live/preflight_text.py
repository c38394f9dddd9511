"""`podium preflight` for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from podium.compliance.reporting.console import print_text, width
from podium.compliance.reporting.json_text import json_text
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.tools.live.partial.reference import Expected
from podium.compliance.tools.live.preflight import Needed, Preflight
from podium.rules.constraints.formula import show


def deliver(found: Preflight, form: str) -> None:
    """Print the judgement, as text or as JSON."""
    if form == "json":
        print_text(json_text(found.to_dict()))
    else:
        print_text("\n".join(page(found, width())) + "\n")


def page(found: Preflight, columns: int) -> list[str]:
    """The judgement as lines of at most `columns` columns."""
    title = f"{found.benchmark}, {found.rules.title}, {found.division} division"
    lines = [*wrap(clean(title), columns), *_findings(found, columns)]
    lines += _needed("missing: a run must log these hyperparameters", found.missing, columns)
    lines += _evaluations(found, columns)
    lines += _reference(found.reference, columns)
    lines += _free(found, columns)
    also = ", ".join(each.key for each in found.to_log)
    lines += wrap(f"to be logged as well: {also}", columns, "", "  ") if also else []
    ignored = clean(", ".join(found.ignored))
    lines += wrap(f"ignored, not keys of a log: {ignored}", columns, "", "  ") if ignored else []
    return [*lines, "LEGAL" if found.legal else "ILLEGAL"]


def _findings(found: Preflight, width: int) -> Iterator[str]:
    for each in found.findings:
        where = "" if each.line is None else f"line {each.line}  "
        head = f"  {each.severity.value:<9}{where}[{clean(each.id)}]"
        yield from wrap(head, width, "", " " * 11)
        yield from wrap(clean(each.message), width, " " * 11, " " * 11)
        if each.hint:
            yield from wrap(f"help: {clean(each.hint)}", width, " " * 11, " " * 13)


def _needed(title: str, needed: list[Needed], width: int) -> Iterator[str]:
    if needed:
        yield from wrap(title, width, "", "  ")
    for each in needed:
        bound = f": {each.allowed}" if each.allowed else ""
        yield from wrap(clean(f"{each.key}{bound}"), width, "  ", "    ")


def _evaluations(found: Preflight, width: int) -> Iterator[str]:
    for each in found.evaluations:
        yield from wrap(clean(f"evaluate {each['text']}"), width, "", "  ")


def _reference(expected: Expected, width: int) -> list[str]:
    if expected.mean is None or expected.minimum is None:
        return wrap(f"reference convergence: {expected.reason}", width, "", "  ")
    return wrap(
        f"reference convergence at batch size {expected.batch_size:g} ({expected.case}): "
        f"{expected.mean:,.6g} {expected.unit} on average; the mean of {expected.runs} runs must "
        f"be at least {expected.minimum:,.6g}",
        width,
        "",
        "  ",
    )


def _free(found: Preflight, width: int) -> list[str]:
    settings = [
        key if value is None else f"{key} ({clean(show(value))})"
        for key, value in found.free.items()
    ]
    return wrap(f"free to choose: {', '.join(settings)}", width, "", "  ") if settings else []
