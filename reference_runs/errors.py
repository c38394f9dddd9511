"""What can go wrong with a run that its user can fix; each error is one sentence."""

from __future__ import annotations


class RunFault(Exception):
    """A run cannot start or go on, for a reason that the user can act on."""


class RunAborted(RunFault):
    """A run that had begun could not go on; its log says aborted."""


class Interrupted(RunAborted):
    """A run was ended from outside."""


class UnknownBenchmark(RunFault):
    """No bundled trainer goes by that name."""


class IncompleteTrainer(RunFault):
    """A trainer does not define a method that the shared loop calls."""


class UnknownSetting(RunFault):
    """A `--set` names no field of the config, or gives it a value of the wrong type."""


class DataMissing(RunFault):
    """The real dataset's files are not below `--data`, or are not what they must be."""


class DataDamaged(RunFault):
    """A file of the dataset cannot be used, which showed after training had begun."""


class TorchMissing(RunFault):
    """The extra that brings torch is not installed."""


class LibraryMissing(DataMissing):
    """A library that reads files of a kind is not installed."""


_PEER_GONE = (
    *("Connection closed by peer", "Connection reset by peer", "Broken pipe"),
    # Of gloo, of NCCL, of its watchdog, and of the store where ranks meet
    *("Timed out waiting", "remote process exited", "Watchdog caught", "NCCL communicator was"),
    *("Connection was likely closed", "recvValue failed", "sendBytes failed"),
)


def peer_is_gone(error: BaseException) -> bool:
    """Whether torch's error says that another rank has ended."""
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _PEER_GONE)
