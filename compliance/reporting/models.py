"""The report for Python callers: pydantic models (contract `podium.report/1`).

`model_of` makes a model from a struct, which has the fields, types, defaults and texts. A struct is
made and printed without pydantic, because the import of pydantic takes longer than judging a log.
Type checkers see the structs of `reporting.data`, with the methods of a model on `Report`; at
runtime, everything below a report is a model, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from operator import or_
from types import GenericAlias, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec.structs import FieldInfo, fields
from pydantic import BaseModel, ConfigDict, Field, create_model

from podium.compliance.reporting import data
from podium.compliance.reporting.json_text import json_text
from podium.rules.finding import Finding


class Model(BaseModel):
    """A frozen model, made from a struct or from its JSON; non-finite numbers are strings."""

    model_config = ConfigDict(
        frozen=True,
        from_attributes=True,
        populate_by_name=True,
        serialize_by_alias=True,
        ser_json_inf_nan="strings",
    )

    def model_dump_json(self, *, indent: int | None = 2, **options: Any) -> str:
        """The JSON text that the command prints; `options` are passed to `model_dump`.

        `indent` is the indentation of each level; None puts everything on one line.
        """
        # Pydantic's method refuses lone surrogates, which file names may contain
        return json_text(self.model_dump(**options), indent)


Given = TypeVar("Given", bound=msgspec.Struct)

_MODELS: dict[type[msgspec.Struct], type[BaseModel]] = {}
"""The model of each struct, for structs that have it as a field."""


def model_of(
    struct: type[msgspec.Struct],
    *,
    module: str,
    name: str = "",
    summary: str = "",
    base: type[BaseModel] = Model,
    required: Collection[str] = (),
) -> type[BaseModel]:
    """Make the model of a struct: its fields, then its properties.

    `module` is the module of the model. `name` and `summary` default to those of the struct.
    `required` fields have no default, even if the struct has one. The models of structs that are
    fields of this struct must be made first.
    """
    definitions: dict[str, Any] = {
        field.name: _field(field, field.name in required) for field in fields(struct)
    }
    definitions |= _properties(struct)
    model = create_model(
        name or struct.__name__,
        __base__=base,
        __doc__=summary or struct.__doc__,
        __module__=module,
        **definitions,
    )
    _MODELS[struct] = model
    return model


def as_model(struct: Given) -> Given:
    """The model of a struct; for type checkers it stays the struct."""
    model: Any = _MODELS[type(struct)].model_validate(struct)
    result: Given = model
    return result


def _field(field: FieldInfo, required: bool) -> tuple[Any, Any]:
    alias = field.encode_name if field.encode_name != field.name else None
    if field.required or required:
        return _in_model(field.type), Field(alias=alias)
    default = field.default
    if default is msgspec.NODEFAULT:
        default = field.default_factory()
    # A sequence is a list in the model, and so must be its default
    default = list(default) if isinstance(default, tuple) else default
    return _in_model(field.type), Field(default=default, alias=alias)


def _properties(struct: type[msgspec.Struct]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for name, member in vars(struct).items():
        if isinstance(member, property):
            kind = get_type_hints(member.fget)["return"]
            yield name, (_in_model(kind), Field(default=None, description=member.__doc__))


def _in_model(kind: Any) -> Any:
    """The type of a field with models for structs, and its `msgspec.Meta`."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        # Fails on several annotations: the model would silently lose the others
        (meta,) = kind.__metadata__
        return Annotated[_in_model(inner[0]), Field(description=meta.description, ge=meta.ge)]
    if origin is Sequence:
        return GenericAlias(list, (_in_model(inner[0]),))
    if origin in (Union, UnionType):
        return reduce(or_, map(_in_model, inner))
    return _MODELS.get(kind, kind) if isinstance(kind, type) else kind


class _Report(Model):
    def to_json(self) -> str:
        """The report as JSON, indented by two spaces, with non-finite numbers as strings."""
        return self.model_dump_json()

    def to_arrow(self) -> Any:
        """The findings as a `pyarrow.Table`, with paths relative to the working directory."""
        from podium.compliance.reporting.frames import to_arrow

        return to_arrow(cast("data.Outcome", self))

    def to_dataframe(self) -> Any:
        """The findings as a `pandas.DataFrame`, with paths relative to the working directory."""
        from podium.compliance.reporting.frames import to_dataframe

        return to_dataframe(cast("data.Outcome", self))

    def __repr__(self) -> str:
        """The input, the number of findings and the verdict, one line each."""
        from podium.compliance.reporting.conclusion import headline
        from podium.compliance.reporting.render.words import counted, judged

        report = cast("data.Outcome", self)
        return "\n".join((judged(report), counted(report), headline(report)))

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        """The HTML for notebooks: verdict, counts, and each fault once; everything is escaped."""
        from podium.compliance.reporting.render.notebook import summary

        return summary(cast("data.Outcome", self))


if TYPE_CHECKING:
    Tool = data.Tool
    Rules = data.Rules
    PluginEntry = data.PluginEntry
    Counts = data.Counts
    SubmissionEntry = data.SubmissionEntry
    RcpEntry = data.RcpEntry
    ResultEntry = data.ResultEntry
    FileEntry = data.FileEntry
    FindingEntry = Finding

    class Report(data.Outcome, _Report, frozen=True):  # type: ignore[metaclass]
        """The report of one call of `podium check`."""

else:
    # In this order: a field's struct needs its model before the struct that has the field
    Tool = model_of(data.Tool, module=__name__)
    Rules = model_of(data.Rules, module=__name__)
    PluginEntry = model_of(data.PluginEntry, module=__name__)
    Counts = model_of(data.Counts, module=__name__)
    SubmissionEntry = model_of(data.SubmissionEntry, module=__name__)
    RcpEntry = model_of(data.RcpEntry, module=__name__)
    ResultEntry = model_of(data.ResultEntry, module=__name__)
    FileEntry = model_of(data.FileEntry, module=__name__)
    FindingEntry = model_of(
        Finding,
        module=__name__,
        name="FindingEntry",
        summary="One fault: its location, its rule, the actual and the expected value, and the "
        "fix.",
        # A report always has these fields; the defaults are for code that makes findings
        required=("expected", "hint", "cites", "stated_by"),
    )
    Report = model_of(data.Outcome, module=__name__, name="Report", base=_Report)


def publish(report: data.Outcome) -> Report:
    """The report for Python callers."""
    return Report.model_validate(report)
