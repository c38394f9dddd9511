"""The report for people at a terminal: findings by file, then counts and the verdict."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from podium.compliance.report.terminal import clean, wrap, wrap_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from podium.compliance.report.data import FileEntry, Outcome
    from podium.rules.finding import Finding

NARROWEST = 20
"""Columns below which lines grow no narrower."""

_BODY = " " * 11
_FACTS = " " * 6
_WIDE = " " * 9
_STYLES = {
    "error": "bold red",
    "warning": "yellow",
    "note": "cyan",
    "waived": "dim",
    "FAIL": "bold red",
    "PASS": "green",
    "REJECTED": "bold red",
    "ACCEPTED": "bold green",
}
_CHOSEN_BY = {
    "option": "from the options",
    "config": "from podium.toml",
    "folder": "from the folder name",
    "default": "by default",
}
_KINDS = {
    "log": ("log", "logs"),
    "system": ("system description", "system descriptions"),
    "power": ("power file", "power files"),
    "other": ("other file", "other files"),
}
STATED = {
    "policy": "by the policy only; the official verifier does not check it",
    "verifier": "by the official verifier only",
    "both": "",
    "podium": "by neither text; podium asks for it",
}
"""Who makes the rule, where it is not both texts."""


def stated(finding: Finding) -> str:
    """Which text makes the rule, where it is not both, and whether the verifier rejects for it."""
    text = STATED[finding.stated_by]
    return f"{text}, which rejects for it" if finding.official and text else text


_Groups = dict[str, list["Finding"]]


def render(report: Outcome, width: int = 80, color: bool = False, quiet: bool = False) -> str:
    """Render the report as text of at most `width` columns (20 at least).

    `color` marks severities and verdicts for a terminal; `quiet` lists each fault once, however
    many files share it.
    """
    page = _Page(max(width, NARROWEST), _painter() if color else str)
    lines = [*(page.by_rule(report) if quiet else page.by_file(report))]
    if lines:
        lines.append("")
    lines += page.submissions(report)
    lines += wrap(summary(report), page.width)
    lines += wrap(passes(report), page.width) if report.files or report.results else []
    lines += page.verdict(report)
    return "\n".join(lines) + "\n"


# --- words the other formats share ---------------------------------------------------------------


def summary(report: Outcome) -> str:
    """Say in one sentence what was judged by which rules, and how many findings there are."""
    return f"{judged(report)}: {counted(report)}"


def judged(report: Outcome) -> str:
    """Say what was judged, by which rules, and how these were chosen."""
    rules = report.rules
    kinds: Counter[str] = Counter(entry.kind for entry in report.files)
    what = [plural(kinds[kind], *words) for kind, words in _KINDS.items() if kinds[kind]]
    which = "several rounds" if rules.round == "several" else f"{rules.usage} {rules.round}"
    how = f"profile {rules.profile}, {_CHOSEN_BY[rules.chosen_by]}"
    return clean(f"{', '.join(what) or 'nothing'} judged by {which} ({how})")


def counted(report: Outcome) -> str:
    """Say how many findings there are of each severity."""
    counts = report.counts
    noted = (plural(counts.error, "error"), plural(counts.warning, "warning"))
    return ", ".join((*noted, plural(counts.note, "note"), f"{counts.waived} waived"))


def passes(report: Outcome) -> str:
    """Say how many files pass and fail, and how many results are accepted and rejected."""
    verdicts = Counter(entry.verdict for entry in report.files)
    counts = [f"{plural(verdicts['fail'], 'file fails', 'files fail')}, {verdicts['pass']} pass"]
    if report.results or report.unjudged:
        rejected = sum(entry.verdict == "rejected" for entry in report.results)
        accepted = len(report.results) - rejected
        counts.append(f"{plural(rejected, 'result')} rejected, {accepted} accepted")
    if report.unjudged:
        counts[-1] += f", {len(report.unjudged)} not judged"
    return "; ".join(counts)


def plural(number: int, one: str, many: str = "") -> str:
    """Join a number and its noun: 1 error, 2 errors."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def placed(path: str, base: str) -> str:
    """Join a folder and a path below it; either may be empty."""
    if not base or path.startswith("/"):
        return path
    return f"{base.rstrip('/')}/{path}" if path else base


