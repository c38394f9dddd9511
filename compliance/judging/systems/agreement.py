"""Comparison of a system description with its logs and folders.

Pure functions for the check of a submission. Only the policy requires agreement; the official
verifier does not compare them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from podium.compliance.judging.systems.fields import LOG_STATUS, letters
from podium.compliance.judging.systems.organizations import same_organization
from podium.compliance.judging.systems.system_rules import (
    NAME_MISMATCH,
    PARALLELISM_EXCEEDS_SYSTEM,
    PLATFORM_MISMATCH,
    SIZE_MISMATCH,
    STATUS_MISMATCH,
    SUBMITTER_MISMATCH,
)
from podium.compliance.judging.systems.values import SystemDescription, is_placeholder
from podium.rules.finding import Finding, Profile, Severity


class LogFacts(NamedTuple):
    """The values in one log that describe its system; None if it has no value.

    `nodes` and `accelerators_per_node` are keys of HPC. `weak`: the log is one of several instances
    that ran at the same time, so it may have fewer nodes than the system.
    """

    org: str | None = None
    platform: str | None = None
    status: str | None = None
    nodes: int | None = None
    accelerators_per_node: int | None = None
    weak: bool = False
    model_parallel: int | None = None


def agrees_with_logs(
    description: SystemDescription, facts: LogFacts, path: str, status: Severity | None = None
) -> list[Finding]:
    """Differences between a log and the description: organization, platform, status, size.

    Organizations are compared as sets of partners, by their letters; one may be the shorter name
    of the other. Platforms are compared by a number of nodes or accelerators before an `x`, and by
    any word in common with the description's names. Statuses are compared by category, in any
    spelling. Findings are at `path`, the path of the log. `status` is the severity of a different
    status in the round; None means the severity of its rule.
    """
    return [
        *_org(description, facts, path),
        *_platform(description, facts, path),
        *_status(description, facts, path, status),
        *_size(description, facts, path),
        *_parallelism(description, facts, path),
    ]


def _parallelism(description: SystemDescription, facts: LogFacts, path: str) -> Iterator[Finding]:
    accelerators, model = description.accelerators, facts.model_parallel
    if accelerators and model is not None and model > accelerators:
        yield PARALLELISM_EXCEEDS_SYSTEM.found(
            Profile.POLICY,
            path,
            key="tensor_parallelism",
            model=model,
            accelerators=accelerators,
        )


def agrees_with_folder(
    description: SystemDescription, submitter: str, path: str
) -> Iterator[Finding]:
    """Whether the description is in the folder of its submitter.

    The system's name may differ from the file's name: according to the policy it is for display.
    """
    described_submitter = description.submitter
    if not described_submitter or not submitter or described_submitter == submitter:
        return
    is_same = same_organization(described_submitter, submitter)
    # Two spellings of one organization would be two rows in the published table
    if not is_same or described_submitter.casefold() == submitter.casefold():
        yield NAME_MISMATCH.found(
            Profile.POLICY,
            path,
            key="submitter",
            severity=Severity.NOTE if is_same else None,
            described=described_submitter,
            folder=submitter,
        )


# --- comparisons ----------------------------------------------------------------------------------


def _org(description: SystemDescription, facts: LogFacts, path: str) -> Iterator[Finding]:
    described_submitter, logged_org = description.submitter, facts.org
    if not described_submitter or not logged_org:
        return
    placeholder = is_placeholder("submission_org", logged_org)
    if placeholder or not same_organization(described_submitter, logged_org):
        yield SUBMITTER_MISMATCH.found(
            Profile.POLICY,
            path,
            key="submission_org",
            severity=Severity.NOTE if placeholder else None,
            logged=logged_org,
            described=described_submitter,
            detail=" (a placeholder)" if placeholder else "",
        )


# Logs have `128xNVIDIA GB200`, where the number counts nodes or accelerators
_MULTIPLE = re.compile(r"\s*(\d+)\s*x(?=\W|[^\W\d_])", re.IGNORECASE)


def _platform(description: SystemDescription, facts: LogFacts, path: str) -> Iterator[Finding]:
    logged_platform = facts.platform
    if not logged_platform or not description.system_name:
        return
    key, system_name = "submission_platform", description.system_name
    count = _MULTIPLE.match(logged_platform)
    platform = logged_platform[count.end() :] if count else logged_platform
    problems: list[tuple[str, str, Severity | None]] = []
    if is_placeholder(key, platform) or is_placeholder(key, logged_platform):
        problems.append(("is a placeholder", system_name, Severity.NOTE))
    elif not _alike(platform, description):
        problems.append(("has no word in common with the system description", system_name, None))
    nodes, per_node = description.number_of_nodes, description.accelerators_per_node
    sizes = {nodes, description.accelerators, per_node}
    # An instance of a throughput result may be smaller than the system
    if count and None not in sizes and int(count[1]) not in sizes and not facts.weak:
        size = f"{nodes} nodes of {per_node} accelerators"
        problem = f"has the count {count[1]}; the system description has {size}"
        problems.append((problem, f"{nodes}x…", None))
    for problem, expected, severity in problems:
        yield PLATFORM_MISMATCH.found(
            Profile.POLICY,
            path,
            key=key,
            severity=severity,
            logged=logged_platform,
            problem=problem,
            wanted=expected,
        )


def _alike(platform: str, description: SystemDescription) -> bool:
    """Whether a platform has a word, or part of a word, in common with the description's names."""
    texts = (
        description.system_name,
        description.accelerator_model_name,
        description.host_processor_model_name,
        description.submitter,
    )
    known_words = {word for text in texts for word in _words(text)}
    return any(
        # Parts of one or two letters are in nearly every name, and would match all names
        word == other or (min(len(word), len(other)) > 2 and (word in other or other in word))
        for word in _words(platform)
        for other in known_words
    )


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    pieces = re.findall(r"[a-z0-9]+", text.casefold())
    # Bare numbers are counts, and single letters join words: neither names a system
    return frozenset([piece for piece in pieces if not piece.isdigit() and len(piece) > 1])


