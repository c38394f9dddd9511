"""A synthetic release of the official checker: an edited copy of the installed release."""

from __future__ import annotations

import re
import shutil
import stat
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

OCEAN_CLOSED: Mapping[str, tuple[str, str]] = {
    "global_batch_size": ("EXACTLY_ONE", "v['value'] >= 16"),
    "opt_name": ("EXACTLY_ONE", "v['value'] in ['adamw', 'lamb']"),
    "opt_base_learning_rate": ("EXACTLY_ONE", "v['value'] > 0"),
    "opt_end_learning_rate": ("EXACTLY_ONE", "v['value'] == 0.1 * s['rate']"),
    "eval_samples": ("EXACTLY_ONE", "v['value'] == 2048"),
    "eval_accuracy": ("AT_LEAST_ONE", "'epoch_num' in v['metadata']"),
}
"""The required count and the check of each key in the closed division of a made-up benchmark."""

TARGET = "v['value'] <= 0.25 and v['value'] > 0.0"


class Release:
    """A copy of the installed release below a folder, with a Python that imports it."""

    def __init__(self, folder: Path, *, with_points: bool = False) -> None:
        self.folder = folder
        installed = Path(str(import_module("mlperf_logging").__file__)).parent
        names = ("__pycache__", "training_[0-5]*", "hpc_*")
        leave = shutil.ignore_patterns(*names, *(() if with_points else ("rcps_*",)))
        shutil.copytree(installed, folder / "lib" / "mlperf_logging", ignore=leave)
        self.rules = folder / "lib" / "mlperf_logging" / "compliance_checker"
        self.python = folder / "bin" / "python"
        self.python.parent.mkdir()
        self.python.write_text(
            f'#!/bin/sh\nPYTHONPATH="{folder / "lib"}" exec "{sys.executable}" "$@"\n'
        )
        self.python.chmod(self.python.stat().st_mode | stat.S_IXUSR)

    def edit(self, file: str, before: str, after: str) -> Release:
        """Replace a string that occurs once in a rule file, such as `6.1/closed_dlrmv4`."""
        path = self.path(file)
        text = path.read_text()
        assert text.count(before) == 1, f"{file} must have {before!r} once"
        path.write_text(text.replace(before, after))
        return self

    def path(self, file: str) -> Path:
        """Return the path of a training rule file."""
        round_name, _, name = file.partition("/")
        return self.rules / f"training_{round_name}.0" / f"{name}.yaml"

    def add_key(self, file: str, key: str, times: str, test: str) -> Release:
        """Append the rule of a key to a rule file."""
        path = self.path(file)
        path.write_text(path.read_text() + _key(key, times, test))
        return self

    def add_round(self, name: str) -> Release:
        """Add a copy of round 6.1 without flux1, with ocean_small and with one lower target."""
        shutil.copytree(self.rules / "training_6.1.0", self.rules / f"training_{name}.0")
        for path in (self.rules / f"training_{name}.0").glob("*.yaml"):
            text = path.read_text().replace("training_6.1.0/", f"training_{name}.0/")
            path.write_text(text.replace("'flux1', ", "'ocean_small', "))
        for division in ("closed", "open"):
            self.path(f"{name}/{division}_flux1").unlink()
        # The parser has its own list of rounds
        parser = self.rules / "mlp_parser" / "__init__.py"
        text, count = re.subn(
            r"ruleset == '6\.1\.0'", f"ruleset in ('6.1.0', '{name}.0')", parser.read_text()
        )
        assert count == 1
        parser.write_text(text)
        meta = self.rules.parent / "benchmark_meta.py"
        text, count = re.subn(
            r"(?m)^( +)'dlrmv4': 10,", r"\g<0>\n\1'ocean_small': 5,", meta.read_text()
        )
        assert count == 1
        meta.write_text(text)
        self._write_ocean(name)
        path = self.path(f"{name}/closed_llama31_8b")
        text, count = re.subn(r"<= *3\.3\b", "<= 3.2", path.read_text())
        assert count == 1
        path.write_text(text)
        return self

    def _write_ocean(self, name: str) -> None:
        begin = "- BEGIN:\n    CODE: >\n        s.update({'rate': None})\n"
        text = begin + "".join(_key(key, *rule) for key, rule in OCEAN_CLOSED.items())
        text = text.replace(
            "    CHECK: \" v['value'] > 0 \"\n",
            "    CHECK: \" v['value'] > 0 \"\n    POST: \" s['rate'] = v['value'] \"\n",
        )
        text += f'    ATLEAST_ONE_CHECK: " {TARGET} "\n'
        self.path(f"{name}/closed_ocean_small").write_text(text)
        quality = _key("eval_accuracy", *OCEAN_CLOSED["eval_accuracy"])
        self.path(f"{name}/open_ocean_small").write_text(quality)


def _key(key: str, times: str, test: str) -> str:
    check = f'    CHECK: " {test} "\n' if test else ""
    return f"\n- KEY:\n    NAME: {key}\n    REQ: {times}\n{check}"
