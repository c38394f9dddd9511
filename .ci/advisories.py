"""Known faults of what podium needs, by pip-audit; or a line that says why they were not looked up.

PODIUM_ADVISORIES=1 make audit     # where there is a network, and pip-audit is installed

pip-audit asks a service for each package, and no maintained list of such faults is handed out as a
package. Continuous integration reaches package indexes only, so there the look-up is left out; a
list that came with the code would go stale and pass what it does not know.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def main() -> int:
    """Ask pip-audit where that was asked for; its exit status, or 0 where it was not."""
    if not os.environ.get("PODIUM_ADVISORIES"):
        print("advisories: skipped, as they need a network; PODIUM_ADVISORIES=1 looks them up")
        return 0
    program = shutil.which("pip-audit")
    if program is None:
        print("advisories: pip-audit is not installed: pip install pip-audit")
        return 1
    # The environment that podium is in, not the one of pip-audit
    places = [path for path in sys.path if path.endswith("site-packages")]
    words = [program, *(word for path in places for word in ("--path", path))]
    return subprocess.run(words, check=False).returncode  # noqa: S603 - a program of this name


if __name__ == "__main__":
    sys.exit(main())
