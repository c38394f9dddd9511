"""`podium rules`: what it lists, explains, compares and computes, for every round and rule."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.cells import cell_len

from podium.compliance.judging.logs.log_rules import RULE_OF_FAULT
from podium.compliance.rulebook.catalogue import all_rules
from podium.compliance.rulebook.explain import example_of, explain
from podium.compliance.rulebook.tables.candidates import COMMON_VALUES
from podium.compliance.rulebook.tables.history import RuleKind
from podium.compliance.rulebook.tables.rule import Rule, rules_of
from podium.compliance.rulebook.tables.settings import settings
from podium.compliance.rulebook.tables.tables import tables, tables_for
from podium.logging_spec.reader.read import Fault, read_log
from podium.logging_spec.reader.record import Record
from podium.rules.catalogue import USAGES, find_round, newest, rounds_of
from podium.rules.constraints import bounds as c
from podium.rules.constraints import formula
from podium.rules.constraints.constraint import Constraint
from podium.rules.finding import StatedBy
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.model.round import Round
from podium.rules.run import NotLogged, Run
from podium.rules.table import Row
from tests.compliance import command_line
from tests.compliance.command_line import Done
from tests.locations import ROOT

ROUNDS = [rules for usage in USAGES for rules in rounds_of(usage).values()]
BENCHMARKS = [(rules, name) for rules in ROUNDS for name in rules.benchmarks]

each_round = pytest.mark.parametrize("rules", ROUNDS, ids=lambda rules: rules.title)


def podium(*arguments: str, columns: int = 80) -> Done:
    return command_line.podium("rules", *arguments, columns=columns)


def answer(*arguments: str) -> str:
    result = podium(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def refusal(*arguments: str) -> str:
    result = podium(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("podium: ")
    return result.stderr


def of(rules: Round) -> tuple[str, ...]:
    return ("--usage", rules.usage, "--round", rules.name)


def rule(rules: Round, wanted: str) -> Rule:
    (found,) = [each for each in all_rules(rules) if each.id == wanted]
    return found


# --- layout ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 120])
def test_a_key_is_printed_on_one_line(columns: int) -> None:
    lines = podium("show", "llama31_8b", "--round", "5.1", columns=columns).stdout.splitlines()
    rules = find_round("training", "5.1")
    [own] = [t for t in tables(rules).values() if t.name == "closed.llama31_8b"]
    keys = {line.name for line in own.lines if isinstance(line, Row)}
    assert len(keys) > 10
    assert keys <= {line.partition(" ")[0] for line in lines}


@pytest.mark.parametrize(
    "command", ["list", "show", "explain", "diff", "hparams", "schema", "drift", "pages"]
)
def test_every_command_has_help_with_examples(command: str) -> None:
    assert f"podium rules {command}" in " ".join(answer(command, "--help").split())


@pytest.mark.parametrize("columns", [60, 120])
@each_round
def test_no_line_is_wider_than_the_terminal(rules: Round, columns: int) -> None:
    name = next(iter(rules.benchmarks))
    answers = [
        podium("list", *of(rules), columns=columns),
        podium("list", "--all", *of(rules), columns=columns),
        podium("show", name, *of(rules), columns=columns),
        podium("hparams", name, "--gbs", "1024", *of(rules), columns=columns),
        podium("explain", f"{next(iter(tables(rules)))}.*", *of(rules), columns=columns),
    ]
    for result in answers:
        assert result.exit_code == 0, result.output
        assert max(map(cell_len, result.output.splitlines())) <= columns
        assert "\x1b" not in result.output
        assert not re.search(r" $", result.output, re.MULTILINE)


def test_importing_the_command_loads_no_heavy_module() -> None:
    code = "import sys, podium.compliance.cli.rulebook.rules as r; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {
        "rich",
        "pydantic",
        "podium.rules.model.round",
        "podium.compliance.rulebook.catalogue",
    } & {*run.stdout.split()}


def test_an_unknown_round_is_reported_in_one_line() -> None:
    assert "no training round '9.9'" in refusal("list", "--round", "9.9")
    assert "no hpc round '6.1'" in refusal("diff", "6.1", "3.0", "--usage", "hpc")


# --- list and show --------------------------------------------------------------------------------


def test_list_shows_the_benchmarks_of_the_newest_training_round() -> None:
    for name in newest().benchmarks:
        assert name in answer("list")
    printed = json.loads(answer("list", "--format", "json"))
    assert (printed["usage"], printed["round"]) == ("training", newest().name)
    assert [each["name"] for each in printed["benchmarks"]] == [*newest().benchmarks]
    assert all(each["runs"] > 0 and each["title"] for each in printed["benchmarks"])


@pytest.mark.parametrize(
    ("rules", "name"), BENCHMARKS, ids=lambda each: getattr(each, "title", each)
)
def test_list_prints_every_rule_of_a_benchmark_once(rules: Round, name: str) -> None:
    printed = json.loads(answer("list", name, "--format", "json", *of(rules)))["rules"]
    ids = [each["id"] for each in printed if each["kind"] in ("row", "end")]
    assert len(ids) == len(set(ids))
    own = [t for t in tables(rules).values() if t.benchmark == name and not t.hidden]
    assert {each.id for table in own for each in rules_of(rules, table)} <= {
        e["id"] for e in printed
    }


def test_list_omits_rules_that_an_inner_table_overrides() -> None:
    rules = find_round("training", "6.1")
    ids = {e.id for t in tables_for(rules, "llama31_8b", "closed") for e in rules_of(rules, t)}
    assert "closed.llama31_8b.eval_accuracy" in ids
    assert "common.eval_accuracy" not in ids
    assert "common.eval_accuracy" in {each.id for each in all_rules(rules)}


def test_list_of_one_division_omits_the_other_division() -> None:
    printed = answer("list", "deepseekv3_671b", "--division", "open")
    assert "open.deepseekv3_671b.*" in printed
    assert "closed.deepseekv3_671b.*" not in printed
    assert "common.*" in printed


def test_list_marks_a_bound_of_the_policy() -> None:
    assert "[policy:" in answer("list", "llama31_405b", "--round", "6.0", "--division", "closed")
    printed = json.loads(answer("list", "llama31_405b", "--round", "6.0", "--format", "json"))[
        "rules"
    ]
    (found,) = [e for e in printed if e["id"] == "closed.llama31_405b.opt_end_learning_rate"]
    assert (found["constraint"], found["policy"]) == ("unconstrained", "8e-07")


def test_show_has_both_divisions_and_three_formats() -> None:
    printed = answer("show", "llama31_8b")
    assert "closed.llama31_8b.*" in printed
    assert "open.llama31_8b.*" in printed
    page = answer("show", "llama31_8b", "--format", "markdown")
    assert page.startswith(f"# llama31_8b, training {newest().name}")
    printed = json.loads(answer("show", "llama31_8b", "--format", "json"))
    assert printed["benchmark"]["runs"] == 10


def test_an_unknown_benchmark_is_reported_with_a_suggestion_or_its_round() -> None:
    assert "did you mean llama31_8b" in refusal("show", "llama31_8")
    printed = refusal("list", "bert")
    assert "training 5.0" in printed
    assert "--round" in printed
    assert "--usage hpc" in refusal("hparams", "openfold")
    assert "expected one of" in refusal("show", "xyz")


# --- since ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "wanted", "since"),
    [
        ("6.1", "closed.llama31_8b.opt_adamw_beta_2", "5.1"),
        ("6.1", "common.tensor_parallelism", "6.1"),
        ("6.0", "common.tensor_parallelism", "6.0"),
        ("5.0", "closed.rgat.opt_name", "4.0"),
        ("2.1", "closed.resnet.lars.lars_opt_end_learning_rate", "0.7"),
    ],
)
def test_since_is_the_first_round_with_the_same_rule(name: str, wanted: str, since: str) -> None:
    assert rule(find_round("training", name), wanted).since == since


def _is_fixed(each: Rule) -> bool:
    return isinstance(each.source, FixedRule)


@each_round
def test_since_is_not_a_later_round(rules: Round) -> None:
    names = {each.name for each in rules.chain()}
    assert all(each.since in names for each in all_rules(rules) if not _is_fixed(each))


# --- explain --------------------------------------------------------------------------------------


@each_round
def test_every_rule_is_explained_with_a_correct_example(rules: Round) -> None:
    for each in all_rules(rules):
        printed = explain(rules, each)
        assert each.constraint
        assert each.meaning
        if not isinstance(each.source, Row):
            continue
        found = example_of(rules, each)
        if found is None:
            asks_nothing = not each.source.each and not each.source.times.least
            assert asks_nothing or not each.source.as_policy.some, each.id
            continue
        assert printed.good or each.source.times.most == 0
        check_example(each, each.source, Run([*found.bad]), Run([*found.good]))


def check_example(rule: Rule, row: Row, bad: Run, good: Run) -> None:
    judged = row.as_policy if row.stated_by is StatedBy.POLICY or not row.each else row
    if rule.kind is RuleKind.TARGET:
        aims = [aim for aim in (row, row.as_policy) if aim.some]
        assert any(aim.judge_some(bad) for aim in aims[:1]), rule.id
        assert not any(aim.judge_some(good) for aim in aims), rule.id
    else:
        assert judged.judge(bad), rule.id
        assert not judged.judge(good), rule.id
        assert not row.as_policy.judge(good), rule.id


@each_round
def test_example_lines_can_be_read_as_logs_of_the_round(rules: Round, tmp_path: Path) -> None:
    path = tmp_path / "result_0.txt"
    for each in all_rules(rules):
        lines = explain(rules, each).good
        if each.kind in (RuleKind.ROW, RuleKind.TARGET) and lines:
            path.write_text("\n".join(line for line in lines if line != "…") + "\n")
            log = read_log(path)
            assert not log.faults, each.id
            assert log.generation == rules.generation


def test_explain_prints_bound_sources_history_and_an_example() -> None:
    printed = answer("explain", "closed.llama31_8b.opt_adamw_beta_2")
    for text in ("AdamW beta 2", "must be    0.95", "since      training 5.1", "0.475", "fixed:"):
        assert text in printed
    printed = answer("explain", "closed.llama31_405b.opt_end_learning_rate", "--round", "6.0")
    assert "verifier   unconstrained" in printed
    assert "policy     8e-07" in printed


def test_an_aggregated_key_is_explained_with_the_logged_keys() -> None:
    printed = answer("explain", "closed.stable_diffusion.target", "--round", "4.0")
    assert "aggregated_eval_accuracy" not in printed.partition("violation:")[2]
    assert '"metric": "FID"' in " ".join(printed.split())


def test_explain_accepts_globs_bare_keys_and_brackets() -> None:
    assert "closed.dlrmv4.target" in answer("explain", "closed.*.target")
    assert "closed.llama31_8b.opt_end" in answer("explain", "opt_end_learning_rate")
    assert "run_start" in answer("explain", "[common.run_start]")


def test_explain_suggests_similar_rules_and_other_rounds() -> None:
    printed = refusal("explain", "closed.llama31_8b.opt_adamw_beta2")
    assert "did you mean closed.llama31_8b.opt_adamw_beta_2" in printed
    printed = refusal("explain", "closed.bert.opt_lamb_beta_1")
    assert "it is in training 0.7" in printed
    assert "--round" in printed
    assert "--usage hpc --round 3.0" in refusal("explain", "closed.openfold.val_every_iters")
    assert "is not a rule of training" in refusal("explain", "nonsense")


def test_the_round_decides_which_version_is_explained() -> None:
    assert "at least 1" in answer("explain", "common.tensor_parallelism")
    assert "at least 1" not in answer("explain", "common.tensor_parallelism", "--round", "6.0")


def test_explain_prints_json_and_markdown() -> None:
    (printed,) = json.loads(answer("explain", "common.run_stop", "--format", "json"))["rules"]
    assert printed["id"] == "common.run_stop"
    assert printed["bad"]
    assert printed["good"]
    assert "```text" in answer("explain", "common.run_stop", "--format", "markdown")


@pytest.mark.parametrize("fault", Fault)
def test_every_error_of_a_log_line_is_explained(fault: Fault) -> None:
    assert RULE_OF_FAULT[fault].id == f"log.{fault}"
    printed = answer("explain", f"log.{fault}")
    assert "violation:" in printed
    assert "help" in printed


def test_explain_prints_message_help_and_edits_of_a_fixed_rule() -> None:
    printed = answer("explain", "tree.system-without-results")
    for text in (
        "message    <description> describes a system without results",
        "help       add results/<system>, or remove the description",
        "cites      submission rules, Directory structure",
        "severity   warning (policy profile); not reported (verifier profile)",
        "violation:\n    systems/ex_n8.json is copied to systems/spare.json",
    ):
        assert text in printed


def test_every_id_named_in_the_sources_is_explained() -> None:
    """Rules without a table are declared as values: see rules/fixed/fixed_rule.py."""
    root = ROOT
    families = (
        r"\"((?:log|tree|result|system|rcp|score|power|internal|run|seed|seeds|code|repo|params|"
        r"waivers|guard|earlier)\.(?!(?:toml|json|html|css)\")[a-z0-9]+(?:-[a-z0-9]+)*)\""
    )
    known = {each.id for rules in ROUNDS for each in all_rules(rules)}
    named = {
        found
        for folder in ("compliance", "rules")
        for path in (root / folder).rglob("*.py")
        for found in re.findall(families, path.read_text(encoding="utf-8"))
    }
    assert named - known == set()


# --- counter-examples -----------------------------------------------------------------------------


def counter_example(constraint: Constraint, run: Run | None = None) -> tuple[Any, Any] | None:
    """Return a value that breaks a constraint and a value that satisfies it, or None.

    `run` has the keys that formulas refer to; raises NotLogged if a key is missing.
    """
    # Positioned after all records, so that a formula can refer to any record
    run = run or Run([])
    run.position = len(run.records)
    good = bad = _NONE
    for value in (*constraint.candidates(run), *COMMON_VALUES):
        if _passes(constraint, value, run):
            good = value if good is _NONE else good
        elif bad is _NONE:
            bad = value
        if good is not _NONE and bad is not _NONE:
            return bad, good
    return None


_NONE: Any = object()


def _passes(constraint: Constraint, value: Any, run: Run) -> bool:
    run.position = len(run.records)
    try:
        return constraint.test(value, run)
    except NotLogged:
        raise
    except Exception:
        return False


@pytest.mark.parametrize(
    "constraint",
    [
        c.equals(0.9),
        c.equals("adamw"),
        c.equals(True),
        c.at_least(3),
        c.at_most(0.5),
        c.above(0),
        c.below(1.0),
        c.one_of("a", "b"),
        c.not_empty(),
        c.whole(),
        c.multiple_of(0.001),
        c.power_of_two_times(1e-4),
        c.close_to(3.0, 0.1),
        c.nearly(1e-6),
        c.of_type("bool"),
        c.truthy(),
        c.any_of(c.equals(1), c.at_least(5)),
    ],
    ids=lambda constraint: type(constraint).__name__,
)
def test_a_counter_example_breaks_its_constraint_and_its_fix_satisfies_it(
    constraint: c.Constraint,
) -> None:
    found = counter_example(constraint)
    assert found is not None
    bad, good = found
    assert constraint.test(good, Run([]))
    assert not constraint.test(bad, Run([]))


def test_a_counter_example_evaluates_formulas() -> None:
    from podium.logging_spec import keys as k

    run = Run([Record("global_batch_size", 0, 2048, {})])
    assert counter_example(c.equals(formula.logged(k.GLOBAL_BATCH_SIZE) * 2), run) == (2048, 4096)


# --- diff -----------------------------------------------------------------------------------------


def differences(old: str, new: str, usage: str = "training") -> list[dict[str, str]]:
    printed = json.loads(answer("diff", old, new, "--usage", usage, "--format", "json"))
    found: list[dict[str, str]] = printed["differences"]
    return found


def happened(found: list[dict[str, str]], group: str) -> set[tuple[str, str]]:
    return {(each["what"], each["name"]) for each in found if each["group"] == group}


def test_diff_reports_benchmarks_rows_and_formulas() -> None:
    found = differences("6.0", "6.1")
    assert happened(found, "benchmarks") == {
        ("retired", "dlrm_dcnv2"),
        ("retired", "llama31_405b"),
        ("introduced", "dlrmv4"),
        ("introduced", "qwen35_397b_grpo"),
    }
    assert ("changed", "tensor_parallelism") in happened(found, "common")
    assert ("changed", "eval_accuracy") in happened(found, "closed.deepseekv3_671b")
    assert "closed.deepseekv3_671b" in answer("diff", "6.0", "6.1")
    assert "| What | Name | From | To |" in answer("diff", "6.0", "6.1", "--format", "markdown")


def test_diff_with_swapped_rounds_is_reversed() -> None:
    mirror = {"retired": "introduced", "introduced": "retired", "added": "dropped"}
    mirror |= {after: before for before, after in mirror.items()}
    there, back = differences("5.0", "6.1"), differences("6.1", "5.0")
    turned = {(mirror.get(what, what), name) for what, name in happened(there, "benchmarks")}
    assert turned == happened(back, "benchmarks")
    assert len(there) == len(back)


def test_diff_reports_renamed_benchmarks_and_compares_their_rows() -> None:
    found = differences("4.1", "5.0")
    assert {("renamed", "retinanet"), ("renamed", "rgat")} <= happened(found, "benchmarks")
    assert not happened(found, "closed.rgat")
    assert not happened(found, "closed.gnn")


@each_round
def test_a_round_does_not_differ_from_itself(rules: Round) -> None:
    assert differences(rules.name, rules.name, rules.usage) == []
    assert "no difference" in answer("diff", rules.name, rules.name, "--usage", rules.usage)


@pytest.mark.parametrize("usage", USAGES)
def test_any_two_rounds_can_be_compared(usage: str) -> None:
    names = [*rounds_of(usage)]
    for old in names[::3]:
        for new in names[1::4]:
            assert differences(old, new, usage) or old == new


# --- hparams --------------------------------------------------------------------------------------


def worked_out(name: str, *arguments: str) -> dict[str, dict[str, object]]:
    printed = json.loads(answer("hparams", name, *arguments, "--format", "json"))
    return {each["key"]: each for each in printed["settings"]}


def test_hparams_evaluates_formulas_for_a_batch_size() -> None:
    found = worked_out("llama31_405b", "--round", "6.0", "--gbs", "2304")
    assert found["opt_learning_rate_warmup_steps"]["value"] == 4000
    assert found["opt_learning_rate_decay_steps"]["value"] == 596_000
    assert found["opt_base_learning_rate"]["value"] == 0.00016
    found = worked_out("deepseekv3_671b", "--gbs", "16384")
    assert found["opt_base_learning_rate"]["value"] == 2.4e-05
    assert found["opt_learning_rate_decay_steps"]["value"] == 11_996


def test_hparams_uses_values_given_by_the_user() -> None:
    found = worked_out("llama31_8b", "--gbs", "1152")
    assert found["opt_base_learning_rate"]["state"] == "free"
    assert found["opt_learning_rate_decay_steps"]["state"] == "depends"
    assert found["opt_learning_rate_decay_steps"]["missing"] == ["opt_learning_rate_warmup_steps"]
    given = ("--set", "opt_learning_rate_warmup_steps=100", "--set", "opt_base_learning_rate=5e-4")
    found = worked_out("llama31_8b", "--gbs", "1152", *given)
    assert found["opt_learning_rate_decay_steps"]["value"] == 1_199_900
    assert found["opt_end_learning_rate"]["value"] == pytest.approx(5e-5)


def test_hparams_adds_the_rows_of_the_chosen_optimizer() -> None:
    chosen = ("resnet", "--round", "4.0", "--gbs", "4096")
    assert "lars_epsilon" not in worked_out(*chosen)
    assert worked_out(*chosen, "--set", "opt_name=lars")["lars_epsilon"]["value"] == 0.0
    assert "--set opt_name=sgd or lars" in answer("hparams", *chosen)


def test_hparams_prints_the_evaluation_schedule() -> None:
    printed = json.loads(answer("hparams", "llama31_8b", "--gbs", "1152", "--format", "json"))
    assert {"first": 12_672.0, "interval": 12_672.0, "unit": "samples"}.items() <= printed[
        "evaluations"
    ][0].items()
    assert "first at 12672, then every 12672 samples" in " ".join(
        answer("hparams", "llama31_8b", "--gbs", "1152").split()
    )


def test_an_illegal_value_is_marked_and_exits_with_1() -> None:
    result = podium("hparams", "deepseekv3_671b", "--gbs", "512")
    assert result.exit_code == 1
    assert "512 is wrong" in result.output


@pytest.mark.parametrize(
    ("rate", "state", "status", "shown"),
    [
        # The policy prints 8 decimals; the official verifier requires the exact quotient
        ("0.00010667", "unverified", 0, "0.00010667 (policy only)"),
        (repr(8e-5 * 1536 / 1152), "given", 0, repr(8e-5 * 1536 / 1152)),
        ("0.00010668", "wrong", 1, "0.00010668 is wrong"),
        ("0.0001067", "wrong", 1, "0.0001067 is wrong"),
    ],
)
def test_a_rate_rounded_as_in_the_policy_is_legal(
    rate: str, state: str, status: int, shown: str
) -> None:
    given = ("--round", "5.1", "--gbs", "1536", "--set", f"opt_base_learning_rate={rate}")
    result = podium("hparams", "llama31_405b", *given, columns=200)
    assert result.exit_code == status
    assert shown in result.output
    printed = json.loads(podium("hparams", "llama31_405b", *given, "--format", "json").stdout)
    (found,) = [one for one in printed["settings"] if one["key"] == "opt_base_learning_rate"]
    assert found["state"] == state
    assert "rounded to 8 decimals (within 5e-09)" in found["allowed"]


def test_hparams_refuses_unknown_keys_and_values_without_key() -> None:
    printed = refusal("hparams", "llama31_8b", "--set", "opt_adamw_beta2=1")
    assert "did you mean opt_adamw_beta_2" in printed
    assert "expected KEY=VALUE" in refusal("hparams", "llama31_8b", "--set", "opt_name")


@pytest.mark.parametrize("batch", [48, 1024, 20_480])
@each_round
def test_every_computed_value_satisfies_its_rule(rules: Round, batch: int) -> None:
    given = {"global_batch_size": batch}
    for name in rules.benchmarks:
        division = "closed" if rules.divided else ""
        found = settings(rules, name, division, given)
        known = given | {each.key: each.value for each in found if each.state == "fixed"}
        records = [Record(key, 0, value, {}) for key, value in known.items()]
        rows = {each.id: each.source for each in all_rules(rules) if each.kind is RuleKind.ROW}
        for each in found:
            row = rows[each.rule]
            assert isinstance(row, Row)
            if each.state == "fixed":
                run = Run(records)
                run.ordered = False
                assert row.judge(run) == [], each


# --- schemas --------------------------------------------------------------------------------------


@pytest.mark.parametrize("of_what", ["report", "record", "config", "receipt"])
def test_every_schema_is_a_valid_json_schema(of_what: str) -> None:
    printed = json.loads(answer("schema", of_what))
    jsonschema.Draft202012Validator.check_schema(printed)
    known = {"report": "findings", "record": "time_ms", "config": "systems", "receipt": "files"}
    assert known[of_what] in printed["properties"]
