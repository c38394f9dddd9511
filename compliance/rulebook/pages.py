"""The rules as Markdown: pages of benchmarks, rounds, fixed rules and clauses, and an index.

The pages are in `rules/pages`; `podium rules pages --write` regenerates them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from podium.compliance.rulebook.catalogue import FIXED
from podium.compliance.rulebook.changes import LIMITS
from podium.compliance.rulebook.coverage import coverage_page
from podium.compliance.rulebook.explain import example_lines
from podium.compliance.rulebook.markdown import (
    MADE,
    check_table,
    escape,
    example_block,
    rate_cell,
    table_lines,
)
from podium.compliance.rulebook.rates import rates
from podium.compliance.rulebook.tables.rule import (
    UNCONSTRAINED,
    Rule,
    check_rules,
    rules_of,
    target_text,
)
from podium.compliance.rulebook.tables.tables import divisions, own_tables, tables
from podium.rules import catalogue
from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.model.benchmark import Benchmark
from podium.rules.model.round import Round

_FIXED_INTRODUCTION = (
    "These rules are the same in every round. Angle brackets in a message mark the parts that "
    "each finding fills in. In rounds before training 4.1, a rule that only the official "
    "verifier requires is a note if the policy profile has a warning. Each example is an edit of "
    "a complete submission by Acme to training 5.1, with one result of three runs."
)


def fixed_page() -> str:
    """Every fixed rule: its requirement, its reason, its message, and an example."""
    lines = ["# Rules of lines, files and packages", "", MADE, "", _FIXED_INTRODUCTION]
    lines += ["", f"The rates of rules were measured on {rates().source}."]
    # The sort is stable: in a family, rules keep the order of their declaration
    for family, rules in groupby(sorted(FIXED, key=_table_of), key=_table_of):
        lines += ["", f"## {family}"]
        for rule in rules:
            lines += ["", *_fixed_section(rule)]
    return "\n".join(lines) + "\n"


def _table_of(rule: Rule) -> str:
    return rule.table


def _fixed_section(rule: Rule) -> Iterator[str]:
    yield f"### `{rule.id}`"
    yield ""
    yield f"{_sentence(rule.constraint)} {_sentence(rule.why)}"
    yield ""
    verifier = rule.verifier_severity or "not reported"
    labelled = (
        ("Policy profile", rule.policy_severity),
        ("Verifier profile", verifier),
        ("Varies", rule.varies),
        ("Message", rule.message),
        ("Help", rule.hint),
        ("Cites", rule.cites),
        ("Fires on", rate_cell(rule)),
    )
    yield from (f"- {label}: {escape(text)}" for label, text in labelled if text)
    if isinstance(rule.source, FixedRule):
        yield from example_block("Violation", example_lines(rule.source.bad))
        yield from example_block("Fixed", example_lines(rule.source.good))


def _sentence(text: str) -> str:
    # Keys, fields, files and commands keep their case
    first = text.split(" ", 1)[0]
    keeps_case = "_" in first or "." in first or first in _LOWER_CASE
    return f"{escape(text if keeps_case else text[:1].upper() + text[1:])}."


_LOWER_CASE = frozenset(("division", "podium", "status"))
"""Names without an underscore that begin a sentence: fields of a system description, and podium."""


FIXED_PAGE = "fixed.md"
"""The page of the rules of every round."""

COVERAGE_PAGE = "coverage.md"
"""The page of the clauses and their rules."""

COLUMNS = ("Name", "Constraint", "Definition", "Times", "Stated by", "Since", "Fires on", "Rule")


def pages_folder() -> Path:
    """The folder of the committed pages."""
    return Path(catalogue.__file__).resolve().parent / "pages"


def pages() -> dict[str, str]:
    """Every page: its path below `rules/pages`, and its text."""
    texts = {"README.md": _index(), FIXED_PAGE: fixed_page(), COVERAGE_PAGE: coverage_page()}
    for usage in USAGES:
        for rules in rounds_of(usage).values():
            folder = f"{usage}-{rules.name}"
            texts[f"{folder}/README.md"] = round_page(rules)
            for name in rules.benchmarks:
                texts[f"{folder}/{name}.md"] = benchmark_page(rules, name)
    return texts


def stale_pages(folder: Path | None = None) -> list[str]:
    """The pages that do not match the rules: wrong, missing or obsolete."""
    return _stale(folder or pages_folder(), pages())


def _stale(base: Path, texts: Mapping[str, str]) -> list[str]:
    files = {path.relative_to(base).as_posix(): path for path in base.glob("**/*.md")}
    stale = {name for name in files if name not in texts}
    for name, text in texts.items():
        path = files.get(name)
        if path is None or path.read_text(encoding="utf-8") != text:
            stale.add(name)
    return sorted(stale)


def write_pages(folder: Path | None = None) -> list[str]:
    """Write stale pages and remove obsolete ones; return the changed pages."""
    base, texts = folder or pages_folder(), pages()
    stale = _stale(base, texts)
    for name in stale:
        path = base / name
        if name not in texts:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        # The committed pages have these line ends on every system
        path.write_text(texts[name], encoding="utf-8", newline="\n")
    return stale


# --- one benchmark --------------------------------------------------------------------------------


def benchmark_page(rules: Round, name: str) -> str:
    """One benchmark in one round."""
    benchmark = rules.benchmarks[name]
    is_retired = name in rules.retired_with_rules
    lines = [f"# {name}, {rules.title}", "", MADE, "", f"{benchmark.title}.", ""]
    if is_retired:
        lines += [
            "The round does not list this benchmark; the official verifier still checks it.",
            "",
        ]
    lines += [f"- {fact}" for fact in facts(rules, name)]
    lines += ["- Every benchmark of the round: [common rules](README.md)"]
    for division in divisions(rules):
        lines += _division(rules, division, name)
    benchmark_rules = [rule for table in own_tables(rules, name) for rule in rules_of(rules, table)]
    lines += differences_section(benchmark_rules)
    lines += _checks(rules)
    return "\n".join(lines) + "\n"


def facts(rules: Round, name: str) -> list[str]:
    """The facts about a benchmark before its tables, one sentence each."""
    benchmark = rules.benchmarks[name]
    target = target_text(benchmark)
    dropped = benchmark.dropped
    count_text = "" if dropped == 1 else f" {dropped}"
    ends = f"; the score drops the fastest{count_text} and the slowest{count_text}"
    schedule = rules.limits.evaluates.get(name)
    minutes = benchmark.init_minutes
    return [
        *([f"Target: {target}"] if target else []),
        f"Runs of a result: {benchmark.runs}{ends}",
        *([f"Evaluations (closed division): {schedule.text}"] if schedule else []),
        *([f"Initialization (closed division): {minutes:g} minutes"] if minutes else []),
        *(f"Not mechanical; check the code: {demand}" for demand in benchmark.not_mechanical),
    ]


def _division(rules: Round, division: str, name: str) -> Iterator[str]:
    yield from ("", f"## {f'{division} division'.strip().capitalize()}", "")
    division_tables = [table for table in own_tables(rules, name) if table.division == division]
    if not division_tables:
        # The official verifier crashes on a scope without a file
        yield "The official verifier has no rules for it here: it crashes without a verdict."
        return
    for table in division_tables:
        if table.when:
            yield from ("", f"### {table.when[:1].upper()}{table.when[1:]}", "")
        yield from rows(rules_of(rules, table)) if table.lines else ["No separate rules."]


def rows(rules: Iterable[Rule]) -> Iterator[str]:
    """Rules as a Markdown table."""
    return table_lines(COLUMNS, map(_cells, rules))


def _cells(rule: Rule) -> tuple[str, ...]:
    bound = escape(rule.constraint)
    if rule.policy is not None:
        bound += f"<br>policy: {escape(rule.policy)}"
    fires_on = rate_cell(rule).removesuffix(" published results")
    texts = (escape(rule.name), bound, escape(rule.meaning), escape(rule.times))
    return (*texts, rule.stated_by.value, rule.since, fires_on, f"`{rule.id}`")


def differences_section(rules: Iterable[Rule]) -> Iterator[str]:
    """The differences of verifier and policy, and their reasons."""
    differences = [(rule, text) for rule in rules if (text := difference(rule))]
    if differences:
        yield from ("", "## Differences of verifier and policy", "")
    for rule, text in differences:
        yield f"- `{rule.id}`: {escape(text)}"


def difference(rule: Rule) -> str:
    """The difference of policy and verifier about a rule, in a sentence; empty if they agree."""
    if rule.policy is not None:
        bound = "only that it is logged" if rule.constraint == UNCONSTRAINED else rule.constraint
        words = f"verifier: {bound}; policy: {rule.policy}"
    elif rule.policy_exempt_reason:
        words = "only the verifier requires it"
    # Without a verifier the policy's rules are errors, without a difference
    elif rule.stated_by == "policy" and rule.policy_severity != "error":
        words = "only the policy requires it"
    elif rule.stated_by == "verifier" and rule.policy_severity != "error":
        words = "only the verifier requires it"
    else:
        return ""
    # Both texts are often the same sentence
    reason = "; ".join(
        dict.fromkeys(text for text in (rule.why, rule.policy_exempt_reason) if text)
    )
    return f"{words} ({reason})" if reason else words


def _checks(rules: Round) -> Iterator[str]:
    checks = check_rules(rules)
    if checks:
        names = ", ".join(f"`{rule.id}`" for rule in checks)
        yield from ("", "## Checks", "", f"Described [with the round](README.md#checks): {names}.")


# --- one round, and the index ---------------------------------------------------------------------


def round_page(rules: Round) -> str:
    """The rules for every benchmark of a round, and the list of benchmarks."""
    lines = [f"# {rules.usage.capitalize() if rules.usage != 'hpc' else 'HPC'} {rules.name}", ""]
    lines += [MADE, "", "## Benchmarks", ""]
    lines += benchmark_table(rules, links=True)
    lines += _limits(rules)
    shared_tables = [table for table in tables(rules).values() if not table.benchmark]
    for table in shared_tables:
        head = "Every log" if table.name == "common" else f"{table.name.capitalize()} division"
        lines += ["", f"## {head}", ""]
        lines += rows(rules_of(rules, table)) if table.lines else ["No separate rules."]
    lines += differences_section(rule for table in shared_tables for rule in rules_of(rules, table))
    checks = check_rules(rules)
    if checks:
        lines += ["", "## Checks", "", *check_table(checks)]
    lines += ["", "## Lines, files and packages", ""]
    lines += [f"See also the rules that apply in [every round](../{FIXED_PAGE})."]
    return "\n".join(lines) + "\n"


def benchmark_table(rules: Round, *, links: bool = False) -> Iterator[str]:
    """The benchmarks of a round as a Markdown table."""
    heads = [f"{division} rules".strip().capitalize() for division in divisions(rules)]
    numbers = (2, *range(4, 4 + len(heads)))

    def cells(name: str, benchmark: Benchmark) -> tuple[str, ...]:
        title = f"[{name}]({name}.md)" if links else name
        remark = " (no longer listed)" if name in rules.retired_with_rules else ""
        counts = (str(count(rules, name, division)) for division in divisions(rules))
        texts = (f"{title}{remark}", escape(benchmark.title), str(benchmark.runs))
        return (*texts, escape(target_text(benchmark)), *counts)

    table_rows = (cells(name, benchmark) for name, benchmark in rules.benchmarks.items())
    return table_lines(("Name", "Title", "Runs", "Target", *heads), table_rows, numbers)


def count(rules: Round, name: str, division: str) -> int:
    """The number of a benchmark's rules in a division."""
    division_tables = (table for table in own_tables(rules, name) if table.division == division)
    return sum(len(rules_of(rules, table)) for table in division_tables)


