"""Completions at the cursor: commands, options and the values in the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.compliance.cli.help import summary
from podium.compliance.cli.shell import tree
from podium.compliance.errors import UsageFault

if TYPE_CHECKING:
    from podium.rules.model.round import Round


class Candidate(NamedTuple):
    """A word and its description."""

    word: str
    about: str = ""


Given = Mapping[str, str]
"""The option values before the cursor, by the first long name of the option."""


def candidates(words: Sequence[str], current: str) -> list[Candidate]:
    """The words that can replace `current`; `words` are the words before it.

    Empty if only the shell can complete, as for files.
    """
    cursor = _Place(tree.whole(words))
    for word in words:
        cursor.take(word)
    return [candidate for candidate in cursor.offers(current) if candidate.word.startswith(current)]


class _Place:
    """The position of the cursor on a command line, found word by word."""

    def __init__(self, command: Any) -> None:
        self.command = command
        self.awaiting: Any = None
        self.taken = 0
        self.only_arguments = False
        self.given: dict[str, str] = {}

    def take(self, word: str) -> None:
        """Advance past one word."""
        subcommands = tree.subcommands(self.command)
        if self.awaiting is not None:
            self.given[tree.names(self.awaiting)[0]] = word
            self.awaiting = None
        elif word == "--":
            self.only_arguments = True
        elif word.startswith("-") and not self.only_arguments and word != "-":
            name, equals, value = word.partition("=")
            option = self._option(name)
            if equals and option is not None:
                self.given[tree.names(option)[0]] = value
            elif option is not None and tree.takes_value(option):
                self.awaiting = option
        elif word in subcommands:
            self.command, self.taken = subcommands[word], 0
        else:
            self.taken += 1

    def offers(self, current: str) -> Iterator[Candidate]:
        """The candidates at this position; `current` distinguishes an option from a value."""
        if self.awaiting is not None:
            yield from self._values(self.awaiting, current)
        elif current.startswith("-") and not self.only_arguments:
            name, equals, value = current.partition("=")
            option = self._option(name) if equals else None
            if option is not None:
                values = self._values(option, value)
                yield from (
                    Candidate(f"{name}={candidate.word}", candidate.about) for candidate in values
                )
            else:
                yield from self._options()
        elif tree.subcommands(self.command):
            # After a word that is not a command there is nothing to offer
            subcommands = {} if self.taken else tree.subcommands(self.command)
            for name, command in subcommands.items():
                yield Candidate(name, summary(command.help or ""))
        else:
            arguments = tree.arguments(self.command)
            # The last argument may be repeated
            repeats = arguments and arguments[-1].nargs == -1
            index = min(self.taken, len(arguments) - 1) if repeats else self.taken
            if index < len(arguments):
                yield from self._values(arguments[index], current)

    def _option(self, name: str) -> Any:
        matches = (option for option in tree.options(self.command) if name in tree.names(option))
        return next(matches, None)

    def _options(self) -> Iterator[Candidate]:
        for option in tree.options(self.command):
            for name in tree.names(option):
                if name.startswith("--"):
                    yield Candidate(name, summary(option.help or ""))
        yield Candidate("--help", "Show this message and exit.")

    def _values(self, parameter: Any, current: str) -> Iterator[Candidate]:
        choices, kind = tree.choices(parameter), tree.metavar(parameter)
        source = _KINDS.get(f"{self.command.name} {kind}") or _KINDS.get(kind)
        if choices:
            yield from map(Candidate, choices)
        elif source is not None:
            # Several globs are separated by commas
            prefix, comma, _ = current.rpartition(",") if kind == "GLOB" else ("", "", "")
            for candidate in source(self.given):
                yield Candidate(f"{prefix}{comma}{candidate.word}", candidate.about)


# --- values ---


def _round(values: Given) -> Round:
    """The round that the line names, else the newest round of the named suite."""
    from podium.compliance.judging.inputs.round_selection import named_round

    usage = values.get("--usage", "training")
    try:
        return named_round(usage, values.get("--round"))
    except UsageFault:
        return named_round("training", None)


def _rounds(values: Given) -> Iterator[Candidate]:
    from podium.rules.catalogue import USAGES, rounds_of

    chosen_usage = values.get("--usage")
    for usage in [chosen_usage] if chosen_usage in USAGES else USAGES:
        for name in reversed([*rounds_of(usage)]):
            yield Candidate(name, f"{usage} {name}")


def _benchmarks(values: Given) -> Iterator[Candidate]:
    rules = _round(values)
    return (Candidate(name, rules.title) for name in rules.benchmarks)


def _trainers(values: Given) -> Iterator[Candidate]:
    from podium.reference_runs.catalogue import names

    del values  # the trainers are the same for every round
    return map(Candidate, names())


def _rules(values: Given) -> Iterator[Candidate]:
    from podium.compliance.rulebook.catalogue import all_rules

    for rule in all_rules(_round(values)):
        yield Candidate(rule.id, rule.constraint)


def _globs(values: Given) -> Iterator[Candidate]:
    rules = [*_rules(values)]
    return iter((*map(Candidate, _families(rules)), *rules))


def _families(rules: Iterable[Candidate]) -> Iterable[str]:
    parts = (rule.word.split(".") for rule in rules)
    return {
        ".".join([*words[:depth], "*"]): None for words in parts for depth in range(1, len(words))
    }


_KINDS: Mapping[str, Callable[[Given], Iterator[Candidate]]] = {
    "ROUND": _rounds,
    "RULESET": _rounds,
    "A": _rounds,
    "B": _rounds,
    "BENCHMARK": _benchmarks,
    "run BENCHMARK": _trainers,
    "trainer TRAINER": _trainers,
    "RULE-ID": _rules,
    "GLOB": _globs,
}
"""By the placeholder in the help; after a command name if its meaning differs there."""
