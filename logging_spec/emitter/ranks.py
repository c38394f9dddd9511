"""The rank of this process in a distributed run, and a barrier for its processes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLES: Final = (
    "RANK",  # torchrun, Lightning and DeepSpeed
    "OMPI_COMM_WORLD_RANK",  # Open MPI
    "PMIX_RANK",  # PMIx, under which newer launchers start processes
    "PMI_RANK",  # MPICH, Intel MPI
    "SLURM_PROCID",  # last: inside an allocation every process has it
)
"""Environment variables that give a process its rank, the closest launcher first."""


def rank(environment: Mapping[str, str] | None = None) -> int:
    """Rank of this process: from torch.distributed if initialized, else the launcher, else 0."""
    distributed = _distributed()
    if distributed is not None:
        return int(distributed.get_rank())
    environment = os.environ if environment is None else environment
    for name in VARIABLES:
        text = environment.get(name, "").strip()
        if text.isdecimal():
            return int(text)
    return 0


def barrier() -> None:
    """Wait for all processes of torch.distributed, if it is initialized."""
    distributed = _distributed()
    if distributed is not None:
        distributed.barrier()


def _distributed() -> Any:
    """torch.distributed if the program has imported and initialized it; never imports it."""
    # Looked up, not imported: torch takes seconds to load and may not be installed
    module = sys.modules.get("torch.distributed")
    # Builds of torch without distributed have only is_available
    if module is None or not module.is_available() or not module.is_initialized():
        return None
    return module
