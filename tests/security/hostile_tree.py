"""A submission full of code that writes a note when it is run.

tree = HostileTree(tmp_path)
done = tree.call("check", "Acme", within=tree.root)
assert tree.sprung() == []    # started programs and executed code
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.compliance.trees import usual
from tests.locations import ROOT

MODULES = (
    *("json", "re", "torch", "numpy", "msgspec", "podium", "rules", "compliance", "yaml", "git"),
    *("sitecustomize", "usercustomize", "conftest", "setup", "podium_plugin", "jinja2", "scipy"),
    *("logging_spec", "multiprocessing", "encodings", "typer", "rich", "pydantic", "psutil"),
)
"""Names of modules that podium or Python may import."""

SCRIPTS = (
    *("run_and_time.sh", "setup.sh", "config_DGX.sh", "nvidia-smi", "rocm-smi", "git", "Makefile"),
    *("python", "podium", "run.sub", "pyproject.toml", "pytest.ini", ".envrc"),
)

_STARTER = """\
import os, sys

tree, notes, names, start = {tree!r}, {notes!r}, {names!r}, sys.argv[1:]
starting = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn")

def note(text):
    handle = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, (text + "\\n").encode("utf-8", "replace"))
    os.close(handle)

def hook(event, words):
    if event in starting:
        note(f"{{event}} {{words}}")
    elif event == "exec" and getattr(words[0], "co_filename", "").startswith(tree):
        note(f"code of {{words[0].co_filename}}")
    elif event == "import" and words[0] in names:
        note(f"import {{words[0]}}")
    elif event == "pickle.find_class" and str(words[0]) in names:
        note(f"unpickled {{words}}")

from podium.compliance.cli.entry import run
sys.addaudithook(hook)
sys.exit(run(start))
"""


class HostileTree:
    """A good submission with added files that write a note when they are run."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.notes = place / "notes"
        self.root = usual(place / "round").root
        self.home = place / "home"
        self.home.mkdir()
        (self.home / "starter.py").write_text(
            _STARTER.format(
                tree=str(self.root), notes=str(self.notes), names=("podium_plugin", "conftest")
            )
        )
        for folder in [self.root, *(each for each in self.root.rglob("*") if each.is_dir())]:
            self._fill(folder)

    def _fill(self, folder: Path) -> None:
        mark = f"open({str(self.notes)!r}, 'a').write({f'ran {folder}'!r} + chr(10))\n"
        for name in MODULES:
            (folder / f"{name}.py").write_text(mark)
        for name in SCRIPTS:
            script = folder / name
            script.write_text(f"#!/bin/sh\necho 'ran {name}' >> '{self.notes}'\n")
            script.chmod(0o755)

    def call(self, *words: object, within: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Call the installed command in a folder, and note the programs and code that it runs."""
        # The folder of the script is first on Python's path, like `bin` of an installed command
        return subprocess.run(
            [sys.executable, str(self.home / "starter.py"), *map(str, words)],
            cwd=within or self.place,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "80"},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=300,
        )

    def sprung(self) -> list[str]:
        """Return the programs and the code that were run so far."""
        return self.notes.read_text().splitlines() if self.notes.exists() else []
