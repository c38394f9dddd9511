"""Put what `podium profile` prints here and now into docs/profiling.md, in place of the old."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent / "profiling.md"
COMMAND = "podium profile llama31_8b"


def main() -> None:
    """Run the command and write the page."""
    words = COMMAND.split()
    done = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, check=True
    )
    before, mark, rest = PAGE.read_text(encoding="utf-8").partition(f"$ {COMMAND}\n")
    after = rest.partition("```\n")[2]
    PAGE.write_text(f"{before}{mark}{done.stdout}```\n{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
