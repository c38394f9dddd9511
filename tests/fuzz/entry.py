"""Run one target under the fuzzer: `python entry.py TARGET [libFuzzer options] [folders]`.

This is a separate program because the fuzzer must import podium to instrument its branches.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOM = 2048
"""Memory limit of a target in megabytes, including the fuzzer."""


def main() -> None:
    """Start the fuzzer on the target. This function does not return."""
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
