"""The report as JUnit XML: a test case for each file, which rejecting findings fail."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from podium.compliance.reporting.conclusion import headline
from podium.compliance.reporting.render.words import (
    grouped,
    judges,
    official,
    plugged,
    remarks,
    strictness,
    summary,
)
from podium.compliance.text.terminal import clean
from podium.compliance.text.words import plural

if TYPE_CHECKING:
    from podium.compliance.reporting.data import Outcome
    from podium.rules.finding import Finding


def render(report: Outcome) -> str:
    """Render the report as JUnit XML; the properties of the suite are the verdicts of all judges.

    Errors and findings that the official verifier rejects are failures. If only warnings reject
    (`--strict`), warnings are failures. Other findings are in the output of the case. Characters
    that XML 1.0 does not allow are escaped.
    """
    rejecting: set[str] = set()
    if report.exit_status:
        rejecting = {"error", "warning"} if strictness(report) else {"error"}
    by_path = grouped(report.findings)
    # Findings may be about folders, which are not judged files: each becomes a case, too
    paths = sorted({entry.path for entry in report.files} | by_path.keys())
    cases = [_case(path, by_path.get(path, []), rejecting) for path in paths]
    failed = sum(case.find("failure") is not None for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(failed), "errors": "0", "skipped": "0"}
    root = ET.Element("testsuites", {"name": "podium", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": f"podium {clean(report.rules.round)}"})
    suite.attrib |= {**counts, "time": "0"}
    properties = ET.SubElement(suite, "properties")
    for judge, verdict in judges(report):
        ET.SubElement(properties, "property", name=f"verdict of the {judge}", value=verdict)
    ET.SubElement(properties, "property", name="conclusion", value=headline(report))
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = "\n".join(
        filter(None, (summary(report), *plugged(report), official(report)))
    )
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _case(path: str, findings: list[Finding], rejecting: set[str]) -> ET.Element:
    folder, _, name = path.rstrip("/").rpartition("/")
    case = ET.Element("testcase", classname=clean(folder) or ".", name=clean(name) or ".", time="0")
    failing: list[Finding] = []
    others: list[Finding] = []
    for finding in findings:
        rejects = finding.severity in rejecting or (finding.official and bool(rejecting))
        rejects = rejects and not finding.waived
        (failing if rejects else others).append(finding)
    if failing:
        message = f"{plural(len(failing), 'finding')}: {clean(failing[0].message)}"
        failure = ET.SubElement(case, "failure", message=message, type=clean(failing[0].id))
        failure.text = "\n".join(_text(finding) for finding in failing)
    if others:
        ET.SubElement(case, "system-out").text = "\n".join(_text(finding) for finding in others)
    return case


def _text(finding: Finding) -> str:
    prefix = "waived " if finding.waived else ""
    line = "" if finding.line is None else f"line {finding.line}: "
    lines = [f"{prefix}{finding.severity} [{clean(finding.id)}] {line}{clean(finding.message)}"]
    lines += [f"  {label}: {clean(text)}" for label, text in remarks(finding)]
    return "\n".join(lines)
