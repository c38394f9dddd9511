"""Data staging: copies from a shared file system to the local storage of each node, for HPC."""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
import weakref
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from podium.logging_spec import keys
from podium.reference_runs.engine.ranks import local_rank, ranks_per_node
from podium.reference_runs.engine.task import C, Task

if TYPE_CHECKING:
    from podium.logging_spec import Logger
    from podium.reference_runs.engine.ranks import Ranks


class Folder:
    """A temporary folder that several ranks use; the rank that made it removes it."""

    def __init__(self, purpose: str, *, make: bool) -> None:
        self.path = Path()
        if make:
            self.path = Path(tempfile.mkdtemp(prefix=f"podium-{purpose}-"))
            # Unlike __del__, this also runs when the interpreter exits
            weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def shared_folder(ranks: Ranks) -> Folder:
    """The replacement of the parallel file system at smoke scale; rank 0 makes it."""
    mine = Folder("parallel", make=ranks.first)
    mine.path = ranks.gather(mine.path)[0]
    return mine


def node_folder(ranks: Ranks) -> Folder:
    """A folder local to this node, below TMPDIR; the node's first rank makes it."""
    mine = Folder("node", make=local_rank() == 0)
    node = socket.gethostname()
    everyone = ranks.gather((node, local_rank(), mine.path))
    mine.path = next(path for name, local, path in everyone if (name, local) == (node, 0))
    return mine


class StagedTask(Task[C]):
    """A task whose data are staged in the timed part; at smoke scale, generated data too."""

    shared: Folder
    near: Folder
    """The folder that is read: the node's copy."""

    @abstractmethod
    def write_generated(self, folder: Path) -> None:
        """Write the generated data of smoke scale where the parallel file system would have it."""

    @abstractmethod
    def open_data(self) -> None:
        """Open the staged files, at either scale."""

    def prepare(self) -> None:
        """Write generated data into a folder that replaces the parallel file system."""
        self.check_settings()
        if self.setting.scale == "smoke":
            self.shared = shared_folder(self.ranks)  # kept as long as the task
            if self.ranks.first:
                self.write_generated(self.source)
            self.ranks.gather(None)  # no rank reads before everything is written

    @property
    def source(self) -> Path:
        """The source folder: on the parallel file system, or its replacement."""
        return self.shared.path if self.setting.scale == "smoke" else self.data_folder

    def stage(self, log: Logger) -> None:
        """Copy the data to the node in the timed part, as HPC rounds before 3.0 require."""
        self.near = stage(log, self.source, self.ranks, again=self.setting.resume)

    def read_in_place(self) -> None:
        """Use the shared folder directly."""
        self.near = Folder("shared", make=False)
        self.near.path = self.source


def stage(log: Logger, shared: Path, ranks: Ranks, *, again: bool = False) -> Folder:
    """Copy a folder's files to each node, with its ranks in parallel, and log the staging records.

    A resumed run stages `again`, since its log already has those records.
    """
    if not again:
        log.start(keys.STAGING_START)
    # Not the wall clock, which may be set during the copy
    began = time.monotonic()
    local = node_folder(ranks)
    files = sorted(path for path in shared.rglob("*") if path.is_file())
    for path in files[local_rank() :: ranks_per_node()]:
        target = local.path / path.relative_to(shared)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    # No rank reads before all ranks have copied, also those of a mesh that share samples
    ranks.gather(None)
    seconds = round(time.monotonic() - began, 3)
    if not again:
        log.end(keys.STAGING_STOP, metadata={"staging_duration": seconds})
    return local