def grouped(findings: Iterable[Finding]) -> _Groups:
    """Group findings by path, in the order they come."""
    groups: _Groups = {}
    for finding in findings:
        groups.setdefault(finding.path, []).append(finding)
    return groups


def excused(report: Outcome) -> Iterator[tuple[str, list[Finding]]]:
    """The waived findings by what excuses them, each with its title."""
    waived = [found for found in report.findings if found.waived]
    dropped = [found for found in waived if found.waived_by == "dropped run"]
    granted = [found for found in waived if found.waived_by != "dropped run"]
    if granted:
        yield "Waived in review", granted
    if dropped:
        yield "Of runs that are dropped as the slowest", dropped


def official(report: Outcome) -> str:
    """Say what the official verifier does, and for how many findings; empty where there is none."""
    if report.official_verdict is None or report.rules.profile == "verifier":
        return ""
    if report.official_verdict == "accepted":
        return "OFFICIAL VERIFIER: accepts"
    reasons = sum(found.official for found in report.findings)
    return f"OFFICIAL VERIFIER: rejects ({plural(reasons, 'finding')})"


def verdict_of(entry: FileEntry | None, findings: Iterable[Finding]) -> str:
    """Say PASS or FAIL: the file's verdict, or its findings' where it was not itself judged."""
    if entry is not None:
        return entry.verdict.upper()
    broken = any(found.severity == "error" and not found.waived for found in findings)
    return "FAIL" if broken else "PASS"


def remarks(finding: Finding) -> list[tuple[str, str]]:
    """List what follows the message, with its labels: how to fix it, and which text says so."""
    labelled = (
        ("help", finding.hint),
        ("cites", finding.cites),
        ("stated", stated(finding)),
    )
    return [(label, text) for label, text in labelled if text]


def facts_of(entry: FileEntry | None) -> str:
    """Say what is known of the file: its benchmark, division and, where rounds differ, round."""
    if entry is None:
        return ""
    known = [entry.benchmark, entry.division, entry.round and f"round {entry.round}"]
    return clean(", ".join(fact for fact in known if fact))


# --- the page ------------------------------------------------------------------------------------


def _painter() -> Callable[[str], str]:
    """Make a function that colours the words of _STYLES and leaves others as they are."""
    from rich.style import Style

    painted = {word: Style.parse(style).render(word) for word, style in _STYLES.items()}
    return lambda word: painted.get(word, word)


