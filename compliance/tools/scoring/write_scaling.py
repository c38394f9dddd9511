"""scaling.json: written only where the user asks for it, whole or not at all."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from podium.compliance.judging.inputs.layout import SCALING_FILE
from podium.compliance.judging.results.factor import read_scaling
from podium.compliance.reporting.console import write_whole
from podium.compliance.tools.scoring.result import ScoredResult


def write_scaling(results: Iterable[ScoredResult]) -> Iterator[str]:
    """Write the factor of each result that its reference points scale; tells each file.

    A file that is there is never changed: its factor is the committee's.
    """
    for scored in results:
        factor = scored.result.score.factor
        # The factor multiplies minutes to train, which throughput does not have
        if scored.result.throughput is not None or scored.result.score.minutes is None:
            continue
        path = scored.result.place.folder / SCALING_FILE
        # The official tools overwrite or delete this file, and with it what the committee decided
        if path.exists():
            yield _kept(scored, path)
        elif factor.computed != 1.0:
            write_whole(path, json.dumps({"scaling_factor": factor.computed}) + "\n")
            yield f"written: {path} ({factor.computed!r})"


def _kept(scored: ScoredResult, path: Path) -> str:
    given, _ = read_scaling(path.parent)
    implied = scored.result.convergence.scaling_factor
    if given is None:
        return f"kept: {path}, though it gives no factor"
    # Some published files give the factor with six decimals
    same = math.isclose(given, implied, rel_tol=1e-6)
    return f"kept: {path} ({given!r}{'' if same else f'; the points imply {implied!r}'})"
