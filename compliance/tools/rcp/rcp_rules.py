"""The rules of reference convergence points, as values: `podium rcp lint` reports them."""

from __future__ import annotations

from podium.rules.finding import Severity
from podium.rules.fixed.fixed_rule import note, policy

_POINTS = "training rules, Reference Convergence Points (RCPs)"
_HOW = "training rules, RCP Rules and Guidelines"
_FORMATS = "training rules, Numerical formats"
_GOOD = "a point of resnet at batch size 1024 has ten runs of 30 to 32 epochs"

BENCHMARK = policy(
    "rcp.benchmark",
    Severity.ERROR,
    says="a reference point names a benchmark of the round",
    why="a point with another name is never used",
    message="{name} is not a benchmark of {title}",
    help="use one of {listed}",
    cites=_POINTS,
    bad="the point names the benchmark resnet50",
    good=_GOOD,
)

DUPLICATE_ID = policy(
    "rcp.duplicate-id",
    Severity.ERROR,
    says="every reference point has a unique name",
    why="a name that two points share is ambiguous",
    message="{count} points have the name {name}",
    help="give each point a unique name",
    cites=_POINTS,
    bad="two points have the name resnet_ref_1024",
    good=_GOOD,
)

DUPLICATE_BATCH_SIZE = policy(
    "rcp.duplicate-batch-size",
    Severity.ERROR,
    says="a benchmark has one reference point at a batch size",
    why="otherwise the comparison of a result is ambiguous",
    message="batch size {size} already has a point: {first}",
    help="merge their runs, or keep the point that converges sooner",
    cites=_POINTS,
    bad="two points of resnet have the batch size 1024",
    good=_GOOD,
)

COPIED_VALUES = policy(
    "rcp.copied-values",
    says="every reference point has separate runs",
    why="identical values at two batch sizes are a mistake",
    message="the values are identical to those of {first}",
    help="give the values of the runs at this batch size",
    cites=_HOW,
    bad="points at the batch sizes 1024 and 4096 have the same ten values",
    good=_GOOD,
)

# A warning: published records of stable_diffusion have 13 to 15 runs of 20
TOO_FEW_RUNS = policy(
    "rcp.too-few-runs",
    says="a reference point has twice the runs of a result",
    why="the mean of fewer runs is unreliable, or undefined if all are dropped",
    message="{given}; expected {needed}, twice the runs of a result{detail}",
    help="add {missing}",
    cites=_HOW,
    bad="a point of resnet has four runs; a result has five",
    good=_GOOD,
    varies="an error if no run is left after the fastest and slowest are dropped",
)

OUTLIER = policy(
    "rcp.outlier",
    says="no run of a reference point is an outlier",
    why="a broken run widens the accepted range",
    message="{values}: far from the median {median:g}",
    help="check the logs of these runs",
    cites=_HOW,
    bad="nine runs converge in 30 to 32 epochs, the tenth in 300",
    good=_GOOD,
)

BATCH_SIZE = policy(
    "rcp.batch-size",
    Severity.ERROR,
    says="a batch size is a whole number",
    why="samples are counted",
    message="the batch size {size:g} is not a whole number",
    help="correct the number",
    cites=_POINTS,
    bad="a point has the batch size 8.5",
    good=_GOOD,
)

# The official form may label samples as epochs: only the numbers show it
UNIT = policy(
    "rcp.unit",
    Severity.ERROR,
    says="a reference point has the unit of the benchmark's logs",
    why="otherwise every result fails, or every result passes",
    message="the point {problem}",
    help="give {unit}, as in the logs",
    cites=_HOW,
    bad="a point of resnet converges after a million epochs, which seem to be samples or steps",
    good=_GOOD,
)

# A warning: by exception, points of gpt_oss_20b in 6.0 have another end learning rate
HYPERPARAMETER = policy(
    "rcp.hyperparameter",
    says="a reference point obeys the rules of the round",
    why="results must obey these rules, so a reference that violates them is not comparable",
    message="{setting} is {value!r}; the rules of {title} require {allowed}",
    help="see `podium rules explain {bound}`",
    cites="training rules, Hyperparameters and Optimizer",
    bad="a point of llama31_405b has an opt_adamw_beta_1 of 0.5",
    good="a point of llama31_405b has an opt_base_learning_rate of 8e-05",
)

# A warning: the emulation of FP32 is described in words, which no table of names covers
PRECISION = policy(
    "rcp.precision",
    says="a reference point was run in a number format that the round accepts",
    why="FP32 is the baseline of all formats; from training 5.1 on BF16 is accepted, too",
    message="Precision is {given}; {title} accepts {taken}",
    help="use runs in {taken}; if FP32 was emulated, state this and explain how",
    expected="{taken}",
    actual="given",
    cites=_FORMATS,
    bad="the Precision of a point of training 5.0 is BF16",
    good="the Precision is FP32",
)

# A note: published records of 5.1 have none for points that come from earlier rounds
NO_PRECISION = note(
    "rcp.no-precision",
    says="a reference point names its number format if the round accepts several",
    why="points of training 5.1 and later may be run in FP32 or BF16",
    message="Precision is missing; {title} accepts {taken}",
    help="add Precision with the format of its runs",
    cites=_FORMATS,
    bad="a point of training 5.1 has no Precision",
    good="the Precision is BF16",
)

UNUSED = note(
    "rcp.unused",
    says="a reference point is not above the line between two others",
    why="points above the line are pruned: no result is compared with them",
    message="slower than the line between two others: no result is compared with this point",
    help="no change is needed if the other points are correct",
    cites=_POINTS,
    bad="points at 1024, 2048 and 4096 converge in 30, 60 and 34 epochs",
    good=_GOOD,
)

PRUNING_DIFFERS = note(
    "rcp.pruning-differs",
    says="policy and official verifier use the same reference points",
    why="the verifier's single pass does not always leave the lower hull",
    message="the official verifier's pruning {problem}",
    help="see `podium rcp show` for the points that each uses",
    cites=_POINTS,
    bad="points at the batch sizes 1 to 4 converge in 10, 14, 20 and 16 epochs: the second is "
    "slower than a line between two others only after the third is removed",
    good=_GOOD,
)

NO_SPREAD = note(
    "rcp.no-spread",
    says="the runs of a reference point differ",
    why="without any spread every faster mean fails",
    message="the runs do not differ: any lower mean fails",
    help="evaluate more often, or add runs",
    cites=_HOW,
    bad="all ten runs of a point converge in 30 epochs",
    good=_GOOD,
)

NO_MINIMUM = policy(
    "rcp.no-minimum",
    says="the runs of a reference point differ little enough to set a limit",
    why="otherwise any mean passes",
    message="the runs differ so much that any mean passes",
    help="add runs",
    cites=_HOW,
    bad="of six runs of a point half converge in 1 epoch, half in 60",
    good=_GOOD,
)
