"""The messages between podium and the process of a plug-in: plain data, validated on arrival."""

from __future__ import annotations

import msgspec

from podium.rules.finding import Severity

LARGEST = 1 << 24
"""Largest message, in bytes; a larger message ends the plug-in's process."""


class Job(msgspec.Struct, frozen=True):
    """One log to check: its path, its path in reports, and its round."""

    path: str
    display_path: str
    usage: str
    round: str


class RuleData(msgspec.Struct, frozen=True):
    """A rule of a plug-in without its code: the fields of a `Check`, with a prefixed id."""

    id: str
    says: str
    why: str
    cites: str
    key: str | None
    bad: str
    good: str
    severity: Severity
    divisions: tuple[str, ...]


class PluginPart(msgspec.Struct, frozen=True):
    """A format, a trainer or a probe: its prefixed name and its description."""

    name: str
    about: str = ""


class PluginFinding(msgspec.Struct, frozen=True):
    """One violation of a rule, for a finding."""

    rule: str
    line: int | None
    message: str
    expected: str = ""
    actual: bool | int | float | str | None = None
    hint: str = ""


class Loaded(msgspec.Struct, frozen=True, tag=True):
    """The plug-in is imported; the message lists its extensions."""

    rules: tuple[RuleData, ...] = ()
    formats: tuple[PluginPart, ...] = ()
    trainers: tuple[PluginPart, ...] = ()
    probes: tuple[PluginPart, ...] = ()


class Tried(msgspec.Struct, frozen=True):
    """A rule that was tried with its examples, and its errors, if any."""

    rule: str
    problems: tuple[str, ...] = ()


class Answered(msgspec.Struct, frozen=True, tag=True):
    """A job is done; the message has the answer, and the job's number, which the host sets."""

    job: int = 0
    found: tuple[PluginFinding, ...] = ()
    tried: tuple[Tried, ...] = ()
    text: str = ""
    fields: dict[str, str] = {}


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The plug-in did something forbidden; its process ends."""

    why: str


Message = Loaded | Answered | Failed

_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


def encoded(message: Message) -> bytes:
    """A message as bytes; raises ValueError or TypeError for data that no report can contain."""
    return msgspec.json.encode(message)


def decoded(data: bytes) -> Message:
    """The message in these bytes; raises msgspec.DecodeError if they are invalid."""
    return _decoder.decode(data)
