"""The official checker's verdict on one log, as in corpus/verdicts.json.

Only tests may import the official checker.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER = re.compile(r"^(training|hpc)_results_v(\d+\.\d+)$")


@dataclass(frozen=True)
class OracleVerdict:
    """``ok`` is None if the official checker ended in a traceback, which ``crash`` then names."""

    ok: bool | None
    keys: frozenset[str]
    other: tuple[str, ...]
    crash: str | None


def usage_and_round(path: Path) -> tuple[str, str]:
    """Read usage and round from a folder name such as ``training_results_v5.1`` in ``path``."""
    for part in path.parts:
        match = _FOLDER.match(part)
        if match:
            return match[1], match[2]
    raise ValueError(f"no results folder in {path}")


def judge(path: Path, usage: str, round_: str) -> OracleVerdict:
    """Run the official checker on a log, without output and without state for the next call."""
    incumbent = _incumbent()
    incumbent.enqueued_configs.clear()
    checker = incumbent.make_checker(usage, f"{round_}.0", True, False)
    with _silence():
        try:
            ok = incumbent.main(str(path), f"{usage}_{round_}.0/common.yaml", checker)[0]
        except Exception as error:  # the official checker raises any kind of exception
            return OracleVerdict(None, frozenset(), (), _named(error, incumbent))
        finally:
            incumbent.enqueued_configs.clear()
    other = tuple(message.split("\n")[0] for message in checker.not_overwritable)
    return OracleVerdict(bool(ok), frozenset(checker.overwritable), other, None)


def _named(error: Exception, incumbent: Any) -> str:
    packages = str(Path(incumbent.__file__).parents[2])
    return f"{type(error).__name__}: {error}".replace(f"{packages}/", "")


@cache
def _incumbent() -> Any:
    """Import the official checker, and make it parse each of its rule files only once."""
    incumbent = importlib.import_module("mlperf_logging.compliance_checker.mlp_compliance")
    yaml = importlib.import_module("yaml")
    parsed: dict[str, Any] = {}

    def load(stream: Any, Loader: Any) -> Any:  # noqa: N803  (the caller's name for it)
        if stream.name not in parsed:
            parsed[stream.name] = yaml.load(stream, Loader=Loader)
        return parsed[stream.name]

    vars(incumbent)["yaml"] = SimpleNamespace(load=load, BaseLoader=yaml.BaseLoader)
    return incumbent


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    root = logging.getLogger()
    handler = logging.NullHandler()  # without a handler, logging would install its default handler
    disabled = logging.root.manager.disable
    root.addHandler(handler)
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(disabled)
        root.removeHandler(handler)
