"""What travels: a batch to a worker, and its answer back, both as pickles.

Whoever can reach a scheduler can run code on its workers, with pickles or without: podium trusts a
scheduler, and its workers trust podium. docs/security.md says what follows from that.
"""

from __future__ import annotations

import pickle  # nosec B403
from typing import Any, NamedTuple

from podium.compliance.judging.workers.processes import TaskPolicy


class Batch(NamedTuple):
    """Tasks, what is to be done with each, and the folder that their paths start from.

    `seen` are the paths of files that the sender has: a worker that lacks one must not judge.
    """

    work: Any
    tasks: list[Any]
    care: TaskPolicy[Any, Any]
    folder: str
    seen: list[str]


class Answer(NamedTuple):
    """The results of a batch; or `unfit`, why this worker cannot do it; or what its work raised."""

    done: list[Any]
    unfit: str = ""
    raised: Exception | None = None


class OtherVersion(Exception):
    """Raised on a worker whose podium is not that of the sender; holds its version."""


class HelperLost(Exception):
    """Raised on a worker whose helper ended before it answered; says how it ended."""


def packed(what: Batch | Answer) -> bytes:
    """A batch or an answer as it travels; raises what pickle does where it cannot."""
    return pickle.dumps(what, pickle.HIGHEST_PROTOCOL)


def unpacked(data: bytes) -> Any:
    """A batch or an answer that `packed` has made."""
    # Between podium and the scheduler that the user named, who is trusted anyway
    return pickle.loads(data)  # noqa: S301 # nosec B301