def _limits(rules: Round) -> Iterator[str]:
    yield from ("", "## Limits", "")
    for name in ("init_closed", "init_open"):
        limit = getattr(rules.limits, name)
        yield f"- {LIMITS[name].capitalize()}: {'none' if limit is None else f'{limit:g}'}"


def _index() -> str:
    source = f"The rates were measured on {rates().source}."
    lines = ["# Rules", "", MADE, ""]
    lines += [
        f"The rate of a rule is the share of published results on which it fires. {source}",
        "",
    ]
    lines += [f"- [Rules of lines, files and packages]({FIXED_PAGE}), in every round"]
    lines += [
        f"- [Clauses of the documents, and the rules that implement them]({COVERAGE_PAGE})",
        "",
    ]
    for usage in USAGES:
        lines += [f"## {usage.capitalize() if usage != 'hpc' else 'HPC'}", ""]
        rounds = reversed([*rounds_of(usage).values()])
        lines += [*table_lines(("Round", "Benchmarks"), map(_index_row, rounds)), ""]
    return "\n".join(lines)


def _index_row(rules: Round) -> tuple[str, str]:
    folder = f"{rules.usage}-{rules.name}"
    names = (f"[{name}]({folder}/{name}.md)" for name in rules.benchmarks)
    return f"[{rules.name}]({folder}/README.md)", ", ".join(names)
