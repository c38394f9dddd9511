"""HPC 2.0: what changed since 1.0."""

from rules.hpc.v1_0 import V1_0

V2_0 = V1_0.next("2.0")
