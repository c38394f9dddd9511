"""The report as SARIF 2.1.0, which code scanning services and editors read."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from podium.compliance.reporting.conclusion import headline
from podium.compliance.reporting.placing import is_url
from podium.compliance.text.terminal import clean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from podium.compliance.reporting.data import Outcome
    from podium.rules.finding import Finding

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
"""The standard name of the folder that paths are relative to."""

_POLICIES = "https://github.com/mlcommons/training_policies/blob/master"
_DOCUMENTS = {
    "training rules": f"{_POLICIES}/training_rules.adoc",
    "HPC rules": f"{_POLICIES}/hpc_training_rules.adoc",
    "submission rules": "https://github.com/mlcommons/policies/blob/master/submission_rules.adoc",
    "official": "https://github.com/mlcommons/logging",
}
"""The URLs of the documents that rules cite, by the start of the citation."""

_LEVELS = ("error", "warning", "note")


class RuleText(msgspec.Struct, frozen=True):
    """The requirement of a rule, its reason and its fix; `why` and `help` may be empty."""

    says: str
    why: str
    help: str


def render(
    report: Outcome, root: str = "", texts: Mapping[str, RuleText] = MappingProxyType({})
) -> str:
    """Render the report as SARIF 2.1.0 with one run.

    `root` is the absolute folder that paths are relative to. `texts` are the texts of rules by id;
    a rule without a text is described by its findings.
    """
    rules = _rules(report.findings, texts)
    indices = {rule["id"]: index for index, rule in enumerate(rules)}
    driver = {"name": report.tool.name, "version": report.tool.version, "rules": rules}
    loaded = [plugin for plugin in report.plugins if plugin.state == "loaded"]
    plugins = [{"name": plugin.name, "version": plugin.version} for plugin in loaded]
    run = {
        "tool": {"driver": driver, **({"extensions": plugins} if plugins else {})},
        **({"originalUriBaseIds": {ROOT: {"uri": _folder_uri(root)}}} if root else {}),
        "invocations": [
            {"executionSuccessful": report.exit_status != 3, "exitCode": report.exit_status}
        ],
        "columnKind": "unicodeCodePoints",
        "results": _results(report.findings, indices),
        "properties": {
            "verdict": report.verdict,
            "conclusion": headline(report),
            **msgspec.structs.asdict(report.rules),
        },
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log), indent=1).decode() + "\n"


def _rules(findings: Sequence[Finding], texts: Mapping[str, RuleText]) -> list[dict[str, Any]]:
    """List the rules with findings, each with its highest level."""
    by_id: dict[str, list[Finding]] = {}
    for finding in findings:
        by_id.setdefault(clean(finding.id), []).append(finding)
    return [_rule(name, group, texts.get(name)) for name, group in sorted(by_id.items())]


def _rule(name: str, findings: Sequence[Finding], text: RuleText | None) -> dict[str, Any]:
    cites = next((clean(finding.cites) for finding in findings if finding.cites), "")
    says = _description(name, findings) if text is None else _sentence(text.says)
    full_text = f"{says} {_sentence(text.why)}" if text is not None and text.why else says
    advice = f"{_sentence(text.help)} " if text is not None and text.help else ""
    level = min((finding.severity.value for finding in findings), key=_LEVELS.index)
    return {
        "id": name,
        "shortDescription": {"text": says},
        "fullDescription": {"text": full_text},
        **({"helpUri": address} if (address := _address(cites)) else {}),
        "help": {"text": f"{advice}{cites or name}: see `podium rules explain {name}`"},
        "defaultConfiguration": {"level": level},
    }


def _sentence(text: str) -> str:
    # An identifier keeps its case
    first = text.split(" ", 1)[0]
    begin = text[:1] if "_" in first else text[:1].upper()
    return clean(f"{begin}{text[1:]}.")


def _description(name: str, findings: Sequence[Finding]) -> str:
    """The requirement on the key if all findings agree on it, else the rule's name."""
    bounds = {(finding.key, finding.expected) for finding in findings}
    key, expected = bounds.pop()
    return clean(f"{key}: {expected}") if key and expected and not bounds else name


def _address(cites: str) -> str:
    """The URL of the document that a rule cites; empty for rules of podium."""
    return next((url for title, url in _DOCUMENTS.items() if cites.startswith(title)), "")


def _results(findings: Sequence[Finding], indices: dict[str, int]) -> list[dict[str, Any]]:
    counts: Counter[tuple[str, str, str | None]] = Counter()
    waivers = any(finding.waived for finding in findings)
    results = []
    for finding in findings:
        fault = (finding.path, finding.id, finding.key)
        # The line is not part of a fingerprint: repeats of a fault differ by their order
        counts[fault] += 1
        location = _location(finding)
        uri = location["artifactLocation"]["uri"]
        result: dict[str, Any] = {
            "ruleId": clean(finding.id),
            "ruleIndex": indices[clean(finding.id)],
            "level": finding.severity.value,
            "message": {"text": _message(finding)},
            "locations": [{"physicalLocation": location}],
            "partialFingerprints": {"podium/v1": _fingerprint(uri, finding, counts[fault])},
            "properties": _properties(finding),
        }
        if waivers:  # the standard requires it in all results of a run or in none
            waived = {"kind": "external", "status": "accepted"}
            result["suppressions"] = [waived] if finding.waived else []
        results.append(result)
    return results


def _message(finding: Finding) -> str:
    hint = f" Help: {finding.hint}." if finding.hint else ""
    # Viewers turn [text](place) into links; a log must not create links
    return clean(f"{finding.message}.{hint}").replace("](", "] (")


def _location(finding: Finding) -> dict[str, Any]:
    path = finding.path or "."
    uri = _uri(path)
    if path.startswith("/"):
        location: dict[str, Any] = {"artifactLocation": {"uri": f"file://{uri}"}}
    elif is_url(path):
        scheme, _, rest = path.partition("://")
        location = {"artifactLocation": {"uri": f"{scheme}://{_uri(rest)}"}}
    else:
        location = {"artifactLocation": {"uri": uri, "uriBaseId": ROOT}}
    if finding.line is not None:
        location["region"] = {"startLine": finding.line}
    return location


def _uri(path: str) -> str:
    # The exact bytes of a file name, even if they are not text
    return quote(path.encode("utf-8", "surrogateescape" if _is_bytes(path) else "surrogatepass"))


def _folder_uri(path: str) -> str:
    # The standard requires the slash, because relative paths are appended
    return f"file://{_uri(path.rstrip('/'))}/"


def _is_bytes(path: str) -> bool:
    """Whether every lone surrogate represents a byte that Python could not decode."""
    return all("\udc80" <= char <= "\udcff" for char in path if "\ud800" <= char <= "\udfff")


def _fingerprint(uri: str, finding: Finding, ordinal: int) -> str:
    """Hash rule, file and key, so that the fingerprint does not change if a line moves."""
    parts = (uri, finding.id, finding.key or "", str(ordinal))
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _properties(finding: Finding) -> dict[str, str]:
    properties = {
        "key": finding.key,
        "expected": finding.expected,
        "cites": finding.cites,
        "statedBy": finding.stated_by,
    }
    return {name: clean(text) for name, text in properties.items() if text}
