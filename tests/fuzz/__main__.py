"""Run coverage-guided fuzzing: `make fuzz SECONDS=600`.

    python -m tests.fuzz [--seconds 600] [--seeds] [TARGET ...]

Each target runs in a separate process for an equal share of the time. It starts from the seeds in
`tests/fuzz/seeds` and writes what it finds below `--found`, with the name of the target. Add a
shortened copy of such an input to the seeds, because the quick suite reads all seeds. `--seeds`
adds inputs that reach new code to the seeds, the smallest first, up to the size limit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.entry import ROOM
from tests.fuzz.entry import __file__ as entry
from tests.fuzz.names import NAMES

SEEDS = Path(__file__).parent / "seeds"
MOST = 30_000
"""The most bytes that the seeds of a target may have."""


def fuzz(target: str, seconds: int, corpus: Path, found: Path) -> int:
    """Fuzz one target and return the fuzzer's exit status, 0 if it found nothing."""
    words = [f"-max_total_time={seconds}", "-timeout=20", f"-rss_limit_mb={ROOM}"]
    words += [f"-artifact_prefix={found}/{target}-", "-print_final_stats=1", "-max_len=65536"]
    command = [sys.executable, entry, target, *words, str(corpus), str(SEEDS / target)]
    return subprocess.run(command, check=False, timeout=seconds + 300).returncode


def keep(target: str, corpus: Path) -> None:
    """Add inputs that reached new code to the seeds, the smallest first, up to the size limit."""
    folder = SEEDS / target
    room = MOST - sum(path.stat().st_size for path in folder.iterdir())
    for path in sorted(corpus.iterdir(), key=lambda each: (each.stat().st_size, each.name)):
        room -= path.stat().st_size
        if room < 0:
            return
        shutil.copyfile(path, folder / path.name[:12])


def main() -> int:
    """Fuzz the targets in turn and return 1 if a target found something."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", default=NAMES, metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--found", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--seeds", action="store_true", help="keep inputs that reach new code")
    asked = parser.parse_args()
    asked.found.mkdir(parents=True, exist_ok=True)
    ended = {}
    with tempfile.TemporaryDirectory(prefix="podium-fuzz.") as place:
        for target in asked.targets:
            corpus = Path(place, target)
            corpus.mkdir()
            seconds = max(1, asked.seconds // len(asked.targets))
            ended[target] = fuzz(target, seconds, corpus, asked.found.absolute())
            if asked.seeds and not ended[target]:
                keep(target, corpus)
    for target, status in ended.items():
        sys.stdout.write(f"{target}: {'found something' if status else 'nothing found'}\n")
    left = os.listdir(asked.found)
    sys.stdout.writelines(f"  {asked.found}/{name}\n" for name in sorted(left))
    return 1 if any(ended.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
