"""The rules on runs as independent repetitions of one experiment."""

from __future__ import annotations

from podium.compliance.judging.inputs.tree_rules import STRUCTURE
from podium.rules.citations import OWN
from podium.rules.consequences import Follows, Reach, same_line
from podium.rules.finding import Severity
from podium.rules.fixed.edits import RESULT, copy, set_to
from podium.rules.fixed.fixed_rule import note, own, policy

RUNS = "training rules, Benchmark Results"
DIVISIONS = "training rules, Divisions"

_FIRST = f"{RESULT}/result_0.txt"

OTHER_BENCHMARK = policy(
    "result.other-benchmark",
    Severity.ERROR,
    says="a log names the benchmark of its folder",
    why="a log in the wrong folder is checked and scored with the wrong result",
    message="the log has submission_benchmark {logged}; the folder is for {benchmark}",
    help="{advice}",
    cites=STRUCTURE,
    varies="a warning where the log follows the rules of the benchmark that it names, and no runs "
    "with several batch sizes fail the test of convergence",
    bad=(set_to(_FIRST, "submission_benchmark", "llama31_8b"),),
)
OTHER_DIVISION = policy(
    "result.other-division",
    Severity.ERROR,
    says="a log and its system description name the same division",
    why="closed and open results are published separately",
    message="the log has division {logged}; the system description has {described}",
    help="use the same division in both",
    cites=DIVISIONS,
    varies="a warning up to training 3.1 and in HPC 0.7, where such results were accepted",
    bad=(set_to(_FIRST, "submission_division", "open"),),
    follows=(
        Follows("system.division-mismatch", Reach.SYSTEM),
        Follows("common.submission_division"),
    ),
)
MIXED_SETTINGS = policy(
    "result.mixed-settings",
    says="all runs of a result have the same settings",
    why="the runs of a result are repetitions of one experiment with different seeds",
    message="{setting} differs between the runs: {values}; expected the same value in all",
    help="repeat the deviating runs with the settings of the others",
    cites=RUNS,
    varies="an error where runs with several batch sizes fail the test of convergence",
    follows=(Follows("log.wrong-type", when=same_line), Follows("result.other-benchmark")),
    bad=(set_to(_FIRST, "opt_base_learning_rate", 0.5),),
)
OTHER_CODE = note(
    "result.other-code",
    says="the runs of a result log their settings at the same lines of the same source files",
    why="different lines mean a different version of the code, and different files may mean a "
    "different framework; all results of a set must use the same framework",
    message="{count} of {total} settings are logged at other lines than in {most}: "
    "{setting} at {here}, there at {there}{alike}; expected one version of the code",
    help="find out what changed between the runs; if it matters, repeat them with one version",
    cites="training rules, System and framework must be consistent",
    bad="in one log global_batch_size and opt_base_learning_rate come from lines 13 and 14 of "
    "train.py, in the others from lines 11 and 12",
    good="in all logs they come from lines 11 and 12",
)
COPIED_RUN = policy(
    "result.copied-run",
    Severity.ERROR,
    says="every log of a submission is from a different run",
    why="two logs with the same times and evaluations are one run submitted twice; so are two logs "
    "with the same losses and outcomes, because the digits of two runs always differ",
    message="this log {likeness}; expected a separate run",
    help="replace the copy with another run, or explain how both logs were made",
    cites=RUNS,
    varies="a warning where the two are in different results, or only their numbers are the same, "
    "unless their seeds differ; a note where one organization submits the run with and without "
    "power measurements",
    bad=(copy(_FIRST, f"{RESULT}/result_1.txt"),),
)
SAME_SCORE = own(
    "result.same-score",
    Severity.NOTE,
    says="no two results have mean times that are equal to the millisecond",
    why="two independent sets of runs hardly ever have equal times: one may be made from the other",
    message="the mean of the scored runs, {minutes:.6f} min, equals the mean of {other} to the "
    "millisecond; two sets of runs hardly ever have equal times",
    help="compare the logs of both results",
    cites=f"{OWN}, Plausibility",
    bad="the runs of two results have the same mean time",
    good="the mean times differ",
)
OVERLAPPING_RUNS = own(
    "result.overlapping-runs",
    Severity.NOTE,
    says="runs on one system are made one after the other",
    why="two runs at the same time share the system, which is fine only if it is large enough",
    message="{count} of {total} runs began during another run on the same system, such as {second} "
    "during {first}",
    help="if the system is too small for two runs at the same time, check the clocks of the logs",
    cites=f"{OWN}, Plausibility",
    bad="a run begins before another run of the result has ended",
    good="it begins an hour later",
)
