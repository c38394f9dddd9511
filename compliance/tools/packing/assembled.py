"""Assemble folders whose podium.toml names results for one call, as `podium pack` would do.

The tree is a copy in a private folder, which is removed after the call. Reports show its paths
below the folder of podium.toml.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from podium.compliance.errors import ComplianceError, UsageFault
from podium.compliance.files.durable import write_new
from podium.compliance.judging.inputs.given_paths import GivenPaths, private_folder
from podium.compliance.judging.inputs.listing import holds
from podium.compliance.judging.inputs.named_results import names_results
from podium.compliance.judging.inputs.round_selection import RoundRequest, config_bytes
from podium.compliance.judging.options import Options
from podium.compliance.text.words import plural
from podium.compliance.tools.packing.planning.building import make_plan
from podium.compliance.tools.packing.planning.config import CONFIG_FILE, PackConfig
from podium.compliance.tools.packing.planning.plan import Plan, Remark
from podium.compliance.tools.packing.planning.request import read_request
from podium.compliance.tools.packing.writing.write import Stage

MOST = 5
"""Number of refused logs that are named; `podium pack --dry-run` lists all."""


class Assembled(NamedTuple):
    """The copy of a tree, and its plan."""

    tree: Path
    plan: Plan

    @property
    def faults(self) -> list[Remark]:
        """The reasons for which `podium pack` would write nothing."""
        return [*self.plan.conflicts, *self.plan.absent]

    @property
    def refused(self) -> list[str]:
        """The logs that the plan refuses, each with the reason."""
        logs = [log for log in self.plan.left_out if log.refused]
        lines = [f"{log.display_path} is left out: {log.why}" for log in logs[:MOST]]
        surplus = len(logs) - len(lines)
        return [*lines, f"{plural(surplus, 'more log')} left out"] if surplus else lines


class _Allowed:
    """The folders from which a podium.toml may name files: its own, and the working directory.

    Unlike a tree to pack, a tree to check may come from somebody else. Its podium.toml must not
    make podium read and quote other files of this machine.
    """

    def __init__(self, base: Path) -> None:
        self.base = base
        self.folders = os.path.realpath(base), os.path.realpath(".")

    def check(self, paths: Iterable[str]) -> None:
        """Raise UsageFault for any other path; of a glob, the part before a wildcard counts."""
        for path in paths:
            fixed = re.split(r"[*?[]", path, maxsplit=1)[0]
            full = os.path.realpath(self.base / fixed)
            if not any(holds(folder, full) for folder in self.folders):
                raise UsageFault(
                    f"{self.base / CONFIG_FILE} names {path}, which is outside its folder and "
                    "outside the working directory: run podium from a folder that contains both"
                )


def _paths(config: PackConfig) -> Iterator[str]:
    """Every path and glob that a configuration names."""
    systems = config.systems
    yield from systems.values() if isinstance(systems, dict) else systems
    yield from (*config.documents.values(), *config.merge, *(code.folder for code in config.code))
    for result in config.results:
        power = result.power
        yield from (*result.logs, *result.names.values(), *result.pruned)
        yield from power.values() if isinstance(power, dict) else filter(None, [power])
        yield from filter(None, [result.scaling_file])
    yield from filter(None, [config.waivers])


@contextmanager
def assembled(folder: Path, options: Options) -> Iterator[Assembled]:
    """The tree of a folder's podium.toml, until the context ends; raises UsageFault.

    Reads files only below that folder and below the working directory.
    """
    values = {"usage": options.usage, "round": options.round}
    request = read_request(folder, {name: value for name, value in values.items() if value})
    allowed = _Allowed(request.base)
    allowed.check(_paths(request.config))
    plan = make_plan(request.config, request.rules, request.base, options.jobs)
    # Links below the named folders may point outside
    allowed.check(entry.source.path for entry in plan.entries.values())
    with private_folder("podium-assembled") as workspace:
        # The file determines the round and the rules of the tree
        write_new(workspace / CONFIG_FILE, iter([config_bytes(folder / CONFIG_FILE)]))
        stage = Stage(workspace, Path(request.config.submitter))
        stage.fill(plan.sorted(), options.jobs)
        yield Assembled(stage.tree, plan)


@contextmanager
def with_assembled(
    given_paths: GivenPaths, options: Options, notify: Callable[[str], None]
) -> Iterator[GivenPaths]:
    """The paths of a call, with an assembled tree for each folder whose podium.toml names results.

    `notify` receives a line for each such folder, and for each log that its plan refuses. Raises
    UsageFault for a tree that cannot be packed. Faults name the folders that the caller passed.
    """
    request = RoundRequest(options.usage, options.round)
    paths: list[Path] = []
    names = dict(given_paths.names)
    with ExitStack() as stack:
        for path in given_paths.paths:
            if path not in given_paths.own or not names_results(path, request):
                paths.append(path)
                continue
            assembly = stack.enter_context(assembled(path, options))
            if assembly.faults:
                raise UsageFault(_fault_text(path, assembly.faults))
            hint = f"`podium pack {path} --dry-run` lists the files"
            notify(f"{path / CONFIG_FILE} names the results; checking the packed tree ({hint})")
            for line in assembly.refused:
                notify(line)
            paths.append(assembly.tree)
            names[str(assembly.tree)] = str(path)
        tree_paths = GivenPaths(paths, names)
        try:
            yield tree_paths
        except ComplianceError as error:
            raise type(error)(tree_paths.as_given(str(error))) from None


def _fault_text(folder: Path, faults: list[Remark]) -> str:
    first = f"{folder / CONFIG_FILE}: {faults[0].path}: {faults[0].message}"
    suffix = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
    return f"{first}{suffix}; `podium pack {folder} --dry-run` lists them"
