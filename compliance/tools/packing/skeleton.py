"""`podium init`: the initial folders and files of a submission."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.files.atomic import draft_folder, refuse_occupied
from podium.compliance.files.durable import make_folders, write_new
from podium.compliance.judging.inputs.benchmark_names import about_name
from podium.compliance.judging.repository.file_names import name_finding, violated_rules
from podium.compliance.judging.systems.fields import FIELDS
from podium.compliance.tools.packing.planning.config import example
from podium.rules.finding import Profile
from podium.rules.model.round import DIVISIONS, Round

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")

PARAGRAPH = """# {submitter}: {title}

This folder is a submission to MLPerf {title}.

- `systems/`: one description per system, `<system>.json`
- `results/<system>/{below}`: one log per run, `result_0.txt` and so on
- `benchmarks/<benchmark>/implementations/<implementation>/`: the code, with a README that says how
  to run it, how to get the dataset and where the starting weights come from

`podium doctor .` lists the open steps, in the order in which to do them.
"""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The content of a new submission."""

    submitter: str
    rules: Round
    division: str = "closed"
    systems: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()


def write_skeleton(folder: Path, skeleton: Skeleton) -> list[str]:
    """Create the folder of a submission in one atomic step; returns the sorted paths.

    Raises UsageFault if the folder is not empty, or a name is invalid.
    """
    _check_names(skeleton)
    refuse_occupied(folder)
    files, folders = _files(skeleton), _folders(skeleton)
    try:
        make_folders(folder.absolute().parent, durable=True)
    except OSError as error:
        raise UsageFault(f"{folder} cannot be created: {error.strerror}") from None
    with draft_folder(folder) as draft:
        _fill(draft, files, folders)
    return sorted([*files, *(f"{name}/" for name in folders)])


def _fill(draft: Path, files: dict[str, str], folders: list[str]) -> None:
    for folder in folders:
        (draft / folder).mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        (draft / path).parent.mkdir(parents=True, exist_ok=True)
        write_new(draft / path, iter([text.encode("utf-8")]))


# --- content ---


def _files(skeleton: Skeleton) -> dict[str, str]:
    rules = skeleton.rules
    below = "strong/<benchmark>/" if rules.package.scaling_folders else "<benchmark>/"
    readme = PARAGRAPH.format(submitter=skeleton.submitter, title=rules.title, below=below)
    files = {"README.md": readme, "podium.toml": _config(skeleton)}
    for system in skeleton.systems:
        files[f"systems/{system}.json"] = _description(skeleton, system)
    return files


def _config(skeleton: Skeleton) -> str:
    """A podium.toml with every field of `podium pack`; unknown values are comments."""
    fields = {
        "submitter": skeleton.submitter,
        "usage": skeleton.rules.usage,
        "round": skeleton.rules.name,
        "division": skeleton.division,
        "into": "../packed",  # not into the folder that it is packed from
    }
    # A JSON string is also a TOML string: both have the same escapes
    values = {name: json.dumps(value) for name, value in fields.items()}
    if skeleton.systems:
        pairs = (f'"{system}" = "systems/{system}.json"' for system in skeleton.systems)
        values["systems"] = f"{{ {', '.join(pairs)} }}"
    results = [(system, name) for system in skeleton.systems for name in skeleton.benchmarks]
    return example(values, results)


def _description(skeleton: Skeleton, system: str) -> str:
    """A description with every field; unknown fields are empty."""
    values = {
        "submitter": skeleton.submitter,
        "division": skeleton.division,
        "system_name": system,
    }
    fields = {name: values.get(name, "") for name in FIELDS}
    return json.dumps(fields, indent=4, ensure_ascii=False) + "\n"


def _folders(skeleton: Skeleton) -> list[str]:
    scaling = "strong/" if skeleton.rules.package.scaling_folders else ""
    folders = ["benchmarks", "results", "systems"]
    folders += [f"benchmarks/{benchmark}/implementations" for benchmark in skeleton.benchmarks]
    for system in skeleton.systems:
        folders += [f"results/{system}/{scaling}{benchmark}" for benchmark in skeleton.benchmarks]
        folders += [] if skeleton.benchmarks else [f"results/{system}"]
    return folders


# --- names ---


def _check_names(skeleton: Skeleton) -> None:
    rules = skeleton.rules
    if skeleton.division not in DIVISIONS:
        raise UsageFault(f"--division is {skeleton.division}; expected {' or '.join(DIVISIONS)}")
    if not skeleton.submitter.strip() or not skeleton.submitter.isprintable():
        raise UsageFault("--submitter is empty or has characters that are not printable")
    for system in skeleton.systems:
        _check_system(system)
    for name in skeleton.benchmarks:
        if name not in rules.allowed:
            reason, hint = about_name(name, rules)
            raise UsageFault(f"--benchmark: {reason}; {hint}")


def _check_system(name: str) -> None:
    path = f"systems/{name}.json"
    if not _NAME.fullmatch(name):
        raise UsageFault(f"--system is {name!r}; expected letters, digits, . _ + and -")
    for rule in violated_rules(name, path):
        message = name_finding(rule, Profile.POLICY, name, path).message
        raise UsageFault(f"--system is {name}: {message}")
