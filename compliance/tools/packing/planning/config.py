"""`podium.toml`: the parts of a submission, as a model with a JSON Schema."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
)

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.house_table import HouseRuleConfig
from podium.compliance.judging.inputs.round_selection import config_bytes
from podium.logging_spec.limits import BeyondLimitError, read_toml

CONFIG_FILE = "podium.toml"


def _component(name: str) -> str:
    # The official repository checker rejects names that begin with a dot
    if not name.isprintable() or "/" in name or name.startswith(".") or name != name.strip():
        raise ValueError(
            f"{name!r} is not a valid name: no slash, no leading dot, no leading or trailing space"
        )
    return name


def _place(path: str) -> str:
    pure = PurePosixPath(path)
    if not path.isprintable() or pure.is_absolute() or ".." in pure.parts or str(pure) in ("", "."):
        raise ValueError(f"{path!r} is not a path in the tree; expected a relative path without ..")
    return str(pure)


Text = Annotated[str, StringConstraints(min_length=1)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_component)]
TreePath = Annotated[str, StringConstraints(min_length=1, max_length=1000), AfterValidator(_place)]


class _Model(BaseModel):
    # A misspelled field must not be ignored silently
    model_config = ConfigDict(extra="forbid", frozen=True)


class ResultConfig(_Model):
    """One result: all runs of one benchmark on one system."""

    system: Name = Field(description="name of the system, as in `systems`")
    benchmark: Name = Field(description="folder name of the benchmark")
    scaling: Literal["strong", "weak"] = Field(
        default="strong", description="HPC only: strong (time to train) or weak (throughput)"
    )
    logs: list[Text] = Field(
        default=[], description="globs of logs; podium chooses the runs and numbers them by launch"
    )
    exclude: list[Text] = Field(default=[], description="globs of logs to leave out")
    names: dict[Name, Text] = Field(
        default={}, description="name in the tree = log, to choose each name yourself"
    )
    pruned: list[Text] = Field(
        default=[], description="weak scaling: globs of logs of pruned instances"
    )
    runs: Literal["window", "all"] = Field(
        default="window",
        description="if there are more runs than needed: the policy's median window, or all",
    )
    power: Text | dict[Name, Text] = Field(
        default={},
        description="folder with one folder per log, named like the log; or result_<i> = folder",
    )
    scaling_file: Text | None = Field(default=None, description="scaling.json from the committee")


class CodeConfig(_Model):
    """One folder of code."""

    folder: Text = Field(description="folder to copy")
    benchmark: Name | None = Field(default=None, description="benchmark that it implements")
    implementation: Name | None = Field(default=None, description="name of the implementation")
    into: TreePath | None = Field(
        default=None,
        description="path in the tree; default: benchmarks/<benchmark>/implementations/<name>",
    )
    exclude: list[Text] = Field(default=[], description="globs of names or paths to leave out")

    @property
    def path(self) -> str:
        """The folder's path in the tree."""
        if self.into:
            return self.into
        # The name of a hidden folder starts with a dot, which a tree must not contain
        name = self.implementation or re.sub(r"^\.+", "", Path(self.folder).name) or "code"
        return f"benchmarks/{self.benchmark}/implementations/{name}"

    @field_validator("into")
    @classmethod
    def _not_among_results(cls, into: str | None) -> str | None:
        # Logs must go through the choice of runs, which code does not
        if into and into.split("/")[0] in ("results", "systems"):
            raise ValueError("code cannot be in results or systems")
        return into


