"""When each check is worth another look: most records cannot break most checks.

A check says itself which records may break it for good; one that a later record may yet satisfy
waits for the end of the log.
"""

from __future__ import annotations

from collections.abc import Iterable

from podium.rules.checks import Check, Context, Worth


class Gates:
    """The checks of a round that are still to be looked at, by the keys that may break them.

    `named` tells whether division and benchmark are known for good.
    """

    def __init__(self, context: Context, checks: Iterable[Check], named: bool) -> None:
        self.by_key: dict[str, list[tuple[Check, Worth]]] = {}
        self.checks: list[Check] = []
        for check in checks:
            if check.watches and check.applies(context) and (named or not check.needs_names):
                self.checks.append(check)
                self._open(check, context)

    def _open(self, check: Check, context: Context) -> None:
        for watch in check.watches:
            worth = watch.begin(context)
            for key in watch.keys:
                self.by_key.setdefault(key, []).append((check, worth))

    def retire(self, rule: str) -> None:
        """Look at a check no more: it has been reported."""
        self.checks = [check for check in self.checks if check.id != rule]
        for key, waiting in list(self.by_key.items()):
            kept = [each for each in waiting if each[0].id != rule]
            if kept:
                self.by_key[key] = kept
            else:
                del self.by_key[key]
