"""A good system description with one error at a time, and the verdict of the official checker."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.compliance import check, read_system
from podium.compliance.errors import NothingToJudge
from podium.compliance.judging.inputs.round_selection import RoundRequest
from podium.compliance.judging.options import Options
from podium.compliance.judging.system_report import check_systems
from podium.compliance.judging.systems import schema as system_schema_module
from podium.compliance.judging.systems.agreement import (
    LogFacts,
    agrees_with_folder,
    agrees_with_logs,
)
from podium.compliance.judging.systems.check import SystemVerdict, check_system, judge_description
from podium.compliance.judging.systems.fields import FIELDS, Category, category_of
from podium.compliance.judging.systems.model import System
from podium.compliance.judging.systems.organizations import same_organization
from podium.compliance.judging.systems.reader import LARGEST, parse_description
from podium.compliance.judging.systems.schema import system_schema
from podium.compliance.judging.systems.values import (
    SystemDescription,
    describe,
    is_placeholder,
    read_count,
)
from podium.rules.catalogue import USAGES, find_round, rounds_of
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.model.round import Round
from tests.compliance.trees import usual

ROUNDS = [rules for usage in USAGES for rules in rounds_of(usage).values()]
NEW = find_round("training", "5.1")
OLD = find_round("training", "3.1")


def good(**changes: Any) -> dict[str, Any]:
    """A description that violates no rule; a change to ... drops the field."""
    fields: dict[str, Any] = {name: field.example or "none" for name, field in FIELDS.items()}
    return {name: value for name, value in (fields | changes).items() if value is not ...}


def judge(
    fields: dict[str, Any] | bytes | str, rules: Round = NEW, profile: Profile = Profile.POLICY
) -> SystemVerdict:
    """The verdict on fields, or on raw text."""
    if isinstance(fields, dict):
        fields = json.dumps(fields, indent=2)
    data = fields.encode() if isinstance(fields, str) else fields
    return judge_description(parse_description(data), "s.json", rules, profile)


def only(verdict: SystemVerdict) -> Finding:
    """The only finding of a verdict."""
    assert len(verdict.findings) == 1, [(f.id, f.message) for f in verdict.findings]
    return verdict.findings[0]


def without(name: str) -> dict[str, Any]:
    return good(**{name: ...})


def line_of(fields: dict[str, Any], name: str) -> int:
    return list(fields).index(name) + 2


# --- good descriptions ----------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ROUNDS, ids=lambda rules: rules.title)
def test_a_good_description_has_no_finding_in_any_round(rules: Round) -> None:
    for profile in Profile:
        assert judge(good(), rules, profile).findings == []


@pytest.mark.parametrize("rules", ROUNDS, ids=lambda rules: rules.title)
def test_the_schema_is_valid_and_accepts_a_good_description(rules: Round) -> None:
    schema = system_schema(rules)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(good(), schema)
    json.dumps(schema)


def test_the_description_is_parsed_into_typed_fields() -> None:
    described = judge(good(division=" Closed", number_of_nodes=" 16 ")).description
    assert described is not None
    assert (described.number_of_nodes, described.accelerators_per_node) == (16, 8)
    assert (described.accelerators, described.processors) == (128, 32)
    assert described.division == "closed"
    assert described.category is Category.ON_PREMISE
    assert described.submitter == "Example Labs"


def test_read_system_returns_a_model(tmp_path: Path) -> None:
    file = tmp_path / "8xEX.json"
    file.write_text(json.dumps(good(division=" Closed", number_of_nodes=" 16 ", more="kept")))
    system = read_system(file)
    assert (system.number_of_nodes, system.accelerators, system.processors) == (16, 128, 32)
    assert (system.division, system.category, system.given["more"]) == (
        "closed",
        "Available on-premise",
        "kept",
    )
    assert {*SystemDescription.__struct_fields__} < {*System.model_fields}
    assert System.model_validate_json(system.model_dump_json()) == system


@pytest.mark.parametrize("text", [None, "[]", "{"])
def test_read_system_refuses_a_file_that_is_not_a_description(
    text: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "8xEX.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(NothingToJudge, match=r"8xEX\.json is not a system description: \w"):
        read_system(file)


# --- single errors --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, field in FIELDS.items() if field.official])
def test_a_missing_field_that_the_verifier_requires_is_reported(name: str) -> None:
    found = only(judge(without(name), profile=Profile.VERIFIER))
    assert (found.id, found.key, found.line) == ("system.missing-field", name, None)
    assert found.severity is Severity.ERROR
    demanded = FIELDS[name].required((5, 1))
    found = only(judge(without(name)))
    assert found.id == "system.missing-field"
    assert found.severity is (Severity.ERROR if demanded else Severity.WARNING)
    assert found.stated_by is (StatedBy.BOTH if demanded else StatedBy.VERIFIER)


@pytest.mark.parametrize("name", ["system_type", "host_network_card_count"])
def test_a_missing_field_that_only_the_policy_requires_is_a_note(name: str) -> None:
    assert judge(without(name), profile=Profile.VERIFIER).findings == []
    found = only(judge(without(name)))
    assert (found.severity, found.stated_by) == (Severity.NOTE, StatedBy.POLICY)


def test_a_field_is_required_only_from_its_round_on() -> None:
    fields = without("host_network_card_count")
    assert judge(fields, find_round("training", "1.1")).findings == []
    announced = only(judge(fields, find_round("training", "2.0")))
    assert announced.message.endswith("is missing: required from 2.1 on")
    assert only(judge(fields, find_round("training", "2.1"))).message.endswith("is missing")
    assert judge(without("system_type"), find_round("training", "0.7")).findings == []
    assert judge(fields, find_round("hpc", "1.0")).findings == []
    assert only(judge(fields, find_round("hpc", "3.0"))).message.endswith("is missing")


def test_the_policy_requires_no_fields_in_a_round_without_a_field_table() -> None:
    found = only(judge(without("cooling"), find_round("training", "0.6")))
    assert (found.severity, found.stated_by) == (Severity.NOTE, StatedBy.VERIFIER)
    assert judge(without("cooling"), find_round("training", "0.5")).findings == []


def test_a_missing_field_is_an_error_in_a_round_without_a_verifier() -> None:
    rules = find_round("hpc", "0.7")
    assert not rules.verified
    assert only(judge(without("framework"), rules)).severity is Severity.ERROR
    assert only(judge(good(framework=""), rules)).severity is Severity.WARNING


def test_a_core_count_or_a_vcpu_count_is_required() -> None:
    for one in ("host_processor_core_count", "host_processor_vcpu_count"):
        found = only(judge(without(one)))
        assert (found.severity, found.stated_by) == (Severity.WARNING, StatedBy.VERIFIER)
        assert judge(good(**{one: ""})).findings == []
    neither = good(host_processor_core_count=..., host_processor_vcpu_count=...)
    found_both = judge(neither).findings
    assert [f.severity for f in found_both] == [Severity.ERROR] * 2
    empty = good(host_processor_core_count="", host_processor_vcpu_count="")
    assert only(judge(empty)).id == "system.empty-field"


def test_a_preview_may_omit_both_counts_from_2_1_on() -> None:
    empty = good(host_processor_core_count="", host_processor_vcpu_count="", status="Preview")
    assert only(judge(empty)).id == "system.preview-due"
    assert only(judge(empty, find_round("training", "2.1"))).id == "system.preview-due"
    found = judge(empty, find_round("training", "2.0")).findings
    assert [each.id for each in found] == [
        "system.empty-field",
        "system.preview-due",
    ]
    neither = {k: v for k, v in empty.items() if not k.endswith(("core_count", "vcpu_count"))}
    found = [each for each in judge(neither).findings if each.id != "system.preview-due"]
    assert {each.severity for each in found} == {Severity.WARNING}


@pytest.mark.parametrize("value", ["", "  ", None, [], {}, "-"])
def test_an_empty_value_is_a_note(value: Any) -> None:
    fields = good(cooling=value)
    found = only(judge(fields))
    assert (found.id, found.line) == ("system.empty-field", line_of(fields, "cooling"))
    assert found.severity is Severity.NOTE
    assert judge(good(hw_notes=value)).findings == []
    assert judge(fields, profile=Profile.VERIFIER).findings == []


def test_accelerator_fields_may_be_empty_without_accelerators() -> None:
    fields = good(accelerators_per_node="0", accelerator_model_name="", accelerator_interconnect="")
    assert judge(fields).findings == []


PLACEHOLDERS = (
    *("TBD", "todo", "TODO: fill", "xxx", "XXXX", "fill me in", "Fill-me", "<cooling>", "??"),
    *("changeme", "{{cooling}}", "$COOLING", "to be determined", "COOLING_PLACEHOLDER"),
    *("insert cooling here", "UNKNOWN_MLPERF_COOLING", "FIXME?UNKNOWN", "@COOLING@", "%COOLING%"),
    *("[cooling]", "{cooling}", "#COOLING#", "__COOLING__", "my_system", "Default string"),
    *("${COOLING:-none}", "$(cooling)", "rack ${RACK}", "{{ cooling }} kW", "cooled by @COOLER@"),
)


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_a_placeholder_is_reported(text: str) -> None:
    assert only(judge(good(cooling=text))).id == "system.placeholder"


@pytest.mark.parametrize("text", ["2 $/h", "me@example.org", "100% liquid", "{a}", "unknown"])
def test_other_text_is_not_a_placeholder(text: str) -> None:
    assert judge(good(cooling=text)).findings == []


def test_each_placeholder_in_a_nested_value_is_reported() -> None:
    stack = {"cuda": "FIXME?UNKNOWN", "nccl": "2.27", "lists": [{"hpcx": "TBD"}, "Not available"]}
    found = judge(good(other_software_stack=stack)).findings
    kept = [each for each in found if each.id != "system.private-software"]
    assert [(each.id, each.message.split("`")[1]) for each in kept] == [
        ("system.placeholder", "other_software_stack.cuda"),
        ("system.placeholder", "other_software_stack.lists.hpcx"),
        ("system.unfilled", "other_software_stack.lists"),
    ]


@pytest.mark.parametrize("text", ["Not available", "not specified.", "UNAVAILABLE", "not_found"])
def test_a_value_that_a_generator_did_not_find_is_a_note(text: str) -> None:
    found = only(judge(good(host_processor_interconnect=text)))
    assert (found.id, found.severity) == ("system.unfilled", Severity.NOTE)


@pytest.mark.parametrize(
    "text", ["0", "7", "0,1,2,3", "12.5", "cuda:0", "GPU 1", "gpu", "device_3"]
)
def test_an_index_as_the_name_of_an_accelerator_is_a_warning(text: str) -> None:
    found = only(judge(good(accelerator_model_name=text)))
    assert (found.id, found.severity) == ("system.not-a-name", Severity.WARNING)
    without = judge(good(accelerators_per_node="0", accelerator_model_name=text))
    assert "system.not-a-name" not in {each.id for each in without.findings}


@pytest.mark.parametrize("text", ["TPU", "GPU Max 1550", "CUDA-X 5", "[email protected] node"])
def test_accelerator_names_that_resemble_an_index_are_accepted(text: str) -> None:
    assert judge(good(accelerator_model_name=text)).findings == []


def test_a_part_of_the_field_name_is_a_placeholder() -> None:
    assert is_placeholder("host_processor_core_count", "core_count")
    assert not is_placeholder("cooling", "cooling")
    assert only(judge(good(framework="N/A"))).id == "system.placeholder"
    assert judge(good(host_networking_topology="N/A")).findings == []


@pytest.mark.parametrize(
    ("value", "read"),
    [(8, 8), ("8", 8), (8.0, 8), ("8.0", 8), (" 8", 8), ("1,024", 1024), ("0008", 8)],
)
def test_a_count_in_another_format_is_read_and_reported(value: Any, read: int) -> None:
    verdict = judge(good(number_of_nodes=value))
    plain = isinstance(value, int) or (isinstance(value, str) and value.isdigit())
    assert [f.id for f in verdict.findings] == ([] if plain else ["system.bad-count"])
    # The official result summary calls int(), which reads 8.0 and " 8", and crashes on "8.0"
    crashes = value in ("8.0", "1,024")
    weight = Severity.WARNING if crashes else Severity.NOTE
    assert all(f.severity is weight for f in verdict.findings)
    assert verdict.description is not None
    assert verdict.description.number_of_nodes == read


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("system_type", Severity.NOTE),
        ("host_network_card_count", Severity.NOTE),
        ("cooling", Severity.ERROR),
        ("host_memory_capacity", Severity.ERROR),
    ],
)
def test_a_missing_field_is_a_note_if_most_descriptions_omit_it(
    name: str, severity: Severity
) -> None:
    assert only(judge(without(name))).severity is severity


def test_an_empty_field_that_identifies_the_system_is_a_warning() -> None:
    for name in ("host_memory_capacity", "accelerator_model_name", "framework"):
        assert judge(good(**{name: ""})).findings[-1].severity is Severity.WARNING


@pytest.mark.parametrize(
    "value", ["eight", "8x", -1, "0", 0, True, None, "", 8.5, [8], {}, "N/A", 10**12, float("inf")]
)
def test_an_invalid_count_is_an_error(value: Any) -> None:
    fields = good(number_of_nodes=value)
    found = [f for f in judge(fields).findings if f.id != "system.not-json"]
    assert [(f.id, f.severity) for f in found] == [("system.bad-count", Severity.ERROR)]
    assert found[0].line == line_of(fields, "number_of_nodes")
    assert judge(fields, profile=Profile.VERIFIER).findings == []


def test_zero_accelerators_are_valid_and_a_bad_core_count_is_a_warning() -> None:
    none = good(accelerators_per_node="0", accelerator_model_name="N/A")
    assert judge(none).findings == []
    assert only(judge(good(host_processor_core_count="many"))).severity is Severity.WARNING


@pytest.mark.parametrize("name", [name for name, field in FIELDS.items() if field.crashes])
def test_a_value_that_crashes_the_verifier_is_reported(name: str) -> None:
    found = only(judge(good(**{name: 8}), profile=Profile.VERIFIER))
    assert (found.id, found.severity, found.key) == ("system.verifier-crash", Severity.ERROR, name)
    assert "the official verifier crashes" in found.message
    found = judge(good(**{name: 8})).findings[0]
    assert (found.severity, found.stated_by) == (Severity.WARNING, StatedBy.VERIFIER)


# --- spellings ------------------------------------------------------------------------------------


def test_a_status_needs_an_exact_spelling_from_4_0_on() -> None:
    for status in ("onprem", "available onprem"):
        found, *others = judge(good(status=status)).findings
        assert (found.id, found.severity) == ("system.bad-status", Severity.ERROR)
        assert all(each.severity is Severity.NOTE for each in others)
        assert "did you mean" in found.hint
        assert not judge(good(status=status), profile=Profile.VERIFIER).passed
    for status in ("available", "preview", "RDI", "Research, Development, or Internal"):
        report = judge(good(status=status))
        (found,) = [each for each in report.findings if each.id == "system.bad-status"]
        assert (found.severity, found.stated_by) == (Severity.WARNING, StatedBy.VERIFIER)
        assert "only the exact spellings Available on-premise |" in found.message
        assert report.passed
        assert not judge(good(status=status), profile=Profile.VERIFIER).passed
    found = only(judge(good(status="onprem"), find_round("training", "4.0")))
    assert (found.severity, found.stated_by) == (Severity.NOTE, StatedBy.VERIFIER)
    found = only(judge(good(status="banana"), find_round("training", "4.0")))
    assert found.severity is Severity.ERROR
    assert only(judge(good(status=""))).severity is Severity.ERROR


@pytest.mark.parametrize("rules", [OLD, find_round("hpc", "3.0")], ids=lambda rules: rules.title)
def test_other_spellings_of_a_status_are_accepted_in_older_rounds(rules: Round) -> None:
    for status in ("onprem", "cloud", "available", "research", "Available in cloud"):
        assert judge(good(status=status), rules).findings == []
    assert only(judge(good(status="banana"), rules)).severity is Severity.WARNING
    assert judge(good(status="banana"), rules, Profile.VERIFIER).findings == []


def test_statuses_are_mapped_to_categories() -> None:
    assert category_of("Research, Development, or Internal (RDI)") is Category.RDI
    assert category_of("On-Premises") is Category.ON_PREMISE
    assert category_of(3) is None


def test_a_misspelled_division_gets_a_hint() -> None:
    assert "'closed'" in only(judge(good(division="Closed"))).hint
    found = only(judge(good(division="close")))
    assert found.id == "system.bad-division"
    assert found.hint == "write closed or open; did you mean 'closed'?"
    assert found.severity is Severity.WARNING
    assert only(judge(good(division="banana"))).expected == "closed or open"
    assert judge(good(division="banana"), profile=Profile.VERIFIER).findings == []


def test_a_misspelled_field_is_reported_at_its_line() -> None:
    fields = good(division=..., divison="closed")
    found = only(judge(fields))
    assert (found.id, found.key) == ("system.misspelt-field", "divison")
    assert (found.line, found.severity) == (line_of(fields, "divison"), Severity.ERROR)
    assert "`division`" in found.message
    found = only(judge(fields, profile=Profile.VERIFIER))
    assert (found.id, found.key) == ("system.missing-field", "division")


@pytest.mark.parametrize("name", ["system-type", "System_Type", "system type"])
def test_a_field_name_with_other_separators_is_a_warning(name: str) -> None:
    found = only(judge(good(system_type=..., **{name: "datacenter"})))
    assert (found.id, found.severity) == ("system.misspelt-field", Severity.WARNING)


def test_additional_fields_are_accepted() -> None:
    assert (
        judge(good(framework_name="x", hardware="y", power_supply_details={"a": 1})).findings == []
    )


def test_several_errors_are_all_reported() -> None:
    fields = good(cooling=..., status="onprem", number_of_nodes="x", division="Open", framework="")
    ids = {found.id for found in judge(fields).findings}
    assert ids == {
        "system.missing-field",
        "system.bad-status",
        "system.bad-count",
        "system.bad-division",
        "system.empty-field",
    }


# --- text -----------------------------------------------------------------------------------------

TEXT = json.dumps(good(), indent=2)


def broken(text: str | bytes, line: int, said: str) -> None:
    """Assert that both profiles report only invalid JSON, and the policy at this line."""
    found = only(judge(text))
    assert (found.id, found.severity) == ("system.not-json", Severity.ERROR)
    assert found.line == line
    assert said in found.message
    assert [f.id for f in judge(text, profile=Profile.VERIFIER).findings] == ["system.not-json"]


def test_almost_valid_json_is_reported_with_its_cause() -> None:
    last = len(FIELDS) + 1
    broken(TEXT[:-2] + ",\n}", last, "comma after the last field")
    broken(TEXT[:-1], last, "ends before the end of the object")
    broken(TEXT + "}", last + 1, "after the end of the object")
    broken(TEXT.replace('",\n', '"\n', 1), 3, "no comma before")
    broken(TEXT.replace("{", "{ // mine\n", 1), 1, "comment")
    broken(b"\xef\xbb\xbf" + TEXT.encode(), 1, "byte order mark")
    broken(TEXT.replace("Liquid", "Liqu\xe9d").encode("latin-1"), 32, "not valid UTF-8")
    broken(TEXT.encode("utf-16"), 1, "UTF-16")
    broken(TEXT.replace("Liquid", "Li\tquid"), 32, "control character")
    broken(TEXT.replace('"Liquid"', "Liquid"), 32, "cannot be read")
    broken(TEXT.replace('"Liquid"', "9" * 5000), 32, "more than 4300 digits")
    broken(TEXT.replace('"Liquid"', "[" * 100_000), 32, "more than 128 deep")


@pytest.mark.parametrize(
    "before",
    ["TBD", "cooling", 'for "cooling": air', "caf\xe9\\", {"cooling": 1}, ["cooling"]],
    ids=str,
)
def test_a_field_is_located_even_if_other_values_contain_its_name(before: object) -> None:
    fields = {"submitter": before} | good(submitter=before, cooling="TBD")
    for indent in (2, 0):
        text = json.dumps(fields, indent=indent)
        (found,) = (f for f in judge(text).findings if f.key == "cooling")
        lines = text.splitlines()
        assert found.line is not None
        assert lines[found.line - 1].strip() == '"cooling": "TBD",'


def test_several_syntax_errors_are_all_reported() -> None:
    text = TEXT.replace('"Liquid"', "Liquid").replace('"open"', "x").replace('"8"', "'8'")
    found = judge(text).findings
    assert {f.id for f in found} == {"system.not-json"}
    assert len(found) == 3
    assert all(re.search(r"line \d+ column \d+", f.message) for f in found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("[]", "a list"),
        ('"x"', "a string"),
        ("3", "a single value"),
        ("null", "a single value"),
        ("[" * 100_000, "more than 128 deep"),
        ("result", "not valid JSON"),
        ("\0\0", "not valid JSON"),
    ],
)
def test_a_description_that_is_not_an_object_is_reported(text: str, said: str) -> None:
    verdict = judge(text)
    assert said in only(verdict).message
    assert verdict.description is None
    assert not judge(text, profile=Profile.VERIFIER).passed


def test_a_duplicate_field_is_a_warning() -> None:
    text = TEXT.replace("{", '{\n  "status": "bad",', 1)
    found = only(judge(text))
    assert (found.id, found.key, found.severity) == (
        "system.duplicate-field",
        "status",
        Severity.WARNING,
    )
    assert "first on line 2" in found.message
    assert judge(text, profile=Profile.VERIFIER).findings == []


def test_a_nan_value_is_not_valid_json() -> None:
    text = TEXT.replace('"none"', "NaN", 1)
    assert only(judge(text)).id == "system.not-json"
    assert judge(text, profile=Profile.VERIFIER).findings == []


def test_a_file_that_cannot_be_read_fails_in_both_profiles(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with (tmp_path / "huge.json").open("wb") as stream:
        stream.truncate(5 << 30)
    for name in ("pipe", "folder", "absent", "huge.json", "a\0b"):
        for profile in Profile:
            verdict = check_system(tmp_path / name, name, NEW, profile)
            assert not verdict.passed
            assert only(verdict).path == name
    assert LARGEST < 5 << 30


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_description_does_not_raise(data: st.DataObject) -> None:
    text = bytearray(TEXT.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        span = data.draw(st.integers(0, 40))
        text[at : at + span] = data.draw(
            st.binary(max_size=6) | st.sampled_from([b'"', b"{", b","])
        )
    for profile in Profile:
        verdict = judge(bytes(text), profile=profile)
        for found in verdict.findings:
            assert found.line is None or 1 <= found.line <= text.count(b"\n") + 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


ODD_TEXTS = ("", "-", "0", "8", "08", " 8", "8\n", "-8", "00", "9" * 10, "0.0", "1,000", "\uff11")
ODD_WORDS = ("none", "N/A", "TBD", "preview", " preview ", "closed", "Closed", "cloud", "\u00a0")
ODD_VALUES = (0, 1, -1, 8.0, True, False, None, [], {}, [""], {"a": 1}, ...)
ODD = st.sampled_from([*ODD_TEXTS, *ODD_WORDS, "Available on-premise", "x", "\t-", *ODD_VALUES])


@settings(max_examples=400, deadline=None)
@given(
    st.dictionaries(st.sampled_from(sorted(FIELDS)), JSON | ODD, min_size=1, max_size=5),
    st.sampled_from(ROUNDS),
)
def test_any_value_that_violates_the_schema_is_reported(
    changes: dict[str, Any], rules: Round
) -> None:
    fields = good(**changes)
    verdict = judge(fields, rules)
    fits = jsonschema.Draft202012Validator(system_schema(rules)).is_valid(fields)
    assert fits or verdict.findings
    assert verdict.description is not None
    judge(fields, rules, Profile.VERIFIER)


def test_system_check_applies_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "8xEX.json"
    file.write_text(json.dumps(good()))
    assert check_systems([file], Options(round="5.1")).findings == []
    stricter = system_schema(NEW) | {"required": ["more"]}
    validator = jsonschema.Draft202012Validator(stricter)
    monkeypatch.setattr(system_schema_module, "_validator", lambda *_: validator)
    (found,) = check_systems([file], Options(round="5.1")).findings
    assert (found.id, found.severity) == ("system.schema", Severity.WARNING)


# --- implausible values ---


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("accelerators_per_node", "0", "system.accelerators-not-counted"),
        ("host_memory_capacity", "lots", "system.bad-capacity"),
        ("host_memory_capacity", "256", "system.bad-capacity"),
        ("host_storage_capacity", "2 big disks", "system.bad-capacity"),
        ("accelerator_memory_capacity", 80, "system.bad-capacity"),
        ("system_type_detail", "banana", "system.unusual-detail"),
        ("framework", "PyTorch 2.9, private build", "system.private-software"),
        ("other_software_stack", {"comm": ["NCCL (unreleased)"]}, "system.private-software"),
        ("sw_notes", "compiler not yet released", "system.private-software"),
    ],
)
def test_an_implausible_value_is_reported_by_the_policy(field: str, value: Any, rule: str) -> None:
    fields = good(**{field: value})
    found = only(judge(fields))
    assert (found.id, found.key, found.line) == (rule, field, line_of(fields, field))
    assert judge(fields, profile=Profile.VERIFIER).passed


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("host_memory_capacity", "24 x 32GB RDIMM, 3200MT/s"),
        ("host_memory_capacity", "1.5TiB"),
        ("host_storage_capacity", "1.7 T"),
        ("host_storage_capacity", "N/A"),
        ("accelerator_memory_capacity", "80G"),
        ("accelerator_memory_capacity", "81559 MiB"),
        ("system_type_detail", "Cloud"),
        ("system_type_detail", "on-prem"),
        ("system_type_detail", "N/A"),
        ("framework", "PyTorch 2.9.0a0+git1234 (internals documented)"),
        ("other_software_stack", {"jax": "nightly"}),
    ],
)
def test_a_plausible_value_is_accepted(field: str, value: Any) -> None:
    assert judge(good(**{field: value})).findings == []


@pytest.mark.parametrize("status", ["Preview", "Research, Development, or Internal (RDI)"])
def test_private_software_is_accepted_in_a_system_not_yet_available(status: str) -> None:
    found = judge(good(status=status, framework="a private build")).findings
    assert "system.private-software" not in [each.id for each in found]


@pytest.mark.parametrize(("name", "days"), [("1.0", 180), ("1.1", 140), ("5.1", 140)])
def test_a_preview_gets_a_note_on_its_deadline(name: str, days: int) -> None:
    found = judge(good(status="Preview"), find_round("training", name)).findings
    (note,) = [each for each in found if each.id == "system.preview-due"]
    assert note.severity is Severity.NOTE
    assert f"after {days} days" in note.message


def test_an_unknown_division_is_an_error_and_a_misspelled_one_a_warning() -> None:
    for division in ("close", "Closed", "opem"):
        assert only(judge(good(division=division))).severity is Severity.WARNING
    found = only(judge(good(division="banana")))
    assert (found.id, found.severity) == ("system.bad-division", Severity.ERROR)


@pytest.mark.parametrize("division", ["", "  ", None])
def test_an_empty_division_is_an_error(division: str | None) -> None:
    found = only(judge(good(division=division)))
    assert (found.id, found.severity) == ("system.bad-division", Severity.ERROR)


# --- agreement with logs and folders --------------------------------------------------------------


def differs(facts: LogFacts, **changes: Any) -> list[str]:
    """Ids of the findings for a log and a description of 8 nodes with 8 accelerators each."""
    found = agrees_with_logs(describe(good(**changes)), facts, "result_0.txt")
    assert all(each.stated_by is StatedBy.POLICY for each in found)
    return [each.id for each in found]


def test_a_log_must_agree_with_the_description() -> None:
    agrees = LogFacts("EXAMPLE labs", "8xEX", "onprem", 8, 8)
    assert differs(agrees) == []
    assert differs(LogFacts()) == []
    assert differs(LogFacts(org="Other")) == ["system.submitter-mismatch"]
    assert differs(LogFacts(org="SUBMISSION_ORG_PLACEHOLDER")) == ["system.submitter-mismatch"]
    assert differs(LogFacts(platform="8xSUBMISSION_PLATFORM_PLACEHOLDER")) == [
        "system.platform-mismatch"
    ]
    assert differs(LogFacts(platform="64xACC-100")) == []
    assert differs(LogFacts(platform="5xACC-100")) == ["system.platform-mismatch"]
    assert differs(LogFacts(platform="other")) == ["system.platform-mismatch"]
    assert differs(LogFacts(status="cloud")) == ["system.status-mismatch"]
    assert differs(LogFacts(status="cloud"), status="available") == []


def test_a_placeholder_in_a_log_is_a_note_and_another_name_a_warning() -> None:
    for facts, severity in (
        (LogFacts(org="SUBMISSION_ORG_PLACEHOLDER"), Severity.NOTE),
        (LogFacts(org="Other"), Severity.WARNING),
        (LogFacts(platform="8xSUBMISSION_PLATFORM_PLACEHOLDER"), Severity.NOTE),
        (LogFacts(platform="2xSUBMISSION_PLATFORM_PLACEHOLDER"), Severity.WARNING),
        (LogFacts(platform="other"), Severity.WARNING),
    ):
        found = agrees_with_logs(describe(good()), facts, "result_0.txt")
        assert found[-1].severity is severity


@pytest.mark.parametrize(
    ("folder", "same"), [("smc-dc-power", True), ("smd", False), ("sm-power", False)]
)
def test_a_folder_may_have_the_initials_of_the_submitter(folder: str, same: bool) -> None:
    description = describe(good(submitter="Sustainable Metal Cloud"))
    assert (not [*agrees_with_folder(description, folder, "systems/a.json")]) is same


def test_a_log_must_agree_with_the_size_of_the_system() -> None:
    assert differs(LogFacts(nodes=4, accelerators_per_node=8)) == ["system.size-mismatch"]
    assert differs(LogFacts(nodes=4, accelerators_per_node=8, weak=True)) == []
    assert differs(LogFacts(nodes=16, accelerators_per_node=8, weak=True)) != []
    assert differs(LogFacts(nodes=64, accelerators_per_node=1)) == []
    assert differs(LogFacts(accelerators_per_node=4)) == ["system.size-mismatch"]


def test_different_spellings_of_an_organization_are_equal() -> None:
    assert same_organization("CoreWeave + IBM + NVIDIA", "IBM+CoreWeave+NVIDIA")
    assert same_organization("HabanaLabs", "Habana")
    assert same_organization("Juniper Networks", "JuniperNetworks")
    assert same_organization("Dell Technologies", "Dell")
    assert not same_organization("Dell+AMD", "Dell+Intel")
    found = agrees_with_folder(describe(good()), "Somebody", "s.json")
    assert [each.id for each in found if "`" in each.message] == ["system.name-mismatch"]
    assert [*agrees_with_folder(describe(good()), "Example_Labs", "s.json")] == []


def test_read_count_refuses_values_that_are_not_counts() -> None:
    assert read_count("٣").value is None
    assert read_count("1e3").value is None
    assert read_count(float("nan")).value is None


# --- the official checker -------------------------------------------------------------------------

ORACLE = """
import json, logging, runpy, sys
answers = []
for path, usage, name in json.load(sys.stdin):
    logging.root.handlers.clear()
    sys.argv = ["x", path, usage, name + ".0", "--log_output", "oracle.log"]
    sys.stdout = sys.stderr
    open("oracle.log", "w").close()
    try:
        runpy.run_module("mlperf_logging.system_desc_checker", run_name="__main__")
    except SystemExit:
        pass
    except BaseException:
        answers.append(False)
        continue
    logging.shutdown()
    answers.append("checker passed" in open("oracle.log").read())
