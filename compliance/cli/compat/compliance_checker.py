"""The official log checker's last line, below podium's own findings."""

from __future__ import annotations

import re
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.text.terminal import clean
from podium.rules.catalogue import newest
from podium.rules.finding import Profile

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
                f"--config {config} does not name a round, such as training_5.1.0/common.yaml"
            )
        usage, ruleset = match[1], match[2]
    if path.is_dir():
        raise UsageFault(f"{path} is a folder; must be one log")
    # Without arguments the official checker takes its newest ruleset, too
    wanted = ruleset or newest(usage).name
    # A mark repeated with one value is a warning, which only --werror counts
    options = Options(usage=usage, round=wanted, profile=Profile.VERIFIER, strict=werror)
    report = check_paths([path], options)
    lines = [f"INFO - {clean(str(path))} by {usage} {wanted}"]
    for finding in report.findings:
        if finding.severity == "error" or (finding.severity == "warning" and not quiet):
            word = "WARNING" if finding.severity == "warning" else "ERROR"
            where = f"line {finding.line}: " if finding.line else ""
            lines.append(f"{word} - {where}{clean(finding.message)} [{finding.id}]")
    passed = report.verdict == "accepted"
    # The only line that is the official one, word for word
    lines.append("INFO - SUCCESS" if passed else "ERROR - FAILED")
    return "\n".join(lines) + "\n", passed
