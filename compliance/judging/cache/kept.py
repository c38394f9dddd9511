"""The cached results of one check: verdicts on logs, and contents of other files."""

from __future__ import annotations

import hashlib
import os
import stat

import msgspec

from podium.compliance.judging.cache.tool import LogScope
from podium.compliance.judging.logs import facts, judge
from podium.compliance.judging.logs.trace import Trace
from podium.compliance.judging.repository.contents import Contents
from podium.compliance.judging.repository.secrets import Secrets
from podium.rules.convergence import facts as convergence

PIECE = 1 << 20


Number = int | float
"""An integer in a log must stay an integer, because reports show it as one."""


# Classes with the same names and fields, but with the types that are written. Some types in the
# original modules are only for type checkers.
class RunFacts(convergence.RunFacts):
    """The facts for scores, as they are read from the cache."""

    batch_size: Number | None = None
    to_converge: Number | None = None
    minutes: Number | None = None
    start_ms: Number | None = None
    stop_ms: Number | None = None
    init_minutes: Number | None = None
    staging_minutes: Number | None = None
    nodes: Number | None = None
    accelerators: Number | None = None
    quality: Number | None = None


class RunFingerprint(facts.RunFingerprint, frozen=True, eq=False):
    """A fingerprint, as it is read from the cache."""

    times: tuple[Number, ...] = ()


class Facts(facts.Facts):
    """Facts, as they are read from the cache."""

    run: RunFacts
    fingerprint: RunFingerprint = RunFingerprint()
    secrets: Secrets | None = None
    trace: Trace | None = None


class LogVerdict(judge.LogVerdict):
    """A verdict, as it is read from the cache."""

    minutes: Number | None = None
    facts: Facts | None = None
    official: LogVerdict | None = None


class KeptLog(msgspec.Struct, frozen=True, array_like=True):
    """A log's verdict, with the hash of its content, and the `key` for everything else.

    `named` decides which rules are part of the key.
    """

    key: bytes
    content: bytes
    named: LogScope
    verdict: msgspec.Raw


class KeptContents(msgspec.Struct, frozen=True, array_like=True):
    """The contents of a file other than a log; `content` is a hash of the part that was read."""

    content: bytes
    held: Contents


class CacheContent(msgspec.Struct, array_like=True):
    """The results that one check stores for the next, by path; `tool` identifies the version."""

    tool: bytes = b""
    logs: dict[str, KeptLog] = msgspec.field(default_factory=dict)
    contents: dict[str, KeptContents] = msgspec.field(default_factory=dict)


_encode = msgspec.msgpack.Encoder().encode
_decode_verdict = msgspec.msgpack.Decoder(LogVerdict).decode
_decode = msgspec.msgpack.Decoder(CacheContent).decode


def kept_from(body: bytes) -> CacheContent:
    """The content of bytes from the cache; raises msgspec.MsgspecError if they are invalid."""
    return _decode(body)


def to_bytes(content: CacheContent) -> bytes:
    """Bytes that `kept_from` reads."""
    return _encode(content)


def frozen_verdict(verdict: judge.LogVerdict) -> msgspec.Raw | None:
    """A verdict as bytes; None if it would not be read back identically.

    Values in a log may be anything: an integer with 100 digits, half of a surrogate pair.
    """
    try:
        written = _encode(verdict)
        decoded = _decode_verdict(written)
    except (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError):
        return None
    # Unlike ==, this distinguishes 8 from 8.0 and a list from a tuple, and NaN equals itself
    return msgspec.Raw(written) if repr(decoded) == repr(verdict) else None


def thawed(verdict: msgspec.Raw) -> judge.LogVerdict:
    """The verdict that was written; raises msgspec.MsgspecError if the bytes are invalid."""
    return _decode_verdict(verdict)


def hash_of(data: bytes) -> bytes:
    """The hash of some data."""
    return hashlib.blake2b(data, digest_size=16).digest()


def hash_of_file(path: str) -> bytes | None:
    """The hash of a regular file's content; None if it cannot be read."""
    hashed = hashlib.blake2b(digest_size=16)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(path, flags), "rb", buffering=0) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return None
            while piece := stream.read(PIECE):
                hashed.update(piece)
    except OSError:
        return None
    return hashed.digest()
