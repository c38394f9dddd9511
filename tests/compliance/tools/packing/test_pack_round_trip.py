"""Published submissions are unchanged after they were scattered and packed again."""

from __future__ import annotations

import random
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from podium.compliance import check, score
from podium.compliance.judging.inputs.layout import is_log
from podium.compliance.tools.packing.planning.request import read_request
from podium.compliance.tools.packing.receipt import read_receipt
from podium.compliance.tools.packing.writing.pack import Packed, PackJob, pack
from tests.compliance.packs import files_in, write_config
from tests.conftest import CORPUS

FEW = (
    "hpc_results_v3.0/Clemson",
    "training_results_v4.0/smc-dc-power",
    "training_results_v2.1/Baidu",
    "training_results_v0.6/Alibaba",
)
"""Strong HPC results, power logs and unusual log names, bypass flags, no description."""


def published() -> list[str]:
    """Return the path of every submission in the corpus."""
    found = {path.parent.relative_to(CORPUS).as_posix() for path in CORPUS.glob("*/**/results")}
    return sorted(found)


@dataclass
class Apart:
    """The files of a submission under random names in random folders."""

    tree: Path
    place: Path
    seed: int
    numbered: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.used: set[str] = set()

    def scatter(self) -> dict[str, Any]:
        """Write the loose files and return the fields of a podium.toml that describes them."""
        documents, systems = {}, {}
        results: dict[tuple[str, ...], dict[str, Any]] = {}
        powered: dict[str, set[str]] = defaultdict(set)
        for path in sorted(p for p in self.tree.rglob("*") if p.is_file()):
            below = path.relative_to(self.tree).as_posix()
            parts = below.split("/")
            if parts[0] == "systems" and len(parts) == 2 and below.endswith(".json"):
                systems[path.stem] = self.loose(path, "json")
            elif parts[0] == "results" and is_log(parts[-1]) and "power" not in parts:
                self.log(path, tuple(parts[1:-1]), results)
            elif "power" in parts:
                powered["/".join(parts[: parts.index("power")])].add(parts[-2])
            elif parts[-1] == "scaling.json":
                documents[below] = self.loose(path, "txt")
            else:
                documents[below] = self.loose(path, "txt")
        made = [self.result(where, fields) for where, fields in results.items()]
        for where, runs in powered.items():
            one = next(r for r in made if where.endswith(r["system"] + "/" + r["benchmark"]))
            one["power"] = {name: self.folder(self.tree / where / "power" / name) for name in runs}
        return {"systems": systems, "documents": documents, "results": made}

    def log(
        self, path: Path, where: tuple[str, ...], results: dict[tuple[str, ...], dict[str, Any]]
    ) -> None:
        result = results.setdefault(where, {"names": {}, "folder": self.fresh("")})
        result["names"][path.name] = self.loose(path, "log", result["folder"])

    def result(self, where: tuple[str, ...], fields: dict[str, Any]) -> dict[str, Any]:
        """Use globs if the runs are numbered in order of launch, and names otherwise."""
        system, *scaling, benchmark = where
        made: dict[str, Any] = {"system": system, "benchmark": benchmark, "runs": "all"}
        if scaling:
            made["scaling"] = scaling[0]
        if self.numbered.get("/".join(("results", *where))):
            return made | {"logs": [f"{fields['folder']}/**/*.log"]}
        return made | {"names": fields["names"]}

    # --- random names ---

    def fresh(self, ending: str) -> str:
        while True:
            name = f"{self.random.choice('abc')}{self.random.randrange(16**6):06x}{ending}"
            if name not in self.used:
                self.used.add(name)
                return name

    def loose(self, path: Path, kind: str, folder: str = "") -> str:
        inner = [folder] if folder else []
        inner += [self.random.choice(("x", "y/z", "w")) for _ in range(self.random.randrange(2))]
        name = "/".join([*inner, self.fresh(f".{kind}")])
        where = self.place / name
        where.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, where)
        return name

    def folder(self, path: Path) -> str:
        name = self.fresh("")
        shutil.copytree(path, self.place / name)
        return name


def as_launched(tree: Path, options: dict[str, str]) -> dict[str, bool]:
    """Return for each result whether a glob can select its runs in their published order.

    Runs that podium refuses when it chooses runs (copies, other settings) must be named.
    """
    refused = {"result.mixed-settings", "result.copied-run", "result.other-benchmark"}
    report = check(tree, **options)  # type: ignore[arg-type]
    unfit = {f.path for f in report.findings if f.id in refused}
    found = {}
    for result in score(tree, **options).results:  # type: ignore[arg-type]
        runs = sorted(result.run_list, key=lambda run: (run.start_ms or 0, run.path))
        plain = [f"{result.path}/result_{i}.txt" for i in range(len(runs))]
        starts = [run.start_ms for run in runs]
        found[result.path] = (
            [run.path for run in runs] == plain
            and None not in starts
            and len(set(starts)) == len(starts)
            and (result.scaling == "strong" or all(run.converged for run in runs))
            and not any(path == result.path or path.startswith(result.path) for path in unfit)
        )
    return found


def put_together(tree: Path, place: Path) -> tuple[Packed, int]:
    """Scatter and pack a submission; return the tree and the number of results given by globs."""
    folder = next(part for part in tree.parts if "_results_v" in part)
    usage, _, number = folder.partition("_results_v")
    options = {"usage": usage, "round": number}
    apart = Apart(tree, place / "loose", len(str(tree)), as_launched(tree, options))
    apart.place.mkdir(parents=True)
    # In 0.5, only parent folders name the submitter, so the new tree needs the same parents.
    above = tree.parent.relative_to(CORPUS).as_posix()
    into = f"../packed/{above}"
    fields = {"submitter": tree.name, **options, "into": into, **apart.scatter()}
    write_config(apart.place / "podium.toml", fields)
    found = read_request(apart.place, {})
    packed = pack(PackJob(found, force=True))
    return packed, sum(apart.numbered.values())


def same(tree: Path, place: Path) -> int:
    """Assert that a round trip changes nothing; return the number of results given by globs."""
    packed, numbered = put_together(tree, place)
    made = packed.target
    assert files_in(made) == files_in(tree)
    folder = next(part for part in tree.parts if "_results_v" in part)
    usage, _, number = folder.partition("_results_v")
    # Only the base path differs
    reports = (check(each, usage=usage, round=number) for each in (made, tree))
    ours, theirs = (each.model_copy(update={"base": ""}).to_json() for each in reports)
    assert ours == theirs
    # The gate checked each log once, at its loose path, but its report is that of the tree.
    assert packed.report is not None
    assert packed.report.to_json() == ours
    assert read_receipt(place / "loose/podium-receipt.json") == packed.receipt
    return numbered


@pytest.mark.parametrize("name", FEW)
def test_a_published_submission_survives_the_round_trip(
    name: str, corpus: Path, tmp_path: Path
) -> None:
    same(corpus / name, tmp_path)


@pytest.mark.long
def test_every_published_submission_survives_the_round_trip(corpus: Path, tmp_path: Path) -> None:
    names = published()
    assert len(names) >= 40
    numbered = 0
    for name in names:
        place = tmp_path / name.replace("/", "-")
        numbered += same(corpus / name, place)
        shutil.rmtree(place)
    assert numbered >= 50
