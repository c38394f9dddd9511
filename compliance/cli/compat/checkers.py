"""The last lines of the official checkers of a log, a system description and a repository."""

from __future__ import annotations

import re
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.round_selection import RoundRequest
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.judging.repository.check import check_repository
from podium.compliance.judging.systems.check import SystemVerdict, check_system
from podium.compliance.text.terminal import clean
from podium.rules.catalogue import newest
from podium.rules.finding import Finding, Profile
from podium.rules.model.round import Round


def compat_system(path: Path, usage: str, ruleset: str) -> tuple[str, bool]:
    """The text for one system description, and whether the official checker accepts it.

    If the official checker crashes, the last line says `failed`, as for any other fault.
    """
    if not path.exists():
        raise UsageFault(f"no such file: {path}")
    if path.is_dir():
        raise UsageFault(f"expected a system description, got the folder {path}")
    rules = _rules(usage, ruleset, path.parent)
    verdict = check_system(path, str(path), rules, Profile.VERIFIER)
    lines = [f"INFO - {clean(str(path))}, {rules.title}", *map(_line, verdict.findings)]
    lines.append(_last(verdict))
    # The official checker always exits with 0; with this status, scripts can stop
    return "\n".join(lines) + "\n", verdict.passed


def _last(verdict: SystemVerdict) -> str:
    fields = verdict.description.given if verdict.description else {}
    name = fields.get("system_name", " ")
    display_path = clean(name if isinstance(name, str) else str(name))
    if verdict.passed:
        return f"INFO -   System description checker passed for {display_path}"
    # Printed as a Python list in brackets, as the official checker does
    messages = [clean(_message(finding)) for finding in verdict.findings]
    return f"ERROR -   System description checker failed for {display_path} : {messages}"


def _message(finding: Finding) -> str:
    """The official message for a missing field, which scripts look for; else podium's message."""
    if finding.id == "system.missing-field":
        return f"Missing field {finding.key}"
    return finding.message


def compat_repo(folder: Path, usage: str, ruleset: str) -> tuple[str, bool]:
    """The text for one tree, and whether the official checker accepts it."""
    # The official checker passes a folder that does not exist
    if not folder.is_dir():
        raise UsageFault(f"no such folder: {folder}")
    rules = _rules(usage, ruleset, folder)
    findings = sorted(check_repository(folder, rules, Profile.VERIFIER), key=Finding.sort_key)
    lines = [f"INFO - {clean(str(folder))}, {rules.title}"]
    lines += [_line(finding, path=finding.path) for finding in findings]
    # The official checker prints failures as INFO, too
    lines.append("INFO - CHECKS FAILED." if findings else "INFO - ALL CHECKS PASSED.")
    return "\n".join(lines) + "\n", not findings


def _rules(usage: str, ruleset: str, folder: Path) -> Round:
    return RoundRequest(usage, ruleset).choose(folder).rules


def _line(finding: Finding, path: str = "") -> str:
    location = f"line {finding.line}: " if finding.line else f"{path}: " if path else ""
    return f"ERROR - {clean(location)}{clean(finding.message)} [{finding.id}]"


# The official rule folders end in .0, as in training_5.1.0; podium's rounds do not
_CONFIG = re.compile(r"(training|hpc)_(\d+\.\d+)(?:\.\d+)?/")


def check_log(
    path: Path,
    usage: str,
    ruleset: str | None,
    config: str | None,
    *,
    werror: bool,
    quiet: bool,
) -> tuple[str, bool]:
    """The text for one log, and whether it passes; `config` names a round by its rule folder."""
    if config is not None:
        match = _CONFIG.search(config)
        if match is None:
            raise UsageFault(
                f"--config: expected a round, such as training_5.1.0/common.yaml, got {config}"
            )
        usage, ruleset = match[1], match[2]
    if path.is_dir():
        raise UsageFault(f"expected a log, got the folder {path}")
    # Without arguments the official checker uses its newest ruleset, too
    round_name = ruleset or newest(usage).name
    # A key repeated with the same value is a warning, which only --werror counts
    options = Options(usage=usage, round=round_name, profile=Profile.VERIFIER, strict=werror)
    report = check_paths([path], options)
    lines = [f"INFO - {clean(str(path))}, {usage} {round_name}"]
    for finding in report.findings:
        if finding.severity == "error" or (finding.severity == "warning" and not quiet):
            severity = "WARNING" if finding.severity == "warning" else "ERROR"
            location = f"line {finding.line}: " if finding.line else ""
            lines.append(f"{severity} - {location}{clean(finding.message)} [{finding.id}]")
    passed = report.verdict == "accepted"
    # Only this line is identical to the official output
    lines.append("INFO - SUCCESS" if passed else "ERROR - FAILED")
    return "\n".join(lines) + "\n", passed