sys.stdout = sys.__stdout__
json.dump(answers, sys.stdout)
"""


def oracle(cases: list[tuple[str, str, str]], folder: Path) -> list[bool]:
    """Whether the official checker accepts each (file, usage, round); a traceback is False."""
    pytest.importorskip("mlperf_logging")
    call = [sys.executable, "-c", ORACLE]
    done = subprocess.run(
        call, input=json.dumps(cases), capture_output=True, text=True, cwd=folder, check=True
    )
    answers: list[bool] = json.loads(done.stdout)
    return answers


@cache
def damages() -> tuple[bytes, ...]:
    """Descriptions with every kind of error, as bytes."""
    values: tuple[Any, ...] = ("", 8, 8.0, None, [], {}, True, "x", "onprem", "Preview")
    made = [json.dumps(without(name)) for name in FIELDS]
    made += [json.dumps(good(**{name: value})) for name in FIELDS for value in values]
    texts = ["", "[]", '"x"', "3", "null", "{", TEXT[:-2] + ",}", TEXT + "}", "[" * 100_000]
    texts += [json.dumps(sorted(FIELDS)), TEXT.replace('"none"', "NaN", 1), "\ufeff" + TEXT]
    texts += [TEXT.replace("Liquid", "Li\tquid"), TEXT.replace("{", '{"status": "bad",', 1)]
    texts += [TEXT[:-2] + ', "status": "bad"}', TEXT.replace('"Liquid"', "9" * 5000)]
    return (*(text.encode() for text in (*made, *texts)), TEXT.encode("utf-16"), b"\xff")


@pytest.mark.parametrize("rules", [NEW, OLD, find_round("hpc", "3.0")], ids=lambda r: r.title)
def test_damaged_descriptions_get_the_verdict_of_the_official_checker(
    rules: Round, tmp_path: Path
) -> None:
    cases = []
    for number, data in enumerate(damages()):
        (tmp_path / f"{number}.json").write_bytes(data)
        cases.append((f"{number}.json", rules.usage, rules.name))
    for (name, _, _), accepted in zip(cases, oracle(cases, tmp_path), strict=True):
        verdict = check_system(tmp_path / name, name, rules, Profile.VERIFIER)
        assert verdict.passed == accepted, (tmp_path / name).read_bytes()[:2000]


def test_published_descriptions_get_the_verdict_of_the_official_checker(
    corpus: Path, tmp_path: Path
) -> None:
    files = sorted(corpus.glob("**/systems/*.json"))
    assert len(files) > 100
    chosen = [RoundRequest().choose(file.parent).rules for file in files]
    cases = [(str(f), r.usage, r.name) for f, r in zip(files, chosen, strict=True)]
    for file, rules, accepted in zip(files, chosen, oracle(cases, tmp_path), strict=True):
        verdict = check_system(file, file.name, rules, Profile.VERIFIER)
        assert verdict.passed == accepted, file
        assert check_system(file, file.name, rules, Profile.POLICY).description is not None


@pytest.mark.parametrize("value", [None, ["PyTorch 2.6"], {"name": "PyTorch 2.6"}, 2.6])
def test_a_value_of_another_type_has_one_finding(value: object, tmp_path: Path) -> None:
    tree = usual(tmp_path / "Acme")
    path = tree.root / "systems" / "ex_n8.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"framework": value}, indent=1))
    report = check(tree.root, round="5.1")
    found = [each for each in report.findings if each.key == "framework" and not each.caused_by]
    assert len(found) == 1
    assert report.official_verdict == "rejected"
