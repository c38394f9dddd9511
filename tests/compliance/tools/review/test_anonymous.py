"""An anonymous review: no file has a name or a hash that identifies a submitter."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.cli import entry as cli
from podium.compliance.exit_codes import Exit
from tests.compliance.tools.review.rounds import NAME, own, relearned, submission

NAMES = {
    "Acme": "Cray-XD670-H200-SXM5-141GB_nX",
    "North-Star": "ns9000_n8",
    "QCX": "qcx.a1_n8",
}
"""The submitters, with the names of their systems."""

TELLING = re.compile(
    r"acme|north.?star|qcx|xd670|ns9000|loop9|hotrod|stranger|jdoe|crossbeam", re.IGNORECASE
)
"""Words that the output must not contain anywhere."""


def review(place: Path, output: Path, *words: str) -> dict[str, Any]:
    """Return the review of the round below a folder."""
    said = ["review", str(place / NAME), "--output", str(output), "-q", *words]
    assert cli.run(said) == Exit.FOUND
    made: dict[str, Any] = json.loads((output / "review.json").read_text(encoding="utf-8"))
    return made


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A round with names in paths, descriptions, logs, code and file names."""
    place = tmp_path_factory.mktemp("anonymous")
    for index, (name, system) in enumerate(NAMES.items()):
        tree = submission(place, name, start=40 * index)
        tree.system(system, submitter=name, system_name=f"{name} {system} of loop9")
        relearned(tree, 200 + 40 * index, system)
        folder = f"benchmarks/{tree.benchmark}/implementations/hotrod_{index}"
        tree.write(f"{folder}/config_XD670_H200.sh", "export OPT_BASE_LEARNING_RATE=0.5\n")
        rate = "export OPT_BASE_LEARNING_RATE=0.5\n"
        tree.write(f"benchmarks/{tree.benchmark}/implementations/ours/config_{system}.sh", rate)
        tree.write(f"{folder}/go.sh", "cd /home/jdoe/crossbeam/run\n")
        os.symlink("/lustre/crossbeam/data", tree.root / folder / "data")
    acme = submission(place, "Acme")
    acme.log(1, lambda log: own(log, 0).set("submission_org", "Stranger Inc"))
    acme.log(2, lambda log: own(log, 0).set("submission_org", "QCX"))
    return place


@pytest.fixture(scope="module")
def hidden(place: Path) -> Path:
    output = place / "without-names"
    review(place, output, "--anonymous")
    return output


def test_no_file_contains_a_name(hidden: Path) -> None:
    for path in hidden.rglob("*"):
        assert not TELLING.search(str(path.relative_to(hidden))), path
        if path.is_file():
            found = TELLING.search(path.read_text(encoding="utf-8"))
            assert found is None, (path.name, found)


def test_no_file_contains_a_hash_of_the_named_review(place: Path, hidden: Path) -> None:
    named = place / "with-names"
    made = review(place, named)
    hashes = {each["id"].rpartition("-")[2] for each in made["objections"] + made["notes"]}
    hashes |= {*json.loads((named / "files.json").read_text()).values()}
    assert len(hashes) > 20
    for path in hidden.rglob("*"):
        if path.is_file():
            text = f"{path.name} {path.read_text(encoding='utf-8')}"
            assert not {each for each in hashes if each in text}, path.name
    assert not (hidden / "files.json").exists()


def test_a_submitter_has_the_same_alias_everywhere(hidden: Path) -> None:
    made = json.loads((hidden / "review.json").read_text(encoding="utf-8"))
    assert made["anonymous"] is True
    names = {each["submitter"] for each in made["submissions"]}
    assert names == {"submitter-01", "submitter-02", "submitter-03"}
    assert {each["submitter"] for each in made["results"]} == names
    for each in made["results"]:
        assert each["path"].startswith(f"{each['submitter']}/results/{each['system']['name']}/")
    files = sorted(path.stem for path in (hidden / "objections").glob("*.toml"))
    assert files == sorted(each["id"] for each in made["objections"])


def mismatches(made: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in made["objections"] if each["rule"] == "system.submitter-mismatch"]


def test_another_organization_has_a_separate_alias(hidden: Path) -> None:
    made = json.loads((hidden / "review.json").read_text(encoding="utf-8"))
    assert len(mismatches(made)) == 3
    for one in mismatches(made):
        for place in one["evidence"]:
            logged, described = re.findall(r"'([a-z]+-\d\d)'", place["message"])
            assert logged != described
            assert described == one["submitter"]


def test_the_order_of_aliases_is_random(place: Path, tmp_path: Path) -> None:
    """The aliases are drawn at random, so that their order does not reveal the submitters."""
    words = set()
    for number in range(12):
        made = review(place, tmp_path / str(number), "--anonymous", "--no-curves")
        listed = [each["submitter"] for each in made["submissions"]]
        assert listed == sorted(listed)
        # Only one submitter has logs of an organization without a submission
        words |= {
            each["submitter"]
            for each in mismatches(made)
            if "organization-01" in json.dumps(each["evidence"])
        }
    assert len(words) > 1


def test_against_refuses_an_anonymous_review(hidden: Path, place: Path) -> None:
    words = ["review", str(place / NAME), "--against", str(hidden)]
    assert cli.run(words) == Exit.USAGE
