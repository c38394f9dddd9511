"""`podium schema`: files that the models accept fit the JSON Schema; refused files do not."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from podium.compliance.cli.rulebook.schema import SchemaName
from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.house_table import read_rules
from podium.compliance.judging.waivers.file import read_waivers
from podium.compliance.tools.packing.planning.config import example, validate
from podium.compliance.tools.review.records import Record, record_text
from tests.builders import LogBuilder
from tests.compliance.command_line import podium
from tests.compliance.judging.inputs.test_house_rules import RULE
from tests.compliance.judging.plugins.plugged import plug_in
from tests.compliance.judging.waivers.test_waivers import GOOD, OTHER
from tests.compliance.packs import Loose
from tests.compliance.tools.review.rounds import NAME, submission
from tests.compliance.trees import description
from tests.locations import ROOT

COPIES = ROOT / "docs" / "schemas"


@cache
def text_of(name: str) -> str:
    done = podium("schema", name)
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


@cache
def schema(name: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(text_of(name))
    return made


def fits(name: str, data: Any) -> bool:
    """Whether data of JSON or TOML fits a schema; dates become strings."""
    plain = json.loads(json.dumps(data, default=lambda each: date.isoformat(each)))
    checker = jsonschema.FormatChecker()
    return bool(
        jsonschema.Draft202012Validator(schema(name), format_checker=checker).is_valid(plain)
    )


# --- the schemas themselves ---


@pytest.mark.parametrize("name", [each.value for each in SchemaName])
def test_a_schema_has_the_fields_that_schemastore_needs(name: str) -> None:
    made = schema(name)
    jsonschema.Draft202012Validator.check_schema(made)
    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert made["$id"] == f"https://json.schemastore.org/podium-{name}.json"
    assert made["title"]
    assert made["description"].endswith(".")


@pytest.mark.parametrize("name", [each.value for each in SchemaName])
def test_the_copy_in_the_repository_is_current(name: str) -> None:
    """`make docs` writes the copies."""
    assert (COPIES / f"podium-{name}.json").read_text() == text_of(name)


def test_the_folder_of_copies_has_no_other_file() -> None:
    assert {path.name for path in COPIES.iterdir()} == {
        f"podium-{each}.json" for each in SchemaName
    }


def test_rules_schema_prints_the_same_schema() -> None:
    assert podium("rules", "schema", "report").stdout == text_of("report")


def test_the_system_schema_depends_on_the_round(tmp_path: Path) -> None:
    old = podium("schema", "system", "--round", "1.0", "--output", tmp_path / "old.json")
    assert (old.exit_code, old.stdout) == (0, "")
    made = json.loads((tmp_path / "old.json").read_text())
    assert made["title"] == "MLPerf system description, training 1.0"
    assert made["required"] != schema("system")["required"]
    done = podium("schema", "config", "--round", "5.1")
    assert (done.exit_code, done.stderr) == (
        2,
        "podium: --round needs system; the schema of config does not depend on the round\n",
    )


# --- valid files ---


def blocks(kind: str) -> list[str]:
    """The blocks of a language in the documentation, except the files of other programs."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = [
        block
        for page in pages
        for block in re.findall(rf"(?ms)^```{kind}\n(.*?)^```", page.read_text())
    ]
    return [block for block in found if "[project" not in block]


def of(block: str) -> str:
    """The schema that a TOML block of the documentation is an example of."""
    if "podium.objection/1" in block:
        return "objection"
    return "waivers" if "[[waiver]]" in block else "config"


def test_every_example_in_the_documentation_fits() -> None:
    found = blocks("toml")
    assert {of(block) for block in found} >= {"config", "objection"}
    for block in found:
        assert fits(of(block), tomllib.loads(block)), block


def test_the_commented_example_fits_when_uncommented() -> None:
    text = example({"submitter": '"Acme"', "usage": '"training"', "round": '"5.1"'})
    assert fits("config", tomllib.loads(text))
    assert fits("config", tomllib.loads(re.sub(r"(?m)^# (?=\[\[|[a-z_]+ = )", "", text)))


