"""The factor on a result's minutes: the committee's, or what its convergence implies.

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
"""Where a factor comes from: `published` is that of scaling.json alone, as published tables have
it; `computed` is what the reference points imply where there is no scaling.json."""

HUNDREDTH = 0.005 + 1e-9
"""Half of the last of two decimals."""

MARGIN = 0.0005
"""How far a factor may be from the one computed: the fewest decimals published are three."""


def _margin(given: float) -> float:
    """How far a factor may be from the one computed: half of its last decimal, if it has two."""
    decimals = len(repr(given).partition(".")[2])
    return HUNDREDTH if decimals == 2 else MARGIN


class Factor(msgspec.Struct, frozen=True):
    """What multiplies the minutes, and where it comes from.

    `committee` is the number in scaling.json, None without one; `computed` what the reference
    points imply, whichever the score uses by its `convention`. `supported` are the numbers that
    scaling.json may give by that computation.
    """

    value: float = 1.0
    source: Literal["none", "rcp", "scaling.json"] = "none"
    convention: Convention = "computed"
    committee: float | None = None
    computed: float = 1.0
    supported: tuple[float, ...] = (1.0,)

    @property
    def published(self) -> float:
        """The factor by the published convention."""
        return 1.0 if self.committee is None else self.committee

    @property
    def unsupported(self) -> bool:
        """Whether scaling.json gives a number that the computation does not."""
        given = self.committee
        if given is None:
            return False
        return all(abs(given - one) > _margin(given) for one in self.supported)

    @property
    def note(self) -> str:
        """Where scaling.json and the computation differ; empty where they do not."""
        if not self.unsupported:
            return ""
        given, implied = self.compared
        return (
            f"scaling.json gives {given}; the formula of the training rules (mean of the reference "
            f"points / mean of the runs) gives {implied}"
        )

    @property
    def compared(self) -> tuple[str, str]:
        """What scaling.json gives and what the computation does, in digits that tell them apart."""
        given, *supported = distinct(self.committee or 0.0, *self.supported)
        return given, " or ".join(supported)


def read_scaling(folder: Path | str) -> tuple[float | None, str]:
    """The factor in a result's scaling.json, or None and what is wrong with the file, if it is."""
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
        return None, "has a scaling_factor that is no number above 0"
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

    `committee` is the number in scaling.json, None where there is none. `normalised`: the round
    scales a score for converging sooner than the reference. `official` is the convergence by the
    official verifier's arithmetic, whose factor scaling.json may give as well.
    """
    supported = _supported(convergence, normalised=normalised)
    computed = 1.0
    if convergence is not None and (normalised or convergence.verdict != "pass"):
        # Only the committee brings a result that fails the test to the reference's mean
        computed = convergence.scaling_factor if committee is None else supported[0]
    if official is not None and official.verdict == "pass":
        supported = tuple(dict.fromkeys((*supported, official.scaling_factor)))
    # The committee's number prevails; the official tools overwrite or delete its file
    if committee is not None and math.isfinite(committee) and committee > 0:
        return Factor(committee, "scaling.json", convention, committee, computed, supported)
    if computed == 1.0 or convention == "published":
        return Factor(1.0, "none", convention, None, computed, supported)
    return Factor(computed, "rcp", convention, None, computed, supported)


def normalising(convergence: Convergence | None) -> float | None:
    """The factor that brings a result to the reference's mean, whether it passes or not.

    None where it is compared with no reference; never below 1.
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
