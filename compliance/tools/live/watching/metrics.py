"""The statuses of a watch as a file of OpenMetrics, for collectors that read text files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from podium.compliance.files.atomic import draft_file
from podium.compliance.files.optional_imports import needed
from podium.compliance.tools.live.watching.status import Phase, Status
from podium.rules.finding import Severity

if TYPE_CHECKING:
    from podium.compliance.tools.live.watching.outputs import Output

EXTRA = "metrics"
"""The extra that brings the library."""

MINUTE_S = 60.0
LABELS = ("log", "benchmark", "division")


class Metrics:
    """Shows statuses as another output does, and writes them to a file with every change.

    The file is replaced atomically, so that no collector reads a partial file. Raises UsageFault if
    it cannot be written or the library is not installed.
    """

    def __init__(self, path: Path, output: Output) -> None:
        self.families = needed("prometheus_client.metrics_core", "--metrics", EXTRA)
        self.exposition = needed("prometheus_client.openmetrics.exposition", "--metrics", EXTRA)
        self.path, self.output = path, output

    def show(self, statuses: Sequence[Status], changed: bool) -> None:
        """Show the statuses, and write them if they changed."""
        self.output.show(statuses, changed)
        if changed:
            self.write(statuses)

    def close(self) -> None:
        """Close the other output; the file stays with the last statuses."""
        self.output.close()

    def write(self, statuses: Sequence[Status]) -> None:
        """Replace the file."""
        data: bytes = self.exposition.generate_latest(_Collected([*self._collect(statuses)]))
        # Not synced: after a power failure the file is useless
        with draft_file(self.path, durable=False) as stream:
            stream.write(data)

    def _collect(self, statuses: Sequence[Status]) -> Iterator[Any]:
        for name, help_text, unit, value in _GAUGES:
            gauge = self.families.GaugeMetricFamily(name, help_text, labels=LABELS, unit=unit)
            for status in statuses:
                number = value(status)
                if number is not None:
                    gauge.add_metric(_labels(status), number)
            yield gauge
        phases = self.families.StateSetMetricFamily(
            "podium_run_phase", "The phase that a run is in.", labels=LABELS
        )
        severity_gauge = self.families.GaugeMetricFamily(
            "podium_run_findings", "Findings that are certain.", labels=(*LABELS, "severity")
        )
        for status in statuses:
            names = (*get_args(Phase),)
            phases.add_metric(_labels(status), {name: name == status.phase for name in names})
            for severity in Severity:
                count = sum(finding.severity is severity for finding in status.findings)
                severity_gauge.add_metric((*_labels(status), severity.value), count)
        yield phases
        yield severity_gauge


class _Collected:
    """The collector interface of the library."""

    def __init__(self, families: list[Any]) -> None:
        self.families = families

    def collect(self) -> list[Any]:
        return self.families


def _labels(status: Status) -> tuple[str, str, str]:
    # File names may not be valid Unicode, and the file is UTF-8
    path = status.path.encode("utf-8", "replace").decode()
    return path, status.benchmark, status.division


def _seconds(minutes: float | None) -> float | None:
    return None if minutes is None else minutes * MINUTE_S


def _last(status: Status, name: str) -> float | None:
    return getattr(status.points[-1], name) if status.points else None


_GAUGES: tuple[tuple[str, str, str, Any], ...] = (
    ("podium_run_records", "Records read of a log.", "", lambda status: status.records),
    ("podium_run_init", "Time since init_start, until run_start.", "seconds",
     lambda status: _seconds(status.init_minutes)),
    ("podium_run_init_limit", "Maximum time of the initialization.", "seconds",
     lambda status: _seconds(status.init_limit)),
    ("podium_run_elapsed", "Time since run_start, until run_stop.", "seconds",
     lambda status: _seconds(status.run_minutes)),
    ("podium_run_projected", "Forecast time to train.", "seconds",
     lambda status: _seconds(status.forecast.minutes) if status.forecast else None),
    ("podium_run_evaluations", "Evaluations so far.", "", lambda status: len(status.points)),
    ("podium_run_position", "Training done at the last evaluation, in the benchmark's unit.", "",
     lambda status: _last(status, "position")),
    ("podium_run_quality", "Quality at the last evaluation.", "",
     lambda status: _last(status, "quality")),
    ("podium_run_target", "Target quality, if it is one number.", "",
     lambda status: status.goal.bound if status.goal else None),
    ("podium_run_missing", "Required keys not logged yet.", "", lambda status: len(status.missing)),
)  # fmt: skip
"""Name, help, unit and value of each gauge; a run without the value has no sample."""
