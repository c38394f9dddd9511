"""Runs that are repetitions of one experiment, and each its own: one value for each rule."""

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
    says="a log names the benchmark of the folder it lies in",
    why="a log in the wrong folder is judged and scored with the wrong result",
    message="the log has submission_benchmark {logged}; the folder is that of {benchmark}",
    help="{advice}",
    cites=STRUCTURE,
    varies="an error where the round has no benchmark of the name that is logged, or where runs "
    "of several batch sizes fail the test of convergence",
    bad=(set_to(_FIRST, "submission_benchmark", "llama31_8b"),),
)
OTHER_DIVISION = policy(
    "result.other-division",
    Severity.ERROR,
    says="a log and its system description name the same division",
    why="closed and open results are published apart",
    message="the log has division {logged}; the system description has {described}",
    help="state the same division in both",
    cites=DIVISIONS,
    varies="a warning up to training 3.1 and in HPC 0.7, where results were accepted so",
    bad=(set_to(_FIRST, "submission_division", "open"),),
    follows=(Follows("system.division-mismatch", Reach.SYSTEM),),
)
MIXED_SETTINGS = policy(
    "result.mixed-settings",
    says="all runs of a result have the same settings",
    why="the runs of a result are repetitions of one experiment, but for the seed",
    message="{setting} differs between the runs: {values}; must be the same in all",
    help="repeat the runs that differ with the settings of the others",
    cites=RUNS,
    varies="an error where runs of several batch sizes fail the test of convergence",
    follows=(Follows("log.wrong-type", when=same_line), Follows("result.other-benchmark")),
    bad=(set_to(_FIRST, "opt_base_learning_rate", 0.5),),
)
OTHER_CODE = note(
    "result.other-code",
    says="the runs of a result log their settings at the same lines of the same source files",
    why="other lines mean another version of the code, and other files perhaps another framework, "
    "while all results of a set have one",
    message="{count} of {total} settings are logged at other lines than in {most}: "
    "{setting} at {here}, there at {there}{alike}; must be one version of the code",
    help="find out what was changed in between; if it matters, repeat the runs with one version",
    cites="training rules, System and framework must be consistent",
    bad="in one log global_batch_size and opt_base_learning_rate are of lines 13 and 14 of "
    "train.py, in the others of lines 11 and 12",
    good="in all logs they are of lines 11 and 12",
)
COPIED_RUN = policy(
    "result.copied-run",
    Severity.ERROR,
    says="every run of a submission was made on its own",
    why="two logs with the same times and evaluations are one run submitted twice; so are two with "
    "the same losses and outcomes, for the digits of two runs always differ",
    message="this log {likeness}; each run must be its own",
    help="replace the copy by another run, or explain how both logs were made",
    cites=RUNS,
    varies="a warning where the two are in different results, or only their numbers are the same, "
    "unless their seeds differ; a note where one organization has power measurements of the run",
    bad=(copy(_FIRST, f"{RESULT}/result_1.txt"),),
)
SAME_SCORE = own(
    "result.same-score",
    Severity.NOTE,
    says="no two results have a mean time that is equal to the millisecond",
    why="sets of runs of their own hardly ever take equally long: one may be made of the other",
    message="the mean of the scored runs, {minutes:.6f} min, is that of {other} to the "
    "millisecond; two sets of runs hardly ever take equally long",
    help="look at the logs of both",
    cites=f"{OWN}, Plausibility",
    bad="the runs of two results take equally long on average",
    good="they do not",
)
OVERLAPPING_RUNS = own(
    "result.overlapping-runs",
    Severity.NOTE,
    says="runs on one system are made one after the other",
    why="two at once share the system, unless it is large enough for both; then all is well",
    message="{count} of {total} runs began while another ran on the same system, such as {second} "
    "during {first}",
    help="if the system is too small for two at once, look at the clocks of the logs",
    cites=f"{OWN}, Plausibility",
    bad="a run begins while another run of the result is still going on",
    good="it begins an hour later",
)
