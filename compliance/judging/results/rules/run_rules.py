"""The rules on the runs of one result: their number, failures, names, score and convergence."""

from __future__ import annotations

from msgspec.structs import replace

from podium.rules.citations import OWN, official
from podium.rules.consequences import (
    OF_A_NAMED_FILE,
    OF_ANOTHER_ROUND,
    OF_REPEATED_RECORDS,
    Follows,
    Reach,
)
from podium.rules.finding import Finding, Severity
from podium.rules.fixed.edits import RESULT, remove, rename, set_to, write
from podium.rules.fixed.fixed_rule import both, note, own, policy, verifier

RUNS = "training rules, Benchmark Results"
LAYOUT = "submission rules, Directory structure"

WITHOUT_A_RUN = (
    Follows("log.unreadable-file", Reach.RESULT),
    Follows("log.no-records", Reach.RESULT),
)
"""Causes of findings that count the runs of a result: a run cannot be read."""


def _may_follow(_: Finding, finding: Finding) -> bool:
    # No computation gives a factor below 1, so such a factor is an error in any case
    return not isinstance(finding.actual, float | int) or finding.actual >= 1


def _without_a_mean(cause: Finding, finding: Finding) -> bool:
    # If the runs have a mean, the factor that brings it to the reference's mean is known
    return cause.actual is None and _may_follow(cause, finding)


def _of_convergence(_: Finding, finding: Finding) -> bool:
    return "did not converge" in finding.message


def _about_its_key(cause: Finding, finding: Finding) -> bool:
    """Whether a test of convergence fails for the key that the cause is about."""
    return finding.message.startswith(f"{cause.key} differs")


OF_A_MISNAMED_LOG = Follows("tree.misnamed-log", Reach.RESULT)
"""A cause of findings about the number of runs: a log has another name."""

