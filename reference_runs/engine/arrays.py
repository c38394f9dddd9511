"""Arrays and tensors of the user's files: what cannot be read is told by its path."""

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
    """A .npy file, mapped into memory; raises DataMissing where it is none."""
    try:
        found: NDArray[Any] = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise DataMissing(f"{path} cannot be read as an array: {error}") from None
    return found


def saved_tensors(path: Path, what: str, mapped: bool = False) -> Any:
    """What `torch.save` wrote; raises DataMissing where it is none.

    what: what the file must hold, for the message. mapped: read nothing before it is used; files
    that PyTorch wrote before 1.6 cannot be.
    """
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except (OSError, EOFError, RuntimeError, ValueError, UnpicklingError) as error:
        reason = str(error).partition("\n")[0]
        raise DataMissing(f"{path} cannot be read as {what}: {reason}") from None
