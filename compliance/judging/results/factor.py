"""The factor on a result's minutes: the committee's, or the factor that its convergence implies.

Source: training rules, RCPs and Score scaling.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import msgspec

from podium.compliance.judging.inputs.layout import SCALING_FILE
from podium.compliance.judging.inputs.source_files import small_json
from podium.compliance.text.words import distinct
from podium.logging_spec.limits import BeyondLimitError
from podium.rules.convergence.result import Convergence
from podium.rules.run import as_number

Convention = Literal["published", "computed"]
"""The source of a factor: `published` uses only scaling.json, as published tables do; `computed`
uses the factor that the reference points imply without a scaling.json."""

HUNDREDTH = 0.005 + 1e-9
"""Half of the last digit of two decimals."""

MARGIN = 0.0005
"""Allowed difference from the computed factor: published factors have at least three decimals."""


def _margin(factor: float) -> float:
    """The allowed difference from the computed factor: half of the last digit of two decimals."""
    decimals = len(repr(factor).partition(".")[2])
    return HUNDREDTH if decimals == 2 else MARGIN


class Factor(msgspec.Struct, frozen=True):
    """The factor that multiplies the minutes, and its source.

    `committee` is the number in scaling.json, None without the file. `computed` is the factor that
    the reference points imply. The `convention` decides which of them the score uses. `supported`
    are the numbers that a scaling.json may have according to the computation.
    """

    value: float = 1.0
    source: Literal["none", "rcp", "scaling.json"] = "none"
    convention: Convention = "computed"
    committee: float | None = None
    computed: float = 1.0
    supported: tuple[float, ...] = (1.0,)

    @property
    def published(self) -> float:
        """The factor of the published convention."""
        return 1.0 if self.committee is None else self.committee

    @property
    def unsupported(self) -> bool:
        """Whether scaling.json has a factor that the computation does not support."""
        committee = self.committee
        if committee is None:
            return False
        return all(abs(committee - factor) > _margin(committee) for factor in self.supported)

    @property
    def note(self) -> str:
        """The difference between scaling.json and the computation; empty if they agree."""
        if not self.unsupported:
            return ""
        factor, implied = self.compared
        return (
            f"scaling.json has {factor}; the formula of the training rules (mean of the reference "
            f"points / mean of the runs) gives {implied}"
        )

    @property
    def compared(self) -> tuple[str, str]:
        """The factor in scaling.json and the computed factor, with enough digits to differ."""
        factor, *supported = distinct(self.committee or 0.0, *self.supported)
        return factor, " or ".join(supported)


def read_scaling(folder: Path | str) -> tuple[float | None, str]:
    """The factor in a result's scaling.json, or None and the error in the file, if any."""
    try:
        content = small_json(f"{folder}/{SCALING_FILE}")
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"cannot be read ({error.strerror or error})"
    except BeyondLimitError as error:
        return None, f"cannot be read ({error})"
    except ValueError:
        return None, "is not valid JSON"
    if not isinstance(content, dict) or "scaling_factor" not in content:
        return None, "has no scaling_factor"
    factor = as_number(content["scaling_factor"])
    if factor is None or factor <= 0 or not math.isfinite(factor):
        return None, "has a scaling_factor that is not a number above 0"
    return factor, ""


def choose_factor(
    committee: float | None,
    convergence: Convergence | None = None,
    *,
    normalised: bool = True,
    convention: Convention = "computed",
    official: Convergence | None = None,
) -> Factor:
    """The factor on a result's minutes.

    `committee` is the number in scaling.json, None without the file. `normalised`: the round scales
    the score of a result that converges sooner than the reference. `official` is the convergence in
    the official verifier's arithmetic, whose factor scaling.json may have as well.
    """
    supported: tuple[float, ...] = (1.0,)
    if committee is not None:
        supported = _supported(convergence, normalised=normalised)
    computed = 1.0
    if convergence is not None and (normalised or convergence.verdict != "pass"):
        # Only the committee can bring a result that fails the test to the reference's mean
        computed = convergence.scaling_factor if committee is None else supported[0]
    if official is not None and official.verdict == "pass":
        supported = tuple(dict.fromkeys((*supported, official.scaling_factor)))
    # The committee's number has precedence; the official tools overwrite or delete its file
    if committee is not None and math.isfinite(committee) and committee > 0:
        return Factor(committee, "scaling.json", convention, committee, computed, supported)
    if computed == 1.0 or convention == "published":
        return Factor(1.0, "none", convention, None, computed, supported)
    return Factor(computed, "rcp", convention, None, computed, supported)


def normalising(convergence: Convergence | None) -> float | None:
    """The factor that brings a result to the reference's mean, whether it passes or not.

    None if it is not compared with a reference; never below 1.
    """
    if convergence is None or not convergence.mean or not convergence.submission:
        return None
    ratio = convergence.mean / convergence.submission
    return max(1.0, ratio) if math.isfinite(ratio) else None


def _supported(convergence: Convergence | None, *, normalised: bool) -> tuple[float, ...]:
    ratio = normalising(convergence)
    if ratio is None or convergence is None:
        return (1.0,) if convergence is None else (convergence.scaling_factor,)
    # The committee may bring a result that fails the test to the reference in any round
    if normalised or convergence.verdict != "pass":
        return (ratio,)
    return (1.0, ratio) if ratio != 1 else (1.0,)
