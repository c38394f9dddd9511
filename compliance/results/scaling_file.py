"""The committee's factor on a result's score: `scaling.json` in the result's folder."""

from __future__ import annotations

import math
from pathlib import Path

from podium.compliance.inputs.layout import SCALING_FILE
from podium.compliance.inputs.source_files import small_json
from podium.logging_spec.limits import BeyondLimitError
from podium.rules.run import as_number


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
