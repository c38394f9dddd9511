"""`podium preflight`: declared hyperparameters in every supported file format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.errors import ComplianceError, UsageFault
from podium.compliance.tools.live.declaration import parse_yaml, read_declaration
from podium.compliance.tools.live.preflight import Preflight, page, preflight
from podium.logging_spec import keys as k
from podium.logging_spec.reader.read import parse_log
from podium.rules.catalogue import find_round
from tests.builders import build, cases
from tests.compliance.command_line import Done, podium

LEGAL: dict[str, Any] = {
    record.key: record.value
    for record in parse_log(build("training", "6.1", "closed", "llama31_8b").bytes()).records
    if (key := k.known(record.key)) and key.role in ("hyperparameter", "disclosure", "statistic")
}


def judged(tmp_path: Path, values: dict[str, Any], **options: Any) -> Preflight:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values))
    options = {"benchmark": "llama31_8b"} | options
    return preflight(read_declaration(path), find_round("training", "6.1"), **options)


# --- the verdict ---


def test_legal_settings_are_accepted_in_any_order(tmp_path: Path) -> None:
    for values in (LEGAL, dict(reversed(LEGAL.items()))):
        found = judged(tmp_path, values)
        assert found.legal, found.findings
        assert (found.findings, found.missing) == ([], [])


@pytest.mark.parametrize("name", [w.benchmark for w in cases() if w.round == "6.1"][::2])
def test_the_settings_of_a_valid_log_are_legal(name: str, tmp_path: Path) -> None:
    path = tmp_path / "dry.txt"
    path.write_bytes(build("training", "6.1", "closed", name).bytes())
    found = preflight(read_declaration(path), find_round("training", "6.1"))
    assert found.legal, (found.findings, found.missing)
    assert (found.benchmark, found.division) == (name, "closed")


def test_a_violated_rule_has_the_finding_of_check(tmp_path: Path) -> None:
    found = judged(tmp_path, LEGAL | {"opt_adamw_beta_2": 0.9})
    assert [(f.id, f.line) for f in found.findings] == [
        ("closed.llama31_8b.opt_adamw_beta_2", None)
    ]
    assert not found.legal


def test_a_missing_hyperparameter_is_reported_with_its_allowed_value(tmp_path: Path) -> None:
    values = {key: value for key, value in LEGAL.items() if key != "opt_gradient_clip_norm"}
    found = judged(tmp_path, values)
    assert [(each.key, each.allowed) for each in found.missing] == [
        ("opt_gradient_clip_norm", "1.0")
    ]
    assert not found.legal


def test_a_bound_that_depends_on_a_missing_key_is_not_reported(tmp_path: Path) -> None:
    values = {key: v for key, v in LEGAL.items() if key != "opt_learning_rate_warmup_steps"}
    found = judged(tmp_path, values)
    assert found.findings == []
    assert [each.key for each in found.missing] == ["opt_learning_rate_warmup_steps"]


def test_a_key_that_may_be_logged_later_is_not_an_error(tmp_path: Path) -> None:
    values = {key: value for key, value in LEGAL.items() if key != "eval_samples"}
    found = judged(tmp_path, values)
    assert found.legal
    assert "eval_samples" in [each.key for each in found.to_log]


@pytest.mark.parametrize(
    ("key", "value", "severity"),
    # A requirement of the policy alone is an error as well if the rules leave no choice
    [("train_samples", 1, "warning"), ("opt_end_learning_rate", 0.5, "error")],
)
def test_requirements_of_the_policy_alone_have_the_severity_of_their_rows(
    tmp_path: Path, key: str, value: float, severity: str
) -> None:
    found = judged(tmp_path, LEGAL | {key: value})
    assert [f.severity for f in found.findings] == [severity]
    assert found.legal == (severity == "warning")


def test_the_report_has_free_keys_evaluations_and_the_reference(tmp_path: Path) -> None:
    found = judged(tmp_path, LEGAL, batch_size=1024)
    assert found.free["global_batch_size"] == 1024
    assert found.evaluations[-1]["interval"] == 12_288
    bert = {"global_batch_size": 448}
    other = preflight(_declared(tmp_path, bert), find_round("training", "5.0"), benchmark="bert")
    assert other.reference.mean is not None
    assert other.reference.minimum is not None
    assert other.reference.minimum < other.reference.mean


def _declared(tmp_path: Path, values: dict[str, Any]) -> Any:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(values))
    return read_declaration(path)


def test_unknown_names_are_reported(tmp_path: Path) -> None:
    found = judged(tmp_path, LEGAL | {"learning_speed": 1, "globalbatch_size": 3})
    assert found.ignored[0] == "learning_speed"
    misspelt = judged(tmp_path, {"global_batchsize": 3})
    assert [f.id for f in misspelt.findings] == ["log.misspelt-key"]


def test_a_name_similar_to_a_missing_key_is_reported_as_misspelt(tmp_path: Path) -> None:
    legal = {key: value for key, value in LEGAL.items() if key != "opt_base_learning_rate"}
    found = judged(tmp_path, legal | {"opt_base_lr": 1e-3})
    (finding,) = [each for each in found.findings if each.id == "log.misspelt-key"]
    assert (finding.key, finding.expected) == ("opt_base_lr", "opt_base_learning_rate")
    assert not judged(tmp_path, LEGAL | {"opt_base_lr": 1e-3}).findings


# --- input files ---


def test_nested_groups_are_read(tmp_path: Path) -> None:
    found = judged(tmp_path, {"model": {"max_sequence_length": 1}, "a": {"b": {"opt_name": "sgd"}}})
    assert {f.key for f in found.findings} == {"max_sequence_length", "opt_name"}


def test_toml_yaml_and_json_give_the_same_values(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[optimizer]\nopt_name = 'adamw'\nopt_adamw_beta_2 = 0.9\n")
    (tmp_path / "c.yaml").write_text(
        "optimizer:  # AdamW\n  opt_name: adamw\n  'opt_adamw_beta_2': 0.9\n"
    )
    (tmp_path / "c.json").write_text('{"opt_name": "adamw", "opt_adamw_beta_2": 0.9}')
    read = [read_declaration(tmp_path / f"c.{form}").values for form in ("toml", "yaml", "json")]
    assert read[0] == read[1] == read[2]


def test_yaml_scalars_and_lists_are_read() -> None:
    text = """
    ---
    a: 1
    b: 1e-5
    c: [1, 2.5, x]
    d:
      - 3
      - "four # not a comment"
    e: true
    f: ~
    g: 'it''s'
    h: 1_200_000
    i: cosine with linear warmup
    j:
      k: -0.5
    l: .5
    m: "\\u00e9"
    """
    assert parse_yaml("\n".join(line[4:] for line in text.splitlines())) == {
        "a": 1,
        "b": 1e-5,
        "c": [1, 2.5, "x"],
        "d": [3, "four # not a comment"],
        "e": True,
        "f": None,
        "g": "it's",
        "h": 1_200_000,
        "i": "cosine with linear warmup",
        "j": {"k": -0.5},
        "l": 0.5,
        "m": "é",
    }


@pytest.mark.parametrize("text", ["- a", "a: &b 1", "a: |\n  x", "a:\n  - b: 1", "only words"])
def test_yaml_beyond_the_simple_subset_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="line"):
        parse_yaml(text)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("c.json", b"{"),
        ("c.json", b"[1]"),
        ("c.toml", b"a ="),
        ("c.txt", b"\xff\xfe"),
        ("deep.json", b'{"a": ' + b"[" * 100_000),
        ("deep.toml", b"a = " + b"[" * 5000 + b"]" * 5000),
        ("long.toml", b"a = " + b"9" * 5000),
        ("no", None),
    ],
)
def test_an_unreadable_declaration_is_an_error(
    name: str, data: bytes | None, tmp_path: Path
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(ComplianceError):
        read_declaration(tmp_path / name)


def test_a_repeated_key_in_a_log_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "dry.txt"
    log = build("training", "6.1", "closed", "llama31_8b").repeat("max_steps", 7)
    path.write_bytes(log.bytes())
    found = preflight(read_declaration(path), find_round("training", "6.1"))
    assert {f.line for f in found.findings} == {log.line_of("max_steps") + 1}


def test_a_missing_benchmark_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="--benchmark"):
        judged(tmp_path, LEGAL, benchmark=None)


# --- the command ---


def run(path: Path, *options: str) -> Done:
    return podium("preflight", path, "--round", "6.1", *options)


def test_the_command_prints_its_verdict_as_text_and_json(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(LEGAL))
    good = run(path, "--benchmark", "llama31_8b")
    assert good.exit_code == 0
    assert good.stdout.endswith("LEGAL\n")
    path.write_text(json.dumps(LEGAL | {"opt_name": "sgd"}))
    bad = run(path, "--benchmark", "llama31_8b", "--format", "json")
    assert bad.exit_code == 1
    reported = json.loads(bad.stdout)
    assert (reported["schema"], reported["verdict"]) == ("podium.preflight/1", "illegal")


def test_lines_fit_the_terminal_and_escape_control_characters(tmp_path: Path) -> None:
    found = judged(tmp_path, {"opt_name": "\x1b[2J" + "x" * 200, "n\x1b" * 40: 1, "max_steps": 3})
    for width in (40, 80):
        lines = page(found, width)
        assert max(map(len, lines)) <= width
        assert "\x1b" not in "".join(lines)
