"""The words that every format of a report shares."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from podium.compliance.reporting.grouping import homes
from podium.compliance.text.terminal import clean
from podium.compliance.text.words import plural
from podium.rules.finding import DROPPED_RUN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from podium.compliance.reporting.data import FileEntry, Outcome
    from podium.compliance.reporting.grouping import Group
    from podium.rules.finding import Finding

_T = TypeVar("_T")

Groups = dict[str, list["Finding"]]
"""Findings by path."""

_CHOSEN_BY = {
    "option": "from the options",
    "config": "from podium.toml",
    "pack": "from podium pack",
    "folder": "from the folder name",
    "default": "by default",
}
_KINDS = {
    "log": ("log", "logs"),
    "system": ("system description", "system descriptions"),
    "power": ("power file", "power files"),
    "other": ("other file", "other files"),
}
_EXCUSES = (("Waived in review", False), ("In runs that are dropped as the slowest", True))
STATED = {
    "policy": "policy only; the official verifier does not check it",
    "verifier": "official verifier only",
    "both": "",
    "podium": "podium only; not in the policy or the verifier",
    "plugin": "plug-in",
    "house": "project rule in podium.toml",
}
"""The source of a rule, unless it is both the policy and the official verifier."""


def stated(finding: Finding) -> str:
    """The source of a rule unless both state it, and whether the official verifier rejects."""
    text = STATED[finding.stated_by]
    return f"{text} (it rejects)" if finding.official and text else text


def summary(report: Outcome) -> str:
    """The input, the rules and the number of findings in one sentence."""
    return f"{judged(report)}: {counted(report)}"


def judged(report: Outcome) -> str:
    """The input, the rules, and how the rules were chosen."""
    rules = report.rules
    kinds: Counter[str] = Counter(entry.kind for entry in report.files)
    inputs = [plural(kinds[kind], *words) for kind, words in _KINDS.items() if kinds[kind]]
    round_name = "several rounds" if rules.round == "several" else f"{rules.usage} {rules.round}"
    selection = f"profile {rules.profile}, {_CHOSEN_BY[rules.chosen_by]}"
    return clean(f"{', '.join(inputs) or 'nothing'} checked against {round_name} ({selection})")


def counted(report: Outcome) -> str:
    """The number of findings of each severity."""
    counts = report.counts
    noted = (plural(counts.error, "error"), plural(counts.warning, "warning"))
    excluded = [f"{counts.waived} waived"]
    if counts.caused:
        excluded.append(f"{counts.caused} dependent")
    return ", ".join((*noted, plural(counts.note, "note"), *excluded))


def passes(report: Outcome) -> str:
    """The numbers of passed and failed files, and of accepted and rejected results."""
    verdicts = Counter(entry.verdict for entry in report.files)
    counts = [f"{plural(verdicts['fail'], 'file fails', 'files fail')}, {verdicts['pass']} pass"]
    if report.results or report.unjudged:
        rejected = sum(entry.verdict == "rejected" for entry in report.results)
        accepted = len(report.results) - rejected
        counts.append(f"{plural(rejected, 'result')} rejected, {accepted} accepted")
    if report.unjudged:
        counts[-1] += f", {len(report.unjudged)} not checked"
    results = [result.path for result in report.results if result.verdict == "rejected"]
    otherwise = sum(
        entry.verdict == "rejected"
        and not any(entry.path == "." or path.startswith(f"{entry.path}/") for path in results)
        for entry in report.submissions
    )
    if otherwise:
        counts.append(f"{plural(otherwise, 'submission')} rejected without a rejected result")
    return "; ".join(counts)


def plugged(report: Outcome) -> Iterator[str]:
    """The plug-ins that were used and that failed, one line each."""
    for plugin in report.plugins:
        name = f"plug-in {plugin.name} {plugin.version}"
        if plugin.state == "loaded":
            counts = f"{plural(plugin.rules, 'rule')}, {plural(plugin.findings, 'finding')}"
            yield clean(f"with {name} ({counts})")
        else:
            yield clean(f"without {name}, which failed")


def placed(path: str, base: str) -> str:
    """Join a folder and a path below it; either may be empty."""
    if not base or path.startswith("/"):
        return path
    return f"{base.rstrip('/')}/{path}" if path else base


def grouped(findings: Iterable[Finding]) -> Groups:
    """Group findings by path, in input order."""
    groups: Groups = {}
    for finding in findings:
        groups.setdefault(finding.path, []).append(finding)
    return groups


def excused(items: Iterable[_T], excuse: Callable[[_T], str]) -> Iterator[tuple[str, list[_T]]]:
    """The items that do not count, by excuse, each part with its title."""
    pairs = [(excuse(item), item) for item in items]
    for title, dropped in _EXCUSES:
        part = [item for reason, item in pairs if reason and (reason == DROPPED_RUN) is dropped]
        if part:
            yield title, part


def often(group: Group) -> str:
    """The number of findings of a group, and of their files or folders."""
    number = plural(len(group.findings), "finding")
    return number if group.files == 1 else f"{number} in {group.files} places"


def times(group: Group) -> str:
    """The number of findings as a prefix of a message, if there are several."""
    number = len(group.findings)
    if number == 1:
        return ""
    return f"({number} in {group.files} places) " if group.files > 1 else f"({number} times) "


def following_text(group: Group) -> str:
    """The number of dependent findings of a group."""
    number = len(group.following)
    text = plural(number, "dependent finding")
    official_count = sum(finding.official for finding in group.following)
    if not official_count or group.official:
        return text
    return f"{text}; the official verifier rejects {official_count} of them"


def spot(finding: Finding) -> str:
    """A finding's path and line."""
    path = clean(finding.path) or "."
    return path if finding.line is None else f"{path}:{finding.line}"


