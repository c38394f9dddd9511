"""Published weights that training starts from: a folder of safetensors, or a torch file."""

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
    """The weights of a published model, read lazily; raises DataMissing."""
    # Memory-mapped: hundreds of gigabytes need not fit in memory together with the model
    weights = saved_tensors(path, "weights", mapped=True)
    if not isinstance(weights, dict):
        raise DataMissing(f"{path}: expected a mapping from names to tensors")
    return weights


def start_path(folder: Path) -> Path:
    """The published weights below `--data`: a folder `base` of safetensors, or `base.pt`."""
    return folder / FOLDER if (folder / FOLDER).is_dir() else folder / FILE


def check_start(path: Path) -> None:
    """Raise DataMissing if the weights do not exist; nothing is opened."""
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
    """Load a model's weights, except those whose names are to be kept; raises DataMissing.

    Tensors are read one by one: all together may not fit in memory next to the model.
    """
    wanted = {name: tensor for name, tensor in model.state_dict().items() if not kept(name)}
    for name in [*wanted, *weights]:
        if name not in weights:
            raise DataMissing(f"{path} has no tensor {name}")
        if name not in wanted:
            raise DataMissing(f"{path} has a tensor {name}, which is not in the model")
    for name, tensor in wanted.items():
        tensor.copy_(fitting(weights, name, tuple(tensor.shape), path))


def fitting(weights: Mapping[str, Tensor], name: str, shape: tuple[int, ...], path: Path) -> Tensor:
    """One of the weights, which must have that shape; raises DataMissing."""
    if name not in weights:
        raise DataMissing(f"{path} has no tensor {name}")
    # The shape of published weights is available without reading values
    actual = weights.shape(name) if isinstance(weights, Published) else tuple(weights[name].shape)
    if actual != shape:
        raise DataMissing(f"{path}: {name} has shape {actual}; expected {shape}")
    return weights[name]
