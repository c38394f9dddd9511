"""The reader of `[[rules]]` in a podium.toml; errors name the file and the line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.config_fields import suggestion
from podium.compliance.judging.inputs.house_rules import WORDS, HouseRule
from podium.logging_spec.keys.lookup import nearest
from podium.rules.finding import Severity


def heads_of(text: str, table: str, items: Any) -> tuple[int | None, ...]:
    """The line numbers of the heads `[[table]]` of some items."""
    count = len(items) if isinstance(items, list) else 0
    heads = re.compile(rf"\s*\[\[\s*[\"']?{re.escape(table)}[\"']?\s*\]\]")
    line_numbers = [number for number, line in enumerate(text.split("\n"), 1) if heads.match(line)]
    # A head inside a multi-line string would also count: no line is better than a wrong line.
    return tuple(line_numbers) if len(line_numbers) == count else (None,) * count


Text = Annotated[str, StringConstraints(min_length=1, max_length=500, strip_whitespace=True)]
Whole = Annotated[int, Field(strict=True)]
Number = Whole | Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = (
    Annotated[int, Field(strict=True, gt=0)]
    | Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
)
Scalar = Annotated[bool, Field(strict=True)] | Number | Annotated[str, Field(strict=True)]
Scalars = Annotated[list[Scalar], Field(min_length=1)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Bound(_Model):
    """The bounds of a value; a value must satisfy all of them."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    equals: Scalar | None = Field(default=None, description="exactly this value")
    one_of: Scalars | None = Field(default=None, description="one of these values")
    at_least: Number | None = Field(default=None, description="this number or more")
    at_most: Number | None = Field(default=None, description="this number or less")
    above: Number | None = Field(default=None, description="more than this number")
    below: Number | None = Field(default=None, description="less than this number")
    multiple_of: Positive | None = Field(
        default=None, description="a whole multiple of this number"
    )

    @model_validator(mode="after")
    def _not_empty(self) -> Bound:
        if not self.model_fields_set:
            raise ValueError(f"expected at least one of {', '.join(WORDS)}")
        return self


class HouseRuleConfig(_Model):
    """A project rule for a key of a log, without code."""

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9-]{0,59}$",
        description="id of the rule, house.<name>: lower-case letters, digits and hyphens",
    )
    key: Text = Field(description="key of the log, such as global_batch_size")
    bound: Bound | Scalars | Scalar = Field(
        description="allowed values: a value, a list of values, or a table of bounds"
    )
    text: Text = Field(description="reason for the rule, which findings quote")
    severity: Severity = Field(
        default=Severity.WARNING,
        description="severity of a finding; an error rejects the submission",
    )
    benchmark: Text | list[Text] = Field(
        default=[], description="benchmark or benchmarks of the rule; all by default"
    )
    division: Literal["closed", "open"] | None = Field(
        default=None, description="division of the rule; both by default"
    )
    required: bool = Field(default=False, description="the key must be logged")

    @field_validator("key")
    @classmethod
    def _no_slip(cls, key: str) -> str:
        nearest_key = nearest(key)
        if nearest_key is not None:
            raise ValueError(f"{key} is not a standard key; did you mean {nearest_key.name}?")
        return key

    @property
    def rule(self) -> HouseRule:
        """The rule as a value that can be checked."""
        bound: Any = self.bound
        if isinstance(bound, Bound):
            settings = ((word, getattr(bound, word)) for word in WORDS)
            bounds = [(word, value) for word, value in settings if value is not None]
        else:
            bounds = [("one_of" if isinstance(bound, list) else "equals", bound)]
        frozen_bounds = tuple(
            (word, tuple(value) if isinstance(value, list) else value) for word, value in bounds
        )
        benchmarks = [self.benchmark] if isinstance(self.benchmark, str) else self.benchmark
        return HouseRule(
            name=self.name,
            key=self.key,
            bound=frozen_bounds,
            severity=self.severity,
            text=self.text,
            benchmarks=tuple(benchmarks),
            divisions=(self.division,) if self.division else (),
            required=self.required,
        )


_TABLE = TypeAdapter(list[HouseRuleConfig])


def read_rules(tables: Any, text: str, path: str) -> tuple[HouseRule, ...]:
    """The rules of a podium.toml; `text` is its content. Raises UsageFault with file and line."""
    lines = heads_of(text, "rules", tables)
    try:
        table = _TABLE.validate_python(tables)
    except ValidationError as error:
        faults = [_fault(detail, lines, text, path) for detail in _telling(error.errors())]
        # The branches of a union may report one mistake several times
        raise UsageFault("\npodium: ".join(list(dict.fromkeys(faults))[:8])) from None
    names: set[str] = set()
    for index, rule in enumerate(table):
        if rule.name in names:
            location = _place(lines, index, "name", text, path)
            raise UsageFault(f"{location}: duplicate rule name {rule.name}")
        names.add(rule.name)
    return tuple(rule.rule for rule in table)


def _telling(errors: Sequence[Any]) -> list[Any]:
    """The errors without those of other union branches, if a misspelled word is the cause."""
    misspelt = {error["loc"][:2] for error in errors if error["type"] == "extra_forbidden"}
    return [
        error
        for error in errors
        if error["type"] == "extra_forbidden" or error["loc"][:2] not in misspelt
    ]


def _fault(error: Any, lines: Sequence[int | None], text: str, path: str) -> str:
    location = error["loc"]
    index = location[0] if location and isinstance(location[0], int) else None
    field = next((part for part in location if isinstance(part, str)), "")
    prefix = _place(lines, index, field, text, path)
    if index is None:
        return f"{prefix}: rules is not a list of tables; expected [[rules]]"
    return f"{prefix}: {_explained(error, location, field)}"


def _explained(error: Any, location: Sequence[Any], field: str) -> str:
    if error["type"] == "missing":
        return f"{field} is missing"
    if error["type"] == "extra_forbidden":
        name, is_nested = str(location[-1]), len(location) > 2
        names = tuple(WORDS if is_nested else HouseRuleConfig.model_fields)
        owner = f" of {field}" if is_nested else ""
        return f"unknown field {name}{owner}; {suggestion(name, names)}"
    if field == "bound":
        return f"bound is invalid; expected a value, a list, or a table of {', '.join(WORDS)}"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{field or 'the rule'}: {message[:1].lower()}{message[1:]}"


def _place(lines: Sequence[int | None], index: int | None, field: str, text: str, path: str) -> str:
    """`file:line` of a field, or of the head of its rule if it is absent, or only the file."""
    head = lines[index] if index is not None and index < len(lines) else None
    if head is None:
        return path
    for number, line in enumerate(text.split("\n")[head:], head + 1):
        if line.lstrip().startswith("["):
            break
        if re.match(rf"\s*[\"']?{re.escape(field)}[\"']?\s*[.=]", line):
            return f"{path}:{number}"
    return f"{path}:{head}"
