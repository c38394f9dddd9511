"""HPC 3.0: what changed since 2.0."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.hpc.benchmarks.openfold import OPENFOLD
from podium.rules.hpc.v2_0 import V2_0
from podium.rules.model.benchmark import TableChange
from podium.rules.table import OPTIONAL, row

V3_0 = V2_0.next(
    "3.0",
    package=replace(V2_0.package, power=True, submission_rules="3.1"),
    limits=replace(V2_0.limits, staging_timed=False),
    introduces=(OPENFOLD,),
    # Anywhere in the log: staging may come before the clock starts
    common=TableChange(change=(row(k.STAGING_START, times=OPTIONAL),)),
)
