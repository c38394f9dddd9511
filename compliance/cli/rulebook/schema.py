"""`podium schema`: JSON Schemas for editors and programs."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from podium.compliance.cli.help import examples
from podium.compliance.cli.options import NewestRoundOption, OutputOption, SuiteOption, Usage
from podium.compliance.errors import UsageFault

if TYPE_CHECKING:
    from podium.rules.model.round import Round


DIALECT = "https://json-schema.org/draft/2020-12/schema"
HOME = "https://json.schemastore.org"
"""The catalog in which editors look for schemas; the `$id` of each schema is below it."""

Schema = dict[str, Any]


class SchemaName(StrEnum):
    """The files that have a JSON Schema."""

    CONFIG = "config"
    SYSTEM = "system"
    WAIVERS = "waivers"
    REVIEW = "review"
    OBJECTION = "objection"
    CODE = "code"
    READ = "read"
    REPORT = "report"
    RECEIPT = "receipt"
    RECORD = "record"
    PROFILE = "profile"
    STUDY = "study"
    KERNELS = "kernels"


def schema_of(name: SchemaName, rules: Round | None = None) -> Schema:
    """A schema (draft 2020-12); the schema of system descriptions depends on the round."""
    entry = _SCHEMAS[name]
    schema = entry.make(rules)
    title, about = entry.title, entry.about
    if name is SchemaName.SYSTEM and rules is not None:
        title = f"{title}, {rules.title}"
    header = {"$schema": DIALECT, "$id": f"{HOME}/podium-{name}.json", "title": title}
    return header | {"description": about} | {k: v for k, v in schema.items() if k not in _HEAD}


_HEAD = ("$schema", "$id", "title", "description")


def _config(_: Round | None) -> Schema:
    from podium.compliance.tools.packing.planning.config import config_schema

    # Options can replace the fields that `podium pack` needs, and other commands need fewer fields
    return {name: member for name, member in config_schema().items() if name != "required"}


def _system(rules: Round | None) -> Schema:
    from podium.compliance.judging.systems.schema import system_schema
    from podium.rules.catalogue import newest

    return system_schema(rules or newest())


def _waivers(_: Round | None) -> Schema:
    from podium.compliance.judging.waivers.file import waivers_schema

    return waivers_schema()


def _review(_: Round | None) -> Schema:
    from podium.compliance.tools.review.model import review_schema

    return review_schema()


def _objection(_: Round | None) -> Schema:
    from podium.compliance.tools.review.records import objection_schema

    return objection_schema()


def _code(_: Round | None) -> Schema:
    from podium.compliance.tools.review.code.model import code_schema

    return code_schema()


def _read(_: Round | None) -> Schema:
    from podium.compliance.tools.review.code.read_marks import read_schema

    return read_schema()


def _report(_: Round | None) -> Schema:
    from podium.compliance.reporting.models import Report

    # The JSON name is `schema`; the field is `schema_`, because models have a method `schema`
    return Report.model_json_schema(by_alias=True)


def _receipt(_: Round | None) -> Schema:
    from podium.compliance.tools.packing.receipt import receipt_schema

    return receipt_schema()


def _record(_: Round | None) -> Schema:
    from podium.logging_spec.reader.record import record_schema

    return record_schema()


def _profile(_: Round | None) -> Schema:
    from pydantic import TypeAdapter

    from podium.reference_runs.profiling.profile import Profile

    return TypeAdapter(Profile).json_schema()


def _study(_: Round | None) -> Schema:
    from pydantic import TypeAdapter

    from podium.reference_runs.profiling.studies.difference import Difference
    from podium.reference_runs.profiling.studies.study import DeviceStudy, Schedule, Study
    from podium.reference_runs.profiling.traces.report import TraceReport

    kinds = Study | DeviceStudy | Schedule | Difference | TraceReport
    return TypeAdapter(kinds).json_schema()


def _kernels(_: Round | None) -> Schema:
    from pydantic import TypeAdapter

    from podium.reference_runs.kernels.result import KernelRun

    return TypeAdapter(KernelRun).json_schema()


class _PublishedSchema(NamedTuple):
    title: str
    about: str
    make: Callable[[Round | None], Schema]


_SCHEMAS = {
    SchemaName.CONFIG: _PublishedSchema(
        "podium.toml",
        "The parts of a submission to MLPerf Training or HPC, and project rules.",
        _config,
    ),
    SchemaName.SYSTEM: _PublishedSchema(
        "MLPerf system description",
        "systems/*.json of a submission, as the policy and the official verifier require them.",
        _system,
    ),
    SchemaName.WAIVERS: _PublishedSchema(
        "podium waivers", "waivers.toml: waivers that a review has granted.", _waivers
    ),
    SchemaName.REVIEW: _PublishedSchema(
        "podium review", "review.json: the findings of podium review in a whole round.", _review
    ),
    SchemaName.OBJECTION: _PublishedSchema(
        "podium objection",
        "objections/*.toml of a review: the state of an objection.",
        _objection,
    ),
    SchemaName.CODE: _PublishedSchema(
        "podium code review", "code.json of a review: the code that is left to read.", _code
    ),
    SchemaName.READ: _PublishedSchema(
        "podium read files", "read.toml of a review: the reviewed files and their reviewers.", _read
    ),
    SchemaName.REPORT: _PublishedSchema(
        "podium report", "The report of podium check (--format json).", _report
    ),
    SchemaName.RECEIPT: _PublishedSchema(
        "podium receipt",
        "podium-receipt.json: the files that podium pack assembled, their sources, the verdict.",
        _receipt,
    ),
    SchemaName.RECORD: _PublishedSchema(
        "MLPerf log record", "The JSON after the token :::MLLOG of a log line.", _record
    ),
    SchemaName.PROFILE: _PublishedSchema(
        "podium profile", "profile.json: the measurements of a trainer by podium profile.", _profile
    ),
    SchemaName.STUDY: _PublishedSchema(
        "podium study",
        "study.json, difference.json, schedule.json and traces.json of podium profile.",
        _study,
    ),
    SchemaName.KERNELS: _PublishedSchema(
        "podium kernels", "kernels.json: the measurements of a device by podium kernels.", _kernels
    ),
}


EXAMPLES = examples(
    "podium schema config > podium.schema.json",
    "podium schema system --round 5.1 --output system.schema.json",
)

NameArgument = Annotated[
    SchemaName, typer.Argument(help="File to print the schema of.", metavar="NAME")
]


def schema(
    name: NameArgument,
    usage: SuiteOption = Usage.TRAINING,
    round: NewestRoundOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Print the JSON Schema of a file that podium reads or writes, for editors and programs.

    NAME is config (podium.toml), system (system descriptions, of a round), waivers, review,
    objection, code, read, report, receipt, record, profile or study.
    """
    from podium.compliance.judging.inputs.round_selection import named_round
    from podium.compliance.reporting.console import send
    from podium.compliance.reporting.json_text import json_text

    if round is not None and name is not SchemaName.SYSTEM:
        raise UsageFault(
            f"--round needs system; the schema of {name.value} does not depend on the round"
        )
    send(json_text(schema_of(name, named_round(usage, round))), output)
