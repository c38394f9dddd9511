"""Every key in the logs of a benchmark has rules, or a section that permits any value."""

from __future__ import annotations

import importlib.util
import json
from types import ModuleType

import pytest

from podium.compliance.rulebook.catalogue import all_rules
from podium.compliance.rulebook.key_rules import KeyRules, State, key_rules
from podium.compliance.rulebook.tables.tables import divisions, tables_for
from podium.rules.catalogue import USAGES, find_round, rounds_of
from podium.rules.clauses import cited
from podium.rules.model.round import Round
from podium.rules.published_keys import published
from podium.rules.table import Row
from tests.compliance import command_line
from tests.locations import CORPUS, ROOT

PAIRS = [
    pytest.param(rules, name, id=f"{rules.title} {name}")
    for usage in USAGES
    for rules in rounds_of(usage).values()
    for name in rules.benchmarks
]


def of(name: str, benchmark: str, division: str = "closed") -> dict[str, KeyRules]:
    found = key_rules(find_round("training", name), benchmark, division)
    return {each.key: each for each in found}


@pytest.mark.parametrize(("rules", "name"), PAIRS)
def test_every_key_has_rules_or_a_section(rules: Round, name: str) -> None:
    known = {rule.id for rule in all_rules(rules)}
    for each in key_rules(rules, name):
        assert set(each.rules) <= known
        if each.state is State.CHECKED:
            assert each.rules
            assert not each.cites
        else:
            assert cited(each.cites)


@pytest.mark.parametrize(("rules", "name"), PAIRS)
def test_every_key_of_the_tables_is_listed(rules: Round, name: str) -> None:
    for division in divisions(rules):
        rows = {
            line.name
            for table in tables_for(rules, name, division)
            for line in table.lines
            if isinstance(line, Row)
        }
        listed = {each.key for each in key_rules(rules, name, division or None)}
        assert rows - {"aggregated_eval_accuracy"} <= listed


def test_every_key_of_the_published_logs_is_listed() -> None:
    for usage, benchmarks in published().keys.items():
        for benchmark, keys in benchmarks.items():
            for name in {each for rounds in keys.values() for each in rounds}:
                logged = {key for key, rounds in keys.items() if name in rounds}
                listed = {each.key for each in key_rules(find_round(usage, name), benchmark)}
                assert logged - listed == set()


def test_a_fixed_value_is_checked_and_a_tunable_one_is_free() -> None:
    keys = of("5.0", "llama2_70b_lora")
    rank, rate = keys["lora_rank"], keys["opt_base_learning_rate"]
    assert (rank.state, rank.rules) == (State.CHECKED, ("closed.llama2_70b_lora.lora_rank",))
    assert (rate.state, rate.cites) == (
        State.FREE,
        "training rules, Hyperparameters and Optimizer",
    )
    assert rate.rules == ("closed.llama2_70b_lora.opt_base_learning_rate",)


def test_an_unlisted_setting_follows_the_reference_except_in_open() -> None:
    closed, opened = (
        of("5.0", "llama2_70b_lora", division)["opt_learning_rate_warmup_factor"]
        for division in ("closed", "open")
    )
    assert (closed.state, closed.rules) == (State.REFERENCE, ())
    assert (opened.state, opened.cites) == (State.FREE, "training rules, Open Division")


def test_free_keys_have_a_citation_and_some_cite_the_verifier() -> None:
    free = [one for one in of("5.0", "llama2_70b_lora").values() if one.state is State.FREE]
    assert "official verifier, compliance_checker" in {one.cites for one in free}
    assert all(one.cites for one in free)


def test_keys_of_the_format_of_0_5_are_not_listed_in_later_rounds() -> None:
    assert "model_hp_relu" in of("0.5", "resnet", "")
    assert "model_hp_relu" not in of("4.0", "resnet")


# --- the command ---


def test_the_json_output_has_each_key() -> None:
    arguments = ("rules", "list", "--keys", "bert", "--round", "5.0", "--format", "json")
    data = json.loads(command_line.podium(*arguments).stdout)
    expected = [each.to_dict() for each in key_rules(find_round("training", "5.0"), "bert")]
    assert data["keys"] == json.loads(json.dumps(expected))
    assert {each["division"] for each in data["keys"]} == {"closed", "open"}


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_text_and_markdown_list_each_key(form: str) -> None:
    arguments = ("rules", "list", "--keys", "bert", "--round", "5.0", "--format", form)
    output = command_line.podium(*arguments, columns=200).stdout
    for each in key_rules(find_round("training", "5.0"), "bert"):
        assert each.key in output
    narrow = command_line.podium(*arguments).stdout.splitlines()
    assert form == "markdown" or max(map(len, narrow)) <= 80


def test_the_keys_option_needs_a_benchmark() -> None:
    result = command_line.podium("rules", "list", "--keys")
    assert result.exit_code == 2
    assert "--keys" in result.stderr


# --- the data ---


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = ROOT / "benchmarks" / "published_keys.py"
    spec = importlib.util.spec_from_file_location("published_keys_script", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.corpus
def test_the_data_has_every_key_of_the_logs_in_the_corpus(script: ModuleType) -> None:
    data = published().keys
    for usage, benchmarks in script.collect(CORPUS)["keys"].items():
        for benchmark, keys in benchmarks.items():
            for key, rounds in keys.items():
                assert set(rounds) <= set(data[usage][benchmark][key]), (benchmark, key)
