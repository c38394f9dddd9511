"""The receipt on one page of Markdown, for people."""

from __future__ import annotations

from collections.abc import Iterator

from podium.compliance.reporting.render.markdown import code, escape
from podium.compliance.text.words import plural, size_text
from podium.compliance.tools.packing.planning.plan import Plan
from podium.compliance.tools.packing.receipt import PackedResult, Receipt, official

MOST_LEFT_OUT = 12
"""Number of refused logs that the page names."""


def to_markdown(receipt: Receipt, plan: Plan | None = None) -> str:
    """The page; the plan adds the choice of runs and the refused logs."""
    return "\n".join(_lines(receipt, plan)) + "\n"


def _lines(receipt: Receipt, plan: Plan | None) -> Iterator[str]:
    rules, gate = receipt.rules, receipt.gate
    division = f", {receipt.division}" if receipt.division else ""
    yield f"# {escape(receipt.submitter)}: {rules.usage} {rules.round}{division}"
    yield ""
    size = size_text(sum(file.size for file in receipt.files))
    yield f"Packed by podium {receipt.tool.version}. {len(receipt.files)} files, {size}."
    counts = gate.counts
    yield (
        f"`podium check`, policy profile: **{gate.verdict}**, "
        f"{plural(counts.error, 'error')}, {plural(counts.warning, 'warning')}, "
        f"{counts.waived} waived; {official(gate.official_verdict)}."
    )
    if receipt.forced:
        yield ""
        yield "**Forced: the tree was packed although the check rejects it.**"
        yield from (f"- {code(rule)}: {count}" for rule, count in gate.errors.items())
    yield ""
    yield from _results(receipt.results)
    yield from _waivers(receipt)
    if plan is not None:
        yield from _choices(plan)
    yield "The receipt lists every file with its size and SHA-256. `podium unpack --verify`"
    yield "compares a tree with the receipt."


def _results(results: tuple[PackedResult, ...]) -> Iterator[str]:
    yield "| result | division | verdict | runs | minutes | score | RCP | margin |"
    yield "|---|---|---|--:|--:|--:|---|--:|"
    for result in results:
        failed = f" ({result.failed_runs} failed)" if result.failed_runs else ""
        rcp = result.rcp.verdict.replace("_", " ") if result.rcp else ""
        margin = "" if result.rcp_margin is None else f"{result.rcp_margin:+.1%}"
        yield (
            f"| {escape(result.path.removeprefix('results/'))} | {escape(result.division)} "
            f"| {result.verdict} | {result.runs}{failed} "
            f"| {number(result.minutes)} | {number(result.score)} | {rcp} | {margin} |"
        )
    yield ""


def _waivers(receipt: Receipt) -> Iterator[str]:
    if not receipt.waivers:
        return
    yield "| waiver | place | granted by | until | findings |"
    yield "|---|---|---|---|--:|"
    for waiver in receipt.waivers:
        cells = (waiver.rule, waiver.place, waiver.who, waiver.until)
        yield f"| {' | '.join(map(escape, cells))} | {waiver.findings} |"
    yield ""


def _choices(plan: Plan) -> Iterator[str]:
    notes = [remark for remark in plan.remarks if remark.path.startswith("results/")]
    for note in notes:
        yield f"- {escape(note.path)}: {escape(note.message)}"
    if notes:
        yield ""
    refused = [log for log in plan.left_out if log.refused]
    if refused:
        yield f"Logs refused: {len(refused)}"
        yield ""
        for log in refused[:MOST_LEFT_OUT]:
            yield f"- {escape(log.display_path)}: {escape(log.why)}"
        if len(refused) > MOST_LEFT_OUT:
            yield f"- and {len(refused) - MOST_LEFT_OUT} more"
        yield ""


def number(value: float | None) -> str:
    """A time in minutes, as it appears in tables."""
    return "" if value is None else f"{value:.3f}"
