"""The policy's sections about keys that every benchmark logs."""

from __future__ import annotations

from collections.abc import Mapping

_SECTIONS = {
    **dict.fromkeys(
        ("init_start", "init_stop", "run_start", "run_stop"), "training rules, Run Results"
    ),
    **dict.fromkeys(("number_of_nodes", "accelerators_per_node"), "HPC rules, Throughput"),
    **dict.fromkeys(("staging_start", "staging_stop"), "HPC rules, Data State at Start of Run"),
    "submission_division": "training rules, Divisions",
    "submission_benchmark": "training rules, Benchmarks",
    "cache_clear": "training rules, Data State at Start of Run",
    "eval_accuracy": "training rules, Quality measure",
    "train_samples": "training rules, Closed Division",
    "eval_samples": "training rules, Closed Division",
}
"""The policy's section about a key, if it is the same for every benchmark."""

_OF_HPC = ("Benchmarks", "Closed Division", "Divisions")
"""Headings of the training rules that also exist in the HPC rules."""

_HPC_SECTIONS = {
    key: f"HPC rules, {heading}"
    for key, section in _SECTIONS.items()
    if (heading := section.partition(", ")[2]) in _OF_HPC
}


SECTIONS: Mapping[str, Mapping[str, str]] = {
    "training": _SECTIONS,
    # For some keys HPC has separate sections
    "hpc": _SECTIONS | _HPC_SECTIONS,
}
"""The policy's section about each such key, by usage."""