def remarks_of(group: Group) -> list[tuple[str, str]]:
    """The labeled lines after the example's message; the source covers all findings."""
    first, number = group.first, group.official
    labeled_lines = remarks(first)
    text = STATED[first.stated_by]
    if not text or number in (0, len(group.findings)):
        return labeled_lines
    source = ("source", f"{text} (it rejects {number} of them)")
    return [*(line for line in labeled_lines if line[0] != "source"), source]


def official(report: Outcome) -> str:
    """The verdict of the official verifier and its number of findings; empty without one."""
    if report.official_verdict is None or report.rules.profile == "verifier":
        return ""
    if report.official_verdict == "accepted":
        return "OFFICIAL VERIFIER: accepts"
    reasons = sum(finding.official for finding in report.findings)
    # A report of selected rules may lack the reasons
    return "OFFICIAL VERIFIER: rejects" + (f" ({plural(reasons, 'finding')})" if reasons else "")


def judges(report: Outcome) -> list[tuple[str, str]]:
    """Each judge with its verdict: the rules of the profile, and the official verifier.

    Rules that are not part of podium are a separate judge if only they reject.
    """
    verdicts: list[tuple[str, str]] = [(report.rules.profile, report.verdict)]
    if report.verdict == "rejected" and (others := _added(report)):
        # The policy itself does not reject
        verdicts = [(report.rules.profile, "accepted"), *((judge, "rejected") for judge in others)]
    if report.official_verdict is not None and report.rules.profile != "verifier":
        verdicts.append(("official verifier", report.official_verdict))
    return verdicts


_COUNTED = ("error", "warning")
"""The severities of findings with a column in the table of submissions."""


def submission_table(report: Outcome) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows of a table of submissions: results, verdicts, numbers of findings.

    The numbers add up to those of the report: findings outside submissions have a row, too.
    """
    home = homes(report)
    results = Counter(home(entry.path) for entry in report.results)
    numbers = Counter(
        (home(finding.path), finding.severity.value)
        for finding in report.findings
        # As in the counts of the report
        if not finding.waived and not finding.caused_by
    )
    both = report.rules.profile != "verifier" and any(
        entry.official_verdict for entry in report.submissions
    )
    rows = []
    for entry in report.submissions:
        submission = home(entry.path.rstrip("/"))
        verdicts = [entry.verdict, *([entry.official_verdict or "none"] if both else [])]
        counts = [str(numbers[submission, severity]) for severity in _COUNTED]
        rows.append((clean(entry.submitter), str(results[submission]), *verdicts, *counts))
    outside = [str(numbers["", severity]) for severity in _COUNTED]
    if rows and outside != ["0", "0"] and not any(home(e.path) == "" for e in report.submissions):
        rows.append(("outside submissions", "", "", *([""] if both else []), *outside))
    official_head = ["official verifier"] if both else []
    return (
        "submission",
        "results",
        report.rules.profile,
        *official_head,
        "errors",
        "warnings",
    ), rows


def strictness(report: Outcome) -> str:
    """The statement that only warnings reject; empty unless they do."""
    counting = [finding for finding in report.findings if not finding.waived]
    if report.verdict != "rejected" or any(finding.severity == "error" for finding in counting):
        return ""
    warnings = sum(finding.severity == "warning" for finding in counting)
    return f"no errors; rejected for {plural(warnings, 'warning')} (--strict)"


def added(report: Outcome) -> str:
    """The statement that only rules outside podium reject; empty unless they do."""
    others = _added(report)
    return f"rejected only by {' and '.join(others)}" if others else ""


_ADDED = {"house": "rules of podium.toml", "plugins": "rules of plug-ins"}


def _added(report: Outcome) -> list[str]:
    """The judges that reject although the rules of podium do not."""
    if report.rules.profile in report.rejected_by:
        return []
    return [name for judge, name in _ADDED.items() if judge in report.rejected_by]


def verdict_of(entry: FileEntry | None, findings: Iterable[Finding]) -> str:
    """PASS or FAIL: the verdict of the file, or of its findings if the file was not judged."""
    if entry is not None:
        return entry.verdict.upper()
    failed = any(finding.severity == "error" and not finding.waived for finding in findings)
    return "FAIL" if failed else "PASS"


def remarks(finding: Finding) -> list[tuple[str, str]]:
    """The labeled lines after a message: the fix, the citation, the source."""
    labelled = (
        ("help", finding.hint),
        ("cites", finding.cites),
        ("source", stated(finding)),
    )
    return [(label, text) for label, text in labelled if text]


def facts_of(entry: FileEntry | None) -> str:
    """The known facts of the file: benchmark, division and, if rounds differ, round."""
    if entry is None:
        return ""
    facts = [entry.benchmark, entry.division, entry.round and f"round {entry.round}"]
    return clean(", ".join(fact for fact in facts if fact))
