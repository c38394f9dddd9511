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
    why="a point of another name is never used",
    message="{name} is not a benchmark of {title}",
    help="must be one of {listed}",
    cites=_POINTS,
    bad="the point names the benchmark resnet50",
    good=_GOOD,
)

DUPLICATE_ID = policy(
    "rcp.duplicate-id",
    Severity.ERROR,
    says="every reference point has a name of its own",
    why="of two with one name a reader may take either",
    message="{count} points are called {name}",
    help="name each once",
    cites=_POINTS,
    bad="two points are called resnet_ref_1024",
    good=_GOOD,
)

DUPLICATE_BATCH_SIZE = policy(
    "rcp.duplicate-batch-size",
    Severity.ERROR,
    says="a benchmark has one reference point at a batch size",
    why="a result would be compared with either",
    message="batch size {size} has a point already: {first}",
    help="join their runs, or keep the one that converges sooner",
    cites=_POINTS,
    bad="two points of resnet have the batch size 1024",
    good=_GOOD,
)

COPIED_VALUES = policy(
    "rcp.copied-values",
    says="every reference point has runs of its own",
    why="the very same values at two batch sizes are a slip",
    message="it has the very values of {first}",
    help="give the values of its own runs",
    cites=_HOW,
    bad="points at the batch sizes 1024 and 4096 have the same ten values",
    good=_GOOD,
)

# A warning: published records of stable_diffusion have 13 to 15 runs of 20
TOO_FEW_RUNS = policy(
    "rcp.too-few-runs",
    says="a reference point rests on twice the runs of a result",
    why="fewer give no firm mean; where all are dropped at the ends there is none",
    message="it has {given}; a reference needs {needed}, twice those of a result{detail}",
    help="add {missing}",
    cites=_HOW,
    bad="a point of resnet has four runs; a result has five",
    good=_GOOD,
    varies="an error where no run is left once the fastest and slowest are dropped",
)

OUTLIER = policy(
    "rcp.outlier",
    says="no run of a reference point lies far from the others",
    why="a broken run widens what is accepted",
    message="{values}: far from the median {median:g}",
    help="look at the logs of those runs",
    cites=_HOW,
    bad="nine runs converge in 30 to 32 epochs, the tenth in 300",
    good=_GOOD,
)

BATCH_SIZE = policy(
    "rcp.batch-size",
    Severity.ERROR,
    says="a batch size is a whole number",
    why="samples are counted",
    message="its batch size {size:g} is not a whole number",
    help="correct the number",
    cites=_POINTS,
    bad="a point has the batch size 8.5",
    good=_GOOD,
)

# The official form may say epochs of samples, too: only the numbers tell
UNIT = policy(
    "rcp.unit",
    Severity.ERROR,
    says="a reference point counts in the unit that logs of the benchmark have",
    why="else every result fails, or none does",
    message="it {problem}",
    help="give {unit}, as logs do",
    cites=_HOW,
    bad="a point of resnet converges after a million epochs: samples or steps, it seems",
    good=_GOOD,
)

# A warning: by exception, points of gpt_oss_20b in 6.0 have another end learning rate
HYPERPARAMETER = policy(
    "rcp.hyperparameter",
    says="a reference point was run by the round's rules",
    why="results must obey these rules; a reference outside them is another benchmark",
    message="{setting} is {value!r}; the rules of {title} want {allowed}",
    help="see `podium rules explain {bound}`",
    cites="training rules, Hyperparameters and Optimizer",
    bad="a point of llama31_405b has an opt_adamw_beta_1 of 0.5",
    good="a point of llama31_405b has an opt_base_learning_rate of 8e-05",
)

# A warning: how FP32 is emulated is explained in words, which no table of names foresees
PRECISION = policy(
    "rcp.precision",
    says="a reference point was run in a number format that the round takes",
    why="FP32 is what every format is measured by; from training 5.1 on BF16 is taken, too",
    message="its Precision is {given}; {title} takes {taken}",
    help="give the point of runs in {taken}; if FP32 was emulated, name it and explain how",
    expected="{taken}",
    actual="given",
    cites=_FORMATS,
    bad="the Precision of a point of training 5.0 is BF16",
    good="it is FP32",
)

# A note: published records of 5.1 have none for points that come from earlier rounds
NO_PRECISION = note(
    "rcp.no-precision",
    says="a reference point says in which number format it was run, where a round takes several",
    why="points of training 5.1 and later may be run in FP32 or BF16",
    message="it has no Precision; {title} takes {taken}",
    help="add Precision with the format of its runs",
    cites=_FORMATS,
    bad="a point of training 5.1 has no Precision",
    good="its Precision is BF16",
)

UNUSED = note(
    "rcp.unused",
    says="a reference point is not undercut by the line between two others",
    why="points above it are left out: no result is compared with them",
    message="it is slower than the line between two others: no result is compared with it",
    help="nothing, if the others are right",
    cites=_POINTS,
    bad="points at 1024, 2048 and 4096 converge in 30, 60 and 34 epochs",
    good=_GOOD,
)

PRUNING_DIFFERS = note(
    "rcp.pruning-differs",
    says="policy and official verifier use the same reference points",
    why="the verifier's single pass does not always leave the lower hull",
    message="the official verifier's pruning {problem}",
    help="see `podium rcp show` for which points each uses",
    cites=_POINTS,
    bad="points at the batch sizes 1 to 4 converge in 10, 14, 20 and 16 epochs: the second is "
    "slower than a line between two others only once the third is out",
    good=_GOOD,
)

NO_SPREAD = note(
    "rcp.no-spread",
    says="the runs of a reference point differ",
    why="without any spread every faster mean fails",
    message="its runs do not differ: any mean below theirs fails",
    help="evaluate more often, or add runs",
    cites=_HOW,
    bad="all ten runs of a point converge in 30 epochs",
    good=_GOOD,
)

NO_MINIMUM = policy(
    "rcp.no-minimum",
    says="the runs of a reference point differ little enough to set a limit",
    why="else any mean passes",
    message="its runs differ so much that any mean passes",
    help="add runs",
    cites=_HOW,
    bad="of six runs of a point half converge in 1 epoch, half in 60",
    good=_GOOD,
)
