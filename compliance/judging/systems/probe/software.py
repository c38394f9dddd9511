"""The framework and what lies below it, by the names of installed distributions; none is loaded."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from podium.compliance.judging.systems.probe.finding import ProbedFields

_FRAMEWORKS = {
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "paddlepaddle-gpu": "PaddlePaddle",
    "mxnet": "MXNet",
}
_STACK = {"CUDNN_VERSION": "cuDNN", "NCCL_VERSION": "NCCL", "OPENMPI_VERSION": "Open MPI"}
"""Variables that vendors' containers carry."""


def probe_software(surroundings: Mapping[str, str]) -> ProbedFields:
    """The framework where exactly one is installed, and the versions that containers tell."""
    found = ProbedFields()
    installed = [f"{title} {number}" for title, number in _installed()]
    # Of several only the submitter knows which one trained
    if len(installed) == 1:
        found.set("framework", installed[0])
    elif installed:
        found.notes.append(f"several frameworks are installed: {', '.join(installed)}")
    data = [
        f"{title} {surroundings[name]}" for name, title in _STACK.items() if name in surroundings
    ]
    found.set("other_software_stack", ", ".join([*data, f"Python {platform.python_version()}"]))
    return found


def _installed() -> list[tuple[str, str]]:
    found = []
    for name, title in _FRAMEWORKS.items():
        try:
            found.append((title, version(name)))
        except PackageNotFoundError:
            continue
    return found
