"""Synthetic source code for a round: as much as a published round has for its logs.

The round 5.1 has 5.25 million lines of code in 12,507 files, and 1,669 logs.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

LINES_PER_LOG = 3150
LINES_PER_FILE = 420

_SAMPLES = 4000
"""Number of generated lines of each kind; files are drawn from them."""

_SHARE_WITH_HIT = 0.03
"""Fraction of files with a hard-coded path or a password."""

_HITS = (
    "cd /home/jdoe/mlperf",
    "DATA=/lustre/fsw/mlperf/data",
    "git clone https://jdoe:hunter22@example.org/code.git",
)
_NEAR_HITS = (
    "mount ${ROOT}/home/jdoe $HOME/data ./scratch/out",
    "# see https://example.org/home/page?user=me@example.org",
    "aws s3 sync s3://bucket/nfs /data/users/all",
    "REGISTRY=ghp_token; SG.x; hf_model",
)


def add_code(round_folder: Path, logs: list[Path], seed: int = 51) -> None:
    """Write code for a round's logs, each into the folder of its submission and benchmark."""
    rng = random.Random(seed)  # noqa: S311 - not for cryptography
    lines = {kind: [make(rng) for _ in range(_SAMPLES)] for kind, make in KINDS.items()}
    for number, log in enumerate(logs):
        submitter, _, _, benchmark, *_ = log.relative_to(round_folder).parts
        code = round_folder / submitter / "benchmarks" / benchmark / "implementations"
        place = code / f"part_{number}"
        place.mkdir(parents=True)
        for start in range(0, LINES_PER_LOG, LINES_PER_FILE):
            [kind] = rng.choices([*KINDS], [12, 3, 1])
            drawn = rng.choices(lines[kind], k=min(LINES_PER_FILE, LINES_PER_LOG - start))
            if rng.random() < _SHARE_WITH_HIT:
                drawn[rng.randrange(len(drawn))] = rng.choice(_HITS)
            (place / f"line_{start}{kind}").write_text("\n".join(drawn) + "\n")


def _words(rng: random.Random, least: int, most: int) -> list[str]:
    letters = "etaoinshrdlcumwfgypbvk_"
    return [
        "".join(rng.choices(letters, k=rng.randint(2, 11))) for _ in range(rng.randint(least, most))
    ]


def _text(rng: random.Random) -> str:
    """Rarely a line that looks like a hit, or a long line; otherwise an empty string.

    The scanners examine about one line in a hundred, as in Python packages.
    """
    drawn = rng.random()
    if drawn < 0.005:
        return rng.choice(_NEAR_HITS)
    return json.dumps([rng.random() for _ in range(500)]) if drawn < 0.006 else ""


def _python(rng: random.Random) -> str:
    name, *rest = _words(rng, 2, 7)
    indent = "    " * rng.randint(0, 4)
    statement = rng.choice(
        [
            f"{name} = {rest[0]}({', '.join(rest)})",
            f'{name}["{rest[0]}"] = {rng.random():.6g}',
            f"if {name} is not None and {rest[0]} > {rng.randint(0, 4096)}:",
            f"# {' '.join(rest)}",
            f"def {name}({', '.join(rest)}) -> None:",
            "",
        ]
    )
    return _text(rng) or indent + statement


def _shell(rng: random.Random) -> str:
    name, *rest = _words(rng, 2, 6)
    command = rng.choice(
        [
            f"export {name.upper()}=${{{name.upper()}:-{rng.randint(0, 999)}}}",
            f'{name} --{rest[0]}="${{{rest[0].upper()}}}/data" \\',
            f"# {' '.join(rest)}",
        ]
    )
    return _text(rng) or command


def _json(rng: random.Random) -> str:
    name, *rest = _words(rng, 2, 4)
    return f'  "{name}": {json.dumps(_text(rng) or " ".join(rest))},'


KINDS: dict[str, Callable[[random.Random], str]] = {
    ".py": _python,
    ".sh": _shell,
    ".json": _json,
}
