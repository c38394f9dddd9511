"""Several changes in one log, where no row that looks at one key looks at another as well.

Both checkers name the keys at fault, so a log may break many rows at once; asking is what takes
the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest

import msgspec

from podium.compliance.rulebook.tables.fitting_values import all_of
from podium.compliance.rulebook.tables.log_kinds import Which, effective
from podium.compliance.rulebook.tables.whole_log import PHASES
from podium.compliance.tools.drift.installed import KeyRule
from podium.compliance.tools.drift.trials import Trial
from podium.logging_spec.reader.record import Record
from podium.rules.constraints.constraint import needs_of


class Batch(msgspec.Struct, frozen=True):
    """Trials of different keys, and the log that has the changes of them all."""

    trials: tuple[Trial, ...]
    whole: Trial


def batches(
    which: Which, trials: Iterable[Trial], theirs: Mapping[str, KeyRule]
) -> Iterator[Batch]:
    """The good log, which comes first, and then all others: alone, or as many as can together."""
    bound = _bound(which, theirs)
    good: Trial | None = None
    free: dict[str, list[Trial]] = {}
    for trial in trials:
        good = good or trial
        if not trial.key or trial.key in bound:
            yield Batch((trial,), trial)
        else:
            free.setdefault(trial.key, []).append(trial)
    for turn in zip_longest(*free.values()):
        chosen = tuple(trial for trial in turn if trial is not None)
        assert good is not None
        yield Batch(chosen, _merged(good.records, chosen))


def _bound(which: Which, theirs: Mapping[str, KeyRule]) -> frozenset[str]:
    """Keys that more than their own row looks at, by either checker, or that stand in an order."""
    rows = {key: row for key, (_, row) in effective(which).items()}
    found = {*PHASES, *(key for key in (*rows, *theirs) if "submission_" in key)}
    found |= {key for key, _ in which.choices}
    for key, row in rows.items():
        found |= needs_of(all_of(row)) - {key}
    for key, rule in theirs.items():
        named = {*re.findall(r"\w+", rule.text)} - {key}
        found |= named & theirs.keys()
    return frozenset(found | {"global_batch_size", "opt_name"})


def _merged(good: tuple[Record, ...], trials: tuple[Trial, ...]) -> Trial:
    changed = {trial.key: [r for r in trial.records if r.key == trial.key] for trial in trials}
    # What the good log lacks stands in no order: it comes first
    made = [r for key in changed.keys() - {r.key for r in good} for r in changed[key]]
    for record in good:
        if record.key in changed:
            # All of a key at its first place
            made += changed[record.key]
            changed[record.key] = []
        else:
            made.append(record)
    return Trial("", "several", tuple(made))
