"""Calls of the command with hostile inputs, and failures that no call may have.

calls = Calls(folder)                 # a good log and a good submission below it
done = calls.call(Grammar("1:77"))    # an input of a random kind, for the command that reads it
assert not faults(done)
"""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from podium.compliance.reporting.render import FORMATS
from podium.rules import rounds
from tests.builders import build
from tests.compliance.command_line import Done, podium
from tests.compliance.packs import Loose
from tests.compliance.trees import usual
from tests.hostile import Grammar

SIDE_FILES = {
    "podium.toml": ("check", "LOG"),
    "packed.toml": ("pack", "FILE", "--dry-run"),
    "waivers.toml": ("check", "LOG", "--round", "5.1", "--waivers", "FILE"),
    "receipt.json": ("unpack", "--verify", "FILE", "TREE"),
    "declared.json": ("preflight", "FILE", "--round", "6.1", "--benchmark", "llama31_8b"),
    "declared.toml": ("preflight", "FILE", "--round", "6.1", "--benchmark", "llama31_8b"),
    "declared.yaml": ("preflight", "FILE", "--round", "6.1", "--benchmark", "llama31_8b"),
    "points.json": ("rcp", "lint", "FILE", "--round", "5.1"),
    "s.json": ("system", "check", "FILE", "--round", "5.1"),
    "probe.json": ("system", "init", "NEW", "--node", "FILE", "--round", "5.1"),
    "sysinfo.json": ("system", "init", "NEW", "--from", "FILE", "--no-probe", "--round", "5.1"),
}
"""The command that reads each side file."""

WAIVERS = """\
[[waiver]]
rule = "seed.*"
place = "results/big/bert"
reason = "granted by the review"
who = "chair"
until = 2030-01-01
"""
DECLARED = """\
seed = 1
global_batch_size = 32
opt_base_learning_rate = 0.0004
max_steps = 1200000
opt_name = "adamw"
gradient_accumulation_steps = 2
"""
CONFIG = """\
round = "5.1"
usage = "training"
division = "closed"

[[rules]]
name = "batch"
key = "global_batch_size"
bound = { at_most = 64 }
text = "so we say"
"""
ROUNDS = [rounds[key] for key in rounds]


