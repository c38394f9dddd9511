"""Paths of the repository, the published logs and facts, and expected outputs."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ASKED = os.environ.get("PODIUM_CORPUS", "")
"""The requested folder of published logs: if it is set, tests fail without it and do not skip."""
CORPUS = Path(ASKED).resolve() if ASKED else ROOT.parent / "shared" / "corpus"
FACTS = CORPUS.parent / "facts"
GOLDEN = ROOT / "tests" / "compliance" / "golden"
