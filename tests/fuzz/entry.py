"""One target under the fuzzer: `python entry.py TARGET [options of libFuzzer] [folders]`.

It is a program by itself, as podium must be imported by the fuzzer, which watches its branches.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOM = 2048
"""Megabytes that a target may take, the fuzzer's own included."""


def main() -> None:
    """Hand the target to the fuzzer; it does not return."""
    root = Path(__file__).parents[2]
    sys.path[:0] = [str(root), str(root / "src"), str(root / ".fuzz")]
    try:
        import atheris
    except ImportError:
        sys.exit("atheris is not installed; `make fuzz` brings it")
    with atheris.instrument_imports(include=["podium", "tomllib"]):
        from tests.fuzz.targets import TARGETS

    target = TARGETS[sys.argv[1]]
    words = [sys.argv[0], *sys.argv[2:]]
    atheris.Setup(words, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
