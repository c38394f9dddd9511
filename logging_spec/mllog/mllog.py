"""MLLogger: prints records through a logging.Logger, by default to stdout."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict

from podium.logging_spec.emitter.values import encoder
from podium.logging_spec.mllog import constants, handlers
from podium.logging_spec.mllog.handlers import AppendingHandler, PrintingHandler

if TYPE_CHECKING:
    from typing import Unpack

LOG_TEMPLATE = ":::MLLOG {log_json}"
"""The template of a line around the JSON text of its record."""


class _NumpyJSONEncoder(json.JSONEncoder):
    """Encodes NumPy integers, floats and arrays like Python's, without importing NumPy."""

    def default(self, o: Any) -> Any:
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            if isinstance(o, numpy.integer):
                return int(o)
            if isinstance(o, numpy.floating):
                return float(o)
            if isinstance(o, numpy.ndarray):
                return o.tolist()
        return super().default(o)


# NaN becomes a bare word, as the official package writes it
_encode: Callable[[object], str] = encoder(_NumpyJSONEncoder().default, nonfinite=True)


# `_current_time_ms`, `get_caller` and `_encode_log` have the same names as in the official package:
# programs and their tests patch them.
def _current_time_ms() -> int:
    return int(time.time() * 1e3)


def get_caller(stack_index: int = 2, root_dir: str | None = None) -> dict[str, Any]:
    """File and line `stack_index` frames up from here; the file relative to `root_dir`."""
    try:
        frame = sys._getframe(stack_index)
    except ValueError:  # fewer frames: the outermost
        frame = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
    file = frame.f_code.co_filename
    if root_dir is not None:
        file = file.removeprefix(f"{root_dir}/")
    return {"file": file, "lineno": frame.f_lineno}


def _encode_log(
    namespace: Any, time_ms: Any, event_type: Any, key: Any, value: Any, metadata: Any
) -> str:
    record = {
        "namespace": namespace,
        "time_ms": time_ms,
        "event_type": event_type,
        "key": key,
        "value": value,
        "metadata": metadata,
    }
    return LOG_TEMPLATE.replace("{log_json}", _encode(record))


def _printable(fields: list[Any]) -> str:
    try:
        return str(fields)
    except Exception:
        return f"[... {fields[3]!s:.80} ...]"


class _Options(TypedDict, total=False):
    """Options of a single record; None is the default of the logger."""

    namespace: Any
    time_ms: Any
    stack_offset: int | None
    clear_line: bool | None


