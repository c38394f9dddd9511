"""Update the output on the pages on kernels: run their commands and replace the printed lines.

A command is the last line of a console block that begins with a dollar sign.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGES = [Path(__file__).parent.parent / name for name in ("kernels.md", "kernels_compare.md")]
BLOCK = re.compile(r"(```console\n\$ podium (.+)\n)(?:.*\n)*?(```\n)")


def printed(block: re.Match[str]) -> str:
    """Return a block with the current output of its command."""
    done = subprocess.run(
        [sys.executable, "-m", "podium", *block[2].split()],
        capture_output=True,
        text=True,
        check=True,
    )
    return f"{block[1]}{done.stdout}{block[3]}"


def main() -> None:
    """Run each command and write the pages."""
    for page in PAGES:
        page.write_text(BLOCK.sub(printed, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
