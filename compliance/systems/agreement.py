"""Whether a system description agrees with the logs and the folders it belongs to.

Pure comparisons for the judge of a package: each gives what differs, and the judge says where.
Only the policy wants these to agree; the official verifier compares none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec

from podium.compliance.systems.fields import CITES, LOG_STATUS, letters
from podium.compliance.systems.values import SystemDescription, is_placeholder
from podium.rules.finding import Finding, Severity, StatedBy


class LogFacts(NamedTuple):
    """What one log says of its system; None where it says nothing.

    `nodes` and `accelerators_per_node` are HPC's keys; `weak` that the log is one instance of
    several that ran side by side, so that it may have fewer nodes than the system. Leave `status`
    out from 4.1 on: its key is no longer required, and logs still carry values of old.
    """

    division: str | None = None
    org: str | None = None
    platform: str | None = None
    status: str | None = None
    nodes: int | None = None
    accelerators_per_node: int | None = None
    weak: bool = False


class Disagreement(msgspec.Struct, frozen=True):
    """One difference. `key` is the description's field, `log_key` the log's key."""

    id: str
    key: str
    log_key: str | None
    message: str
    expected: str
    actual: str | int | None
    hint: str
    severity: Severity = Severity.WARNING

    def finding(self, path: str, line: int | None = None) -> Finding:
        """The finding, at a file that the caller names."""
        return Finding(
            self.id,
            self.severity,
            path,
            line,
            self.log_key or self.key,
            self.message,
            self.expected,
            self.actual,
            self.hint,
            CITES,
            StatedBy.POLICY,
        )


def agrees_with_logs(description: SystemDescription, facts: LogFacts) -> list[Disagreement]:
    """What a log says otherwise than the description: division, organisation, platform, size.

    Organisations are compared as sets of partners, by their letters, and one may be the shorter
    name of the other; platforms by a number of nodes or accelerators before an `x`, and by any
    word in common with the description's names. Status agrees by category, whatever the spelling.
    """
    return [
        *_division(description, facts),
        *_org(description, facts),
        *_platform(description, facts),
        *_status(description, facts),
        *_size(description, facts),
    ]


def agrees_with_folder(description: SystemDescription, submitter: str) -> list[Disagreement]:
    """Whether the description's submitter is the one whose folder it lies in.

    The system's name may differ from the file's: the policy calls it the name as shown.
    """
    said = description.submitter
    if not said or not submitter or same_organisation(said, submitter):
        return []
    message = f"`submitter` is {said!r}, and the submission's folder is {submitter!r}"
    hint = "name the same organisation in both"
    rule = "system.name-mismatch"
    return [Disagreement(rule, "submitter", None, message, submitter, said, hint)]


# --- names ----------------------------------------------------------------------------------------

_PARTNERS = r"[+&,/;]|\band\b"
_FORMS = (
    "inc incorporated corp corporation co company ltd limited llc gmbh ag plc labs the technology "
    "technologies systems group"
)
_LEGAL = frozenset(_FORMS.split())


def same_organisation(first: str, second: str) -> bool:
    """Whether two names are of the same organisations: any order, capitals, or shorter form."""
    whole = letters(first), letters(second)
    if whole[0] in whole[1] or whole[1] in whole[0]:
        return True
    return _covered(first, second) and _covered(second, first)


def _covered(first: str, second: str) -> bool:
    others = [_core(partner) for partner in _partners(second)]
    return all(
        any(mine in other or other in mine for other in others if other)
        for mine in map(_core, _partners(first))
        if mine
    )


def _partners(name: str) -> list[str]:
    return re.split(_PARTNERS, name, flags=re.IGNORECASE)


def _core(name: str) -> str:
    words = [w for w in re.findall(r"\w+", name.casefold()) if w not in _LEGAL]
    return letters("".join(words)) or letters(name)


# --- comparisons ----------------------------------------------------------------------------------


def _division(description: SystemDescription, facts: LogFacts) -> Iterator[Disagreement]:
    said, logged = description.division, facts.division
    if said is None or logged is None or said == logged.strip().casefold():
        return
    message = f"the log says division {logged!r}, the system description {said!r}"
    hint = "a result is of one division: mend the one that is wrong"
    rule = "system.division-mismatch"
    yield Disagreement(rule, "division", "submission_division", message, said, logged, hint)


def _org(description: SystemDescription, facts: LogFacts) -> Iterator[Disagreement]:
    said, logged = description.submitter, facts.org
    if not said or not logged:
        return
    rule, key = "system.submitter-mismatch", "submission_org"
    hint = "set the submitter's name where the log is made"
    if is_placeholder(key, logged):
        message = f"the log's organisation is a placeholder, {logged!r}"
    elif not same_organisation(said, logged):
        message = f"the log says organisation {logged!r}, the system description {said!r}"
    else:
        return
    yield Disagreement(rule, "submitter", key, message, said, logged, hint)


_MULTIPLE = re.compile(r"\s*(\d+)\s*x(?=\W|[^\W\d_])", re.IGNORECASE)


def _platform(description: SystemDescription, facts: LogFacts) -> Iterator[Disagreement]:
    logged = facts.platform
    if not logged or not description.system_name:
        return
    rule, key = "system.platform-mismatch", "submission_platform"
    name = description.system_name
    hint = "set the platform's name where the log is made"
    count = _MULTIPLE.match(logged)
    rest = logged[count.end() :] if count else logged
    if is_placeholder(key, rest) or is_placeholder(key, logged):
        message = f"the log's platform is a placeholder, {logged!r}"
        yield Disagreement(rule, "system_name", key, message, name, logged, hint)
    elif not _alike(rest, description):
        message = f"the log's platform {logged!r} shares no word with the system description"
        yield Disagreement(rule, "system_name", key, message, name, logged, hint)
    sizes = {description.nodes, description.accelerators, description.accelerators_per_node}
    if count and None not in sizes and int(count[1]) not in sizes and not facts.weak:
        message = f"the log's platform {logged!r} is of {count[1]}, and the system description has "
        message += f"{description.nodes} nodes of {description.accelerators_per_node} accelerators"
        expected = f"{description.nodes}x…"
        yield Disagreement(rule, "number_of_nodes", key, message, expected, logged, hint)


def _alike(platform: str, description: SystemDescription) -> bool:
    """Whether a platform's name has a word, or part of one, in common with the description's."""
    texts = (
        description.system_name,
        description.accelerator_model_name,
        description.host_processor_model_name,
        description.submitter,
    )
    known = {word for text in texts for word in _words(text)}
    return any(
        word == other or (min(len(word), len(other)) > 2 and (word in other or other in word))
        for word in _words(platform)
        for other in known
    )


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    pieces = re.findall(r"[a-z0-9]+", text.casefold())
    return frozenset([piece for piece in pieces if not piece.isdigit() and len(piece) > 1])


def _status(description: SystemDescription, facts: LogFacts) -> Iterator[Disagreement]:
    category, logged = description.category, facts.status
    if category is None or not logged or letters(logged) in LOG_STATUS[category]:
        return
    expected = " or ".join(LOG_STATUS[category])
    message = f"the log says status {logged!r}, the system description {description.status!r}"
    hint = f"log submission_status {expected}, or mend the description"
    rule = "system.status-mismatch"
    yield Disagreement(rule, "status", "submission_status", message, expected, logged, hint)


def _size(description: SystemDescription, facts: LogFacts) -> Iterator[Disagreement]:
    nodes, each = description.nodes, description.accelerators_per_node
    total = description.accelerators
    if total is not None and (facts.nodes or 0) * (facts.accelerators_per_node or 0) == total:
        return  # the same accelerators, counted by another kind of node
    hint = "mend the description, or what is logged"
    rule = "system.size-mismatch"
    if nodes is not None and facts.nodes is not None:
        fits = facts.nodes <= nodes if facts.weak else facts.nodes == nodes
        if not fits:
            message = f"the log ran on {facts.nodes} nodes, the system description has {nodes}"
            yield Disagreement(
                rule, "number_of_nodes", "number_of_nodes", message, str(nodes), facts.nodes, hint
            )
    logged = facts.accelerators_per_node
    if each is not None and logged is not None and logged != each:
        key = "accelerators_per_node"
        message = f"the log has {logged} accelerators in a node, the system description {each}"
        yield Disagreement(rule, key, key, message, str(each), logged, hint)
