"""Cases of system descriptions that no edit of the complete submission can show."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import jsonschema
import pytest

from podium.compliance.judging.options import Options
from podium.compliance.judging.system_report import check_systems
from podium.compliance.judging.systems import schema
from podium.compliance.reporting.models import FindingEntry
from podium.rules.catalogue import find_round
from podium.rules.finding import Finding, Profile
from tests.builders import build
from tests.compliance.rulebook.case import Case, Reported
from tests.compliance.trees import Submission, description, throughput


def described(tmp_path: Path, profile: str, text: str) -> Iterable[Finding]:
    """The findings of `podium system check` on a description."""
    file = tmp_path / "ex_n8.json"
    file.write_text(text)
    return check_systems([file], Options(round="5.1", profile=Profile(profile))).findings


GOOD = json.dumps(description(division="closed"))


def twice(tmp_path: Path, profile: str) -> Iterable[Finding]:
    return described(tmp_path, profile, GOOD.replace("{", '{"submitter": "Acme", ', 1))


def once(tmp_path: Path, profile: str) -> Iterable[Finding]:
    return described(tmp_path, profile, GOOD)


def unfit(tmp_path: Path, profile: str) -> Iterable[Finding]:
    """The findings with a schema that is stricter than the schema of any round."""
    wanted = schema.system_schema(find_round("training", "5.1")) | {"required": ["more"]}
    validator = jsonschema.Draft202012Validator(wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "_validator", lambda *_: validator)
        return described(tmp_path, profile, GOOD)


def of_status(status: str) -> Reported:
    def case(tmp_path: Path, profile: str) -> Iterable[FindingEntry]:
        log = build("training", "4.0", "closed", "llama2_70b_lora")
        tree = Submission(tmp_path, log).system(status=status).code().result()
        return tree.check(profile).findings

    return case


def of_nodes(nodes: str) -> Reported:
    def case(tmp_path: Path, profile: str) -> Iterable[FindingEntry]:
        return throughput(tmp_path).system(number_of_nodes=nodes).check(profile).findings

    return case


CASES: dict[str, Case] = {
    "system.duplicate-field": Case(twice, once),
    "system.schema": Case(unfit, once),
    "system.status-mismatch": Case(of_status("Available cloud"), of_status("Available on-premise")),
    "system.size-mismatch": Case(of_nodes("4"), of_nodes("8")),
}