class PackConfig(_Model):
    """The input of `podium pack`. Paths are relative to the folder of podium.toml."""

    submitter: Name = Field(description="submitting organization; also the name of its folder")
    usage: Literal["training", "hpc"] = Field(default="training", description="suite")
    round: Text = Field(description="round, such as 5.1")
    division: Literal["closed", "open"] | None = Field(
        default=None, description="closed or open; logs of the other division are refused"
    )
    deadline: date | None = Field(
        default=None, description="last day of submission; `podium rcp plan` counts back from it"
    )
    into: Text = Field(
        default="packed", description="folder in which the submitter's folder is made"
    )
    systems: dict[Name, Text] | list[Text] = Field(
        default={}, description="name of the system = its description; or globs of descriptions"
    )
    results: list[ResultConfig] = Field(default=[], description="one table per result")
    code: list[CodeConfig] = Field(default=[], description="one table per folder of code")
    documents: dict[TreePath, Text] = Field(
        default={}, description="path in the tree = any other file or folder"
    )
    waivers: Text | None = Field(default=None, description="waivers.toml to submit")
    merge: list[Text] = Field(default=[], description="other trees of this submitter to merge")
    rules: list[HouseRuleConfig] = Field(
        default=[], description="your own rules, which `podium check` applies too"
    )

    @field_validator("round", mode="before", json_schema_input_type=str | float)
    @classmethod
    def _as_text(cls, name: Any) -> Any:
        return str(name) if isinstance(name, float) else name  # round = 5.1 is well meant


TABLES: dict[str, type[BaseModel]] = {
    "results": ResultConfig,
    "code": CodeConfig,
    "rules": HouseRuleConfig,
}


# --- reading ---


def read_config(path: Path) -> dict[str, Any]:
    """The fields of a podium.toml as TOML values; raises UsageFault."""
    try:
        return read_toml(config_bytes(path).decode())
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageFault(f"{path} cannot be read: it is not UTF-8 text") from None
    except BeyondLimitError as error:
        raise UsageFault(f"{path} cannot be read: {error}") from None
    except ValueError as error:
        raise UsageFault(f"{path} is not valid TOML: {error}") from None


def validate(fields: dict[str, Any], display_path: str) -> PackConfig:
    """The configuration from these fields; raises UsageFault that names each wrong field."""
    try:
        return PackConfig.model_validate(fields)
    except ValidationError as error:
        # The branches of a union may report one mistake several times
        messages = list(dict.fromkeys(_explained(fault) for fault in error.errors()))
        raise UsageFault(f"{display_path}: {'; '.join(messages[:8])}") from None


def _explained(error: Any) -> str:
    location, kind = tuple(error["loc"]), error["type"]
    display_path = _field_name(location)
    if kind == "extra_forbidden":
        return f"unknown field {display_path}; {_suggestion(location)}"
    if kind == "missing":
        option = f": set it, or pass --{location[0]}" if len(location) == 1 else ""
        return f"{display_path} is missing{option}"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{display_path}: {message[:1].lower()}{message[1:]}"


def _field_name(location: Iterable[Any]) -> str:
    """A field of the file in readable form: results[2].system."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        # pydantic adds branches of unions and validators, which are not part of the file
        elif not re.fullmatch(r"\[key\]|(list|dict)\[.*\]|constrained-str|function-.*|str", part):
            text += f".{part}" if text else part
    return text


def _suggestion(location: tuple[Any, ...]) -> str:
    model = TABLES.get(str(location[0]), PackConfig) if len(location) > 1 else PackConfig
    names = list(model.model_fields)
    suggestions = difflib.get_close_matches(str(location[-1]).lower(), names, 1, 0.6)
    return (
        f"did you mean {suggestions[0]}?" if suggestions else f"expected one of {', '.join(names)}"
    )


# --- options ---


def with_options(fields: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Fields combined with options: options extend lists and tables and replace single values."""
    merged = dict(fields)
    for name, value in options.items():
        before = merged.get(name)
        if isinstance(before, list) and isinstance(value, list):
            merged[name] = [*before, *value]
        elif isinstance(before, dict) and isinstance(value, dict):
            merged[name] = before | value
        elif value not in (None, [], {}):
            merged[name] = value
    return merged


