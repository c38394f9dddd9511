"""Errors of a run that the user can fix; each message is one sentence."""

from __future__ import annotations


class RunFault(Exception):
    """A run cannot start or continue, for a reason that the user can act on."""


class RunAborted(RunFault):
    """A run failed after it had begun; its log has the status "aborted"."""


class Interrupted(RunAborted):
    """A run was stopped from outside."""


class UnknownBenchmark(RunFault):
    """No bundled trainer has that name."""


class IncompleteTrainer(RunFault):
    """A trainer does not define a method that the shared loop calls."""


class UnknownSetting(RunFault):
    """A `--set` names an unknown field of the config, or gives it a value of the wrong type."""


class DataMissing(RunFault):
    """The files of the real dataset are not below `--data`, or have unexpected content."""


class DataDamaged(RunFault):
    """A file of the dataset turned out to be unusable after training had begun."""


class TorchMissing(RunFault):
    """torch, an optional dependency, is not installed."""


class LibraryMissing(DataMissing):
    """A library that reads a kind of file is not installed."""


_PEER_GONE = (
    *("Connection closed by peer", "Connection reset by peer", "Broken pipe"),
    # Messages of gloo, of NCCL, of its watchdog, and of the rendezvous store
    *("Timed out waiting", "remote process exited", "Watchdog caught", "NCCL communicator was"),
    *("Connection was likely closed", "recvValue failed", "sendBytes failed"),
)


def peer_is_gone(error: BaseException) -> bool:
    """Whether torch's error says that another rank has ended."""
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _PEER_GONE)
