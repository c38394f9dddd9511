"""Published weights that training starts from: a folder of safetensors, or a file of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.reference_runs.engine.arrays import saved_tensors
from podium.reference_runs.errors import DataMissing
from podium.reference_runs.weights.published import Published

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from torch import Tensor, nn

FOLDER, FILE = "base", "base.pt"


def published_weights(path: Path) -> dict[str, Tensor]:
    """The weights of a published model, of which nothing is read yet; raises DataMissing."""
    # Mapped, so that hundreds of gigabytes need not be in memory together with the model's
    found = saved_tensors(path, "weights", mapped=True)
    if not isinstance(found, dict):
        raise DataMissing(f"{path} must hold tensors by name")
    return found


def start_path(folder: Path) -> Path:
    """Where published weights lie below `--data`: a folder `base` of safetensors, or `base.pt`."""
    return folder / FOLDER if (folder / FOLDER).is_dir() else folder / FILE


def check_start(path: Path) -> None:
    """Raise DataMissing where the weights are not there; nothing is opened."""
    if not path.exists():
        raise DataMissing(
            f"{path} is missing; training starts from published weights: a folder {FOLDER} of"
            f" safetensors, or {FILE}"
        )


def fill(
    model: nn.Module,
    weights: Mapping[str, Tensor],
    path: Path,
    *,
    kept: Callable[[str], bool] = lambda _: False,
) -> None:
    """Give a model its weights, all but those whose names are to be kept; raises DataMissing.

    One tensor is read after the other: together they may not fit next to the model.
    """
    wanted = {name: tensor for name, tensor in model.state_dict().items() if not kept(name)}
    for name in [*wanted, *weights]:
        if name not in weights:
            raise DataMissing(f"{path} holds no tensor {name}")
        if name not in wanted:
            raise DataMissing(f"{path} holds a tensor {name}, which the model has not")
    for name, tensor in wanted.items():
        tensor.copy_(fitting(weights, name, tuple(tensor.shape), path))


def fitting(weights: Mapping[str, Tensor], name: str, shape: tuple[int, ...], path: Path) -> Tensor:
    """One of the weights, which must have that shape; raises DataMissing."""
    if name not in weights:
        raise DataMissing(f"{path} holds no tensor {name}")
    # Of published weights no number is read for their shape
    found = weights.shape(name) if isinstance(weights, Published) else tuple(weights[name].shape)
    if found != shape:
        raise DataMissing(f"{path}: {name} is of shape {found}; expected {shape}")
    return weights[name]
