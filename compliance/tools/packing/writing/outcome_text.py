"""The outcome of a pack in a few lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from podium.compliance.text.terminal import clean, wrap
from podium.compliance.text.words import plural, size_text
from podium.compliance.tools.packing.planning.plan import Plan
from podium.compliance.tools.packing.receipt import official
from podium.compliance.tools.packing.writing.gate import error_lines
from podium.compliance.tools.packing.writing.pack import Packed
from podium.compliance.tools.packing.writing.summary import number


def to_text(packed: Packed, width: int) -> str:
    """The lines after the plan."""
    return "\n".join(_lines(packed, width)) + "\n"


def _reason(plan: Plan) -> str:
    if plan.conflicts:
        return plural(len(plan.conflicts), "conflict")
    if not plan.entries:
        return "there is nothing to pack"
    return f"{len(plan.absent)} of the things named are absent (--force ignores them)"


def _lines(packed: Packed, width: int) -> Iterator[str]:
    plan, report = packed.plan, packed.report
    if packed.state == "planned":
        yield "Nothing was written: this is the plan only."
        return
    if packed.state == "refused":
        yield f"Refused: {_reason(plan)}; nothing was written."
        return
    assert report is not None
    counts = report.counts
    yield from wrap(
        f"Check by the policy of {plan.rules.title}: {report.verdict}; {counts.error} errors, "
        f"{counts.warning} warnings, {counts.waived} waived; {official(report.official_verdict)}",
        width,
    )
    yield from error_lines(report, width)
    for result in report.results:
        score = f"{number(result.score)} minutes" if result.score is not None else "no score"
        yield f"  {clean(result.path)}: {result.verdict}, {score}"
    target = clean(shlex.quote(str(packed.target)))
    if packed.state == "rejected":
        yield "Not packed: the check rejects the tree; the old tree is unchanged. --force keeps it."
        return
    forced = " (forced)" if packed.receipt is not None and packed.receipt.forced else ""
    if packed.state == "unchanged":
        yield f"Nothing to do{forced}: {target} is already the planned tree."
    else:
        yield f"Packed{forced}: {target}, {len(plan.entries)} files, {size_text(plan.size)}."
    if packed.receipt_file is not None:
        yield f"Receipt: {clean(str(packed.receipt_file))}"
