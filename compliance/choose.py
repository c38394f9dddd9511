"""Which round's rules a file is judged by: options, podium.toml, folder names, else the newest."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from compliance.errors import UsageFault
from rules.catalogue import UnknownRound, find_round, newest, normal_name, rounds_of
from rules.round import Round

ChosenBy = Literal["option", "config", "folder", "default"]

_FOLDER = re.compile(r"(training|hpc)[_-](?:results|submissions?)?[_-]?v?(\d+\.\d+)(?:\.\d+)?$")


@dataclass(frozen=True, slots=True)
class Choice:
    """A round and how it was chosen."""

    rules: Round
    chosen_by: ChosenBy


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user's options say; None where they say nothing."""

    usage: str | None = None
    round: str | None = None

    def choose(self, folder: str | Path) -> Choice:
        """The round for what lies in a folder; raises UsageFault for one that does not exist."""
        return _choose(self, str(folder))


def forget() -> None:
    """Read podium.toml files anew: they may have changed since the last call."""
    _choose.cache_clear()
    _read_config.cache_clear()


@lru_cache(maxsize=4096)
def _choose(wish: Wish, place: str) -> Choice:
    folder = Path(place).absolute()
    sources: list[tuple[ChosenBy, str | None, str | None]] = [("option", wish.usage, wish.round)]
    sources += [("config", *_configured(folder)), ("folder", *_named(folder))]
    usage = next((given for _, given, _ in sources if given), "training")
    for chosen_by, source_usage, name in sources:
        if not name or (source_usage and source_usage != usage):
            continue
        if chosen_by == "folder" and name not in rounds_of(usage):
            continue  # a later round than podium knows: judged by the newest
        return Choice(_find(usage, name), chosen_by)
    chosen_by = next((by for by, given, _ in sources if given), "default")
    return Choice(_newest(usage), chosen_by)


def _find(usage: str, name: str) -> Round:
    try:
        return find_round(usage, name)
    except UnknownRound as error:
        raise UsageFault(str(error)) from None


def _newest(usage: str) -> Round:
    try:
        return newest(usage)
    except UnknownRound as error:
        raise UsageFault(str(error)) from None


def _configured(folder: Path) -> tuple[str | None, str | None]:
    for place in (folder, *folder.parents):
        found = _read_config(place / "podium.toml")
        if found is not None:
            return found
    return None, None


@lru_cache(maxsize=4096)
def _read_config(path: Path) -> tuple[str | None, str | None] | None:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageFault(f"{path} cannot be read: {error}") from None
    usage, name = data.get("usage"), data.get("round")
    return (str(usage) if usage else None, normal_name(str(name)) if name else None)


def _named(folder: Path) -> tuple[str | None, str | None]:
    for place in (folder, *folder.parents):
        match = _FOLDER.search(place.name.lower())
        if match:
            return match[1], match[2]
    return None, None
