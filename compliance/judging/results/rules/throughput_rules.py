"""The rules on HPC's throughput results, whose instances ran at the same time."""

from __future__ import annotations

from podium.compliance.judging.inputs.layout import PRUNED
from podium.rules.finding import Severity
from podium.rules.fixed.fixed_rule import policy

CITES = "HPC rules, Throughput"

# Errors, because the rules leave no choice in either; the official tools check neither
NO_STRONG_RESULT = policy(
    "throughput.no-strong-result",
    Severity.ERROR,
    says="a throughput result has a time-to-train result for the same benchmark",
    why="HPC accepts its second metric only together with the first",
    message="{benchmark} has a throughput result but no time-to-train result; expected both",
    help="add results/<system>/strong/{benchmark}",
    cites=CITES,
    bad="a submission has results/<system>/weak/deepcam, and nothing in strong",
    good="it also has results/<system>/strong/deepcam",
)
NOT_CONVERGED = policy(
    "throughput.not-converged",
    Severity.ERROR,
    says="every counted instance of a throughput result converged",
    why="an instance that did not converge did not train a model, and must be pruned",
    message="this instance did not converge; expected all counted instances to converge",
    help=f"move its log to {PRUNED}, and keep at least the number that the benchmark needs",
    cites=CITES,
    bad="the run_stop of an instance has the status aborted",
    good="it has the status success",
)
INVALID_PRUNED_LOG = policy(
    "throughput.broken-pruned-log",
    Severity.ERROR,
    says="logs of pruned instances violate no rule except that the run did not converge",
    why="they show that no instance was omitted for another reason",
    message="this pruned log has violations other than missing the target",
    help="fix the findings of this log",
    cites=CITES,
    bad=f"a log in {PRUNED} has no run_start",
    good="the log is complete",
)
MIXED_SCALE = policy(
    "throughput.mixed-scale",
    says="all instances of a throughput result ran at one scale",
    why="models per minute are reported for one scale of an instance",
    message="the instances have different scales ({scales}); expected one scale",
    help="use only instances that ran on the same number of nodes and accelerators",
    cites=CITES,
    bad="one instance logs 8 nodes, the others log 16",
    good="all log 8",
)
TOTAL_SCALE = policy(
    "throughput.total-scale",
    says="the system is no smaller than an instance and no larger than all of them together",
    why="otherwise logs of instances are missing, or the description counts differently",
    message="the whole system has {total}; expected at least the {scale:.15g} of an instance, and "
    "at most the {all:.15g} of all {count}; the logs of all instances are required, including "
    "pruned ones",
    help=f"add the logs of the other instances to {PRUNED}, or correct the system's number of "
    "nodes or accelerators",
    cites=CITES,
    bad="a system of 256 accelerators has five instances of 32",
    good="it has eight instances of 32",
)