def _status(
    description: SystemDescription, facts: LogFacts, path: str, severity: Severity | None
) -> Iterator[Finding]:
    category, logged_status = description.category, facts.status
    if category is None or not logged_status or letters(logged_status) in LOG_STATUS[category]:
        return
    yield STATUS_MISMATCH.found(
        Profile.POLICY,
        path,
        key="submission_status",
        severity=severity,
        logged=logged_status,
        described=description.status,
        wanted=" or ".join(LOG_STATUS[category]),
    )


def _size(description: SystemDescription, facts: LogFacts, path: str) -> Iterator[Finding]:
    nodes, per_node = description.number_of_nodes, description.accelerators_per_node
    total = description.accelerators
    if total is not None and (facts.nodes or 0) * (facts.accelerators_per_node or 0) == total:
        return  # the same accelerators, counted with another kind of node
    if nodes is not None and facts.nodes is not None:
        # HPC rules: an instance may use a part of the system, a timed run uses all of it
        fits = facts.nodes <= nodes if facts.weak else facts.nodes == nodes
        if not fits:
            yield _sized(path, "number_of_nodes", ("node", "nodes"), facts.nodes, nodes)
    logged_count = facts.accelerators_per_node
    if per_node is not None and logged_count is not None and logged_count != per_node:
        units = "accelerator per node", "accelerators per node"
        yield _sized(path, "accelerators_per_node", units, logged_count, per_node)


def _sized(path: str, key: str, units: tuple[str, str], logged: int, described: int) -> Finding:
    unit = units[logged != 1]
    return SIZE_MISMATCH.found(
        Profile.POLICY, path, key=key, unit=unit, logged=logged, described=described
    )
