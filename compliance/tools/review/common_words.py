"""Words of a review that identify no submitter: an anonymous review keeps them."""

from __future__ import annotations

COMMON = frozenset(
    [
        "accelerator",
        "accelerators",
        "cloud",
        "cluster",
        "cpu",
        "gpu",
        "gpus",
        "host",
        "node",
        "nodes",
        "rack",
        "results",
        "server",
        "servers",
        "system",
        "systems",
        "the",
        "with",
        "and",
        "of",
    ]
)
"""Words in names of systems that do not identify a submitter."""

FIXED = frozenset(
    [
        "benchmark",
        "case",
        "cites",
        "confidential",
        "division",
        "kind",
        "official_verdict",
        "role",
        "round",
        "rule",
        "scaling",
        "schema",
        "severity",
        "state",
        "tool",
        "unit",
        "usage",
        "verdict",
    ]
)
"""Members of a review whose values are podium's own words."""

KEPT = frozenset(
    [
        "results",
        "systems",
        "benchmarks",
        "implementations",
        "documentation",
        "strong",
        "weak",
        "power",
        "readme.md",
        "scaling.json",
    ]
)
"""Names of files and folders that the rules require."""

ROOTS = frozenset(
    [
        "bin",
        "code",
        "data",
        "dataset",
        "datasets",
        "dev",
        "etc",
        "home",
        "lib",
        "lib64",
        "local",
        "lustre",
        "mnt",
        "opt",
        "proc",
        "raid",
        "root",
        "run",
        "scratch",
        "share",
        "src",
        "sys",
        "tmp",
        "usr",
        "var",
        "workspace",
    ]
)
"""Folders in absolute paths that do not identify a submitter."""
