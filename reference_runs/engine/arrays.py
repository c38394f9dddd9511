"""Arrays and tensors in the user's files; errors name the path of the file."""

from __future__ import annotations

from pickle import UnpicklingError  # nosec B403
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def mapped_array(path: Path) -> NDArray[Any]:
    """A .npy file, mapped into memory; raises DataMissing if it is not one."""
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise DataMissing(f"{path} cannot be read as an array: {error}") from None
    return array


def saved_tensors(path: Path, what: str, mapped: bool = False) -> Any:
    """The content of a file from `torch.save`; raises DataMissing if it is invalid.

    what: description of the expected content, for the message. mapped: memory-map the file, which
    files from PyTorch before 1.6 do not support.
    """
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except (OSError, EOFError, RuntimeError, ValueError, UnpicklingError) as error:
        reason = str(error).partition("\n")[0]
        raise DataMissing(f"{path} cannot be read as {what}: {reason}") from None
