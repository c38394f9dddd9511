"""Where things lie: the repository, the published logs and facts, expected outputs."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ASKED = os.environ.get("PODIUM_CORPUS", "")
"""Where the published logs are asked for: tests that need them fail, not skip, without."""
CORPUS = Path(ASKED).resolve() if ASKED else ROOT.parent / "shared" / "corpus"
FACTS = CORPUS.parent / "facts"
GOLDEN = ROOT / "tests" / "compliance" / "golden"
