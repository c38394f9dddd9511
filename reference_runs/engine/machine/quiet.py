"""Plans and runs without torch warnings that users cannot act on."""

from __future__ import annotations

import logging
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

WARNINGS = (
    "Sparse invariant checks are implicitly disabled",
    r"`torch\.distributed\.\w+` is deprecated",
    r"FSDP2-wrapped module \(\w+\) returned a view tensor",
    "Mismatch dtype between input and weight",
    "TensorFloat32 tensor cores for float32 matrix multiplication available",  # see --precision
)
"""Beginnings of the warnings, as regular expressions."""
LOGGED = "While redistributing from"
"""Beginning of torch's log message for a sum over two axes that takes one message for each."""
LOGGER = "torch.distributed.tensor._redistribute"


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress these warnings, and no others."""
    logger = logging.getLogger(LOGGER)
    with warnings.catch_warnings():
        for message in WARNINGS:
            warnings.filterwarnings("ignore", message)
        logger.addFilter(_other)
        try:
            yield
        finally:
            logger.removeFilter(_other)


def _other(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(LOGGED)
