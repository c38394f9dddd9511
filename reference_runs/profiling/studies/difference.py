"""The differences between two profiles or traces: steps, parts, layers and operators."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.reference_runs.errors import RunFault
from podium.reference_runs.profiling.profile import FORMAT as PROFILE_FORMAT
from podium.reference_runs.profiling.studies.jobs import read_json
from podium.reference_runs.profiling.traces.analysis import analyzed_files
from podium.reference_runs.profiling.traces.names import kernel_names
from podium.reference_runs.profiling.traces.report import FORMAT as TRACES_FORMAT

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
    """Two profiles or traces, compared; layers and operators by the size of their change.

    Of traces the first rank is compared. Their layers are empty.
    """

    format: int = FORMAT
    before: str
    after: str
    settings: tuple[Setting, ...]
    levels: tuple[Change, ...]
    parts: tuple[Change, ...]
    idle: tuple[Change, ...] = ()
    """The idle time by cause."""
    layers: tuple[Change, ...]
    operators: tuple[Change, ...]
    kernels: tuple[Change, ...]


def difference_of(before: str, after: str) -> Difference:
    """The differences between two profiles, or two traces, in files; raises RunFault."""
    old, new = _read(before), _read(after)
    if _of_traces(old) != _of_traces(new):
        raise RunFault(f"expected two profiles or two traces, got {before} and {after}")
    compare, kind = (
        (_trace_difference, "traces.json") if _of_traces(old) else (_difference, "profile.json")
    )
    try:
        return compare((before, after), old, new)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise RunFault(f"{before} or {after} is not a complete {kind}") from None


def _read(name: str) -> Mapping[str, Any]:
    """A profile, or the analysis of traces, which is made here if it is not in a file."""
    path = Path(name)
    if path.is_dir() or path.suffix == ".gz":
        return asdict(analyzed_files([path]))
    content = read_json(name)
    if "traceEvents" in content:
        return asdict(analyzed_files([path]))
    if not _of_traces(content) and not {*NEEDED} <= content.keys():
        raise RunFault(f"{name} is neither a profile.json of podium profile nor a trace")
    expected = TRACES_FORMAT if _of_traces(content) else PROFILE_FORMAT
    if content.get("format") != expected:
        raise RunFault(
            f"{name} has format {content.get('format')}; expected format {expected},"
            " as this version of podium writes it"
        )
    return content


def _of_traces(content: Mapping[str, Any]) -> bool:
    return isinstance(content.get("ranks"), (list, tuple))


def _trace_difference(
    names: tuple[str, str], old: Mapping[str, Any], new: Mapping[str, Any]
) -> Difference:
    """The first rank of two analyses."""
    first, second = old["ranks"][0], new["ranks"][0]

    def changes(table: str) -> list[Change]:
        times = [_times(rank[table], _name, _ms("ms")) for rank in ranks]
        return _changes(*times)

    ranks = (first, second)
    counts = [str(rank["ranks"]) for rank in ranks]
    different = counts[0] != counts[1]
    return Difference(
        before=names[0],
        after=names[1],
        settings=(Setting(name="ranks", before=counts[0], after=counts[1]),) if different else (),
        levels=(Change(name="step", before=first["step_ms"], after=second["step_ms"]),),
        parts=tuple(changes("parts")),
        idle=_largest(changes("idle")),
        layers=(),
        operators=_largest(changes("launchers")),
        kernels=_largest(changes("kernels")),
    )


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
        parts=tuple(changes("parts", _name, _ms("ms"))),
        idle=_largest(
            _changes(*(_times(each.get("idle", ()), _name, _ms("ms")) for each in (old, new)))
        ),
        layers=_largest(changes("layers", _layer, _both_passes)),
        operators=_largest(changes("operators", _operator, _ms("ms"))),
        kernels=_largest(_changes(*kernels)),
    )


def _name(row: Mapping[str, Any]) -> str:
    return str(row["name"])


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
    return _times(rows, _name, _ms("ms"))


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


MOST, WIDTH = 12, 42
"""Layers, operators and kernels in the text, each, and the width of a name."""


def difference_text(difference: Difference) -> str:
    """The differences as tables of at most 80 columns."""
    lines = [f"before: {difference.before}", f"after:  {difference.after}"]
    lines += [
        f"  {setting.name}: {setting.before} -> {setting.after}" for setting in difference.settings
    ]
    tables = (
        ("levels, ms per step", difference.levels),
        ("parts of a recorded step (ms)", difference.parts),
        ("idle time by cause (ms per step), by change", difference.idle),
        ("layers, forward and backward (ms per step)", difference.layers[:MOST]),
        ("operators (ms per step), by change", difference.operators[:MOST]),
        ("kernels (ms per step), by change", difference.kernels[:MOST]),
    )
    for title, changes in tables:
        if changes:
            lines += ["", f"{title:<45}{'before':>9}{'after':>9}{'change':>9}{'ratio':>7}"]
            names = _names(changes, kernels=title.startswith("kernels"))
            lines += [_line(names[change.name], change) for change in changes]
    return "\n".join(lines)


def _names(changes: Iterable[Change], *, kernels: bool) -> dict[str, str]:
    names = [change.name for change in changes]
    if kernels:
        return kernel_names(names, WIDTH)
    return {name: name if len(name) <= WIDTH else f"{name[: WIDTH - 1]}…" for name in names}


def _line(name: str, change: Change) -> str:
    before, after = (
        "-" if value is None else f"{value:.3f}" for value in (change.before, change.after)
    )
    ratio = "" if change.ratio is None else f"{change.ratio:.2f}"
    return f"  {name:<43}{before:>9}{after:>9}{change.ms:>+9.3f}{ratio:>7}".rstrip()