class MLLogger:
    """Prints records: start and end of intervals, and events at a point in time."""

    def __init__(
        self,
        logger: logging.Logger | None = None,
        default_namespace: str = constants.DEFAULT_NAMESPACE,
        default_stack_offset: int = 1,
        default_clear_line: bool = False,
        root_dir: str | None = None,
    ) -> None:
        """Wrap a logger, or the default one, which prints to stdout.

        `default_stack_offset` is the number of callers up to the call site of a record. With
        `default_clear_line` an empty line precedes each record, to separate it from a progress bar.
        `root_dir` is removed from the paths of call sites.
        """
        if logger is None:
            logger = self._get_default_logger()
        elif not isinstance(logger, logging.Logger):
            raise ValueError(f"logger is a {type(logger).__name__}; must be a logging.Logger")
        self.logger = logger
        self.default_namespace = default_namespace
        self.default_stack_offset = default_stack_offset
        self.default_clear_line = default_clear_line
        self.root_dir = root_dir

    def _get_default_logger(self) -> logging.Logger:
        logger = logging.getLogger(constants.DEFAULT_LOGGER_NAME)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        # The official package adds a handler here each time, so a second logger prints every line
        # twice.
        if not any(_prints_to_stdout(handler) for handler in logger.handlers):
            handler = PrintingHandler(sys.stdout)
            handler.setLevel(logging.INFO)
            logger.addHandler(handler)
        return logger

    def _do_log(self, level: int, message: str, clear_line: bool = False) -> None:
        handlers.log(self.logger, level, "\n" + message if clear_line else message)

    def _log_helper(
        self,
        event_type: str,
        key: Any,
        value: Any = None,
        metadata: Any = None,
        **options: Unpack[_Options],
    ) -> None:
        # With this name and keywords, because programs patch it in the official package.
        time_ms, namespace = options.get("time_ms"), options.get("namespace")
        offset, clear = options.get("stack_offset"), options.get("clear_line")
        time_ms = _current_time_ms() if time_ms is None else time_ms
        namespace = self.default_namespace if namespace is None else namespace
        offset = self.default_stack_offset if offset is None else offset
        # start, end or event is two frames up; the default offset of 1 leads to its caller
        members = get_caller(offset + 2, root_dir=self.root_dir)
        if metadata is not None:
            members = self._with_metadata(members, metadata)
        try:
            line = _encode_log(namespace, time_ms, event_type, key, value, members)
        except Exception:
            # As in the official package: a value that cannot be logged must not stop training
            fields = [namespace, time_ms, event_type, key, value, members]
            self._do_log(logging.ERROR, f"Failed to encode: {_printable(fields)}", clear_line=True)
            return
        self._do_log(logging.INFO, line, self.default_clear_line if clear is None else clear)

    def _with_metadata(self, site: dict[str, Any], metadata: Any) -> dict[str, Any]:
        if not isinstance(metadata, dict):
            if _holds_something(metadata):
                message = f"metadata ignored: expected a dict, got a {type(metadata).__name__}"
                self._do_log(logging.WARNING, message, clear_line=True)
            return site
        replaced = [name for name in site if name in metadata]
        if replaced:
            message = f"metadata replaces the call site's {' and '.join(replaced)}"
            self._do_log(logging.WARNING, message, clear_line=True)
        return {**site, **metadata}

    def start(
        self,
        key: Any,
        value: Any = None,
        metadata: Any = None,
        namespace: Any = None,
        time_ms: Any = None,
        stack_offset: int | None = None,
        clear_line: bool | None = None,
    ) -> None:
        """Log that an interval begins."""
        self._log_helper(
            constants.INTERVAL_START,
            key,
            value,
            metadata=metadata,
            namespace=namespace,
            time_ms=time_ms,
            stack_offset=stack_offset,
            clear_line=clear_line,
        )

    def end(
        self,
        key: Any,
        value: Any = None,
        metadata: Any = None,
        namespace: Any = None,
        time_ms: Any = None,
        stack_offset: int | None = None,
        clear_line: bool | None = None,
    ) -> None:
        """Log that an interval ends. After `run_stop` files are synced to disk."""
        self._log_helper(
            constants.INTERVAL_END,
            key,
            value,
            metadata=metadata,
            namespace=namespace,
            time_ms=time_ms,
            stack_offset=stack_offset,
            clear_line=clear_line,
        )
        if isinstance(key, str) and key == constants.RUN_STOP:
            for handler in self.logger.handlers:
                if isinstance(handler, AppendingHandler):
                    handler.sync()

    def event(
        self,
        key: Any,
        value: Any = None,
        metadata: Any = None,
        namespace: Any = None,
        time_ms: Any = None,
        stack_offset: int | None = None,
        clear_line: bool | None = None,
    ) -> None:
        """Log a value at a point in time."""
        self._log_helper(
            constants.POINT_IN_TIME,
            key,
            value,
            metadata=metadata,
            namespace=namespace,
            time_ms=time_ms,
            stack_offset=stack_offset,
            clear_line=clear_line,
        )


def _holds_something(value: Any) -> bool:
    try:
        return bool(value)
    except Exception:  # the truth value of an array is an error, which the official package raises
        return True


def _prints_to_stdout(handler: logging.Handler) -> bool:
    printing = isinstance(handler, logging.StreamHandler) and handler.stream is sys.stdout
    return printing and handler.level <= logging.INFO
