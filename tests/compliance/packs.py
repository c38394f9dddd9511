"""Loose files of a complete submission, and a podium.toml that packs them.

loose = Loose(tmp_path)            # runs/*.log, src/, sys.json, podium.toml
assert loose.pack() == Exit.CLEAN  # packed/Acme below it
"""

from __future__ import annotations

import json
import random
import shutil
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podium.compliance.cli.entry import run
from tests.builders import LogBuilder
from tests.compliance.trees import Submission, as_run, usual

RESULT = "results/ex_n8/llama31_405b"


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def toml(value: Any) -> str:
    """A value of podium.toml: strings, lists and tables are almost JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def write_config(path: Path, fields: dict[str, Any]) -> None:
    """Write a podium.toml."""
    text = "".join(f"{key} = {toml(value)}\n" for key, value in fields.items())
    assert tomllib.loads(text) == fields
    path.write_text(text, encoding="utf-8")


@dataclass
class Loose:
    """Raw logs with random names, code and a description; and the original submission."""

    place: Path
    fields: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tree = usual(self.place / "original")
        self.work.mkdir(parents=True)
        logs = sorted((self.tree.root / RESULT).iterdir())
        names = random.Random(3).sample(range(1000), len(logs))
        for log, name in zip(logs, names, strict=True):
            self.put(f"runs/{name % 3}/{name}.log", log.read_bytes())
        code = self.tree.root / "benchmarks/llama31_405b"
        shutil.copytree(code / "implementations/ours", self.work / "src")
        self.put("docs/README.md", (code / "README.md").read_bytes())
        self.put("sys.json", (self.tree.root / "systems/ex_n8.json").read_bytes())
        self.fields = {
            "submitter": "Acme",
            "round": "5.1",
            "division": "closed",
            "systems": {"ex_n8": "sys.json"},
            "documents": {"benchmarks/llama31_405b/README.md": "docs/README.md"},
            "results": [
                {"system": "ex_n8", "benchmark": "llama31_405b", "logs": ["runs/**/*.log"]}
            ],
            "code": [{"benchmark": "llama31_405b", "implementation": "ours", "folder": "src"}],
        }
        self.configure()

    @property
    def work(self) -> Path:
        return self.place / "work"

    @property
    def packed(self) -> Path:
        return self.work / "packed/Acme"

    @property
    def original(self) -> Submission:
        return self.tree

    def put(self, path: str, data: bytes | str) -> Path:
        where = self.work / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(data if isinstance(data, bytes) else data.encode())
        return where

    def run_log(self, number: int) -> LogBuilder:
        """A log of another run, launched `number` hours after the first run."""
        return as_run(self.tree.which, number)

    def add_run(self, number: int, path: str = "") -> Path:
        where = self.work / (path or f"runs/more/{number}.log")
        where.parent.mkdir(parents=True, exist_ok=True)
        self.run_log(number).write(where)
        return where

    def configure(self, **fields: Any) -> Loose:
        """Rewrite podium.toml with changed fields."""
        self.fields |= fields
        write_config(self.work / "podium.toml", self.fields)
        return self

    def result(self, **fields: Any) -> Loose:
        """Rewrite podium.toml with changed fields of its result."""
        self.fields["results"][0] |= fields
        return self.configure()

    def pack(self, *options: str) -> int:
        return run(["pack", str(self.work), *options])

    def receipt(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads((self.work / "podium-receipt.json").read_text("utf-8"))
        return report
