"""Rules that apply together to a log: common rules, rules of a division or of a benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import msgspec
from msgspec.structs import replace

from podium.rules.citations import COMPLIANCE_CHECKER
from podium.rules.finding import StatedBy
from podium.rules.model.benchmark import Variant
from podium.rules.table import Line, Row, WholeLogRule


class Scope(msgspec.Struct, frozen=True, dict=True):
    """Rules that apply together; a later scope with a key replaces the earlier ones for it."""

    name: str
    rows: tuple[Row, ...]
    ends: tuple[WholeLogRule, ...] = ()
    variants: tuple[Variant, ...] = ()
    benchmark: bool = False

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys this scope lists for the official verifier."""
        # A row that only the policy has must not cancel findings of the verifier for the key
        return frozenset(row.key.name for row in self.rows if row.stated_by != "policy")

    @cached_property
    def verified(self) -> tuple[tuple[str, Row], ...]:
        """(rule id, row) of the rows that the official verifier checks."""
        return tuple((f"{self.name}.{r.name}", r) for r in self.rows if r.stated_by != "policy")

    @cached_property
    def policy(self) -> tuple[tuple[str, Row], ...]:
        """(rule id, row according to the policy) of the rows that differ from the verifier."""
        return tuple(
            (f"{self.name}.{r.key.name}", r.as_policy)
            for r in self.rows
            if r.policy is not None or r.policy_some is not None or r.stated_by == "policy"
        )

    @cached_property
    def chosen(self) -> tuple[Scope, ...]:
        """The scope of each variant, in order."""
        return tuple(scope_of(f"{self.name}.{v.name}", v.rows) for v in self.variants)

    def citing(self, text: str, targets: str, sections: Mapping[str, str]) -> Scope:
        """The same scope with citations: rows without one cite `text`, targets cite `targets`.

        `sections` has the citation for a key if it is the same for every benchmark.

        If the policy exempts a row, or has no section about it, only the official verifier states
        it: such rows cite its program.
        """

        def cite(line: Row) -> Row:
            if line.stated_by is StatedBy.VERIFIER:
                return replace(line, cites=COMPLIANCE_CHECKER)
            default = targets if line.some else sections.get(line.name, text)
            cites = line.cites or default
            if cites == COMPLIANCE_CHECKER and line.stated_by is StatedBy.BOTH:
                return replace(line, cites=cites, stated_by=StatedBy.VERIFIER)
            return line if line.cites else replace(line, cites=cites)

        return self._with_rows(cite)

    def by_policy(self) -> Scope:
        """The same scope if no verifier exists: only the policy states all its rows."""
        return self._with_rows(lambda line: replace(line, stated_by=StatedBy.POLICY))

    def _with_rows(self, change: Callable[[Row], Row]) -> Scope:
        variants = tuple(
            replace(
                variant,
                rows=tuple(change(r) if isinstance(r, Row) else r for r in variant.rows),
            )
            for variant in self.variants
        )
        return replace(self, rows=tuple(change(r) for r in self.rows), variants=variants)


def scope_of(
    name: str,
    lines: tuple[Line, ...],
    variants: tuple[Variant, ...] = (),
    benchmark: bool = False,
) -> Scope:
    """A scope with the lines of a table."""
    return Scope(
        name,
        tuple(line for line in lines if isinstance(line, Row)),
        tuple(line for line in lines if isinstance(line, WholeLogRule)),
        variants,
        benchmark,
    )
