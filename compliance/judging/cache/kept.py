"""What is kept of one check, as it lies in the cache: outcomes of logs, contents of other files."""

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
"""What a log gives as a whole number is shown as one, and must come back as one."""


# Of the same names and fields, with the types that are written; those of their modules are for type
# checkers, in part
class RunFacts(convergence.RunFacts):
    """What scores are judged by, as it is read from the cache."""

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
    """What no two runs share, as it is read from the cache."""

    times: tuple[Number, ...] = ()


class Facts(facts.Facts):
    """Facts as they are read from the cache."""

    run: RunFacts
    fingerprint: RunFingerprint = RunFingerprint()
    secrets: Secrets | None = None
    trace: Trace | None = None


class LogVerdict(judge.LogVerdict):
    """A verdict as it is read from the cache."""

    minutes: Number | None = None
    facts: Facts | None = None
    official: LogVerdict | None = None


class KeptLog(msgspec.Struct, frozen=True, array_like=True):
    """A log's verdict, and what it is the verdict on: content by its hash, and all else by `key`.

    `named` tells which rules are part of the key.
    """

    key: bytes
    content: bytes
    named: LogScope
    verdict: msgspec.Raw


class KeptContents(msgspec.Struct, frozen=True, array_like=True):
    """What a file holds that is no log; `content` is a hash of as much of it as was looked at."""

    content: bytes
    held: Contents


class CacheContent(msgspec.Struct, array_like=True):
    """Everything that one check has left for the next, by paths; `tool` is by whom."""

    tool: bytes = b""
    logs: dict[str, KeptLog] = msgspec.field(default_factory=dict)
    contents: dict[str, KeptContents] = msgspec.field(default_factory=dict)


_encode = msgspec.msgpack.Encoder().encode
_decode_verdict = msgspec.msgpack.Decoder(LogVerdict).decode
_decode = msgspec.msgpack.Decoder(CacheContent).decode


def kept_from(body: bytes) -> CacheContent:
    """What bytes of the cache hold; raises msgspec.MsgspecError for others."""
    return _decode(body)


def to_bytes(kept: CacheContent) -> bytes:
    """Bytes that `kept_from` reads."""
    return _encode(kept)


def frozen_verdict(verdict: judge.LogVerdict) -> msgspec.Raw | None:
    """A verdict as bytes; None for one that would not come back as it is.

    Values of a log may be of any kind: an integer of 100 digits, half of a surrogate pair.
    """
    try:
        written = _encode(verdict)
        back = _decode_verdict(written)
    except (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError):
        return None
    # Unlike ==, this tells 8 from 8.0 and a list from a tuple, and takes NaN for itself
    return msgspec.Raw(written) if repr(back) == repr(verdict) else None


def thawed(verdict: msgspec.Raw) -> judge.LogVerdict:
    """The verdict that was written; raises msgspec.MsgspecError where it is none."""
    return _decode_verdict(verdict)


def hash_of(data: bytes) -> bytes:
    """The hash of a content."""
    return hashlib.blake2b(data, digest_size=16).digest()


def hash_of_file(path: str) -> bytes | None:
    """The hash of a regular file's content; None where it cannot be read."""
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
