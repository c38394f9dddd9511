"""Put what the commands of docs/kernels.md print here and now into that page, in place of the old.

A command is the last line of a console block that begins with a dollar sign.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent / "kernels.md"
BLOCK = re.compile(r"(```console\n\$ podium (.+)\n)(?:.*\n)*?(```\n)")


def printed(block: re.Match[str]) -> str:
    """A block with what its command prints now."""
    done = subprocess.run(
        [sys.executable, "-m", "podium", *block[2].split()],
        capture_output=True,
        text=True,
        check=True,
    )
    return f"{block[1]}{done.stdout}{block[3]}"


def main() -> None:
    """Run each command and write the page."""
    PAGE.write_text(BLOCK.sub(printed, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
