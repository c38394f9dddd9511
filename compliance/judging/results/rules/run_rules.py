"""The rules on the runs of one result: how many there are, which may fail, what they are called."""

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
"""What findings about a result follow from that counts its runs: one of them cannot be read."""


def _may_follow(_: Finding, finding: Finding) -> bool:
    # No computation gives a factor below 1: that is a fault by itself
    return not isinstance(finding.actual, float | int) or finding.actual >= 1


def _without_a_mean(cause: Finding, finding: Finding) -> bool:
    # Where the runs have a mean, the factor that brings it to the reference's is known
    return cause.actual is None and _may_follow(cause, finding)


def _of_convergence(_: Finding, finding: Finding) -> bool:
    return "did not converge" in finding.message


def _about_its_key(cause: Finding, finding: Finding) -> bool:
    """Whether a test of convergence fails for the key that the cause is about."""
    return finding.message.startswith(f"{cause.key} differs")


OF_A_MISNAMED_LOG = Follows("tree.misnamed-log", Reach.RESULT)
"""What findings follow from about the number of runs: one is there under another name."""

TOO_FEW_RUNS = both(
    "result.too-few-runs",
    says="a result has the number of runs that its benchmark needs",
    why="the score is a mean over runs without the fastest and slowest: fewer do not define it",
    message="the result has {present}; must have {least}{needed}",
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
    why="the official verifier counts the files; the policy of some rounds allows more runs, of "
    "which a window is scored",
    message="the result has {given} runs; {demand}",
    help="submit the {needed} runs of one window only (podium pack chooses them)",
    cites=f"{official('result')}; {RUNS}",
    expected="{needed}",
    actual="given",
    varies="both texts state it, as an error, in rounds whose policy scores no window of runs",
    bad="a fourth log in a result of llama31_405b, which needs three",
)
TOO_MANY_FAILED_RUNS = both(
    "result.too-many-failed-runs",
    says="at most one run of a result fails (four of unet3d)",
    why="a run that fails counts as the slowest, and only so many slowest runs are left out",
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
    says="at most one run of a result ends without success (four of unet3d)",
    why="a run that does not reach its goal counts as the slowest, whatever else its log says",
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
BROKEN_RUN_DROPPED = policy(
    "result.broken-run-dropped",
    Severity.ERROR,
    says="a run that is left out as the slowest violates no rule except that it did not converge",
    why="runs may fail to converge; a run that violates rules is not a run of the result",
    message="this log violates rules beyond missing the target; only a run that did not converge "
    "may be dropped as the slowest",
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
    says="a run that ends before its run_stop did not converge, and is left out as the slowest",
    why="a crash is one way not to converge; reviewers want to know which run crashed, and where",
    message="the run ends during {phase} at line {last}; dropped as the slowest",
    help="submit the log as it is, or repeat the whole set of runs",
    cites=RUNS,
    bad="the log of one run ends after an evaluation that misses the target",
    # In a result that is rejected for another reason nothing is excused
    follows=(Follows("common.run_stop"),),
)
EVALUATIONS_LEFT_OUT = policy(
    "result.evaluations-left-out",
    says="not every run of a result leaves out evaluations that the schedule sets",
    why="evaluation is on the clock: a result whose runs evaluate less often is faster than the "
    "rules allow",
    message="each of the {runs} runs leaves out evaluations that the schedule sets; must evaluate "
    "at every point of it",
    help="see evaluation.off-schedule for each log: the first evaluation and the interval",
    cites="training rules, Quality measure",
    varies="an error from training 6.0 on: results of earlier rounds were accepted with it",
    bad="every run evaluates at each second point of the schedule",
)
INVALID_LOG_NAME = policy(
    "result.invalid-log-name",
    says="logs are called result_<i>.txt with a number",
    why="other names are not taken as runs by every tool",
    message="the log is called {name}; must be result_<i>.txt with a number{more}",
    help="number the runs from 0 (podium fix does it)",
    cites=LAYOUT,
    varies="a note where the name ends in a number: published results have such names",
    bad=(rename(f"{RESULT}/result_2.txt", f"{RESULT}/result_last.txt"),),
    reads_content=False,
)
NUMBERING = own(
    "result.numbering",
    says="the runs of a result are numbered without gaps, from 0 or from 1",
    why="a gap makes one ask for the run that is missing: runs may not be chosen by their times",
    message="runs are numbered {numbers}; must be without gaps, from 0 or from 1",
    help="add the runs that are missing, or number from 0 if none is (podium fix does it)",
    cites=f"{OWN}, Names",
    bad=(rename(f"{RESULT}/result_2.txt", f"{RESULT}/result_7.txt"),),
    follows=(OF_A_MISNAMED_LOG,),
)
BAD_SCALING = policy(
    "result.bad-scaling",
    says="scaling.json holds one number above 0 called scaling_factor",
    why="the committee scales a score by it; what cannot be read scales nothing",
    message="{file} {problem}; the score is not scaled by it",
    help='write {{"scaling_factor": 1.05}} with the factor that was decided',
    cites="training rules, Score scaling",
    bad=(write(f"{RESULT}/scaling.json", '{"scaling_factor": "none"}'),),
    good=(write(f"{RESULT}/scaling.json", '{"scaling_factor": 1.0}'),),
)

UNSUPPORTED_SCALING = policy(
    "result.unsupported-scaling",
    says="the factor in scaling.json is the one that the reference convergence points imply",
    why="a factor that is too low makes the score better than the rules allow; the committee may "
    "set another, and it should be known that it did",
    message="{problem}",
    help="give the factor that `podium rcp check` works out, to three decimals or more, or remove "
    "{file}: on any other the review committee must decide",
    expected="{implied}",
    actual="given",
    cites="training rules, Score scaling",
    bad=(write(f"{RESULT}/scaling.json", '{"scaling_factor": 0.5}'),),
    follows=(
        *(replace(each, when=_may_follow) for each in WITHOUT_A_RUN),
        # The factor is that of the runs that are there
        Follows("result.too-few-runs", Reach.RESULT, _may_follow),
        Follows("result.mixed-settings", Reach.RESULT, _may_follow),
        Follows("evaluation.counts-steps", Reach.RESULT, _may_follow),
        Follows("system.division-mismatch", Reach.SYSTEM, _may_follow),
        # Without a test of convergence there is no factor
        Follows("rcp.failed", Reach.RESULT, _without_a_mean),
        Follows("rcp.missing", Reach.RESULT, _without_a_mean),
        Follows("result.too-many-runs", Reach.RESULT, _may_follow),
    ),
)

RCP_FAILED = both(
    "rcp.failed",
    says="a closed result converges no sooner than the reference convergence points allow",
    why="who converges sooner than chance explains has changed the model, the data or the rules",
    message="{reason}",
    help="see `podium rcp check` for the arithmetic",
    expected="{lowest}",
    actual="submission",
    cites="training rules, Reference Convergence Points (RCPs)",
    varies="stated by one text alone where the other's arithmetic passes the result; a warning of "
    "the policy where scaling.json brings the result to the reference's mean",
    bad="every run reaches the target at half the samples that the reference points need",
    follows=(
        *WITHOUT_A_RUN,
        Follows("result.too-few-runs", Reach.RESULT),
        Follows("result.mixed-settings", Reach.RESULT, _about_its_key),
        *OF_A_NAMED_FILE,
        Follows("evaluation.counts-steps", Reach.RESULT),
        Follows("closed.submission_benchmark", Reach.RESULT, _about_its_key),
        Follows("result.too-many-failed-runs", Reach.RESULT, _of_convergence),
        Follows("result.not-converged", Reach.RESULT, _of_convergence),
    ),
)
RCP_MISSING = both(
    "rcp.missing",
    says="a closed result's batch size lies within those of the reference convergence points",
    why="a result at another batch size cannot be compared with anything",
    message="{reason}",
    help="see `podium rcp check` for the arithmetic",
    expected="{lowest}",
    actual="submission",
    cites="training rules, Reference Convergence Points (RCPs)",
    varies="stated by one text alone where the other's arithmetic passes the result; a warning of "
    "the policy where scaling.json brings the result to the reference's mean",
    bad="every run has a batch size above the largest reference point",
    follows=(Follows("result.other-benchmark", Reach.RESULT),),
)
VERIFIER_CRASH = verifier(
    "result.verifier-crash",
    says="the official verifier can compare a result with the reference convergence points",
    why="it ends in a traceback, without a verdict, and a bypass flag does not prevent that",
    message="{reason}",
    help="fix the logs; ask the review committee about dlrm, which crashes in rounds 1.0 to 2.1",
    expected="a result that the official verifier compares",
    bad="one log of a result names another benchmark than the others",
    follows=(*WITHOUT_A_RUN, Follows("result.other-benchmark", Reach.RESULT)),
)
