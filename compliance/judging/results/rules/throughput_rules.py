"""The rules on HPC's throughput results: instances that ran at the same time."""

from __future__ import annotations

from podium.compliance.judging.inputs.layout import PRUNED
from podium.rules.finding import Severity
from podium.rules.fixed.fixed_rule import policy

CITES = "HPC rules, Throughput"

# Errors, for the rules leave no choice in either, and the official tools look at neither
NO_STRONG_RESULT = policy(
    "throughput.no-strong-result",
    Severity.ERROR,
    says="throughput is submitted beside a time-to-train result of the same benchmark",
    why="HPC's second metric is taken only together with the first",
    message="{benchmark} has throughput but no time-to-train result; the first is taken only "
    "together with the second",
    help="add results/<system>/strong/{benchmark}",
    cites=CITES,
    bad="a submission has results/<system>/weak/deepcam, and nothing in strong",
    good="it has results/<system>/strong/deepcam, too",
)
NOT_CONVERGED = policy(
    "throughput.not-converged",
    Severity.ERROR,
    says="every instance that throughput counts converged",
    why="a model that is not trained is none; such instances are pruned",
    message="this instance did not converge; all instances that are counted must",
    help=f"move its log to {PRUNED}, and leave at least as many as the benchmark needs",
    cites=CITES,
    bad="the run_stop of an instance has the status aborted",
    good="it has the status success",
)
INVALID_PRUNED_LOG = policy(
    "throughput.broken-pruned-log",
    Severity.ERROR,
    says="logs of pruned instances violate no rule except that the run did not converge",
    why="they show that no instance was left out for another reason",
    message="this pruned log violates rules beyond missing the target; pruned logs must comply",
    help="correct what is found in this log",
    cites=CITES,
    bad=f"a log in {PRUNED} has no run_start",
    good="the log is complete",
)
MIXED_SCALE = policy(
    "throughput.mixed-scale",
    says="all instances of a throughput result ran at one scale",
    why="models per minute are reported for one scale of an instance",
    message="the instances are of several scales ({scales}); must all be of one",
    help="take only instances that ran on the same number of nodes and accelerators",
    cites=CITES,
    bad="one instance logs 8 nodes, the others log 16",
    good="all log 8",
)
TOTAL_SCALE = policy(
    "throughput.total-scale",
    says="the system is no smaller than an instance and no larger than all of them together",
    why="logs of instances are missing, or the description counts differently",
    message="the whole system has {total}; must have at least the {scale:.15g} of an instance, and "
    "at most the {all:.15g} of all {count}; the logs of all instances must be there, pruned ones "
    "too",
    help=f"add the logs of the other instances to {PRUNED}, or correct the system's number of "
    "nodes or accelerators",
    cites=CITES,
    bad="a system of 256 accelerators has five instances of 32",
    good="it has eight instances of 32",
)
