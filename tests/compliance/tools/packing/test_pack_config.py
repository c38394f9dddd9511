"""podium.toml: every field is known, and every mistake is reported."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.compliance.cli.entry import run
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.compliance.tools.packing.planning.config import (
    CodeConfig,
    PackConfig,
    ResultConfig,
    config_schema,
    example,
    read_config,
    setting,
    validate,
    with_options,
)
from tests.compliance.packs import Loose

LEAST: dict[str, Any] = {"submitter": "Acme", "round": "5.1"}


def said(fields: dict[str, Any]) -> str:
    with pytest.raises(UsageFault) as caught:
        validate(fields, "podium.toml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"submiter": "Acme"}, "unknown field submiter; did you mean submitter?"),
        ({"Systems": {}}, "unknown field Systems; did you mean systems?"),
        ({"wholly_other": 1}, "unknown field wholly_other; expected one of submitter, usage"),
        (
            {"results": [{"sytem": "a", "system": "b", "benchmark": "c"}]},
            "unknown field results[1].sytem; did you mean system?",
        ),
        ({"code": [{"folder": "a", "excludes": []}]}, "did you mean exclude?"),
        ({"results": [{"benchmark": "c"}]}, "results[1].system is missing"),
        ({"division": "close"}, "division: input should be 'closed' or 'open'"),
        ({"submitter": "a/b"}, "submitter: 'a/b' is not a valid name"),
        ({"submitter": ".."}, "'..' is not a valid name"),
        ({"documents": {"../x": "y"}}, "'../x' is not a path in the tree"),
        ({"documents": {"/x": "y"}}, "'/x' is not a path in the tree"),
        ({"code": [{"folder": "a", "into": "results/x"}]}, "code cannot be in results"),
        ({"systems": {"a/b": "c"}}, "'a/b' is not a valid name"),
        ({"round": 5}, "round: input should be a valid string"),
        ({"merge": "x"}, "merge: input should be a valid list"),
    ],
)
def test_a_mistake_is_reported_with_its_field(fields: dict[str, Any], words: str) -> None:
    assert words in said(LEAST | fields)


def test_a_missing_field_is_reported_with_its_option() -> None:
    printed = said({})
    assert "submitter is missing: set it, or pass --submitter" in printed
    assert "round is missing: set it, or pass --round" in printed


def test_a_round_may_be_written_as_a_number() -> None:
    assert validate(LEAST | {"round": 6.0}, "podium.toml").round == "6.0"


def test_the_example_has_every_field_and_is_valid_once_uncommented() -> None:
    text = example({"submitter": '"Acme"', "usage": '"training"', "round": '"5.1"'})
    assert tomllib.loads(text) == {"submitter": "Acme", "usage": "training", "round": "5.1"}
    plain = re.sub(r"(?m)^# (?=\[\[|[a-z_]+ = )", "", text)
    fields = tomllib.loads(plain)
    config = validate(fields, "podium.toml")
    assert set(fields) == set(PackConfig.model_fields)
    assert set(fields["results"][0]) == set(ResultConfig.model_fields)
    assert set(fields["code"][0]) == set(CodeConfig.model_fields)
    # A TOML date is a string in JSON
    jsonschema.validate(json.loads(json.dumps(fields, default=str)), config_schema())
    assert config.systems == {"my_system": "descriptions/my_system.json"}


def test_init_writes_a_podium_toml_that_pack_accepts(tmp_path: Path) -> None:
    folder = tmp_path / "Acme"
    assert run(["init", str(folder), "--submitter", "Acme", "--round", "5.1"]) == Exit.CLEAN
    text = (folder / "podium.toml").read_text()
    for name in (*PackConfig.model_fields, *ResultConfig.model_fields, *CodeConfig.model_fields):
        assert re.search(rf"(?m)^(# )?(\[\[)?{name}\b", text), name
    validate(tomllib.loads(text), "podium.toml")
    assert run(["pack", str(folder), "--dry-run"]) == Exit.CLEAN


def test_the_schema_is_printed_and_rejects_unknown_fields(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["rules", "schema", "config"]) == Exit.CLEAN
    printed = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(printed)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(LEAST | {"submiter": "x"}, printed)


def test_options_extend_lists_and_tables_and_replace_values() -> None:
    fields = LEAST | {"merge": ["a"], "systems": {"a": "b"}, "division": "open"}
    given = {"merge": ["c"], "systems": {"d": "e"}, "division": None, "round": "6.0"}
    merged = with_options(fields, given)
    assert merged["merge"] == ["a", "c"]
    assert merged["systems"] == {"a": "b", "d": "e"}
    assert (merged["division"], merged["round"]) == ("open", "6.0")


def test_a_setting_is_parsed_as_toml_or_as_a_string() -> None:
    assert setting('merge = ["a"]') == {"merge": ["a"]}
    assert setting("into=some where") == {"into": "some where"}
    with pytest.raises(UsageFault, match="did you mean division"):
        setting("divison=open")


@pytest.mark.parametrize(
    "options",
    [
        ["--system", "a"],
        ["--result", "a=b"],
        ["--result", "a/b/c/d=e"],
        ["--code", "=x"],
        ["--document", "../x=y"],
        ["--merge", "nowhere"],
        ["--round", "77"],
        ["--set", "merge=3"],
    ],
)
def test_invalid_options_are_reported_in_one_line(
    tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    loose = Loose(tmp_path)
    assert loose.pack(*options) == Exit.USAGE
    assert capsys.readouterr().err.count("\n") == 1


def test_a_missing_podium_toml_is_reported_with_a_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pack", str(tmp_path)]) == Exit.USAGE
    assert "podium init" in capsys.readouterr().err
    assert run(["pack", str(tmp_path / "nowhere.toml")]) == Exit.USAGE


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "podium.toml").write_text('round = "4.1"\n', encoding="utf-8-sig")
    assert read_config(tmp_path / "podium.toml") == {"round": "4.1"}


@pytest.mark.parametrize("data", [b"\xff", b"= 3", b"a" * (1 << 20) + b"b", b"x = [" * 5000])
def test_invalid_toml_is_reported_in_one_line(
    tmp_path: Path, data: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "podium.toml").write_bytes(data)
    assert run(["pack", str(tmp_path)]) == Exit.USAGE
    assert capsys.readouterr().err.count("\n") == 1


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
fields = st.sampled_from([*PackConfig.model_fields, *ResultConfig.model_fields, "folder"])


@given(st.dictionaries(fields, values | st.lists(st.dictionaries(fields, values), max_size=2)))
def test_any_field_values_are_accepted_or_refused_in_one_line(
    given_: dict[str, Any],
) -> None:
    printed = ""
    try:
        validate(LEAST | given_, "podium.toml")
    except UsageFault as fault:
        printed = str(fault)
    assert "\n" not in printed


def test_a_podium_toml_with_nothing_to_pack_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "podium.toml").write_text('submitter = "Acme"\nround = "5.1"\n')
    assert run(["pack", str(tmp_path)]) == Exit.FOUND
    assert "nothing to pack" in capsys.readouterr().out
    assert not (tmp_path / "packed").exists()
