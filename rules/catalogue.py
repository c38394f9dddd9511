"""All rounds by usage and name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from podium.rules.model.round import Round

USAGES = ("training", "hpc")


class UnknownRound(LookupError):
    """A usage or round that does not exist; the message names the existing ones."""


class _Usage(Mapping[str, Round]):
    """The rounds of one usage by name, oldest first.

    A round is loaded on first access, together with the rounds before it, because it states only
    changes. A call that needs an old round does not wait for newer ones.
    """

    def __init__(self, usage: str, names: tuple[str, ...]) -> None:
        self.usage, self.names = usage, names
        self.loaded: dict[str, Round] = {}

    def __getitem__(self, name: str) -> Round:
        rules = self.loaded.get(name)
        if rules is None:
            if name not in self.names:
                raise KeyError(name)
            module_name = f"v{name.replace('.', '_')}"
            rules = getattr(
                import_module(f"podium.rules.{self.usage}.{module_name}"), module_name.upper()
            )
            self.loaded[name] = rules
        return rules

    def __contains__(self, name: object) -> bool:
        # The default implementation would load the round
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@cache
def rounds_of(usage: str) -> Mapping[str, Round]:
    """The rounds of one usage by name, oldest first."""
    if usage in USAGES:
        return _Usage(usage, import_module(f"podium.rules.{usage}").ROUNDS)
    raise UnknownRound(f"no usage {usage!r}; must be {' or '.join(USAGES)}")


def normal_name(name: str | float) -> str:
    """`5.1` of `5.1`, `5.1.0`, `v5.1` or `V5.1.0`, and of the number 5.1."""
    text = str(name).strip().lower().removeprefix("v")
    # The official tools name rulesets with three numbers: 5.1.0
    return text[:-2] if text.count(".") == 2 and text.endswith(".0") else text


def find_round(usage: str, name: str | float) -> Round:
    """The round of that name; raises UnknownRound."""
    rounds = rounds_of(usage)
    rules = rounds.get(normal_name(name))
    if rules is None:
        raise UnknownRound(f"no {usage} round {name!r}; must be one of {', '.join(rounds)}")
    return rules


def newest(usage: str = "training") -> Round:
    """The latest round of a usage."""
    rounds = rounds_of(usage)
    return rounds[list(rounds)[-1]]


class Rounds(Mapping[tuple[str, str], Round]):
    """Every round, resolved: `rounds["training", "5.1"]`."""

    def __repr__(self) -> str:
        by_usage = "; ".join(f"{usage} {', '.join(rounds_of(usage))}" for usage in USAGES)
        return f"<Rounds: {by_usage}>"

    def __getitem__(self, key: tuple[str, str | float]) -> Round:
        if not isinstance(key, tuple) or len(key) != 2:
            raise KeyError(f'{key!r}; expected a usage and a round, such as ("training", "6.1")')
        try:
            return find_round(*key)
        except UnknownRound as error:
            raise KeyError(str(error)) from error

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((usage, name) for usage in USAGES for name in rounds_of(usage))

    def __len__(self) -> int:
        return sum(len(rounds_of(usage)) for usage in USAGES)