def test_files_that_podium_writes_fit(
    tmp_path: Path, good: LogBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = podium("init", tmp_path / "Acme", "--submitter", "Acme", "--round", "6.1")
    assert made.exit_code == 0
    assert fits("config", tomllib.loads((tmp_path / "Acme" / "podium.toml").read_text()))
    monkeypatch.syspath_prepend(plug_in(tmp_path / "site"))
    for seed in ("1", 41, 42):
        path = good.set("seed", seed).write(tmp_path / "result_0.txt")
        done = podium("check", path, "--round", "5.1", "--format", "json")
        assert fits("report", json.loads(done.stdout))
        for line in path.read_text().splitlines():
            assert fits("record", json.loads(line.partition(" ")[2]))
    record = Record(id="Acme-x", message="a", comment='two\n"lines"')
    assert fits("objection", tomllib.loads(record_text(record)))


@pytest.mark.parametrize("text", [GOOD, OTHER, GOOD + OTHER, ""])
def test_valid_waivers_fit(text: str, tmp_path: Path) -> None:
    path = tmp_path / "waivers.toml"
    path.write_text(text)
    read_waivers(path)
    assert fits("waivers", tomllib.loads(text))


@pytest.mark.parametrize(
    "bound",
    ["1", "0.5", '"a"', "true", "[1, 2]", "{ at_least = 1 }", "{ one_of = [1], above = 0.5 }"],
)
def test_valid_project_rules_fit(bound: str) -> None:
    text = "[[rules]]\n" + RULE.replace("bound = 1024", f"bound = {bound}")
    fields = tomllib.loads(text)
    assert read_rules(fields["rules"], text, "podium.toml")
    assert fits("config", fields)


def test_a_system_description_fits() -> None:
    assert fits("system", description())


@pytest.mark.long
def test_files_of_pack_and_review_fit(tmp_path: Path) -> None:
    loose = Loose(tmp_path / "pack")
    assert loose.pack() == 0
    assert fits("config", tomllib.loads((loose.work / "podium.toml").read_text()))
    assert fits("receipt", loose.receipt())
    submission(tmp_path)
    done = podium("review", tmp_path / NAME, "--output", tmp_path / "out")
    assert done.exit_code in (0, 1)
    assert fits("review", json.loads((tmp_path / "out" / "review.json").read_text()))


# --- invalid files ---

LEAST = {"submitter": "Acme", "round": "5.1"}
HOUSE = {"name": "a", "key": "seed", "bound": 1, "text": "t"}


@pytest.mark.parametrize(
    "fields",
    [
        {"submiter": "Acme"},
        {"submitter": ""},
        {"usage": "inference"},
        {"round": [5, 1]},
        {"division": "both"},
        {"deadline": "soon"},
        {"systems": 7},
        {"systems": [""]},
        {"results": [{"system": "a"}]},
        {"results": [{"system": "a", "benchmark": "b", "runs": "some"}]},
        {"results": [{"system": "a", "benchmark": "b", "log": ["*"]}]},
        {"code": [{"benchmark": "b"}]},
        {"merge": "a"},
        {"rules": {}},
        {"rules": [HOUSE | {"name": "A b"}]},
        {"rules": [HOUSE | {"bound": {}}]},
        {"rules": [HOUSE | {"bound": []}]},
        {"rules": [HOUSE | {"bound": {"atleast": 1}}]},
        {"rules": [HOUSE | {"bound": {"multiple_of": 0}}]},
        {"rules": [HOUSE | {"bound": {"at_least": "1"}}]},
        {"rules": [HOUSE | {"severity": "fatal"}]},
        {"rules": [HOUSE | {"required": "yes please"}]},
        {"rules": [{"name": "a", "key": "seed", "bound": 1}]},
    ],
    ids=str,
)
def test_a_broken_podium_toml_fits_neither_the_model_nor_the_schema(
    fields: dict[str, Any],
) -> None:
    assert fits("config", LEAST)
    validate(dict(LEAST), "podium.toml")
    assert not fits("config", LEAST | fields)
    with pytest.raises(UsageFault):
        validate(LEAST | fields, "podium.toml")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('rule = "power.*"', ""),
        ('reason = "the meter reads every two seconds"', 'reason = ""'),
        ('who = "review committee"', "who = 7"),
        ("until = 2026-12-31", 'until = "for ever"'),
        ("until = 2026-12-31", "until = 2026-12-31\nline = 7"),
        ("[[waiver]]", "[[waivers]]"),
        ("[[waiver]]", "[waiver]"),
    ],
)
def test_broken_waivers_fit_neither_the_model_nor_the_schema(
    old: str, new: str, tmp_path: Path
) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new)
    assert not fits("waivers", tomllib.loads(text))
    (tmp_path / "waivers.toml").write_text(text)
    with pytest.raises(UsageFault):
        read_waivers(tmp_path / "waivers.toml")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("objection", {"id": "a", "state": "closed"}),
        ("objection", {"state": "open"}),
        ("objection", {"id": "a", "stat": "open"}),
        ("system", {}),
        ("system", {**description(), "division": "both"}),
        ("system", {**description(), "number_of_nodes": "many"}),
        ("report", {"verdict": "accepted"}),
        ("record", {"key": "seed", "value": 1}),
    ],
)
def test_broken_files_do_not_fit_the_schema(name: str, data: dict[str, Any]) -> None:
    assert not fits(name, data)
