"""Profiles of a trainer in several settings, each in separate processes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.reference_runs.profiling.studies.devices import step_ms
from podium.reference_runs.profiling.studies.study import Study, Variant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from podium.reference_runs.profiling.studies.study import Kind

PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
BATCHES = (0.25, 0.5, 1, 2, 4)
"""Factors of the global batch size in a batch study."""
USAGE = 2
"""Exit status of a call that could not start, since something it requires is missing."""


class Setting(NamedTuple):
    """The name of a variant, and its options for `podium profile`."""

    name: str
    words: tuple[str, ...]


def settings_of(kind: Kind, processes: int, sizes: Sequence[int] = ()) -> tuple[Setting, ...]:
    """The settings of a study; the first is the baseline. `sizes` are those of batches."""
    match kind:
        case "scaling":
            counts = range(1, processes + 1)
            return tuple(Setting(f"ranks_{n}", ("--processes", str(n))) for n in counts)
        case "precision":
            return tuple(Setting(precision, ("--precision", precision)) for precision in PRECISIONS)
        case "compile":
            return Setting("eager", ()), Setting("compiled", ("--compile",))
        case "batch":
            return tuple(Setting(f"batch_{n}", ("--set", f"global_batch_size={n}")) for n in sizes)


def batch_sizes(size: int) -> tuple[int, ...]:
    """The sizes of a batch study around the trainer's own: a quarter to four times."""
    return tuple(dict.fromkeys(max(1, round(size * factor)) for factor in BATCHES))


def studied(
    study: Study, settings: Sequence[Setting], words: Sequence[str], folder: Path
) -> Iterator[Study]:
    """Measure each setting; yields the study so far, after each.

    `words` is the command line of `podium profile` without the setting and the output. The output
    is a folder with the setting's name.
    """
    for setting in settings:
        part = folder / setting.name
        state, reason = _profiled([*words, *setting.words, "--output", str(part)])
        made = Variant(name=setting.name, folder=setting.name, state="measured")
        profile = _read(part) if state == "measured" else None
        if profile is None:
            made = replace(made, state=state if reason else "failed", reason=reason or "no profile")
        else:
            study, made = _with_facts(study, profile), _variant(made, profile, study.variants)
            if study.kind == "batch":
                made = replace(made, efficiency=None)
        study = replace(study, variants=(*study.variants, made))
        yield replace(study, complete=len(study.variants) == len(settings))


def _profiled(words: Sequence[str]) -> tuple[Any, str]:
    """Run one profile to its end: its state, and its last line of error output."""
    with subprocess.Popen(  # noqa: S603 - this Python, and words that were parsed
        [sys.executable, "-P", "-m", "podium", "profile", "trainer", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            lines = process.communicate()[1].strip().splitlines()
        finally:
            # Interrupted or not: no process may continue measuring
            if process.poll() is None:
                process.terminate()
    if process.returncode == 0:
        return "measured", ""
    last = next((line for line in reversed(lines) if line.startswith("podium: ")), "")
    reason = last.removeprefix("podium: ") or f"exit status {process.returncode}"
    return ("skipped" if process.returncode == USAGE else "failed"), reason


def _read(folder: Path) -> dict[str, Any] | None:
    try:
        profile: dict[str, Any] = json.loads((folder / "profile.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return profile if step_ms(profile) else None


def _with_facts(study: Study, profile: dict[str, Any]) -> Study:
    names = ("device_name", "last_step", *(["global_batch_size"] if study.kind != "batch" else []))
    return replace(study, **{name: profile[name] for name in names})


def _variant(named: Variant, profile: dict[str, Any], before: Sequence[Variant]) -> Variant:
    step = step_ms(profile) or 0.0
    first = next((variant for variant in before if variant.state == "measured"), None)
    rate = profile["global_batch_size"] / step * 1000
    speedup = rate / (first.samples_per_s or rate) if first else 1.0
    parts = {part["name"]: part["ms"] for part in profile["parts"]} or None
    blocks = {
        index for index, interval in enumerate(profile["intervals"]) if interval["kind"] == "block"
    }
    busy = [
        (usage["cpu"], usage["end_ms"] - usage["begin_ms"])
        for usage in profile["usage"]
        if usage["interval"] in blocks
    ]
    seconds = sum(length for _, length in busy)
    return replace(
        named,
        ranks=profile["ranks"],
        step_ms=step,
        speedup=speedup,
        efficiency=speedup * (first.ranks if first else profile["ranks"]) / profile["ranks"],
        global_batch_size=profile["global_batch_size"],
        samples_per_s=rate,
        processors=sum(profile["processors"]),
        cpu=sum(share * length for share, length in busy) / seconds if seconds else None,
        exposed_ms=None if parts is None else parts.get("communication, exposed", 0.0),
        overlapped_ms=None if parts is None else parts.get("communication, overlapped", 0.0),
        peak_memory=profile["peak_memory"],
        parts=parts,
    )
