"""The tables of all rounds: complete, consistent, and without redundant deltas."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from podium.logging_spec import keys as k
from podium.logging_spec.reader.record import Record
from podium.rules import catalogue
from podium.rules.catalogue import USAGES, newest, rounds_of
from podium.rules.constraints.bounds import above, equals, not_empty
from podium.rules.finding import StatedBy
from podium.rules.model.benchmark import Amend, Benchmark, RoundError, TableChange, Variant, by_name
from podium.rules.model.limits import Limits
from podium.rules.model.package_rules import PackageRules
from podium.rules.model.round import DIVISIONS, Round
from podium.rules.run import Run
from podium.rules.table import (
    AT_LEAST_ONCE,
    ONCE,
    OPTIONAL,
    Row,
    Violation,
    WholeLogRule,
    policy_row,
    row,
)
from tests.rounds import HPC, TRAINING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from podium.rules.model.scope import Scope

ROUNDS = [rules for usage in USAGES for rules in rounds_of(usage).values()]


def scopes_of(rules: Round) -> Iterator[tuple[str, str, tuple[Scope, ...]]]:
    for division in DIVISIONS:
        for benchmark in rules.benchmarks:
            yield division, benchmark, rules.scopes(division, benchmark)


def lines_of(scope: Scope) -> Iterator[tuple[str, Row | WholeLogRule]]:
    lines: tuple[Row | WholeLogRule, ...] = (*scope.rows, *scope.ends)
    for line in lines:
        yield f"{scope.name}.{line.key.name if isinstance(line, Row) else line.id}", line
    for variant in scope.variants:
        for line in variant.rows:
            name = line.key.name if isinstance(line, Row) else line.id
            yield f"{scope.name}.{variant.name}.{name}", line


def title(rules: Round) -> str:
    return rules.title


by_round = pytest.mark.parametrize("rules", ROUNDS, ids=title)


def test_all_rounds_are_listed_in_order() -> None:
    expected = "tests/rounds.py lists every round"
    assert tuple(rounds_of("training")) == TRAINING, expected
    assert tuple(rounds_of("hpc")) == HPC, expected


def test_only_training_0_5_and_hpc_0_7_have_no_verifier() -> None:
    assert [r.title for r in ROUNDS if not r.verified] == ["training 0.5", "hpc 0.7"]


@by_round
def test_every_rule_id_is_unique(rules: Round) -> None:
    for _, _, scopes in scopes_of(rules):
        ids = [rule for scope in scopes for rule, _ in lines_of(scope)]
        assert len(ids) == len(set(ids))


@by_round
def test_every_rule_id_consists_of_words_and_dots(rules: Round) -> None:
    for _, _, scopes in scopes_of(rules):
        for scope in scopes:
            for rule, _ in lines_of(scope):
                assert re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)+", rule)


@by_round
def test_every_row_has_a_citation_and_its_texts(rules: Round) -> None:
    """Each row has a citation, a cell for its table, and a message and a hint for a record."""
    for _, _, scopes in scopes_of(rules):
        for scope in scopes:
            for rule, line in lines_of(scope):
                assert line.cites, rule
                if isinstance(line, WholeLogRule):
                    assert line.text, rule
                    continue
                assert line.key.meaning, rule
                for constraint in (*line.each, *line.first, *line.some, *(line.policy or ())):
                    assert constraint.text(), rule
                    record = Record(line.name, 0, None, {})
                    assert constraint.says(record, None), rule
                    assert constraint.advice(line.name, None), rule


@by_round
def test_an_absent_key_is_reported_with_a_hint(rules: Round) -> None:
    nothing = Run([])
    for _, _, scopes in scopes_of(rules):
        for scope in scopes:
            for rule, line in lines_of(scope):
                if isinstance(line, Row) and line.times.least:
                    (violation,) = line.judge(nothing)
                    assert line.name in violation.message, rule
                    assert violation.hint, rule


@by_round
def test_every_benchmark_has_title_target_and_runs(rules: Round) -> None:
    for name, benchmark in rules.benchmarks.items():
        assert name == benchmark.name
        assert benchmark.title
        assert benchmark.target
        assert benchmark.cites
        assert benchmark.runs >= 3


@by_round
def test_every_closed_benchmark_has_a_rule_that_some_record_must_pass(rules: Round) -> None:
    if rules.title == "training 0.6":
        return  # its verifier checks only the status
    for name in rules.benchmarks:
        own = rules.scopes("closed", name)[-1]
        assert any(line.some for line in own.rows), name


@by_round
def test_lists_of_benchmark_names_are_consistent(rules: Round) -> None:
    assert set(rules.retired_with_rules) <= set(rules.benchmarks)
    assert not set(rules.listed_without_rules) & set(rules.benchmarks)
    assert set(rules.omitted_from_open_list) <= set(rules.benchmarks)


@by_round
def test_a_round_without_a_verifier_has_only_policy_rows(rules: Round) -> None:
    stated = {r.stated_by for _, _, scopes in scopes_of(rules) for s in scopes for r in s.rows}
    if rules.verified:
        assert StatedBy.BOTH in stated
    else:
        assert stated == {StatedBy.POLICY}
        assert all(not s.verified for _, _, scopes in scopes_of(rules) for s in scopes)


def test_unknown_names_add_no_rules() -> None:
    rules = rounds_of("training")["5.1"]
    assert [scope.name for scope in rules.scopes("", "")] == ["common"]
    assert [scope.name for scope in rules.scopes("closed", "nothing")] == ["common", "closed"]


# --- deltas ---

PLAIN = row(k.GLOBAL_BATCH_SIZE, above(0))
OTHER = row(k.OPT_NAME, equals("adam"))
METRIC = row(k.EVAL_ACCURACY, times=AT_LEAST_ONCE)


def nothing_found(run: Run) -> Iterator[Violation]:
    yield from ()


ENDING = WholeLogRule("end.rule", "a rule", nothing_found)


def benchmark(name: str = "lm") -> Benchmark:
    return Benchmark(
        name=name,
        title="Language model",
        runs=10,
        target="a loss",
        closed=(PLAIN, METRIC),
        open=(METRIC,),
        variants=(Variant("sgd", k.OPT_NAME, "sgd", (row(k.OPT_MOMENTUM),)),),
    )


def first_round() -> Round:
    return Round(
        usage="training",
        name="1",
        common=(row(k.SUBMISSION_ORG, not_empty()), ENDING),
        closed=(row(k.SEED),),
        open=(),
        benchmarks=by_name((benchmark(),)),
    )


BAD: dict[str, Callable[[Round], Round]] = {
    "retires nothing, which does not exist": lambda r: r.next("2", retires=("nothing",)),
    "introduces lm, which exists already": lambda r: r.next("2", introduces=(benchmark(),)),
    "amends nothing, which does not exist": lambda r: r.next("2", amends={"nothing": Amend()}),
    "changes seed, which does not exist": lambda r: r.next(
        "2", common=TableChange(change=(row(k.SEED),))
    ),
    "adds seed, which exists already": lambda r: r.next(
        "2", closed=TableChange(add=(row(k.SEED),))
    ),
    "drops opt_name, which does not exist": lambda r: r.next(
        "2", open=TableChange(drop=(k.OPT_NAME,))
    ),
    "drops other.rule, which does not exist": lambda r: r.next(
        "2", common=TableChange(drop=("other.rule",))
    ),
    "restates seed": lambda r: r.next("2", closed=TableChange(change=(row(k.SEED),))),
    "restates end.rule": lambda r: r.next("2", common=TableChange(change=(ENDING,))),
    "restates its package": lambda r: r.next("2", package=PackageRules()),
    "restates target of lm": lambda r: r.next("2", amends={"lm": Amend(target="a loss")}),
    "restates its limits": lambda r: r.next("2", limits=Limits()),
    "closed lm restates global_batch_size": lambda r: r.next(
        "2", amends={"lm": Amend(closed=TableChange(change=(PLAIN,)))}
    ),
    "open lm adds eval_accuracy, which exists already": lambda r: r.next(
        "2", amends={"lm": Amend(open=TableChange(add=(METRIC,)))}
    ),
    "lm sgd restates opt_momentum": lambda r: r.next(
        "2", amends={"lm": Amend(variants={"sgd": TableChange(change=(row(k.OPT_MOMENTUM),))})}
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_an_invalid_or_redundant_delta_is_refused(message: str) -> None:
    with pytest.raises(RoundError, match=re.escape(message)):
        BAD[message](first_round())


def test_a_delta_changes_only_what_it_names() -> None:
    before = first_round()
    after = before.next(
        "2",
        introduces=(benchmark("vision"),),
        common=TableChange(drop=("end.rule",)),
        amends={
            "lm": Amend(
                rename="llm",
                target="a target",
                closed=TableChange(change=(row(k.GLOBAL_BATCH_SIZE),), add=(OTHER,)),
            )
        },
    )
    assert list(before.benchmarks) == ["lm"]
    assert list(after.benchmarks) == ["llm", "vision"]
    assert after.benchmarks["llm"].closed == (row(k.GLOBAL_BATCH_SIZE), METRIC, OTHER)
    assert after.benchmarks["llm"].target == "a target"
    assert after.benchmarks["llm"].open == (METRIC,)
    assert after.common == before.common[:1]
    assert after.closed == before.closed
    assert [round_.name for round_ in after.chain()] == ["2", "1"]


def test_rows_with_different_reasons_are_not_equal() -> None:
    assert row(k.SEED) != row(k.SEED, why="a reason")
    assert row(k.SEED) == row(k.SEED)


def test_a_policy_row_is_optional_and_stated_by_the_policy() -> None:
    line = policy_row(k.DROPOUT, equals(0.0))
    assert line.times is OPTIONAL
    assert line.stated_by is StatedBy.POLICY
    assert row(k.DROPOUT).times is ONCE
    policy_exempt_reason = row(k.DROPOUT, policy_exempt_reason="a reason")
    assert policy_exempt_reason.stated_by is StatedBy.VERIFIER


@pytest.mark.parametrize("rules", [r for r in ROUNDS if r.previous], ids=title)
def test_a_round_differs_from_the_previous_round(rules: Round) -> None:
    before = rules.previous
    assert before is not None
    assert before.usage == rules.usage
    own = (rules.common, rules.closed, rules.open, dict(rules.benchmarks), rules.limits)
    assert own != (
        before.common,
        before.closed,
        before.open,
        dict(before.benchmarks),
        before.limits,
    )


@pytest.mark.parametrize("usage", USAGES)
def test_rounds_are_listed_in_order_with_their_names(usage: str) -> None:
    folder = Path(catalogue.__file__).parent / usage
    assert [f"v{name.replace('.', '_')}" for name in rounds_of(usage)] == sorted(
        path.stem for path in folder.glob("v*.py")
    )
    assert all((r.usage, r.name) == (usage, name) for name, r in rounds_of(usage).items())
    assert newest(usage) is [*rounds_of(usage).values()][-1]
    assert "5.9" not in rounds_of(usage)
    assert rounds_of(usage).get("5.9") is None
