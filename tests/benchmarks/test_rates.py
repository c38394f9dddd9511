"""`benchmarks/rates.py` counts the results and submissions on which each rule fires."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from podium.compliance.rulebook.catalogue import all_rules
from podium.compliance.rulebook.explain import explain, find
from podium.compliance.rulebook.markdown import rate_cell
from podium.compliance.rulebook.rates import Rate, rates
from podium.rules.catalogue import USAGES, find_round, rounds_of
from tests.compliance.trees import good
from tests.locations import ROOT

SCRIPT = ROOT / "benchmarks" / "rates.py"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The rates for two submissions of 5.0, closed and open, and one of 4.1."""
    corpus = tmp_path_factory.mktemp("corpus")
    first = good(corpus / "training_results_v5.0", "training", "5.0", "llama31_405b")
    for number in (0, 1):
        first.log(number, lambda log: log.set("cache_clear", False))
    first.system(cooling="")
    first.root.rename(first.root.with_name("Acme-closed"))
    good(corpus / "training_results_v5.0", "training", "5.0", "llama31_405b", "open")
    good(corpus / "training_results_v4.1", "training", "4.1", "llama2_70b_lora")
    output = corpus / "rates.json"
    subprocess.run([sys.executable, SCRIPT, corpus, "--output", output], check=True, cwd=ROOT)
    return json.loads(output.read_text())


def test_several_findings_of_one_result_count_once(measured: Any) -> None:
    assert measured["results"]["run.cache-not-cleared"] == [1, 3]
    assert measured["submissions"]["system.empty-field"] == [1, 3]


def test_a_rule_is_counted_only_where_it_applies(measured: Any) -> None:
    results = measured["results"]
    assert results["common.run_stop"] == [0, 3]
    assert results["closed.llama31_405b.opt_name"] == [0, 1]
    assert results["open.llama31_405b.opt_name"] == [0, 1]
    assert results["closed.llama2_70b_lora.lora_rank"] == [0, 1]
    # The first rule applies to closed runs only, and the corpus has no run of gpt3
    assert results["evaluation.off-schedule"] == [0, 2]
    assert "closed.gpt3.opt_name" not in results


def test_rules_about_code_are_omitted_for_a_corpus_without_code(measured: Any) -> None:
    reported = {*measured["results"], *measured["submissions"]}
    assert not {"code.none", "repo.long-path", "seeds.source"} & reported


def test_the_source_field_describes_the_corpus(measured: Any) -> None:
    assert measured["source"] == (
        "3 results of 3 published submissions, from training 4.1 to 5.0, in the policy profile, "
        "including notes"
    )


def test_every_published_rate_belongs_to_a_rule() -> None:
    known = {
        rule.id
        for usage in USAGES
        for rules in rounds_of(usage).values()
        for rule in all_rules(rules)
    }
    found = {**rates().results, **rates().submissions}
    assert found.keys() <= known
    assert all(0 <= fired <= judged and judged > 0 for fired, judged in found.values())


def test_the_rate_of_a_rule_is_shown_with_the_rule() -> None:
    rules = find_round("training", "5.0")
    [rule] = find(rules, "run.late-start")
    rate = rates().of(rule.id)
    assert rate is not None
    assert rate_cell(rule) == rate.text
    assert explain(rules, rule).to_dict()["fires_on"] == rate.to_dict()
    assert Rate(0, 40, "results").text == "none of 40 published results"
    assert Rate(3, 43, "submissions").text == "3 of 43 published submissions"
    [unmeasured] = find(rules, "code.none")
    assert rate_cell(unmeasured) == ""
    assert explain(rules, unmeasured).to_dict()["fires_on"] is None
