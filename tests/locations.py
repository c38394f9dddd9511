"""Where things lie: the repository, the files beside it that tests read, expected outputs."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
CORPUS = SHARED / "corpus"
GOLDEN = ROOT / "tests" / "compliance" / "golden"
