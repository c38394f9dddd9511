"""The differences between two profiles: steps, parts, layers and operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from podium.reference_runs.errors import RunFault
from podium.reference_runs.profiling.profile import FORMAT as PROFILE_FORMAT
from podium.reference_runs.profiling.studies.jobs import read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

FORMAT = 1
"""Incremented when a field is renamed or changes its meaning; new fields do not count."""

SETTINGS = (
    *("benchmark", "scale", "device_name", "precision", "compiled", "ranks", "threads", "torch"),
    "global_batch_size",
)
NEEDED = (*SETTINGS, "levels", "parts", "layers", "operators")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting that differs between the profiles."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """Milliseconds per step in both profiles; None if a profile does not contain the row."""

    name: str
    before: float | None
    after: float | None

    @property
    def ms(self) -> float:
        """The change in milliseconds per step."""
        return (self.after or 0.0) - (self.before or 0.0)

    @property
    def ratio(self) -> float | None:
        """After / before; None if either is missing or zero."""
        return self.after / self.before if self.before and self.after is not None else None


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Two profiles, compared; layers and operators by the size of their change."""

    format: int = FORMAT
    before: str
    after: str
    settings: tuple[Setting, ...]
    levels: tuple[Change, ...]
    parts: tuple[Change, ...]
    layers: tuple[Change, ...]
    operators: tuple[Change, ...]
    kernels: tuple[Change, ...]


def difference_of(before: str, after: str) -> Difference:
    """The differences between two profiles in files; raises RunFault."""
    old, new = _profile(before), _profile(after)
    try:
        return _difference((before, after), old, new)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise RunFault(f"{before} or {after} is not a complete profile.json") from None


def _profile(name: str) -> Mapping[str, Any]:
    profile = read_json(name)
    if not {*NEEDED} <= profile.keys():
        raise RunFault(f"{name} is not a profile.json of podium profile")
    if profile.get("format") != PROFILE_FORMAT:
        raise RunFault(
            f"{name} has format {profile.get('format')}; expected format {PROFILE_FORMAT},"
            " as this version of podium writes it"
        )
    return profile


def _difference(
    names: tuple[str, str], old: Mapping[str, Any], new: Mapping[str, Any]
) -> Difference:
    settings = [
        Setting(name=name, before=str(old[name]), after=str(new[name]))
        for name in SETTINGS
        if old[name] != new[name]
    ]

    def changes(of: str, name: Callable[[Any], str], ms: Callable[[Any], float]) -> list[Change]:
        return _changes(_times(old[of], name, ms), _times(new[of], name, ms))

    kernels = [_kernels(profile["operators"]) for profile in (old, new)]
    return Difference(
        before=names[0],
        after=names[1],
        settings=tuple(settings),
        levels=tuple(changes("levels", lambda row: str(row["level"]), _ms("step_ms"))),
        parts=tuple(changes("parts", lambda row: str(row["name"]), _ms("ms"))),
        layers=_largest(changes("layers", _layer, _both_passes)),
        operators=_largest(changes("operators", _operator, _ms("ms"))),
        kernels=_largest(_changes(*kernels)),
    )


def _ms(field: str) -> Callable[[Any], float]:
    return lambda row: float(row[field])


def _both_passes(row: Mapping[str, Any]) -> float:
    return float(row["forward_ms"]) + float(row["backward_ms"])


def _layer(row: Mapping[str, Any]) -> str:
    return row["name"] or f"({row['kind']})"


def _operator(row: Mapping[str, Any]) -> str:
    place = row["module"] if row["phase"] in ("forward", "backward") else f"({row['phase']})"
    return f"{row['name']} {place or 'model'}{_sign(row)}"


def _sign(row: Mapping[str, Any]) -> str:
    return "'" if row["phase"] == "backward" else ""


def _kernels(operators: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    rows = [kernel for operator in operators for kernel in operator["kernels"]]
    return _times(rows, lambda row: str(row["name"]), _ms("ms"))


def _times(
    rows: Iterable[Any], name: Callable[[Any], str], ms: Callable[[Any], float]
) -> dict[str, float]:
    times: dict[str, float] = {}
    for row in rows:
        times[name(row)] = times.get(name(row), 0.0) + ms(row)
    return times


def _changes(old: Mapping[str, float], new: Mapping[str, float]) -> list[Change]:
    names = dict.fromkeys([*old, *new])
    return [Change(name=name, before=old.get(name), after=new.get(name)) for name in names]


def _largest(changes: Iterable[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda change: -abs(change.ms)))


MOST = 12
"""Layers, operators and kernels in the text, each."""


def difference_text(difference: Difference) -> str:
    """The differences as tables of at most 80 columns."""
    lines = [f"before: {difference.before}", f"after:  {difference.after}"]
    lines += [
        f"  {setting.name}: {setting.before} -> {setting.after}" for setting in difference.settings
    ]
    tables = (
        ("levels, ms per step", difference.levels),
        ("parts of a recorded step (ms)", difference.parts),
        ("layers, forward and backward (ms per step)", difference.layers[:MOST]),
        ("operators (ms per step), by change", difference.operators[:MOST]),
        ("kernels (ms per step), by change", difference.kernels[:MOST]),
    )
    for title, changes in tables:
        if changes:
            lines += ["", f"{title:<45}{'before':>9}{'after':>9}{'change':>9}{'ratio':>7}"]
            lines += map(_line, changes)
    return "\n".join(lines)


def _line(change: Change) -> str:
    name = change.name if len(change.name) < 43 else f"{change.name[:41]}…"
    before, after = (
        "-" if value is None else f"{value:.3f}" for value in (change.before, change.after)
    )
    ratio = "" if change.ratio is None else f"{change.ratio:.2f}"
    return f"  {name:<43}{before:>9}{after:>9}{change.ms:>+9.3f}{ratio:>7}".rstrip()
