"""The messages to and from workers: a batch and its answer, both as pickles.

Anyone who can reach a scheduler can run code on its workers, with pickles or without. podium trusts
a scheduler, and its workers trust podium. docs/security.md describes the consequences.
"""

from __future__ import annotations

import pickle  # nosec B403
from typing import Any, NamedTuple

from podium.compliance.judging.workers.processes import TaskPolicy


class Batch(NamedTuple):
    """Tasks, the work for each, and the folder to which their paths are relative.

    `seen` are the paths of files that the sender has: a worker without one of them must not check.
    """

    work: Any
    tasks: list[Any]
    care: TaskPolicy[Any, Any]
    folder: str
    seen: list[str]


class Answer(NamedTuple):
    """The results of a batch, or `unfit`, why the worker cannot do it, or an exception."""

    done: list[Any]
    unfit: str = ""
    raised: Exception | None = None


class OtherVersion(Exception):
    """Raised on a worker with another version of podium than the sender; has the version."""


class HelperLost(Exception):
    """Raised on a worker whose helper ended before it answered; says how it ended."""


def packed(message: Batch | Answer) -> bytes:
    """A batch or an answer as bytes; raises the exceptions of pickle."""
    return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)


def unpacked(data: bytes) -> Any:
    """A batch or an answer from the bytes of `packed`."""
    # Between podium and the scheduler that the user named, which is trusted anyway
    return pickle.loads(data)  # noqa: S301 # nosec B301