TOO_FEW_RUNS = both(
    "result.too-few-runs",
    says="a result has the number of runs that its benchmark needs",
    why="the score is a mean without the fastest and slowest runs, which fewer runs do not define",
    message="the result has {present}; expected {least}{needed}",
    help="add {runs} of {benchmark}",
    expected="{needed}",
    actual="given",
    cites=RUNS,
    bad=(remove(f"{RESULT}/result_2.txt"),),
    follows=(OF_A_MISNAMED_LOG,),
)
TOO_MANY_RUNS = verifier(
    "result.too-many-runs",
    says="a result has no more runs than its benchmark needs",
    why="the official verifier counts the files; the policy of some rounds allows more runs, and "
    "scores a window of them",
    message="the result has {given} runs; {demand}",
    help="submit only the {needed} runs of one window (podium pack chooses them)",
    cites=f"{official('result')}; {RUNS}",
    expected="{needed}",
    actual="given",
    varies="an error stated by both policy and verifier in rounds whose policy does not score a "
    "window of runs",
    bad="a fourth log in a result of llama31_405b, which needs three",
)
TOO_MANY_FAILED_RUNS = both(
    "result.too-many-failed-runs",
    says="at most one run of a result fails (four runs for unet3d)",
    why="a run that fails counts as the slowest, and the number of dropped slowest runs is limited",
    message="{failed} of {given} runs fail; at most {allowed} may",
    help="fix the findings of the logs, or repeat the runs that did not converge",
    expected="at most {allowed}",
    actual="failed",
    cites=RUNS,
    bad=(
        set_to(f"{RESULT}/result_0.txt", "opt_name", "sgd"),
        set_to(f"{RESULT}/result_1.txt", "opt_name", "sgd"),
    ),
    follows=(
        *WITHOUT_A_RUN,
        Follows("log.repeated-by-ranks", Reach.RESULT),
        Follows("log.several-attempts", Reach.RESULT),
        Follows("system.division-mismatch", Reach.SYSTEM),
        OF_ANOTHER_ROUND,
    ),
)
NOT_CONVERGED = policy(
    "result.not-converged",
    Severity.ERROR,
    says="at most one run of a result ends without success (four runs for unet3d)",
    why="a run that does not reach its target counts as the slowest, even with a valid log",
    message="{lacking} of {given} runs fail or end without success ({names}); at most {allowed} "
    "may",
    help="repeat the runs whose run_stop does not report success",
    expected="at most {allowed}",
    actual="lacking",
    cites=RUNS,
    bad="two runs of llama31_405b end with the status aborted",
    varies="a warning where the result has no test of convergence that such runs fail",
    follows=WITHOUT_A_RUN,
)
COMPRESSED_LOG = both(
    "result.compressed-log",
    says="the logs of a result are not compressed",
    why="the official verifier reads a log as text, and finds no record in a compressed one",
    message="{name} is compressed",
    help="decompress it, and keep its name",
    cites=LAYOUT,
    bad="result_3.txt was compressed with gzip, and renamed to result_3.txt again",
    good="result_3.txt is text",
    reads_content=False,
    follows=(Follows("log.broken-compression"),),
)
BROKEN_RUN_DROPPED = policy(
    "result.broken-run-dropped",
    Severity.ERROR,
    says="a run that is dropped as the slowest did not converge, but violates no other rule",
    why="runs may fail to converge; a run that violates rules is not a run of the result",
    message="this log has violations other than missing the target; only a run that did not "
    "converge may be dropped as the slowest",
    help="fix the findings of this log, or repeat the run",
    cites=RUNS,
    bad=(set_to(f"{RESULT}/result_0.txt", "opt_name", "sgd"),),
    follows=(
        *OF_REPEATED_RECORDS,
        Follows("system.division-mismatch", Reach.SYSTEM),
        Follows("result.other-division"),
    ),
)
UNFINISHED_RUN_DROPPED = note(
    "result.unfinished-run-dropped",
    says="a run that ends before its run_stop did not converge, and is dropped as the slowest",
    why="a crashed run did not converge; reviewers need to know which run crashed, and where",
    message="the run ends during {phase} at line {last}; dropped as the slowest",
    help="submit the log as it is, or repeat the whole set of runs",
    cites=RUNS,
    bad="the log of one run ends after an evaluation that misses the target",
    # In a result that is rejected for another reason no error is excused
    follows=(Follows("common.run_stop"),),
)
EVALUATIONS_LEFT_OUT = policy(
    "result.evaluations-left-out",
    says="the runs of a result evaluate at every point of the schedule",
    why="evaluation is timed: a result whose runs evaluate less often is faster than the rules "
    "allow",
    message="all {runs} runs omit scheduled evaluations; expected an evaluation at every point of "
    "the schedule",
    help="see evaluation.off-schedule for each log: the first evaluation and the interval",
    cites="training rules, Quality measure",
    varies="an error from training 6.0 on: such results were accepted in earlier rounds",
    bad="every run evaluates only at every second point of the schedule",
)
INVALID_LOG_NAME = policy(
    "result.invalid-log-name",
    says="logs are named result_<i>.txt, where <i> is a number",
    why="some tools do not recognize logs with other names",
    message="the log is named {name}; expected result_<i>.txt with a number{more}",
    help="number the runs from 0 (podium fix does it)",
    cites=LAYOUT,
    varies="a note where the name ends in a number: published results have such names",
    bad=(rename(f"{RESULT}/result_2.txt", f"{RESULT}/result_last.txt"),),
    reads_content=False,
)
NUMBERING = own(
    "result.numbering",
    says="the runs of a result are numbered without gaps, from 0 or from 1",
    why="a gap suggests that a run was left out, and runs may not be selected by their times",
    message="runs are numbered {numbers}; expected no gaps, from 0 or from 1",
    help="add the missing runs, or number from 0 if none is missing (podium fix does it)",
    cites=f"{OWN}, Names",
    bad=(rename(f"{RESULT}/result_2.txt", f"{RESULT}/result_7.txt"),),
    follows=(OF_A_MISNAMED_LOG,),
)
BAD_SCALING = policy(
    "result.bad-scaling",
    says="scaling.json contains a number above 0 named scaling_factor",
    why="the committee scales a score with it; a file that cannot be read has no effect",
    message="{file} {problem}; the score is not scaled with it",
    help='write {{"scaling_factor": 1.05}} with the factor that the committee decided',
    cites="training rules, Score scaling",
    bad=(write(f"{RESULT}/scaling.json", '{"scaling_factor": "none"}'),),
    good=(write(f"{RESULT}/scaling.json", '{"scaling_factor": 1.0}'),),
)