class _Page:
    def __init__(self, width: int, paint: Callable[[str], str]) -> None:
        self.width, self.paint = width, paint
        # Thousands of logs tend to break the same rule in the same way.
        self.bodies: dict[tuple[str, str, str, str], list[str]] = {}

    def by_file(self, report: Outcome) -> Iterator[str]:
        entries = {entry.path: entry for entry in report.files}
        open_ = grouped(found for found in report.findings if not found.waived)
        # A single file is named even where nothing is wrong; of many, only those with findings
        if len(report.files) == 1:
            open_ = {report.files[0].path: [], **open_}
        yield from self.groups(open_, entries)
        between = bool(open_)
        for title, waived in excused(report):
            yield from [""] * between
            yield from wrap(f"{title}, not counted in the verdict:", self.width)
            yield ""
            yield from self.groups(grouped(waived), entries)
            between = True

    def groups(self, groups: _Groups, entries: dict[str, FileEntry]) -> Iterator[str]:
        for index, (path, findings) in enumerate(groups.items()):
            if index:
                yield ""
            entry = entries.get(path)
            yield from self.header(path, verdict_of(entry, findings), facts_of(entry))
            name = clean(path.rpartition("/")[2] or path) or "."
            for finding in findings:
                yield from self.finding(finding, name)

    def header(self, path: str, verdict: str, facts: str) -> Iterator[str]:
        path = clean(path) or "."
        lines = wrap_path(path, self.width, f"{verdict}  ", _FACTS)
        if facts:
            joined = f"{lines[0]}  ({facts})"
            if len(lines) == 1 and wrap(joined, self.width) == [joined]:
                lines = [joined]
            else:
                lines += wrap(facts, self.width, _FACTS, _FACTS)
        yield from self.painted(lines, verdict)

    def finding(self, finding: Finding, name: str) -> Iterator[str]:
        location = name if finding.line is None else f"{name}:{finding.line}"
        severity = finding.severity.value
        head = f"{location}  [{clean(finding.id)}]"
        if finding.waived:
            head, severity = f"{head}  ({severity})", "waived"
        yield from self.painted(wrap(head, self.width, f"  {severity:<9}", _BODY), severity)
        yield from self.body(finding)

    def body(self, finding: Finding) -> list[str]:
        fault = (finding.message, finding.hint, finding.cites, finding.stated_by)
        lines = self.bodies.get(fault)
        if lines is None:
            lines = wrap(clean(finding.message), self.width, _BODY, _BODY)
            for label, text in remarks(finding):
                lines += wrap(f"{label}: {clean(text)}", self.width, _BODY, _BODY + "  ")
            self.bodies[fault] = lines
        return lines

    def by_rule(self, report: Outcome) -> Iterator[str]:
        """List each fault once: how often it is found and where first."""
        faults: dict[tuple[bool, str, str, str], list[Finding]] = {}
        for found in report.findings:
            fault = (found.waived, found.severity.value, found.id, found.message)
            faults.setdefault(fault, []).append(found)
        # sorted is stable: faults of one severity stay in the order of the report
        for fault in sorted(faults, key=lambda fault: (fault[0], _RANK[fault[1]])):
            yield from self.fault(*fault, faults[fault])

    def fault(
        self, waived: bool, severity: str, rule: str, message: str, found: list[Finding]
    ) -> Iterator[str]:
        head = f"[{clean(rule)}]  ({severity})" if waived else f"[{clean(rule)}]"
        severity = "waived" if waived else severity
        yield from self.painted(wrap(head, self.width, f"{severity:<9}", _WIDE), severity)
        yield from wrap(clean(message), self.width, _WIDE, _WIDE)
        first = found[0]
        location = (clean(first.path) or ".") + ("" if first.line is None else f":{first.line}")
        if len(found) == 1:
            yield from wrap_path(location, self.width, f"{_WIDE}in ", _WIDE)
            return
        files = plural(len({each.path for each in found}), "file")
        often = f"{len(found)} times in {files}, first in"
        lines = wrap_path(f"{often} {location}", self.width, _WIDE)
        if len(lines) > 1:
            lines = [*wrap(often, self.width, _WIDE, _WIDE)]
            lines += wrap_path(location, self.width, _WIDE, _WIDE)
        yield from lines

    def submissions(self, report: Outcome) -> Iterator[str]:
        for entry in report.submissions:
            verdict = entry.verdict.upper()
            lines = wrap(clean(entry.submitter), self.width, f"{verdict}  ", " " * 10)
            yield from self.painted(lines, verdict)
        if report.submissions:
            yield ""

    def verdict(self, report: Outcome) -> Iterator[str]:
        """What either judge says; of some rules alone no verdict is given."""
        if report.not_judged:
            yield from wrap(f"not judged here: {report.not_judged}", self.width)
        theirs = official(report)
        if theirs:
            yield from wrap(theirs, self.width)
        if report.verdict == "not judged":
            number = len(report.findings)
            found = plural(number, "finding") if number else "no finding"
            yield from wrap(f"{found} among the selected rules", self.width)
            whole = "rejected" if report.rules.profile in report.rejected_by else "accepted"
            yield from wrap(f"by all rules: {whole}", self.width)
        else:
            yield self.paint(report.verdict.upper())

    def painted(self, lines: list[str], word: str) -> list[str]:
        """Give the first word of the lines its colour."""
        # Only now: wrapped with the lines, the codes of colours would count as columns
        return [lines[0].replace(word, self.paint(word), 1), *lines[1:]]


_RANK = {"error": 0, "warning": 1, "note": 2}
