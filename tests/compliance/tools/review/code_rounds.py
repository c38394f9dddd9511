"""Rounds that are mostly code: a vendor's submission and three variants of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NOW, BEFORE = "training_results_v5.1", "training_results_v5.0"
BENCHMARK = "llama31_8b"
CODE = f"benchmarks/{BENCHMARK}/implementations/nemo"
EARLY, LATE = 1_750_000_000_000, 1_760_000_000_000

TRAIN = [
    "import time",
    "from mlperf import mllogger",
    "",
    "def main():",
    *(f"    prepare_part_{number}()" for number in range(20)),
    "    mllogger.start(key='run_start')",
    *(f"    train_block_{number}()" for number in range(20)),
    "    evaluate_model()",
    "    mllogger.end(key='run_stop')",
    *(f"    clean_up_{number}()" for number in range(20)),
]
DATA = ["import torch", *(f"def column_{number}(): pass" for number in range(30))]
MOUNTS = [f"mount_{number}=/data/{number}" for number in range(12)]
CONFIG = ["export GLOBAL_BATCH_SIZE=32", "export OPT_BASE_LEARNING_RATE=0.0005", "export TP=4"]


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def library(version: str = "2.3.1") -> dict[str, str]:
    """A vendored library of 26 files."""
    modules = {
        f"{CODE}/NeMo/nemo/part_{number}.py": text([f"x_{number}_{each} = 1" for each in range(24)])
        for number in range(24)
    }
    setup = {f"{CODE}/NeMo/setup.py": f'version = "{version}"\n', f"{CODE}/NeMo/LICENSE": "Free\n"}
    return modules | setup


def base() -> dict[str, str]:
    """The code that the vendor of the accelerators submits."""
    return {
        f"{CODE}/train.py": text(TRAIN),
        f"{CODE}/data.py": text(DATA),
        f"{CODE}/mounts.sh": text(MOUNTS),
        f"{CODE}/config_ex.sh": text(CONFIG),
        **library(),
    }


def edited(lines: list[str], changes: Mapping[str, str | None]) -> str:
    """Return the text with some lines replaced, or removed where the new line is None."""
    assert set(changes) <= set(lines)
    made = (changes.get(line, line) for line in lines)
    return text([line for line in made if line is not None])


def submit(
    place: Path,
    submitter: str,
    files: Mapping[str, str],
    *,
    round: str = NOW,  # noqa: A002 - the name in the tree
    started: int = LATE,
    accelerator: str = "NVIDIA H200",
    settings: Mapping[str, Any] | None = None,
) -> Path:
    """Write a submission with code, a description and two logs; return its folder."""
    root = place / round / submitter
    shutil.rmtree(root, ignore_errors=True)
    described = {"accelerator_model_name": accelerator}
    records = {"global_batch_size": 32, **(settings or {}), "run_start": None}
    lines = [
        ":::MLLOG "
        + json.dumps({"key": key, "value": value, "time_ms": started, "metadata": {}})
        + "\n"
        for key, value in records.items()
    ]
    written = {
        "systems/ex.json": json.dumps(described),
        f"results/ex/{BENCHMARK}/result_0.txt": "".join(lines),
        f"results/ex/{BENCHMARK}/result_1.txt": "".join(lines),
        **files,
    }
    for path, content in written.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, encoding="utf-8")
    return root


STOPS_EARLY = edited(
    TRAIN,
    {"    evaluate_model()": None, "    mllogger.end(key='run_stop')": None},
).replace(
    "    clean_up_0()\n",
    "    mllogger.end(key='run_stop')\n    evaluate_model()\n    clean_up_0()\n",
)
"""The run ends before its last evaluation."""

SHUFFLED = edited(DATA, {"def column_7(): pass": "def column_7(): shuffle(seed=3)"})
PATCHED = f"{CODE}/NeMo/nemo/part_5.py"


def derived(place: Path) -> Path:
    """Write the vendor's submission and three variants of it; the vendor's logs are the latest."""
    submit(place, "NVIDIA", base(), started=LATE)
    acme = base()
    acme[f"{CODE}/data.py"] = SHUFFLED
    acme[f"{CODE}/mounts.sh"] = edited(MOUNTS, {MOUNTS[3]: "mount_3=/lustre/3"})
    submit(place, "Acme", acme, started=EARLY)
    bmce = base()
    moved = bmce.pop(f"{CODE}/train.py").replace("train_block_4()", "train_block_4(fp8=True)")
    bmce[f"{CODE}/src/trainer.py"] = moved
    bmce[PATCHED] = bmce[PATCHED].replace("x_5_3 = 1", "x_5_3 = 2")
    submit(place, "Bmce", bmce, started=EARLY + 1)
    cmce = base()
    cmce[f"{CODE}/train.py"] = STOPS_EARLY
    submit(place, "Cmce", cmce, started=EARLY + 2)
    return place / NOW
