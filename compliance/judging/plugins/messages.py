"""What passes between podium and the process of a plug-in: plain data, checked on arrival."""

from __future__ import annotations

import msgspec

from podium.rules.finding import Severity

LARGEST = 1 << 24
"""Bytes of one message; what a plug-in sends beyond that ends its process."""


class Job(msgspec.Struct, frozen=True):
    """One log to judge: where it lies, how reports name it, and by which round's rules."""

    path: str
    display_path: str
    usage: str
    round: str


class RuleData(msgspec.Struct, frozen=True):
    """A rule of a plug-in without its code: the fields of a `Check`, its id prefixed."""

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
    """A format, a trainer or a probe by its name, prefixed, and what it is about."""

    name: str
    about: str = ""


class PluginFinding(msgspec.Struct, frozen=True):
    """One violation of a rule, as a finding tells it."""

    rule: str
    line: int | None
    message: str
    expected: str = ""
    actual: bool | int | float | str | None = None
    hint: str = ""


class Loaded(msgspec.Struct, frozen=True, tag=True):
    """The plug-in is imported: all that it adds."""

    rules: tuple[RuleData, ...] = ()
    formats: tuple[PluginPart, ...] = ()
    trainers: tuple[PluginPart, ...] = ()
    probes: tuple[PluginPart, ...] = ()


class Tried(msgspec.Struct, frozen=True):
    """A rule tried on its examples, and what is wrong with it; nothing where it does as it says."""

    rule: str
    problems: tuple[str, ...] = ()


class Answered(msgspec.Struct, frozen=True, tag=True):
    """A job is done: what was asked for, and the job's number, which the host sets."""

    job: int = 0
    found: tuple[PluginFinding, ...] = ()
    tried: tuple[Tried, ...] = ()
    text: str = ""
    fields: dict[str, str] = {}


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The plug-in did what it must not; its process ends."""

    why: str


Message = Loaded | Answered | Failed

_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


def encoded(message: Message) -> bytes:
    """A message as bytes; raises ValueError or TypeError for what no report can hold."""
    return msgspec.json.encode(message)


def decoded(data: bytes) -> Message:
    """The message of these bytes; raises msgspec.DecodeError where they are none."""
    return _decoder.decode(data)
