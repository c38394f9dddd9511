"""SARIF output: valid by our own schema, with correct locations."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

import jsonschema
import msgspec
import pytest
from hypothesis import given

from podium.compliance.cli import entry as cli
from podium.compliance.exit_codes import Exit
from podium.compliance.reporting.placing import placed
from podium.compliance.reporting.render import github, sarif
from tests.compliance.render_reports import CALM, ODD, REPORTS, finding, report, sample
from tests.compliance.trees import usual

if TYPE_CHECKING:
    from pathlib import Path

    from podium.compliance.reporting.data import Outcome


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "additionalProperties": False,
    }


_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_SAID = _object("text", text=_TEXT)
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_LOCATION = _object(
    "artifactLocation",
    artifactLocation=_object(
        "uri",
        uri={"type": "string", "pattern": r"^[A-Za-z0-9._~%/:-]+$"},
        uriBaseId=_TEXT,
    ),
    region=_object("startLine", startLine={"type": "integer", "minimum": 1}),
)
_RESULT = _object(
    "ruleId ruleIndex level message locations",
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level=_LEVEL,
    message=_SAID,
    locations={"type": "array", "items": _object("physicalLocation", physicalLocation=_LOCATION)},
    partialFingerprints={"type": "object", "additionalProperties": _TEXT},
    suppressions={
        "type": "array",
        "items": _object("kind", kind={"enum": ["inSource", "external"]}, status=_TEXT),
    },
    properties={"type": "object"},
)
_RULE = _object(
    "id",
    id=_TEXT,
    helpUri={"type": "string", "format": "uri", "pattern": "^https:"},
    shortDescription=_SAID,
    fullDescription=_SAID,
    help=_SAID,
    defaultConfiguration=_object("", level=_LEVEL),
)
_DRIVER = _object("name", name=_TEXT, version=_TEXT, rules={"type": "array", "items": _RULE})
_RUN = _object(
    "tool results",
    tool=_object("driver", driver=_DRIVER),
    originalUriBaseIds={
        "type": "object",
        "additionalProperties": _object(
            "uri", uri={"type": "string", "pattern": r"^file:///([A-Za-z0-9._~%:-]+/)*$"}
        ),
    },
    invocations={"type": "array"},
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": _RESULT},
    properties={"type": "object"},
)
# Our own schema of the parts of SARIF 2.1.0 that we write: no package on PyPI contains the schema
# of the standard.
SARIF = _object(
    "version runs",
    **{"$schema": _TEXT},
    version={"const": "2.1.0"},
    runs={"type": "array", "items": _RUN, "minItems": 1},
)


def sarif_run(display_path: Outcome, **options: Any) -> dict[str, Any]:
    document = json.loads(sarif.render(display_path, **options))
    jsonschema.validate(document, SARIF)
    run: dict[str, Any] = document["runs"][0]
    return run


@CALM
@given(REPORTS.filter(lambda display_path: all(each.id for each in display_path.findings)))
def test_sarif_is_valid_and_its_rule_indexes_are_correct(display_path: Outcome) -> None:
    run = sarif_run(display_path)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[each["ruleIndex"]] for each in run["results"]] == [
        each["ruleId"] for each in run["results"]
    ]
    assert len(rules) == len(set(rules))


def test_sarif_describes_a_rule_with_its_text_if_there_is_one() -> None:
    text = sarif.RuleText("a submission comes with its code", "reviewers read it", "add the code")
    found = [finding("a", id="code.none", key=None, cites="submission rules"), finding("b")]
    first, second = sarif_run(report(found), texts={"code.none": text})["tool"]["driver"]["rules"]
    assert second["shortDescription"]["text"] == "A submission comes with its code."
    full = "A submission comes with its code. Reviewers read it."
    assert second["fullDescription"]["text"] == full
    assert second["help"]["text"].startswith("Add the code. submission rules: see `podium rules")
    assert first["fullDescription"]["text"] == "opt_adamw_beta_2: 0.95"


def test_the_command_writes_the_text_of_every_reported_rule(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    tree.write("results/notes.txt").write("package_checker_params", "rcp_bypass\n")
    tree.log(0, lambda log: log.drop("seed").drop("cache_clear"))
    output = tmp_path / "report.sarif"
    words = ["check", str(tree.root), "--round", "5.1", "--format", "sarif", "--output"]
    assert cli.run([*words, str(output)]) == Exit.FOUND
    rules = json.loads(output.read_text())["runs"][0]["tool"]["driver"]["rules"]
    texts = {rule["id"]: rule["fullDescription"]["text"] for rule in rules}
    assert {"tree.unknown-file", "params.refused", "seeds.none", "common.cache_clear"} <= {*texts}
    assert all(text.endswith(".") and text != rule for rule, text in texts.items())
    assert texts["seeds.none"].startswith("Every closed run logs a seed. ")


def test_sarif_uris_preserve_the_bytes_of_file_names() -> None:
    names = [ODD, "a b/c:d%.txt", "bytes\udcff.txt"]
    results = sarif_run(report([finding(name) for name in names]))["results"]
    uris = [each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in results]
    assert {unquote_to_bytes(uri) for uri in uris} == {os.fsencode(name) for name in names}


def test_sarif_suppresses_waived_findings() -> None:
    results = sarif_run(sample())["results"]
    assert Counter(len(each["suppressions"]) for each in results) == {0: 7, 1: 1}
    assert "suppressions" not in sarif_run(report([finding("a")]))["results"][0]


def test_sarif_fingerprints_ignore_line_numbers_and_distinguish_repeats() -> None:
    def prints(*lines: int) -> list[str]:
        results = sarif_run(report([finding("a", line) for line in lines]))["results"]
        return [each["partialFingerprints"]["podium/v1"] for each in results]

    assert prints(3, 9) == prints(5, 70)
    assert len(set(prints(3, 9))) == 2


@pytest.mark.parametrize(
    ("base", "uri"), [("", "a/b.txt"), ("results", "results/a/b.txt"), ("x/", "x/a/b.txt")]
)
def test_paths_are_prefixed_with_the_base(base: str, uri: str) -> None:
    seen = placed(msgspec.structs.replace(report([finding("a/b.txt")]), base=base), "/nowhere")
    run = sarif_run(seen, root="/nowhere")
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": uri, "uriBaseId": "%SRCROOT%"}
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": "file:///nowhere/"}}
    assert f"file={uri},line=24," in github.render(seen)


@pytest.mark.parametrize(
    ("root", "uri"),
    [("/", "file:///"), ("/a b/\udcff", "file:///a%20b/%FF/"), ("/é%", "file:///%C3%A9%25/")],
)
def test_the_root_is_a_uri_that_ends_in_a_slash(root: str, uri: str) -> None:
    assert sarif_run(sample(), root=root)["originalUriBaseIds"]["%SRCROOT%"] == {"uri": uri}


def test_an_identifier_at_the_beginning_of_a_description_keeps_its_case() -> None:
    text = sarif.RuleText("lora_rank is 16", "the rules fix it", "set lora_rank to 16")
    found = [finding("a", id="closed.lora.rank", key=None)]
    (rule,) = sarif_run(report(found), texts={"closed.lora.rank": text})["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "lora_rank is 16."
