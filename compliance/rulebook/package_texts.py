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

    @property
    def in_policy(self) -> str:
        """The severity in the policy profile."""
        return self.severity.value

    @property
    def in_verifier(self) -> str:
        """The severity in the verifier profile; empty where it does not report the rule."""
        if self.stated_by is StatedBy.POLICY:
            return ""
        return "error" if self.stated_by is StatedBy.VERIFIER else self.severity.value


def both(says: str, why: str, hint: str) -> FixedText:
    """What both texts demand."""
    return FixedText(says, why, hint=hint)


def policy(says: str, why: str, hint: str) -> FixedText:
    """What only the policy demands: a warning."""
    return FixedText(says, why, hint=hint, severity=Severity.WARNING, stated_by=StatedBy.POLICY)


def note(says: str, why: str, hint: str) -> FixedText:
    """What the policy asks one to look at."""
    return FixedText(says, why, hint=hint, severity=Severity.NOTE, stated_by=StatedBy.POLICY)


PACKAGE_TEXTS: Mapping[str, FixedText] = {
    "tree.no-results": both(
        "a submission has logs under results/<system>/<benchmark>",
        "without them there is nothing to judge",
        "put logs into results/<system>/<benchmark>/result_<i>.txt",
    ),
    "tree.no-system-description": both(
        "every system with results is described in systems/<system>.json",
        "a result is published with the system it was made on",
        "run `podium system init` on the system, or rename the folder",
    ),
    "tree.system-without-results": policy(
        "every system that is described has results",
        "a description without results is left over, or its results are missing",
        "add the results, or remove the description",
    ),
    "tree.misplaced": both(
        "every file of a submission stands where the submission rules put it",
        "what stands elsewhere is not found by those who review it",
        "move the file to its place, or remove it",
    ),
    "tree.unknown-benchmark": policy(
        "the folders below a system are called after the round's benchmarks",
        "logs in any other folder belong to no result",
        "rename the folder as logs name the benchmark",
    ),
    "tree.unknown-file": policy(
        "beside the logs of a result lies nothing else",
        "a log under another name is not counted, and other files are not looked at",
        "remove it, or rename a log to result_<i>.txt",
    ),
    "tree.unknown-folder": note(
        "a submission has systems, benchmarks and results, and perhaps code and documentation",
        "what stands in other folders is looked for by nobody",
        "move it to where the submission rules have it, or remove it",
    ),
    "tree.linked-folder": both(
        "folders of results are folders, or links to other folders of the submission",
        "a link that leads out of it, in a circle or to another link is not followed; one within "
        "it is, with a warning, as not every copy of a tree keeps it",
        "put the folder itself in the place of the link",
    ),
    "tree.unreadable": both(
        "every folder of a submission can be read",
        "what cannot be read cannot be judged, and is not passed",
        "make it readable",
    ),
    "tree.no-systems": FixedText(
        "a folder with results has systems beside them",
        "without descriptions of its systems a folder is no submission: its logs are judged, but "
        "not the number of runs, their seeds or what they reach together",
        hint="describe each system in systems/<system>.json",
        severity=Severity.NOTE,
        stated_by=StatedBy.POLICY,
    ),
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
    "result.other-benchmark": policy(
        "a log names the benchmark of the folder it lies in",
        "a log in the wrong folder is judged and scored with the wrong result",
        "move the log to its benchmark's folder",
    ),
    "result.other-division": policy(
        "a log and its system description name the same division",
        "closed and open results are published apart",
        "state the same division in both",
    ),
    "result.mixed-settings": policy(
        "all runs of a result have the same settings",
        "the runs of a result are repetitions of one experiment, but for the seed",
        "repeat the runs that differ with the settings of the others",
    ),
    "result.copied-run": policy(
        "every run of a submission was made on its own",
        "two logs with the same times and evaluations are one run handed in twice",
        "remove the copy and add another run",
    ),
    "result.same-score": note(
        "no two results have a mean time that is equal to the millisecond",
        "sets of runs of their own hardly ever take equally long: one may be made of the other",
        "look at the logs of both",
    ),
    "result.overlapping-runs": note(
        "runs on one system are made one after the other",
        "two at once share the system, unless it is large enough for both; then all is well",
        "look at the clocks of the logs, and at the size of the system",
    ),
    "result.bad-scaling": policy(
        "scaling.json holds one number above 0 called scaling_factor",
        "the committee scales a score by it; what cannot be read scales nothing",
        'write {"scaling_factor": 1.05} with the factor that was decided',
    ),
    "throughput.no-strong-result": policy(
        "throughput is handed in beside a time-to-train result of the same benchmark",
        "HPC's second metric is taken only together with the first",
        "add a result in strong",
    ),
    "throughput.not-converged": policy(
        "every instance that throughput counts converged",
        "a model that is not trained is none; such instances are pruned",
        "move the log to pruned_results",
    ),
    "throughput.broken-pruned-log": policy(
        "logs of pruned instances break no rule but missing the target",
        "they show that no instance was left out for another reason",
        "mend the findings of the log",
    ),
    "throughput.mixed-scale": policy(
        "all instances of a throughput result ran at one scale",
        "models per minute are told for one scale of an instance",
        "take only instances that ran on the same number of nodes and accelerators",
    ),
    "throughput.total-scale": policy(
        "the system is no smaller than an instance and no larger than all of them together",
        "logs of instances are missing, or the description counts otherwise",
        "add the logs of the other instances to pruned_results, or mend the description",
    ),
    "code.none": policy(
        "a submission comes with its code",
        "reviewers must be able to read each implementation",
        "add benchmarks/<benchmark>/implementations/<implementation>/",
    ),
    "code.no-implementation": policy(
        "every benchmark with results has an implementation",
        "reviewers must be able to read what the runs ran",
        "add benchmarks/<benchmark>/implementations/<implementation>/",
    ),
    "code.no-readme": policy(
        "every implementation has a README",
        "a reviewer starts from it",
        "describe the run command, the dataset and the model in README.md",
    ),
    "code.thin-readme": policy(
        "the README tells the run command, where the dataset comes from, and the starting weights",
        "without them nobody can repeat the runs",
        "add what is missing",
    ),
    "code.no-script": policy(
        "beside an implementation stand setup.sh, init_datasets.sh and run_and_time.sh",
        "the submission rules name these scripts; many submitters call theirs otherwise, so a note "
        "where one of them is there",
        "add the scripts under these names",
    ),
    "code.no-config": policy(
        "the file that config_filename names came with the code",
        "it holds the settings of the run",
        "add the configuration",
    ),
    "code.source-not-found": policy(
        "source files that log lines name came with the code",
        "reviewers look up where a value was logged; redacted files keep their line numbers",
        "add the files, or redacted versions of them",
    ),
    "code.source-too-short": policy(
        "source files have the lines that log lines name",
        "a file that is too short is not the version that the runs used",
        "submit the version of the file that the runs used",
    ),
}
"""The rules about trees and results, in the order pages list them."""
