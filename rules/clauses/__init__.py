"""The documents that rules cite, clause by clause: data beside this module, a file for each.

A clause names the rules that hold it, what works it out, why no program can, or what is missing.
Where it names no rules, those that cite its section hold it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import msgspec

from podium.rules.package_data import read_beside

FILES = ("training", "submission", "hpc", "power", "messaging", "verifier", "library", "podium")
"""The data files, in the order in which documents are listed."""


class UnknownSection(LookupError):
    """A citation of a document or a heading that no table has; the sentence names it."""


class Clause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One clause of a document, in our words.

    `rounds` are those it holds in, all where empty. `rules` are ids or globs of ids. `computed`
    names the command whose result is what the clause defines; `by_hand` says why a program cannot
    tell, or what it cannot; `missing` what it could, and does not yet.
    """

    section: str
    says: str
    rounds: str = ""
    rules: tuple[str, ...] = ()
    computed: str = ""
    by_hand: str = ""
    missing: str = ""


class Document(msgspec.Struct, frozen=True, dict=True):
    """One document: its clauses by id, and its headings.

    `numbers` are those of headings in the text that `numbered_in` names; `aliases` are shorter
    names of headings.
    """

    name: str
    title: str
    clauses: Mapping[str, Clause]
    numbers: Mapping[str, str]
    aliases: Mapping[str, str]
    numbered_in: str = ""

    def section(self, heading: str) -> str:
        """The heading as the document writes it; raises UnknownSection."""
        found = self._headings.get(self.aliases.get(heading, heading).casefold())
        if found is None:
            raise UnknownSection(f"{self.name} has no section {heading!r}")
        return found

    @cached_property
    def _headings(self) -> dict[str, str]:
        # A chapter's clauses may all stand under its sections, so that only its number names it
        sections = (clause.section for clause in self.clauses.values())
        return {heading.casefold(): heading for heading in (*sections, *self.numbers)}


@cache
def documents() -> Mapping[str, Document]:
    """Every document by the name that citations have; raises ValueError for a faulty data file."""
    found = (_read(name) for name in FILES)
    return {document.name: document for document in found}


def _read(name: str) -> Document:
    data: dict[str, Any] = tomllib.loads(read_beside(__spec__, f"{name}.toml").decode())
    head = {key: data.pop(key) for key in ("title", "numbers", "aliases")}
    return Document(
        name=data.pop("document"),
        numbered_in=data.pop("numbered_in", ""),
        # What is left are tables, one for each clause
        clauses=msgspec.convert(data, dict[str, Clause]),
        **head,
    )


def cited(text: str) -> list[tuple[str, str]]:
    """The (document, section) pairs that a citation names, headings as the documents write them.

    `training rules of 0.6` are the training rules. Raises UnknownSection.
    """
    return [_section(each) for each in text.split("; ")]


def _section(text: str) -> tuple[str, str]:
    name, _, heading = text.partition(", ")
    document = documents().get(name.partition(" of ")[0])
    if document is None:
        raise UnknownSection(f"no document is called {name!r}")
    return document.name, document.section(heading)
