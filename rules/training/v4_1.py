"""Training 4.1: what changed since 4.0."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.model.benchmark import TableChange
from podium.rules.training.v4_0 import V4_0

V4_1 = V4_0.next(
    "4.1",
    # Closed runs must log a seed from this round on (training rules, Random numbers)
    limits=replace(V4_0.limits, seeds_logged=True),
    # The first round whose published results the current verifier accepts
    verifier_in_force=True,
    retires=("resnet", "unet3d"),
    # The verifier has the list of 4.0: four of its benchmarks no longer have a rule file
    listed_without_rules=("resnet", "maskrcnn", "rnnt", "unet3d"),
    omitted_from_open_list=("llama2_70b_lora",),
    common=TableChange(drop=(k.SUBMISSION_STATUS,)),
)
