"""The rule on how a batch is spread over accelerators."""

from __future__ import annotations

from podium.rules.fixed.fixed_rule import policy

NOT_SPREAD = policy(
    "result.batch-not-spread",
    says="the global batch spreads evenly over the accelerators of the system",
    why="a batch of a device that does not fit was not what ran, or not on this system",
    message="global_batch_size {batch} is {width:g} times {product}, and the system has "
    "{accelerators} accelerators; must be as many, or divide evenly",
    help="correct what is logged, or the number of accelerators in the system description",
    cites="training rules, System and framework must be consistent",
    bad="the logs of a result have global_batch_size 96 and local_batch_size 8, and the system "
    "has 8 accelerators",
    good="they have global_batch_size 64 and local_batch_size 8",
)
