"""The commands of runs at reference scale that documentation prints."""

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
    """A command, and where it stands."""

    place: str
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """The benchmark."""
        return self.words[self.words.index("run") + 1]

    @property
    def mesh(self) -> str | None:
        """What `--mesh` says."""
        return next(iter(self.values("--mesh")), None)

    @property
    def ranks(self) -> int:
        """Processes that it starts."""
        if self.words[0] == "torchrun":
            nodes = next(iter(self.values("--nnodes")), "1")
            (each,) = self.values("--nproc-per-node")
            return int(nodes) * int(each)
        return parse(self.mesh).world if self.mesh else 1

    def values(self, option: str) -> list[str]:
        """What an option is given."""
        return [self.words[at + 1] for at, word in enumerate(self.words) if word == option]

    def request(self) -> RunRequest:
        """The run, as `--plan` takes it."""
        precision = next(iter(self.values("--precision")), "fp32")
        setting = Setting(scale="reference", precision=precision, device="cpu")  # type: ignore[arg-type]
        mesh = parse(self.mesh) if self.mesh else None
        settings = dict(each.split("=", 1) for each in self.values("--set"))
        return run_request(self.name, replace(setting, mesh=mesh), settings)


def printed() -> list[Printed]:
    """All of them, in the pages of benchmarks and of the documentation."""
    pages = [*ROOT.glob("reference_runs/benchmarks/*/README.md"), *ROOT.glob("docs/*.md")]
    found = {each.words: each for page in sorted(pages) for each in _of_page(page)}
    return [*found.values()]


def _of_page(page: Path) -> Iterator[Printed]:
    text = re.sub(r"\\\n *", " ", page.read_text())
    for match in COMMAND.findall(text):
        words = tuple(shlex.split(match, comments=True))
        if not {*words} & {*TRAINS_NOT}:
            yield Printed(str(page.relative_to(ROOT)), words)
