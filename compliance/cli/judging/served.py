"""The process that makes one answer of `podium serve`; it ends with the server and stays in DIR.

    python -P -m podium.compliance.cli.judging.served WORDS...

It starts in the served folder, with a pipe from the server as its standard input.
"""

from __future__ import annotations

import sys
from pathlib import Path

from podium.compliance.cli.entry import main
from podium.compliance.cli.service.guard import Guard
from podium.compliance.files.processes import end_with_input
from podium.compliance.judging.inputs.boundary import set_boundary

if __name__ == "__main__":
    end_with_input()
    served = Path.cwd()
    set_boundary(served)
    sys.addaudithook(Guard(served))
    main()
