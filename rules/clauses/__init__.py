"""The documents that rules cite, clause by clause: one data file next to this module for each.

A clause names the rules that check it, the command that computes it, the reason why a program
cannot check it, or the check that is missing. If it names no rules, the rules that cite its section
check it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import msgspec

from podium.rules.package_data import read_beside

FILES = ("training", "submission", "hpc", "power", "messaging", "verifier", "library", "podium")
"""The data files, in the order of the documents."""


class UnknownSection(LookupError):
    """A citation of an unknown document or heading; the message names it."""


class Clause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One clause of a document, in the words of this project.

    `rounds` are the rounds that it applies to; empty means all. `rules` are ids or globs of ids.
    `computed` names the command that computes the value defined by the clause. `by_hand` states
    what a program cannot check, or why; `missing` states what podium does not check yet.
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

    `numbers` are the heading numbers in the text that `numbered_in` names; `aliases` are shorter
    names of headings.
    """

    name: str
    title: str
    clauses: Mapping[str, Clause]
    numbers: Mapping[str, str]
    aliases: Mapping[str, str]
    numbered_in: str = ""

    def section(self, heading: str) -> str:
        """The heading as written in the document; raises UnknownSection."""
        section = self._headings.get(self.aliases.get(heading, heading).casefold())
        if section is None:
            raise UnknownSection(f"{self.name} has no section {heading!r}")
        return section

    @cached_property
    def _headings(self) -> dict[str, str]:
        # All clauses of a chapter may be under its sections: then only its number names the chapter
        sections = (clause.section for clause in self.clauses.values())
        return {heading.casefold(): heading for heading in (*sections, *self.numbers)}


@cache
def documents() -> Mapping[str, Document]:
    """Every document by its name in citations; raises ValueError for a faulty data file."""
    contents = (_read(name) for name in FILES)
    return {document.name: document for document in contents}


def _read(name: str) -> Document:
    data: dict[str, Any] = tomllib.loads(read_beside(__spec__, f"{name}.toml").decode())
    fields = {key: data.pop(key) for key in ("title", "numbers", "aliases")}
    return Document(
        name=data.pop("document"),
        numbered_in=data.pop("numbered_in", ""),
        # The remaining members are tables, one for each clause
        clauses=msgspec.convert(data, dict[str, Clause]),
        **fields,
    )


def cited(text: str) -> list[tuple[str, str]]:
    """The (document, section) pairs of a citation, with the headings as in the documents.

    `training rules of 0.6` means the training rules. Raises UnknownSection.
    """
    return [_section(citation) for citation in text.split("; ")]


def _section(text: str) -> tuple[str, str]:
    name, _, heading = text.partition(", ")
    document = documents().get(name.partition(" of ")[0])
    if document is None:
        raise UnknownSection(f"no document is named {name!r}")
    return document.name, document.section(heading)
