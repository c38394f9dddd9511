"""`podium doctor`: the open steps of a submission, in the order in which to do them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from podium.compliance.errors import NothingToJudge
from podium.compliance.judging.inputs.changes import CONFIG
from podium.compliance.judging.inputs.discover import kinds_of
from podium.compliance.judging.inputs.named_results import names_results
from podium.compliance.judging.inputs.round_selection import RoundRequest
from podium.compliance.judging.inputs.submission_folders import refuse_misnamed
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.text.words import plural
from podium.compliance.tools.packing.assembled import assembled
from podium.rules.finding import matches

if TYPE_CHECKING:
    from podium.compliance.judging.options import Options
    from podium.compliance.reporting.data import Outcome, Rules
    from podium.rules.finding import Finding

SHOWN = 5
"""Number of findings shown for one step; the command of the step lists all of them."""

MOST_NAMED = 4
"""Number of submissions that a message names."""

FOLDERS = {
    "systems": "one description per system; `podium system init` writes one",
    "results": "the logs, as results/<system>/<benchmark>/result_<i>.txt",
}
"""Folders that every submission must have."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its rules, and the command that lists its findings.

    Errors must always be fixed. A warning of one of the rules in `missing` means that something
    required is absent, so it must be fixed too. A step starts with the first file of the kind
    `begins_with`, or with the first `result`.
    """

    title: str
    rules: tuple[str, ...]
    command: str
    missing: tuple[str, ...] = ()
    begins_with: Literal["", "system", "log", "result"] = ""


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
        begins_with="system",
    ),
    Step(
        "runs of each result",
        ("result.*", "throughput.*"),
        "podium check {path} --select 'result.*' --select 'throughput.*'",
        ("result.not-converged", "result.copied-run", "throughput.*"),
        begins_with="result",
    ),
    Step(
        "logs",
        ("log.*", "common.*", "closed.*", "open.*", "run.*", "evaluation.*", "pairing.*"),
        "podium check {logs}",
        begins_with="log",
    ),
    Step(
        "seeds",
        ("seed.*", "seeds.*"),
        "podium check {path} --select 'seeds.*'",
        begins_with="log",
    ),
    Step("convergence", ("rcp.*",), "podium rcp check {path}", begins_with="log"),
    Step(
        "power",
        ("power.*",),
        "podium check {path} --select 'power.*'",
        ("power.no-run-folder", "power.node-count"),
        begins_with="log",
    ),
    Step(
        "code and documents",
        ("code.*",),
        "podium check {path} --select 'code.*'",
        ("code.none", "code.no-*", "code.thin-readme"),
        begins_with="result",
    ),
    Step("names, sizes, links, secrets", ("repo.*",), "podium check {path} --select 'repo.*'"),
    Step("everything else", ("*",), "podium check {path}"),
)


@dataclass(slots=True)
class StepStatus:
    """A step with its findings: those that must be fixed, and the number of the others."""

    step: Step
    to_do: list[Finding] = field(default_factory=list)
    advised: int = 0


def examine(path: Path, options: Options, width: int) -> tuple[str, bool]:
    """The text for a submission, and whether the submission is complete.

    Raises ComplianceError for a folder that does not exist, or that has several submissions.
    """
    if not path.is_dir():
        problem = "is not a folder" if path.exists() else "does not exist"
        raise NothingToJudge(f"{path} {problem}; expected the folder of a submission")
    if names_results(path, RoundRequest(options.usage, options.round)):
        return _examine_assembled(path, options, width)
    absent = [name for name in FOLDERS if not (path / name).is_dir()]
    if absent:
        refuse_misnamed(path)
        if submissions := kinds_of([path])[path].submissions:
            names = ", ".join(map(str, submissions[:MOST_NAMED]))
            raise NothingToJudge(f"{path} is a folder of submissions ({names}); name one of them")
        return _unbegun(path, absent, width), False
    return _examine_tree(path, path, options, width)


def _examine_assembled(path: Path, options: Options, width: int) -> tuple[str, bool]:
    """The text for a folder whose podium.toml names the results.

    The folder is checked as `podium pack` would assemble it.
    """
    with assembled(path, options) as assembly:
        if not assembly.faults and all((assembly.tree / name).is_dir() for name in FOLDERS):
            return _examine_tree(assembly.tree, path, options, width, assembly.refused)
        lacking = [
            f"{problem.path}: {problem.message}"
            for problem in (*assembly.faults, *assembly.plan.missing)
        ]
        return _not_packed(path, lacking, width), False


def _examine_tree(
    tree: Path, path: Path, options: Options, width: int, remarks: Sequence[str] = ()
) -> tuple[str, bool]:
    """The text for a tree, after the remarks; the commands in the text name `path`."""
    report = check_paths([tree], options)
    parts = by_step(report)
    to_do = any(part.to_do for part in parts)
    # The results of an assembled tree cannot be checked by themselves
    logs = path / "results" if tree == path else path
    head = _head(path.absolute().name, report.rules, remarks, width)
    text = "\n".join([*head, "", *_steps(path, report, parts, logs, width)]) + "\n"
    return text, not to_do and not report.rejected_by


def by_step(report: Outcome) -> list[StepStatus]:
    """The findings by step, without the waived ones."""
    parts = [StepStatus(step) for step in STEPS]
    for finding in report.findings:
        # Neither requires any action
        if finding.waived or (finding.severity == "note" and not finding.official):
            continue
        # The finding that causes it must be fixed
        if finding.caused_by:
            continue
        # The last step matches every rule
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


def _not_packed(path: Path, lacking: list[str], width: int) -> str:
    file = clean(str(path / CONFIG))
    lines = [*wrap(f"{file} does not describe a complete submission:", width), ""]
    for reason in lacking:
        lines += wrap(clean(reason), width, "  - ", "    ")
    command = f"      $ podium pack {_quoted(path)} --dry-run"
    return "\n".join([*lines, command, "", "Not complete.", ""])


def _head(name: str, rules: Rules, remarks: Sequence[str], width: int) -> list[str]:
    lines = [f"{clean(name)}: checked against the policy of {rules.usage} {rules.round}"]
    # A submission that is complete for the newest round may be incomplete for the intended one
    if rules.chosen_by == "default":
        remarks = [
            "no round is specified: set round and usage in podium.toml, or pass --round",
            *remarks,
        ]
    for remark in remarks:
        lines += wrap(clean(remark), width, "  ! ", "    ")
    return lines


def _steps(
    path: Path, report: Outcome, parts: list[StepStatus], logs: Path, width: int
) -> Iterator[str]:
    kinds = {"", *(file.kind for file in report.files), *(["result"] if report.results else [])}
    names = {"path": _quoted(path), "logs": _quoted(logs)}
    for number, part in enumerate(parts, 1):
        is_begun = part.step.begins_with in kinds
        yield from _part(number, part, names, width, is_begun=is_begun)
    count = sum(len(part.to_do) for part in parts)
    yield ""
    yield _last(count, path, report)


def _part(
    number: int, part: StepStatus, names: Mapping[str, str], width: int, *, is_begun: bool
) -> Iterator[str]:
    state = "done" if is_begun else "nothing to check yet"
    if part.to_do:
        state = f"{len(part.to_do)} to do"
    if part.advised:
        state += f" ({part.advised} advised)"
    yield f"{number:2}. {part.step.title}: {state}"
    findings = part.to_do[:SHOWN]
    for finding in findings:
        yield from wrap(
            f"{clean(finding.path)}: {clean(finding.message)}", width, "    - ", "      "
        )
        if finding.hint:
            yield from wrap(clean(finding.hint), width, "      > ", "        ")
    if len(part.to_do) > len(findings):
        yield f"    - and {len(part.to_do) - len(findings)} more"
    if part.to_do:
        yield f"      $ {part.step.command.format_map(names)}"


def _last(count: int, path: Path, report: Outcome) -> str:
    judges = " and ".join(_JUDGES[judge] for judge in sorted(report.rejected_by))
    if not count and not judges:
        return f"Complete.\n      $ {_next_command(path)}"
    to_do = f"{plural(count, 'item')} left"
    reasons = [to_do] * bool(count) + [f"{judges} would reject this submission"] * bool(judges)
    return f"Not complete: {'; '.join(reasons)}."


_JUDGES = {
    "house": "a rule of podium.toml",
    "plugins": "a plug-in",
    "policy": "the policy",
    "verifier": "the official verifier",
}


def _next_command(path: Path) -> str:
    """The command that packages a complete submission: `pack` if it has a podium.toml."""
    if (path / CONFIG).is_file():
        return f"podium pack {_quoted(path)}"
    name, working_folder = f"{path.absolute().name}.tar.zst", Path.cwd().resolve()
    # `podium bundle` refuses an archive inside the tree
    within = path.resolve() in (working_folder, *working_folder.parents)
    archive = path.resolve().parent / name if within else Path(name)
    return f"podium bundle {_quoted(path)} {_quoted(archive)}"


def _quoted(path: Path) -> str:
    # The user copies the command into a shell
    return clean(shlex.quote(str(path)))
