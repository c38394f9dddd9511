"""The commands of runs at reference scale in the documentation."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from podium.reference_runs.engine.launch import run_request
from podium.reference_runs.engine.setting import Setting
from podium.reference_runs.parallel.mesh import parse
from tests.locations import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from podium.reference_runs.engine.launch import RunRequest

COMMAND = re.compile(r"^(?:\$ )?((?:torchrun .*-m )?podium run .*--scale reference.*)$", re.M)
TRAINS_NOT = ("--plan", "--dry-log")


@dataclass(frozen=True)
class Printed:
    """A command and the page that contains it."""

    place: str
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """The benchmark."""
        return self.words[self.words.index("run") + 1]

    @property
    def mesh(self) -> str | None:
        """The value of `--mesh`."""
        return next(iter(self.values("--mesh")), None)

    @property
    def ranks(self) -> int:
        """The number of processes that the command starts."""
        if self.words[0] == "torchrun":
            nodes = next(iter(self.values("--nnodes")), "1")
            (each,) = self.values("--nproc-per-node")
            return int(nodes) * int(each)
        return parse(self.mesh).world if self.mesh else 1

    def values(self, option: str) -> list[str]:
        """The values of an option."""
        return [self.words[at + 1] for at, word in enumerate(self.words) if word == option]

    def request(self) -> RunRequest:
        """The run request that `--plan` would receive."""
        precision = next(iter(self.values("--precision")), "fp32")
        setting = Setting(scale="reference", precision=precision, device="cpu")  # type: ignore[arg-type]
        mesh = parse(self.mesh) if self.mesh else None
        settings = dict(each.split("=", 1) for each in self.values("--set"))
        return run_request(self.name, replace(setting, mesh=mesh), settings)


def printed() -> list[Printed]:
    """All commands on the pages of benchmarks and in the documentation."""
    pages = [*ROOT.glob("reference_runs/benchmarks/*/README.md"), *ROOT.glob("docs/*.md")]
    found = {each.words: each for page in sorted(pages) for each in _of_page(page)}
    return [*found.values()]


def _of_page(page: Path) -> Iterator[Printed]:
    text = re.sub(r"\\\n *", " ", page.read_text())
    for match in COMMAND.findall(text):
        words = tuple(shlex.split(match, comments=True))
        if not {*words} & {*TRAINS_NOT}:
            yield Printed(str(page.relative_to(ROOT)), words)
