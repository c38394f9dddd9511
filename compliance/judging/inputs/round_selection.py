"""The choice of a file's round: from options, podium.toml, folder names, or the newest round."""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.boundary import outside
from podium.compliance.judging.inputs.config_fields import refuse_unknown
from podium.compliance.judging.inputs.packed_round import read_packed_round
from podium.compliance.reporting.data import Rules
from podium.logging_spec.limits import read_toml
from podium.rules.catalogue import UnknownRound, find_round, newest, normal_name, rounds_of
from podium.rules.finding import Profile
from podium.rules.model.round import Round

if TYPE_CHECKING:
    from podium.compliance.judging.inputs.house_rules import HouseRule

ChosenBy = Literal["option", "config", "pack", "folder", "default"]

LARGEST_CONFIG = 1 << 20
"""Bytes of a podium.toml; a file that people write by hand is far smaller."""

_FOLDER = re.compile(r"(training|hpc)[_-](?:results|submissions?)?[_-]?v?(\d+\.\d+)(?:\.\d+)?$")


class Choice(msgspec.Struct, frozen=True):
    """A round and how it was chosen."""

    rules: Round
    chosen_by: ChosenBy


class RoundRequest(msgspec.Struct, frozen=True):
    """The round that the user's options name; None if they do not."""

    usage: str | None = None
    round: str | None = None

    def choose(self, folder: str | Path) -> Choice:
        """The round for files in a folder; raises UsageFault if the round does not exist."""
        return _choose(self, str(folder))


def several(choices: Iterable[Choice]) -> bool:
    """Whether the choices have more than one round."""
    return len({choice.rules.title for choice in choices}) > 1


def rules_of(choices: Sequence[Choice], profile: Profile) -> Rules:
    """The rules that a report names; there is at least one choice."""
    first, is_mixed = choices[0], several(choices)
    return Rules(
        usage="several" if is_mixed else first.rules.usage,
        round="several" if is_mixed else first.rules.name,
        profile=profile.value,
        chosen_by=first.chosen_by,
    )


def named_round(usage: str, name: str | None) -> Round:
    """The round that an option names, or the newest; raises UsageFault for an unknown round."""
    try:
        return newest(usage) if name is None else find_round(usage, name)
    except UnknownRound as error:
        raise UsageFault(str(error)) from None


def forget() -> None:
    """Read podium.toml files again: they may have changed since the last call."""
    _choose.cache_clear()
    _configured.cache_clear()


@lru_cache(maxsize=4096)
def _choose(request: RoundRequest, path: str) -> Choice:
    folder = os.path.abspath(path)
    sources: list[tuple[ChosenBy, str | None, str | None]] = [
        ("option", request.usage, request.round)
    ]
    config = _configured(folder)
    source: ChosenBy = "pack" if config.packed else "config"
    sources += [(source, config.usage, config.round), ("folder", *_named(folder))]
    # A source without a round still decides the suite: its newest round is meant then
    usage = next((value for _, value, _ in sources if value), "training")
    for chosen_by, source_usage, name in sources:
        # Both suites have rounds with the same name: an HPC folder with 3.0 does not mean Training
        if not name or (source_usage and source_usage != usage):
            continue
        if chosen_by == "folder" and name not in rounds_of(usage):
            continue  # a later round than podium knows: the newest round applies
        return Choice(named_round(usage, name), chosen_by)
    chosen_by = next((origin for origin, value, _ in sources if value), "default")
    return Choice(named_round(usage, None), chosen_by)


class Config(msgspec.Struct, frozen=True):
    """The fields of the nearest podium.toml about the whole submission; None if absent."""

    usage: str | None = None
    round: str | None = None
    deadline: date | None = None
    rules: tuple[HouseRule, ...] = ()
    packed: bool = False
    """Whether the round comes from a packed tree, which is nearer than podium.toml."""


def configured_rules(folder: str | Path) -> tuple[HouseRule, ...]:
    """The `[[rules]]` of the nearest podium.toml, from a folder upwards.

    Raises UsageFault if that file cannot be read, or has an invalid rule.
    """
    return _configured(os.path.abspath(folder)).rules


def configured_deadline(folder: str | Path) -> date | None:
    """The last day of submission in the nearest podium.toml, from a folder upwards.

    Raises UsageFault if that file cannot be read, or the field is not a date.
    """
    return _configured(os.path.abspath(folder)).deadline


@lru_cache(maxsize=65536)
def _configured(folder: str) -> Config:
    """The nearest podium.toml, from this folder upwards; each folder is searched once.

    The search ends at the boundary, if there is one.
    """
    if outside(folder):
        return Config()
    config = _read_config(os.path.join(folder, "podium.toml"))
    if config is not None:
        return config
    parent = os.path.dirname(folder)
    if parent == folder:
        return Config()
    config, packed = _configured(parent), read_packed_round(folder)
    if packed is None:
        return config
    return replace(config, usage=packed.usage, round=normal_name(packed.round), packed=True)


def config_bytes(path: str | Path) -> bytes:
    """The content of a podium.toml, without the byte order mark that some editors write.

    Raises OSError, or UsageFault if it is not a regular file or is too large.
    """
    # Before it is opened: opening a pipe would wait for a writer
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise UsageFault(f"{path} cannot be read: it is not a regular file")
    if status.st_size > LARGEST_CONFIG:
        raise UsageFault(f"{path} cannot be read: it is larger than 1 MiB")
    with open(path, "rb") as stream:
        return stream.read().removeprefix(codecs.BOM_UTF8)


def _read_config(path: str) -> Config | None:
    if outside(path):
        raise UsageFault(f"{path} is a link out of the served folder; not followed")
    try:
        text = config_bytes(path).decode()
        data = read_toml(text)
    # All folders up to the root are searched: a folder that the user cannot read has no file
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except (OSError, ValueError) as error:
        raise UsageFault(f"{path} cannot be read: {error}") from None
    refuse_unknown(data, text, path)
    usage, name = data.get("usage"), data.get("round")
    # TOML reads `round = 5.1` as a number
    return Config(
        str(usage) if usage else None,
        normal_name(str(name)) if name else None,
        _day(data.get("deadline"), path),
        _rules(data["rules"], text, path) if "rules" in data else (),
    )


def _rules(tables: Any, text: str, path: str) -> tuple[HouseRule, ...]:
    from podium.compliance.judging.inputs.house_table import read_rules

    return read_rules(tables, text, path)


def _day(value: Any, path: str) -> date | None:
    """A date from TOML, or from a string; a date and time becomes its date."""
    if isinstance(value, datetime):
        return value.date()
    if value is None or isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise UsageFault(
            f"{path}: deadline is {value}; expected a date such as 2026-10-09"
        ) from None


def names_round(folder: str) -> bool:
    """Whether a folder's name is that of a round."""
    return bool(_FOLDER.search(folder.lower()))


@lru_cache(maxsize=65536)
def _named(folder: str) -> tuple[str | None, str | None]:
    """The round in the nearest folder name, from this folder upwards."""
    parent, name = os.path.split(folder)
    match = _FOLDER.search(name.lower())
    if match:
        return match[1], match[2]
    return _named(parent) if parent != folder else (None, None)
