"""Pages of studies and of a schedule with small data."""

from __future__ import annotations

from podium.compliance.reporting.profiled.page import render_schedule, render_study

JOB = {"name": "a <b>", "seconds": {"1": 60.0, "2": 40.0}}
PLACED = {"job": "a <b>", "devices": [0, 1], "begin": 0.0, "end": 40.0}
PLAN = {"name": "best", "seconds": 40.0, "jobs": [PLACED]}
VARIANT = {
    "name": "eager",
    "folder": "eager",
    "state": "measured",
    "reason": "",
    "parts": {"forward": 1.0},
    **dict.fromkeys(("ranks", "step_ms", "speedup", "efficiency", "samples_per_s"), 1),
    **dict.fromkeys(("processors", "cpu", "exposed_ms", "overlapped_ms", "peak_memory")),
}
CELL = {"device": "x", "step_ms": 2.0, "speedup": 1.0, "advantage": None, "roofline": None}
PAGES = {
    "schedule": render_schedule(
        {"devices": 2, "jobs": [JOB], "best": PLAN, "naive": [PLAN], "bound": 1.0, "proven": False}
    ),
    "study": render_study(
        {
            "kind": "compile",
            "benchmark": "ncf",
            "scale": "smoke",
            "device_name": "<script>",
            "global_batch_size": None,
            "complete": True,
            "variants": [VARIANT, {**VARIANT, "state": "skipped", "parts": None, "step_ms": None}],
        }
    ),
    "devices": render_study(
        {
            "kind": "devices",
            "devices": ["x"],
            "models": [{"name": "ncf", "on": [CELL], "fastest": "x", "suits": None}],
        }
    ),
}