def setting(text: str) -> dict[str, Any]:
    """The field that `--set name=value` sets; a value that is not TOML is used as a string."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or name not in PackConfig.model_fields:
        suggestions = difflib.get_close_matches(name, PackConfig.model_fields, 1, 0.6)
        hint = f"did you mean {suggestions[0]}?" if suggestions else "expected FIELD=VALUE"
        raise UsageFault(f"--set {text}: {hint}")
    try:
        # A TOML document cannot be a single value
        return {name: read_toml(f"value = {value.strip()}")["value"]}
    except BeyondLimitError as error:
        raise UsageFault(f"--set {name} cannot be read: {error}") from None
    except ValueError:
        return {name: value.strip()}


def config_schema() -> dict[str, Any]:
    """The JSON Schema of podium.toml."""
    return PackConfig.model_json_schema()


# --- a commented example ---

_EXAMPLES = {
    "division": '"closed"',
    "deadline": "2026-10-09",
    "into": '"packed"',
    "systems": '{ "my_system" = "descriptions/my_system.json" }',
    "documents": '{ "README.md" = "README.md" }',
    "waivers": '"waivers.toml"',
    "merge": '["team_a", "team_b"]',
}
_TABLE_EXAMPLES = {
    "results": {
        "system": '"my_system"',
        "benchmark": '"llama31_8b"',
        "scaling": '"strong"',
        "logs": '["runs/**/*.log"]',
        "exclude": '["runs/warmup/*"]',
        "names": '{ "result_0.txt" = "runs/first.log" }',
        "pruned": '["runs/pruned/*.log"]',
        "runs": '"window"',
        "power": '"runs/power"',
        "scaling_file": '"scaling.json"',
    },
    "code": {
        "folder": '"src/llama31_8b"',
        "benchmark": '"llama31_8b"',
        "implementation": '"pytorch"',
        "into": '"benchmarks/llama31_8b/implementations/pytorch"',
        "exclude": '["*.ckpt", "data"]',
    },
    "rules": {
        "name": '"largest-batch"',
        "key": '"global_batch_size"',
        "bound": "{ at_most = 4096 }",
        "text": '"our nodes have memory for 4096 samples"',
        "severity": '"warning"',
        "benchmark": '"llama31_8b"',
        "division": '"closed"',
        "required": "false",
    },
}


def example(fields: dict[str, str], results: Sequence[tuple[str, str]] = ()) -> str:
    """A podium.toml with every field: known fields with their values, the others as comments.

    Values are TOML; a comment shows an example value. `results` are pairs of system and benchmark;
    each has a table.
    """
    tables = {
        "results": [
            {
                "system": f'"{system}"',
                "benchmark": f'"{name}"',
                "logs": f'["../runs/{system}/{name}/*"]',
            }
            for system, name in results
        ],
        "code": [
            {
                "benchmark": f'"{name}"',
                "folder": f'"../src/{name}"',
                "into": f'"benchmarks/{name}/implementations/pytorch"',
            }
            for name in dict.fromkeys(name for _, name in results)
        ],
    }
    lines = ["# The input of `podium pack`. Paths are relative to the folder of this file.", ""]
    for name, about in PackConfig.model_fields.items():
        if name in _TABLE_EXAMPLES:
            continue
        lines.append(f"# {about.description}")
        lines.append(
            f"{name} = {fields[name]}" if name in fields else f"# {name} = {_EXAMPLES[name]}"
        )
    for table, values in _TABLE_EXAMPLES.items():
        lines += ["", f"# {PackConfig.model_fields[table].description}"]
        first, *others = tables.get(table) or [{}]
        lines.append(f"# [[{table}]]")
        for name, about in TABLES[table].model_fields.items():
            lines.append(f"# {name} = {(values | first)[name]}  # {about.description}")
        for other in others:
            lines += ["#", f"# [[{table}]]", *(f"# {name} = {v}" for name, v in other.items())]
    return "\n".join(lines) + "\n"
