"""The rule on dividing a batch among accelerators."""

from __future__ import annotations

from podium.rules.fixed.fixed_rule import policy

NOT_SPREAD = policy(
    "result.batch-not-spread",
    says="the global batch divides evenly among the accelerators of the system",
    why="a device batch that does not match the system was not used, or not on this system",
    message="global_batch_size {batch} is {width:g} times {product}, but the system has "
    "{accelerators} accelerators; expected an equal number, or one that divides it evenly",
    help="correct the logged value, or the number of accelerators in the system description",
    cites="training rules, System and framework must be consistent",
    bad="the logs of a result have global_batch_size 96 and local_batch_size 8, and the system "
    "has 8 accelerators",
    good="they have global_batch_size 64 and local_batch_size 8",
)
