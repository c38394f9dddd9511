"""Published submissions: copies to change, and the facts of the runs of a result."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from podium.logging_spec.reader.read import read_log
from podium.rules.catalogue import find_round
from podium.rules.convergence.facts import RunFacts, run_facts
from podium.rules.finding import Profile
from podium.rules.run import Run


def own_copy(source: Path, target: Path) -> Path:
    """Copy published files, which are read-only, to a folder that may be changed and removed."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for folder, _, _ in os.walk(target):
        os.chmod(folder, 0o755)
    return target


def facts_of(folder: Path, usage: str, round_name: str, profile: Profile) -> list[RunFacts]:
    rules, found = find_round(usage, round_name), []
    for path in sorted(folder.glob("result_*.txt")):
        log = read_log(path)
        lenient = profile is Profile.POLICY
        records = [one for _, one in log.all_records()] if lenient else log.records
        found.append(run_facts(Run(records), rules, profile, path.name))
    return found
