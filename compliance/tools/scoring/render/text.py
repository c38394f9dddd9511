"""Scores for a terminal: time to train by system, throughput, and the findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import compress, groupby
from typing import TYPE_CHECKING

from podium.compliance.text.terminal import clean, wrap, wrap_path
from podium.compliance.text.words import plural
from podium.compliance.tools.scoring.render import numbers
from podium.compliance.tools.scoring.render.table import Heading, Row, table

if TYPE_CHECKING:
    from podium.compliance.reporting.models import FindingEntry
    from podium.compliance.tools.scoring.report import ScoreEntry, Scores

# The longest severity and two spaces
_BODY = " " * 9
_STYLES = {"error": "\x1b[1;31m", "warning": "\x1b[33m", "note": "\x1b[36m"}
_PLAIN = "\x1b[0m"


def to_text(scores: Scores, width: int = 80, color: bool = False, quiet: bool = False) -> str:
    """Tables of at most `width` columns; `quiet` leaves out notes and warnings."""
    lines = [*tables(scores, width)]
    shown = [finding for finding in scores.findings if not quiet or finding.severity == "error"]
    if shown and lines:
        lines.append("")
    lines += findings(shown, width, color)
    lines += [""] * bool(lines)
    lines += wrap(factors_used(scores), width) if factors_used(scores) else []
    lines += wrap(summary(scores), width)
    return "\n".join(lines) + "\n"


def tables(scores: Scores, width: int) -> Iterator[str]:
    """The tables of results: time to train, then throughput."""
    strong = [entry for entry in scores.results if entry.scaling == "strong"]
    weak = [entry for entry in scores.results if entry.scaling == "weak"]
    several = scores.rules.round == "several"
    if strong:
        yield from _strong(strong, width, several=several)
    if weak:
        yield from [""] * bool(strong)
        yield from _weak(weak, width, several=several)


def _strong(entries: list[ScoreEntry], width: int, *, several: bool) -> list[str]:
    energy = any(entry.energy_joules is not None for entry in entries)
    computed = any(differs(entry) for entry in entries)
    heads = ["benchmark", "runs", "minutes", "factor", "computed", "score", "spread", "energy"]
    selectors = [head not in ("computed", "energy") for head in heads]
    selectors[heads.index("computed")], selectors[-1] = computed, energy
    rows: list[Row] = []
    for heading, group in groupby(entries, key=lambda entry: heading_of(entry, several=several)):
        rows.append(Heading(heading))
        for entry in group:
            cells = (f"  {clean(entry.benchmark)}", *strong_numbers(entry))
            rows.append([*compress(cells, selectors)])
    return table([*compress(heads, selectors)], rows, width)


def _weak(entries: list[ScoreEntry], width: int, *, several: bool) -> list[str]:
    heads = ("benchmark", "models", "scale S", "scale T", "minutes, all", "models/minute")
    rows: list[Row] = []
    for heading, group in groupby(entries, key=lambda entry: heading_of(entry, several=several)):
        rows.append(Heading(heading))
        rows.extend((f"  {clean(entry.benchmark)}", *weak_numbers(entry)) for entry in group)
    return table(heads, rows, width)


def strong_numbers(entry: ScoreEntry) -> tuple[str, ...]:
    """The numbers of a time-to-train row; energy comes last."""
    return (
        f"{entry.converged}/{entry.runs}",
        numbers.minutes(entry.minutes),
        numbers.factor(entry.factor),
        numbers.factor(entry.computed_factor),
        numbers.minutes(entry.score),
        numbers.share(entry.spread.relative if entry.spread else None),
        numbers.energy(entry.energy_joules),
    )


def weak_numbers(entry: ScoreEntry) -> tuple[str, ...]:
    """The numbers of a throughput row."""
    return (
        numbers.count(entry.models),
        numbers.count(entry.instance_scale),
        numbers.count(entry.total_scale),
        numbers.minutes(entry.time_to_train_all),
        numbers.minutes(entry.models_per_minute),
    )


def differs(entry: ScoreEntry) -> bool:
    """Whether the factor of a result differs from the factor of the reference points."""
    # Compares the decimals that the tables show
    return numbers.factor(entry.factor) != numbers.factor(entry.computed_factor)


def factors_used(scores: Scores) -> str:
    """The source of the factors; empty if all sources agree."""
    if not any(differs(entry) for entry in scores.results):
        return ""
    sources = {entry.factors for entry in scores.results}
    if sources == {"published"}:
        used = "scaling.json only, as in the published tables"
    elif sources == {"computed"}:
        used = "scaling.json or, without one, of the reference points"
    else:
        used = "scaling.json or, in unpublished rounds without one, of the reference points"
    points = "The column computed has the factor of the reference points."
    return f"Scores use the factor of {used}. {points}"


def heading_of(entry: ScoreEntry, *, several: bool) -> str:
    """The submitter, the system and the division of a result."""
    label = " / ".join(part for part in (entry.submitter, entry.system) if part) or entry.path
    details = [entry.division, entry.round if several else ""]
    details_text = ", ".join(part for part in details if part)
    return clean(f"{label} ({details_text})" if details_text else label)


def findings(entries: Iterable[FindingEntry], width: int, color: bool = False) -> Iterator[str]:
    """The findings: severity and path, rule and message, help."""
    for entry in entries:
        severity = entry.severity.value
        lines = wrap_path(clean(entry.path) or ".", width, f"{severity:<9}", _BODY)
        lines += wrap(f"[{clean(entry.id)}] {clean(entry.message)}", width, _BODY, _BODY)
        if entry.hint:
            lines += wrap(f"help: {clean(entry.hint)}", width, _BODY, _BODY + "  ")
        if color:
            # Colored last, because wrapping would count escape codes as text
            lines[0] = lines[0].replace(severity, f"{_STYLES[severity]}{severity}{_PLAIN}", 1)
        yield from lines


def summary(scores: Scores) -> str:
    """One sentence: the number of results, the rules, the number of findings."""
    counted = Counter(finding.severity.value for finding in scores.findings)
    rules = scores.rules
    title = "several rounds" if rules.round == "several" else f"{rules.usage} {rules.round}"
    scored = sum(1 for e in scores.results if e.score is not None or e.models_per_minute)
    return clean(
        f"{scored} of {len(scores.results)} results scored for {title} (profile {rules.profile}): "
        + ", ".join(plural(counted[name], name) for name in ("error", "warning", "note"))
    )
