"""`podium doctor`: what a submission still lacks, in the order in which to fix it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from podium.compliance.errors import NothingToJudge
from podium.compliance.judging.inputs.discover import kinds_of
from podium.compliance.judging.inputs.submission_folders import refuse_misnamed
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.text.terminal import clean, wrap
from podium.rules.finding import matches

if TYPE_CHECKING:
    from podium.compliance.judging.options import Options
    from podium.compliance.reporting.data import Outcome
    from podium.rules.finding import Finding

CONFIG = "podium.toml"
"""What a submission is assembled by."""

SHOWN = 5
"""Findings listed for one step; the command lists them all."""

MOST_NAMED = 4
"""Submissions that a message names."""

FOLDERS = {
    "systems": "one description per system; podium system init writes one",
    "results": "the logs: results/<system>/<benchmark>/result_<i>.txt",
}
"""Folders without which nothing can be judged as a submission."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the rules it is judged by, and the command that lists its findings.

    Errors must always be fixed; `missing` are rules whose warnings, too, mean that something
    required is absent.
    """

    title: str
    rules: tuple[str, ...]
    command: str
    missing: tuple[str, ...] = ()


STEPS = (
    Step(
        "layout of files",
        ("tree.*",),
        "podium check {path} --select 'tree.*'",
        ("tree.no-*", "tree.misplaced", "tree.unknown-benchmark"),
    ),
    Step(
        "system descriptions",
        ("system.*",),
        "podium system check {path}",
        ("system.missing-field", "system.empty-field", "system.placeholder"),
    ),
    Step(
        "runs of each result",
        ("result.*", "throughput.*"),
        "podium check {path} --select 'result.*' --select 'throughput.*'",
        ("result.not-converged", "result.copied-run", "throughput.*"),
    ),
    Step("logs", ("log.*", "common.*", "closed.*", "open.*"), "podium check {path}/results"),
    Step("seeds", ("seed.*", "seeds.*"), "podium check {path} --select 'seeds.*'"),
    Step("convergence", ("rcp.*",), "podium rcp check {path}"),
    Step(
        "power",
        ("power.*",),
        "podium check {path} --select 'power.*'",
        ("power.no-run-folder", "power.node-count"),
    ),
    Step(
        "code and documents",
        ("code.*",),
        "podium check {path} --select 'code.*'",
        ("code.none", "code.no-*", "code.thin-readme"),
    ),
    Step("names, sizes, links, secrets", ("repo.*",), "podium check {path} --select 'repo.*'"),
    Step("everything else", ("*",), "podium check {path}"),
)


@dataclass(slots=True)
class StepStatus:
    """A step with what was found: what must be done, and how much is only advised."""

    step: Step
    to_do: list[Finding] = field(default_factory=list)
    advised: int = 0


def examine(path: Path, options: Options, width: int) -> tuple[str, bool]:
    """The text for a submission, and whether it is complete.

    Raises ComplianceError where there is no such folder, or it holds several submissions.
    """
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        raise NothingToJudge(f"{path} {what}; must be a submission's folder")
    absent = [name for name in FOLDERS if not (path / name).is_dir()]
    if absent:
        refuse_misnamed(path)
        if found := kinds_of([path])[path].submissions:
            names = ", ".join(map(str, found[:MOST_NAMED]))
            raise NothingToJudge(
                f"{path} is a folder of several submissions, or of one ({names}); name one of them"
            )
        return _unbegun(path, absent, width), False
    report = check_paths([path], options)
    parts = by_step(report)
    to_do = any(part.to_do for part in parts)
    return _text(path, report, parts, width), not to_do and not report.rejected_by


def by_step(report: Outcome) -> list[StepStatus]:
    """The findings by step; waived ones are left out."""
    parts = [StepStatus(step) for step in STEPS]
    for finding in report.findings:
        # Neither asks for anything to be done
        if finding.waived or (finding.severity == "note" and not finding.official):
            continue
        # Its cause is what must be done
        if finding.caused_by:
            continue
        # There always is one, as the last step takes every rule
        part = next(part for part in parts if matches(finding.id, part.step.rules))
        rejects = finding.severity == "error" or finding.official
        if rejects or matches(finding.id, part.step.missing):
            part.to_do.append(finding)
        else:
            part.advised += 1
    return parts


# --- text ---


def _unbegun(path: Path, absent: list[str], width: int) -> str:
    lines = [f"{clean(str(path))} is not a submission yet:", ""]
    for name in absent:
        lines += wrap(f"{name}/ is missing: {FOLDERS[name]}", width, "  - ", "    ")
    return "\n".join([*lines, "", "Not complete.", ""])


def _text(path: Path, report: Outcome, parts: list[StepStatus], width: int) -> str:
    rules = report.rules
    name = path.absolute().name
    head = f"{clean(name)}, by the policy of {rules.usage} {rules.round}"
    lines = [head]
    # Complete for the newest round is not complete for the one that is meant
    if rules.chosen_by == "default":
        lines += wrap(
            "nothing names its round: put round and usage into podium.toml, or give --round",
            width,
            "  ! ",
            "    ",
        )
    lines.append("")
    for number, part in enumerate(parts, 1):
        lines += _part(number, part, _quoted(path), width)
    count = sum(len(part.to_do) for part in parts)
    lines += ["", _last(count, path, report)]
    return "\n".join(lines) + "\n"


def _part(number: int, part: StepStatus, path: str, width: int) -> Iterator[str]:
    state = f"{len(part.to_do)} to do" if part.to_do else "done"
    if part.advised:
        state += f" ({part.advised} advised)"
    yield f"{number:2}. {part.step.title}: {state}"
    listed = part.to_do[:SHOWN]
    for finding in listed:
        yield from wrap(
            f"{clean(finding.path)}: {clean(finding.message)}", width, "    - ", "      "
        )
        if finding.hint:
            yield from wrap(clean(finding.hint), width, "      > ", "        ")
    if len(part.to_do) > len(listed):
        yield f"    - and {len(part.to_do) - len(listed)} more"
    if part.to_do:
        yield f"      $ {part.step.command.format(path=path)}"


def _last(count: int, path: Path, report: Outcome) -> str:
    judges = " and ".join(_JUDGES[each] for each in sorted(report.rejected_by))
    if not count and not judges:
        return f"Complete.\n      $ {_next_command(path)}"
    to_do = f"{count} {'thing is' if count == 1 else 'things are'} to do"
    reasons = [to_do] * bool(count) + [f"{judges} would reject it"] * bool(judges)
    return f"Not complete: {'; '.join(reasons)}."


_JUDGES = {
    "house": "a rule of podium.toml",
    "plugins": "a plug-in",
    "policy": "the policy",
    "verifier": "the official verifier",
}


def _next_command(path: Path) -> str:
    """What makes a package of a complete submission: only one with a podium.toml is assembled."""
    if (path / CONFIG).is_file():
        return f"podium pack {_quoted(path)}"
    name, here = f"{path.absolute().name}.tar.zst", Path.cwd().resolve()
    # An archive in the tree itself would be refused
    within = path.resolve() in (here, *here.parents)
    archive = path.resolve().parent / name if within else Path(name)
    return f"podium bundle {_quoted(path)} {_quoted(archive)}"


def _quoted(path: Path) -> str:
    # The command is there to be copied into a shell
    return clean(shlex.quote(str(path)))
