"""Known vulnerabilities of podium's dependencies, by pip-audit; or a line why it was skipped.

PODIUM_ADVISORIES=1 make audit     # requires a network and pip-audit

pip-audit queries a service for each package; no maintained list of vulnerabilities is available as
a package. Continuous integration reaches package indexes only, so the check is skipped there; a
list in the repository would become outdated and accept unknown vulnerabilities.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def main() -> int:
    """Run pip-audit if requested; its exit status, or 0 if not requested."""
    if not os.environ.get("PODIUM_ADVISORIES"):
        print("advisories: skipped, as they require a network; PODIUM_ADVISORIES=1 enables them")
        return 0
    program = shutil.which("pip-audit")
    if program is None:
        print("advisories: pip-audit is not installed: pip install pip-audit")
        return 1
    # The environment of podium, not that of pip-audit
    places = [path for path in sys.path if path.endswith("site-packages")]
    words = [program, *(word for path in places for word in ("--path", path))]
    return subprocess.run(words, check=False).returncode  # noqa: S603 - a program of this name


if __name__ == "__main__":
    sys.exit(main())
