"""Make a release: check, build, test and describe it; nothing is uploaded.

python .ci/release.py [--draft] [--output dist]

A release is a commit with the tag v and the version of `version.py`, and a dated section of
CHANGELOG.md with that version; --draft builds from any commit. The wheel is installed in a new
environment of each available Python from 3.11 on, and checks a log there. The folder then contains
the wheel, the source distribution, a list of the wheel's dependencies (SBOM, in CycloneDX's JSON)
and the checksums of these files.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.builders import build  # noqa: E402 - a script finds the packages now

PYTHONS = ("3.11", "3.12", "3.13", "3.14")


class NotReady(Exception):
    """The repository is not ready for a release; the message says what is missing."""


def run(*words: str | Path, where: Path = ROOT) -> str:
    """The output of a program. Raises NotReady with the output if the program fails."""
    done = subprocess.run(  # noqa: S603 - programs of this environment, or named by PYTHONS
        [str(each) for each in words],
        cwd=where,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        shown = " ".join(str(each) for each in words)
        raise NotReady(f"`{shown}` failed with exit status {done.returncode}:\n{done.stdout}")
    return done.stdout


def version() -> str:
    """The version of the wheel. Raises NotReady if version.py has none."""
    text = (ROOT / "compliance/version.py").read_text(encoding="utf-8")
    if found := re.search(r'^VERSION = "([^"]+)"$', text, flags=re.MULTILINE):
        return found[1]
    raise NotReady("compliance/version.py has no line VERSION")


def demand_release(name: str) -> None:
    """Raise NotReady if the commit has no tag, uncommitted changes, or no changelog section."""
    if run("git", "status", "--porcelain"):
        raise NotReady("there are changes that are not committed")
    tags = run("git", "tag", "--points-at", "HEAD").split()
    if f"v{name}" not in tags:
        raise NotReady(f"the commit has no tag v{name}; it has {', '.join(tags) or 'none'}")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[?{re.escape(name)}\]? - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        raise NotReady(f"CHANGELOG.md has no section `## {name} - YYYY-MM-DD`")


def pythons() -> Iterator[Path]:
    """The installed Pythons among those that podium supports."""
    for each in PYTHONS:
        found = shutil.which(f"python{each}")
        if found:
            yield Path(found)


def tried(python: Path, wheel: Path, place: Path) -> Path:
    """Install the wheel in a new environment and check a log; returns that environment's Python."""
    run(python, "-m", "venv", place)
    inside = place / "bin" / "python"
    install = (inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*install, "--require-hashes", "-r", ROOT / "requirements.lock")
    run(*install, "--no-deps", wheel)
    run(inside, "-m", "podium", "--version", where=place)
    log = build("training", "5.1", "closed", "llama31_8b").write(place / "result_0.txt")
    run(inside, "-m", "podium", "check", log, "--round", "5.1", where=place)
    return inside


def main() -> int:
    """Make the release; 1 if it fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draft", action="store_true", help="build from any commit, tagged or not")
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    asked = parser.parse_args()
    output: Path = asked.output.resolve()
    try:
        name = version()
        if not asked.draft:
            demand_release(name)
        shutil.rmtree(output, ignore_errors=True)
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", output)
        built = sorted(output.iterdir())
        run(sys.executable, "-m", "twine", "check", "--strict", *built)
        (wheel,) = output.glob("*.whl")
        run(sys.executable, "-m", "check_wheel_contents", wheel)
        with tempfile.TemporaryDirectory() as top:
            for python in pythons():
                inside = tried(python, wheel, Path(top) / python.name)
                print(f"{python.name}: installs, and checks a log")
            bill = output / f"podium-{name}.cdx.json"
            words = ("environment", "--output-format", "JSON", "--output-file", bill, inside)
            run(sys.executable, "-m", "cyclonedx_py", *words)
        made = sorted(output.iterdir())
        sums = (f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in made)
        (output / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    except NotReady as error:
        print(f"not released: {error}", file=sys.stderr)
        return 1
    for each in sorted(output.iterdir()):
        print(f"{each.stat().st_size:>10}  {each.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
