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
    found = [number for number, line in enumerate(text.split("\n"), 1) if heads.match(line)]
    # A head inside a multi-line string would also count: no line is better than a wrong line.
    return tuple(found) if len(found) == count else (None,) * count


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
        default=Severity.WARNING, description="severity of a finding; an error rejects"
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
        meant = nearest(key)
        if meant is not None:
            raise ValueError(f"{key} is not a standard key; did you mean {meant.name}?")
        return key

    @property
    def rule(self) -> HouseRule:
        """The rule as a value that can be checked."""
        bound: Any = self.bound
        if isinstance(bound, Bound):
            given = ((word, getattr(bound, word)) for word in WORDS)
            stated = [(word, value) for word, value in given if value is not None]
        else:
            stated = [("one_of" if isinstance(bound, list) else "equals", bound)]
        plain = tuple(
            (word, tuple(value) if isinstance(value, list) else value) for word, value in stated
        )
        named = [self.benchmark] if isinstance(self.benchmark, str) else self.benchmark
        return HouseRule(
            name=self.name,
            key=self.key,
            bound=plain,
            severity=self.severity,
            text=self.text,
            benchmarks=tuple(named),
            divisions=(self.division,) if self.division else (),
            required=self.required,
        )


_TABLE = TypeAdapter(list[HouseRuleConfig])


def read_rules(given: Any, text: str, path: str) -> tuple[HouseRule, ...]:
    """The rules of a podium.toml; `text` is its content. Raises UsageFault with file and line."""
    lines = heads_of(text, "rules", given)
    try:
        table = _TABLE.validate_python(given)
    except ValidationError as error:
        faults = [_fault(each, lines, text, path) for each in _telling(error.errors())]
        # The branches of a union may report one mistake several times
        raise UsageFault("\npodium: ".join(list(dict.fromkeys(faults))[:8])) from None
    seen: set[str] = set()
    for index, each in enumerate(table):
        if each.name in seen:
            where = _place(lines, index, "name", text, path)
            raise UsageFault(f"{where}: duplicate rule name {each.name}")
        seen.add(each.name)
    return tuple(each.rule for each in table)


def _telling(errors: Sequence[Any]) -> list[Any]:
    """The errors without those of other union branches, if a misspelled word is the cause."""
    misspelt = {each["loc"][:2] for each in errors if each["type"] == "extra_forbidden"}
    return [
        each
        for each in errors
        if each["type"] == "extra_forbidden" or each["loc"][:2] not in misspelt
    ]


def _fault(error: Any, lines: Sequence[int | None], text: str, path: str) -> str:
    location = error["loc"]
    index = location[0] if location and isinstance(location[0], int) else None
    field = next((part for part in location if isinstance(part, str)), "")
    where = _place(lines, index, field, text, path)
    if index is None:
        return f"{where}: rules is not a list of tables; expected [[rules]]"
    return f"{where}: {_explained(error, location, field)}"


def _explained(error: Any, location: Sequence[Any], field: str) -> str:
    if error["type"] == "missing":
        return f"{field} is missing"
    if error["type"] == "extra_forbidden":
        name, inside = str(location[-1]), len(location) > 2
        names = tuple(WORDS if inside else HouseRuleConfig.model_fields)
        of = f" of {field}" if inside else ""
        return f"unknown field {name}{of}; {suggestion(name, names)}"
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
