"""What people are told about the rules of a submission's tree and of whole results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from podium.rules.finding import Severity, StatedBy


@dataclass(frozen=True, slots=True)
class FixedText:
    """What people are told about a fixed rule; `bad` and `good` are lines of a log."""

    says: str
    why: str
    bad: str = ""
    good: str = ""
    hint: str = ""
    severity: Severity = Severity.ERROR
    stated_by: StatedBy = StatedBy.BOTH
    varies: bool = False
    """Whether the severity goes by the field: an error where the official verifier rejects it."""


def both(says: str, why: str, hint: str) -> FixedText:
    """What both texts demand."""
    return FixedText(says, why, hint=hint)


def policy(says: str, why: str, hint: str) -> FixedText:
    """What only the policy demands: a warning."""
    return FixedText(says, why, hint=hint, severity=Severity.WARNING, stated_by=StatedBy.POLICY)


def note(says: str, why: str, hint: str) -> FixedText:
    """What the policy asks one to look at."""
    return FixedText(says, why, hint=hint, severity=Severity.NOTE, stated_by=StatedBy.POLICY)


def _field(says: str, why: str, hint: str) -> FixedText:
    return FixedText(says, why, hint=hint, varies=True)


PACKAGE_TEXTS: Mapping[str, FixedText] = {
    "result.too-few-runs": both(
        "a result has the number of runs that its benchmark needs",
        "the score is a mean over runs without the fastest and slowest: fewer do not define it",
        "add the runs that are missing",
    ),
    "result.too-many-runs": FixedText(
        "a result has no more runs than its benchmark needs",
        "the official verifier counts the files; the policy allows more runs, of which a window "
        "is scored",
        hint="choose the window of runs that the policy's median rule names (podium pack does)",
        severity=Severity.WARNING,
        stated_by=StatedBy.VERIFIER,
    ),
    "result.too-many-failed-runs": both(
        "at most one run of a result fails (four of unet3d)",
        "a run that fails counts as the slowest, and only so many slowest runs are left out",
        "mend the findings of the logs, or repeat the runs that did not converge",
    ),
    "result.broken-run-dropped": policy(
        "a run that is left out as the slowest broke no rule but missing the target",
        "runs may fail to converge; a run that breaks rules is no run of the result at all",
        "mend the findings of this log, or repeat the run",
    ),
    "result.not-converged": policy(
        "at most one run of a result ends without success (four of unet3d)",
        "a run that does not reach its goal counts as the slowest, whatever else its log says",
        "repeat the runs whose run_stop does not tell of success",
    ),
    "result.invalid-log-name": policy(
        "logs are called result_<i>.txt with a number",
        "other names are not taken as runs by every tool",
        "number the runs from 0",
    ),
    "result.numbering": policy(
        "the runs of a result are numbered from 0 without gaps",
        "a gap makes one ask for the run that is missing",
        "number the runs from 0 without gaps",
    ),
    "result.bad-scaling": policy(
        "scaling.json holds one number above 0 called scaling_factor",
        "the committee scales a score by it; what cannot be read scales nothing",
        'write {"scaling_factor": 1.05} with the factor that was decided',
    ),
    "system.unreadable": both(
        "a system description can be opened and read",
        "what cannot be read cannot be judged, and is not passed",
        "check its place and its permissions",
    ),
    "system.not-json": both(
        "a system description is one JSON object, in UTF-8",
        "the official verifier reads it with a strict reader and stops at the first fault",
        "write one flat JSON object, without comments or a comma at its end",
    ),
    "system.duplicate-field": _field(
        "a system description gives each field once",
        "of two fields of one name only the last is read",
        "keep one of them",
    ),
    "system.missing-field": _field(
        "a system description has every field that the round demands",
        "readers compare systems field by field; the official verifier looks for the names",
        "add the field; `podium system init` writes them all",
    ),
    "system.empty-field": _field(
        "a field that the policy requires says something meaningful",
        "the official verifier only looks for the name; the policy asks for a response",
        "fill it in, or say N/A where that is the answer",
    ),
    "system.misspelt-field": _field(
        "fields are spelt as the submission rules spell them",
        "a field under another name is read by nobody, and the right one is missing",
        "rename it",
    ),
    "system.placeholder": _field(
        "no field still holds the text of a template",
        "a template's text describes no system",
        "fill it in",
    ),
    "system.bad-type": _field(
        "text is given as a string",
        "lists, objects and truth values are not shown as text by the tools that publish results",
        "write it as a string",
    ),
    "system.bad-count": _field(
        "numbers of nodes, processors and accelerators are whole numbers",
        "the size of the system is worked out from them; the official result summary ends at "
        "others",
        "write digits alone",
    ),
    "system.bad-status": _field(
        "status is one of the availability categories of the round",
        "results are published by category; some rounds' verifiers accept only exact spellings",
        "write the category as the submission rules spell it",
    ),
    "system.bad-division": _field(
        "division is closed or open",
        "the official tools check less of any other spelling",
        "write closed or open",
    ),
    "system.bad-system-type": _field(
        "system_type is datacenter or edge",
        "the policy knows no other type",
        "write datacenter or edge",
    ),
    "system.name-mismatch": policy(
        "a description names the submitter whose folder it lies in",
        "results are published under the submitter's name",
        "name the same organisation in both",
    ),
    "system.submitter-mismatch": policy(
        "submission_org in the logs names the submitter of the description",
        "a log of another organisation, or with a template's text, is none of this submitter's",
        "set the submitter's name where the log is made",
    ),
    "system.division-mismatch": policy(
        "a description and the logs of its system name the same division",
        "closed and open results are published apart",
        "state the same division in both",
    ),
    "system.status-mismatch": policy(
        "a description and the logs of its system tell of the same availability",
        "results are published by category of availability",
        "state the same category in both",
    ),
    "system.platform-mismatch": policy(
        "submission_platform in the logs names the system described",
        "a log of another platform was not made on this system",
        "name the system alike in both",
    ),
    "system.size-mismatch": policy(
        "a description and the logs of its system give the same numbers of nodes and accelerators",
        "results are compared by the size of their systems",
        "correct the numbers of the description or of the logs",
    ),
    "system.verifier-crash": FixedText(
        "the official verifier comes to a verdict about the description",
        "it ends in a traceback at a value that is no string where it expects one",
        hint="write the value as a string",
        severity=Severity.WARNING,
        stated_by=StatedBy.VERIFIER,
    ),
}
"""The rules about trees, results and system descriptions, in the order pages list them."""
