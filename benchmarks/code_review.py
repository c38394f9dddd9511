"""CPU time and memory of `podium review code` on a round as large as 5.1.

    python benchmarks/code_review.py make FOLDER     # two rounds, about 10 million lines
    python benchmarks/code_review.py measure FOLDER

5.1 has 5.25 million lines in 12,507 files of 16 submitters, 4.9 million of them in vendored
libraries and data. The synthetic rounds have the same numbers, with changes as rare as in the real
one.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from benchmarks.made_up_code import KINDS  # noqa: E402 - a script finds the packages now

BENCHMARKS = ("llama31_405b", "llama31_8b", "llama2_70b_lora", "retinanet", "rgat", "dlrm_dcnv2")
VENDOR, SUBMITTERS = "NVIDIA", 15
OWN_FILES, OWN_LINES = 40, 150
"""Files of one benchmark's code, and lines of each."""

LIBRARY_FILES, LIBRARY_LINES, LIBRARIES = 700, 335, 14
DATA_LINES, DATA_FILES = 93_000, 18
CHANGED, NEW = 0.04, 0.03
"""Parts of a submitter's files that are unique to it."""

SECONDS, MEBIBYTES = 60, 300


class Maker:
    """Writes the files of one round after another."""

    def __init__(self, seed: int = 51) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - not for cryptography
        self.lines = {kind: [make(self.rng) for _ in range(4000)] for kind, make in KINDS.items()}
        self.base = {
            (benchmark, number): self.text(".py" if number % 3 else ".sh", OWN_LINES)
            for benchmark in BENCHMARKS
            for number in range(OWN_FILES)
        }
        self.library = {number: self.text(".py", LIBRARY_LINES) for number in range(LIBRARY_FILES)}
        self.data = self.text(".json", DATA_LINES)

    def text(self, kind: str, lines: int) -> str:
        """The text of a new file."""
        return "\n".join(self.rng.choices(self.lines[kind], k=lines)) + "\n"

    def edited(self, text: str) -> str:
        """A text with two changed lines."""
        lines = text.splitlines()
        for _ in range(2):
            lines[self.rng.randrange(len(lines))] = f"changed_{self.rng.random()}"
        return "\n".join(lines) + "\n"

    def round(self, folder: Path, name: str) -> None:
        """Write a round."""
        submitters = [VENDOR, *(f"Submitter{number:02}" for number in range(SUBMITTERS))]
        for index, submitter in enumerate(submitters):
            root = folder / f"training_results_v{name}" / submitter
            for benchmark in BENCHMARKS:
                self.log(root, benchmark, index)
                code = root / "benchmarks" / benchmark / "implementations" / "nemo"
                code.mkdir(parents=True)
                for number in range(OWN_FILES):
                    self.own(code, benchmark, number)
        places = [folder / f"training_results_v{name}" / each for each in submitters]
        for number in range(LIBRARIES):
            benchmark = BENCHMARKS[number // 4 % len(BENCHMARKS)]
            code = places[1 + number % 4] / "benchmarks" / benchmark / "implementations" / "nemo"
            self.vendored(code / f"library_{number}", name)
        for number in range(DATA_FILES):
            place = places[number % len(places)] / "benchmarks" / BENCHMARKS[number % 5]
            (place / f"tokenizer_{number}.json").write_text(self.data)

    def own(self, code: Path, benchmark: str, number: int) -> None:
        """Write one file of a submitter's code: shared with others, changed, or new."""
        ending = ".py" if number % 3 else ".sh"
        drawn, text = self.rng.random(), self.base[benchmark, number]
        if drawn < CHANGED:
            text = self.edited(text)
        elif drawn < CHANGED + NEW:
            text = self.text(ending, 30)
        (code / f"part_{number}{ending}").write_text(text)

    def vendored(self, folder: Path, version: str) -> None:
        """Write a library with a file for its version and two patched files."""
        folder.mkdir()
        (folder / "setup.py").write_text(f'version = "{version}"\n')
        patched = {self.rng.randrange(LIBRARY_FILES) for _ in range(2)}
        for number, text in self.library.items():
            place = folder / f"module_{number // 50}"
            place.mkdir(exist_ok=True)
            whole = self.edited(text) if number in patched else text
            (place / f"file_{number}.py").write_text(whole)

    def log(self, root: Path, benchmark: str, index: int) -> None:
        """Write a system description and ten logs."""
        (root / "systems").mkdir(parents=True, exist_ok=True)
        (root / "systems" / "ex.json").write_text('{"accelerator_model_name": "NVIDIA H100"}')
        results = root / "results" / "ex" / benchmark
        results.mkdir(parents=True)
        for number in range(10):
            records = [("global_batch_size", 1024), ("seed", number), ("run_start", None)]
            lines = [
                ":::MLLOG "
                + json.dumps(
                    {"namespace": "", "time_ms": 1_750_000_000_000 + index, "event_type": ""}
                    | {"key": key, "value": value, "metadata": {}}
                )
                for key, value in (*records, *[("train_loss", 1.5)] * 400)
            ]
            (results / f"result_{number}.txt").write_text("\n".join(lines) + "\n")


def measure(folder: Path) -> int:
    """Review the code of one round with the other as base, and print the cost."""
    rounds = [str(folder / f"training_results_v{name}") for name in ("5.1", "5.0")]
    command = [sys.executable, "-m", "podium", "review", "code", rounds[0], "--earlier", rounds[1]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, mebibytes = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(done.stdout[:2000], done.stderr)
    print(f"{seconds:.1f} s of processor time (goal {SECONDS}), {mebibytes:.0f} MiB ({MEBIBYTES})")
    return int(seconds > SECONDS or mebibytes > MEBIBYTES)


def main() -> int:
    """Generate the rounds, or measure a review of them."""
    what, folder = sys.argv[1], Path(sys.argv[2])
    if what == "measure":
        return measure(folder)
    for name in ("5.0", "5.1"):
        # The same texts, with other changes
        maker = Maker()
        maker.rng = random.Random(name)  # noqa: S311
        maker.round(folder, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
