"""Combine the command-line options and podium.toml into one configuration."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.benchmark_names import about_name, benchmark_called
from podium.compliance.judging.inputs.round_selection import ChosenBy, RoundRequest
from podium.compliance.tools.packing.planning.config import (
    CONFIG_FILE,
    PackConfig,
    read_config,
    setting,
    validate,
    with_options,
)
from podium.rules.model.round import Round


@dataclass(frozen=True, slots=True)
class PackRequest:
    """A configuration, its rules, and the base folder of its paths."""

    config: PackConfig
    rules: Round
    base: Path
    chosen_by: ChosenBy


def read_request(path: Path, options: dict[str, Any], settings: Sequence[str] = ()) -> PackRequest:
    """Read podium.toml (a file, or its folder) and apply the options; raises UsageFault."""
    file = path / CONFIG_FILE if path.is_dir() else path
    fields: dict[str, Any] = {}
    if file.exists() or not path.is_dir():
        fields = read_config(file)
    elif not options.get("submitter"):
        raise UsageFault(
            f"{path} has no {CONFIG_FILE}; create one with `podium init`, or pass --submitter "
            "and --round"
        )
    for text in settings:
        fields = fields | setting(text)
    fields = with_options(fields, options)
    base = file.absolute().parent
    chosen_by: ChosenBy = "option" if options.get("round") or options.get("usage") else "config"
    usage = fields.get("usage")
    # A usage of another type is refused below
    if "round" not in fields and (usage is None or isinstance(usage, str)):
        choice = RoundRequest(usage).choose(base)
        if choice.chosen_by == "folder":
            chosen_by = "folder"
            fields |= {"round": choice.rules.name, "usage": choice.rules.usage}
    config = validate(fields, str(file))
    rules = RoundRequest(config.usage, config.round).choose(base).rules
    _refuse_unknown_benchmarks(config, rules, str(file))
    return PackRequest(config, rules, base, chosen_by)


def _refuse_unknown_benchmarks(config: PackConfig, rules: Round, file: str) -> None:
    for name in dict.fromkeys(result.benchmark for result in config.results):
        if not benchmark_called(name, rules):
            error, advice = about_name(name, rules)
            raise UsageFault(f"{file}: {error}; {advice}")


# --- options as fields ---


def fields_of(options: dict[str, Any]) -> dict[str, Any]:
    """Options as fields of podium.toml; their paths are relative to the working directory."""
    return options | {
        "into": _full(options["into"]),
        "waivers": _full(options["waivers"]),
        "merge": [_full(path) for path in options["merge"] or ()],
        "systems": _pairs(options["systems"] or (), "--system"),
        "documents": _pairs(options["documents"] or (), "--document"),
        "results": _results(options["results"] or ()),
        "code": _code(options["code"] or ()),
    }


def _full(path: str | Path | None) -> str | None:
    return None if path is None else os.path.abspath(path)


def _glob(pattern: str) -> str:
    # The path of the working directory may contain brackets
    return pattern if os.path.isabs(pattern) else os.path.join(glob.escape(os.getcwd()), pattern)


def _pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    split = (_split(text, option) for text in texts)
    return {name: os.path.abspath(path) for name, path in split}


def _results(texts: Iterable[str]) -> list[dict[str, Any]]:
    """Parse SYSTEM/BENCHMARK[/SCALING]=GLOB; several globs of one result are combined."""
    results: dict[tuple[str, str, str], dict[str, Any]] = {}
    for text in texts:
        name, pattern = _split(text, "--result")
        parts = name.split("/")
        if len(parts) not in (2, 3):
            raise UsageFault(f"--result {text}: expected SYSTEM/BENCHMARK[/strong|weak]=GLOB")
        system, benchmark, scaling = (*parts, "strong")[:3]
        fields = {"system": system, "benchmark": benchmark, "scaling": scaling, "logs": []}
        results.setdefault((system, benchmark, scaling), fields)["logs"].append(_glob(pattern))
    return list(results.values())


def _code(texts: Iterable[str]) -> list[dict[str, str]]:
    entries = []
    for text in texts:
        name, folder = _split(text, "--code")
        benchmark, _, implementation = name.partition("/")
        fields = {"benchmark": benchmark, "folder": os.path.abspath(folder)}
        entries.append(fields | ({"implementation": implementation} if implementation else {}))
    return entries


def _split(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageFault(f"{option} {text}: expected NAME=VALUE")
    return name, value