UNSUPPORTED_SCALING = policy(
    "result.unsupported-scaling",
    says="the factor in scaling.json is the one that the reference convergence points imply",
    why="a factor that is too low makes the score better than the rules allow; the committee may "
    "set another factor, but this must be visible",
    message="{problem}",
    help="use the factor that `podium rcp check` computes, with at least three decimals, or remove "
    "{file}; the review committee must decide on any other factor",
    expected="{implied}",
    actual="given",
    cites="training rules, Score scaling",
    bad=(write(f"{RESULT}/scaling.json", '{"scaling_factor": 0.5}'),),
    follows=(
        *(replace(entry, when=_may_follow) for entry in WITHOUT_A_RUN),
        # The factor is computed from the runs that exist
        Follows("result.too-few-runs", Reach.RESULT, _may_follow),
        Follows("result.mixed-settings", Reach.RESULT, _may_follow),
        Follows("evaluation.counts-steps", Reach.RESULT, _may_follow),
        Follows("system.division-mismatch", Reach.SYSTEM, _may_follow),
        Follows("result.other-benchmark", Reach.RESULT, _may_follow),
        # Without a test of convergence, no factor is known
        Follows("rcp.failed", Reach.RESULT, _without_a_mean),
        Follows("rcp.missing", Reach.RESULT, _without_a_mean),
        Follows("result.too-many-runs", Reach.RESULT, _may_follow),
    ),
)

RCP_FAILED = both(
    "rcp.failed",
    says="a closed result converges no sooner than the reference convergence points allow",
    why="a result that converges sooner than chance explains has changed the model or the data, or "
    "violates the rules",
    message="{reason}",
    help="see `podium rcp check` for the arithmetic",
    expected="{lowest}",
    actual="submission",
    cites="training rules, Reference Convergence Points (RCPs)",
    varies="stated by only the policy or only the verifier where the other's arithmetic passes "
    "the result; a warning of the policy where scaling.json brings the result to the reference's "
    "mean",
    bad="every run reaches the target at half the samples that the reference points need",
    follows=(
        *WITHOUT_A_RUN,
        Follows("result.too-few-runs", Reach.RESULT),
        Follows("result.mixed-settings", Reach.RESULT, _about_its_key),
        *OF_A_NAMED_FILE,
        Follows("evaluation.counts-steps", Reach.RESULT),
        Follows("result.other-benchmark", Reach.RESULT),
        Follows("closed.submission_benchmark", Reach.RESULT, _about_its_key),
        Follows("result.too-many-failed-runs", Reach.RESULT, _of_convergence),
        Follows("result.not-converged", Reach.RESULT, _of_convergence),
        Follows("run.unknown-status", Reach.RESULT, _of_convergence),
    ),
)
RCP_MISSING = both(
    "rcp.missing",
    says="a closed result's batch size is within the range of the reference convergence points",
    why="a result at another batch size cannot be compared with any point",
    message="{reason}",
    help="see `podium rcp check` for the arithmetic",
    expected="{lowest}",
    actual="submission",
    cites="training rules, Reference Convergence Points (RCPs)",
    varies="stated by only the policy or only the verifier where the other's arithmetic passes "
    "the result; a warning of the policy where scaling.json brings the result to the reference's "
    "mean",
    bad="every run has a batch size above the largest reference point",
    follows=(
        Follows("result.other-benchmark", Reach.RESULT),
        Follows("closed.submission_benchmark", Reach.RESULT),
    ),
)
VERIFIER_CRASH = verifier(
    "result.verifier-crash",
    says="the official verifier can compare a result with the reference convergence points",
    why="it crashes without a verdict, and a bypass flag does not prevent the crash",
    message="{reason}",
    help="fix the logs; ask the review committee about dlrm, which crashes in rounds 1.0 to 2.1",
    expected="a result that the official verifier compares",
    bad="one log of a result names another benchmark than the others",
    follows=(
        *WITHOUT_A_RUN,
        Follows("result.other-benchmark", Reach.RESULT),
        Follows("closed.submission_benchmark", Reach.RESULT),
        Follows("log.wrong-type", Reach.RESULT),
    ),
)