@dataclass
class Calls:
    """A folder with a good log and a good submission; each call makes one file hostile."""

    place: Path
    kinds: dict[str, Callable[[Grammar], Done]] = field(init=False)

    def __post_init__(self) -> None:
        self.place.mkdir(parents=True, exist_ok=True)
        self.log = build("training", "5.1", "closed", "llama31_8b").bytes()
        self.tree = usual(self.place / "tree")
        self.loose = Loose(self.place / "loose")
        done = podium("pack", self.loose.work, "--replace", ".", "--quiet", "--no-sync")
        assert done.exit_code == 0, done.output
        (self.place / "result_0.txt").write_bytes(self.log)
        self.good = {
            "packed.toml": (self.loose.work / "podium.toml").read_text(),
            "podium.toml": CONFIG,
            "waivers.toml": WAIVERS,
            "receipt.json": (self.loose.work / "podium-receipt.json").read_text(),
            "declared.toml": DECLARED,
            "declared.json": json.dumps(tomllib.loads(DECLARED), indent=1),
            "declared.yaml": DECLARED.replace(" =", ":"),
            "s.json": next((self.tree.root / "systems").iterdir()).read_text(),
        }
        self.kinds = {
            "log": self.hostile_log,
            "compressed log": self.compressed_log,
            "archive": self.archive,
            "tree": self.hostile_tree,
            **{name: self._side(name) for name in SIDE_FILES},
        }

    def call(self, grammar: Grammar, kind: str = "") -> Done:
        """Create an input of a kind, at random by default, and read it."""
        return self.kinds[kind or self.draw(grammar)](grammar)

    def draw(self, grammar: Grammar) -> str:
        """Draw a kind of input: logs, archives and trees as often as all side files together."""
        large = ("log", "log", "compressed log", "archive", "tree")
        return grammar.rng.choice((*large, *large, *SIDE_FILES))

    # --- inputs ---

    def hostile_log(self, grammar: Grammar) -> Done:
        """Check a hostile log in any round and profile."""
        return self._check_log(grammar, self._log(grammar))

    def compressed_log(self, grammar: Grammar) -> Done:
        """Check a hostile log that is compressed."""
        return self._check_log(grammar, grammar.compressed(self._log(grammar)))

    def _log(self, grammar: Grammar) -> bytes:
        data = grammar.lines()
        if grammar.rng.random() < 0.5:
            at = grammar.rng.randrange(self.log.count(b"\n"))
            lines = self.log.splitlines(keepends=True)
            data = b"".join([*lines[:at], data, *lines[at:]])
        return data

    def _check_log(self, grammar: Grammar, data: bytes) -> Done:
        rng, path = grammar.rng, self.place / "hostile" / "result_0.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        rules = rng.choice(ROUNDS)
        words = ("--usage", rules.usage, "--round", rules.name, *self._options(grammar))
        return podium("check", path, *words)

    def _options(self, grammar: Grammar) -> tuple[str, ...]:
        rng = grammar.rng
        profile = rng.choice(("policy", "policy", "verifier"))
        return ("--profile", profile, "--format", rng.choice(FORMATS))

    def archive(self, grammar: Grammar) -> Done:
        """Unpack a hostile archive."""
        path, output = self.place / "a.tar", self.place / "out"
        path.write_bytes(grammar.archive())
        try:
            return podium("unpack", path, "--output", output, "--no-sync")
        finally:
            shutil.rmtree(output, ignore_errors=True)

    def hostile_tree(self, grammar: Grammar) -> Done:
        """Read a submission with a hostile file, or a file with a hostile name."""
        rng, root = grammar.rng, self.tree.root
        result = next(path.parent for path in root.rglob("result_0.txt"))
        system = next((root / "systems").glob("*.json"))
        description = system.read_text()
        files: dict[Path, Callable[[], bytes]] = {
            system: rng.choice((grammar.json, lambda: grammar.broken(description))),
            result / "scaling.json": grammar.json,
            result / "result_1.txt": lambda: self._log(grammar),
            root / "waivers.toml": lambda: grammar.broken(WAIVERS, "="),
            root / "podium.toml": grammar.toml,
            result / grammar.name(): grammar.lines,
            root / "systems" / grammar.name(): grammar.json,
            root / "benchmarks" / grammar.name(): grammar.lines,
        }
        path = rng.choice([*files])
        before = path.read_bytes() if path.exists() else None
        path.write_bytes(files[path]())
        command = rng.choice(("check", "check", "check", "score", "doctor", "fix"))
        options = self._options(grammar) if command == "check" else ()
        try:
            return podium(
                command, root, *(() if command == "fix" else ("--round", "5.1")), *options
            )
        finally:
            if before is None:
                path.unlink()
            else:
                path.write_bytes(before)

    # --- side files ---

    def _side(self, name: str) -> Callable[[Grammar], Done]:
        def made(grammar: Grammar) -> Done:
            form = {".toml": grammar.toml, ".json": grammar.json, ".yaml": grammar.yaml}
            sign = ":" if name.endswith((".json", ".yaml")) else "="
            good = self.good.get(name)
            if good and grammar.rng.random() < 0.6:
                return self.read(name, grammar.broken(good, sign))
            return self.read(name, form[Path(name).suffix]())

        return made

    def read(self, name: str, data: bytes) -> Done:
        """Read a side file with this name and content."""
        folder = self.loose.work if name == "packed.toml" else self.place
        file, new = folder / name, self.place / "new.json"
        before = file.read_bytes() if file.exists() else None
        file.write_bytes(data)
        new.unlink(missing_ok=True)
        places = {"FILE": file, "LOG": self.place / "result_0.txt", "NEW": new}
        places["TREE"] = self.loose.packed
        try:
            return podium(*(places.get(word, word) for word in SIDE_FILES[name]))
        finally:
            if before is None:
                file.unlink()
            else:
                file.write_bytes(before)


# --- failures of a call ---

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")


def faults(done: Done) -> list[str]:
    """The failures of a call: its status, a traceback, control characters, a malformed report."""
    found = []
    if done.exit_code not in (0, 1, 2):
        found.append(f"exit status {done.exit_code}: {done.output[-600:]}")
    if "Traceback (most recent call last)" in done.output:
        found.append(f"traceback: {done.output[-600:]}")
    if mark := re.search(r"internal\.[a-z-]+", done.output):
        found.append(f"{mark[0]}: {done.output[max(0, mark.start() - 300) : mark.end() + 300]}")
    if control := CONTROL.search(done.output):
        found.append(
            f"prints {control[0]!r}: {done.output[max(0, control.start() - 200) :][:300]!r}"
        )
    return found + _malformed(done.stdout)


def _malformed(text: str) -> list[str]:
    """The parse error of a malformed JSON or XML report, if any."""
    try:
        if text.startswith("{"):
            json.loads(text)
        elif text.startswith("<?xml"):
            ElementTree.fromstring(text)
    except (ValueError, ElementTree.ParseError) as error:
        return [f"{error}: {text[:300]}"]
    return []
