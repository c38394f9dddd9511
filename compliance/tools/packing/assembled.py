"""Folders whose podium.toml names results, assembled for one call as `podium pack` would do it.

The tree is a copy in a private folder, which goes with the call. Reports show its paths below the
folder that podium.toml lies in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from podium.compliance.errors import ComplianceError, UsageFault
from podium.compliance.files.durable import write_new
from podium.compliance.judging.inputs.given_paths import GivenPaths, private_folder
from podium.compliance.judging.inputs.named_results import names_results
from podium.compliance.judging.inputs.round_selection import RoundRequest, config_bytes
from podium.compliance.judging.options import Options
from podium.compliance.text.words import plural
from podium.compliance.tools.packing.planning.building import make_plan
from podium.compliance.tools.packing.planning.config import CONFIG_FILE
from podium.compliance.tools.packing.planning.plan import Plan, Remark
from podium.compliance.tools.packing.planning.request import read_request
from podium.compliance.tools.packing.writing.write import Stage

MOST = 5
"""Refused logs that are named; `podium pack --dry-run` lists all."""


class Assembled(NamedTuple):
    """The copy of a tree, and the plan that it was made by."""

    tree: Path
    plan: Plan

    @property
    def faults(self) -> list[Remark]:
        """Why `podium pack` would write nothing."""
        return [*self.plan.conflicts, *self.plan.absent]

    @property
    def refused(self) -> list[str]:
        """The logs that the plan refuses, each with the reason."""
        logs = [each for each in self.plan.left_out if each.refused]
        lines = [f"{each.display_path} is left out: {each.why}" for each in logs[:MOST]]
        more = len(logs) - len(lines)
        return [*lines, f"{plural(more, 'more log')} left out"] if more else lines


@contextmanager
def assembled(folder: Path, options: Options) -> Iterator[Assembled]:
    """The tree of a folder's podium.toml, until the context ends; raises UsageFault."""
    given = {"usage": options.usage, "round": options.round}
    wanted = read_request(folder, {name: value for name, value in given.items() if value})
    plan = make_plan(wanted.config, wanted.rules, wanted.base, options.jobs)
    with private_folder("podium-assembled") as place:
        # The round and the rules of the tree are those that the file states
        write_new(place / CONFIG_FILE, iter([config_bytes(folder / CONFIG_FILE)]))
        stage = Stage(place, Path(wanted.config.submitter))
        stage.fill(plan.sorted(), options.jobs)
        yield Assembled(stage.tree, plan)


@contextmanager
def with_assembled(
    given: GivenPaths, options: Options, notify: Callable[[str], None]
) -> Iterator[GivenPaths]:
    """The paths of a call, with an assembled tree for each folder whose podium.toml names results.

    `notify` receives a line for each such folder, and for each log that its plan refuses. Raises
    UsageFault where such a tree cannot be packed. Faults name the folders that were given.
    """
    request = RoundRequest(options.usage, options.round)
    paths: list[Path] = []
    names = dict(given.names)
    with ExitStack() as stack:
        for path in given.paths:
            if path not in given.own or not names_results(path, request):
                paths.append(path)
                continue
            made = stack.enter_context(assembled(path, options))
            if made.faults:
                raise UsageFault(_fault_text(path, made.faults))
            how = f"`podium pack {path} --dry-run` lists the files"
            notify(f"{path / CONFIG_FILE} names the results; judged as packed ({how})")
            for line in made.refused:
                notify(line)
            paths.append(made.tree)
            names[str(made.tree)] = str(path)
        there = GivenPaths(paths, names)
        try:
            yield there
        except ComplianceError as error:
            raise type(error)(there.as_given(str(error))) from None


def _fault_text(folder: Path, faults: list[Remark]) -> str:
    first = f"{folder / CONFIG_FILE}: {faults[0].path}: {faults[0].message}"
    more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
    return f"{first}{more}; `podium pack {folder} --dry-run` lists them"
