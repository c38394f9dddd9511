"""Progress of a training run: a bar on a terminal, else a line per evaluation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from podium.reference_runs.engine.config import Config
    from podium.reference_runs.engine.loop import Outcome, RunProgress, Watch


@contextmanager
def follow(path: Path, config: Config, *, quiet: bool) -> Iterator[Watch]:
    """The function to call with each step of a run."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar() as bar:
            task = bar.add_task(path.name, total=config.last_step, loss="", quality="")
            yield lambda progress: _move(bar, task, config, progress)
    else:
        yield lambda progress: _line(path, config, progress)


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TextColumn("{task.fields[loss]}{task.fields[quality]}"),
        TimeElapsedColumn(),
    )
    # Standard output is for the outcomes of the runs, which scripts read
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _figures(config: Config, quality: float) -> str:
    figures = config.figures(quality)
    return figures if figures.startswith(config.metric) else f"{config.metric} {figures}"


def _move(bar: Progress, task: TaskID, config: Config, progress: RunProgress) -> None:
    fields: dict[str, Any] = {}
    if progress.loss is not None:
        fields["loss"] = f"loss {progress.loss:.3f}"
    if progress.quality is not None:
        fields["quality"] = f", {_figures(config, progress.quality)}"
    bar.update(task, completed=progress.step, **fields)


def _line(path: Path, config: Config, progress: RunProgress) -> None:
    # A line for each step would fill the log of a batch job
    if progress.quality is not None:
        loss = "" if progress.loss is None else f"loss {progress.loss:.4f}, "
        text = f"{path.name}: step {progress.step}, {loss}{_figures(config, progress.quality)}"
        sys.stderr.write(f"{text}\n")


@contextmanager
def bar(label: str, total: int | None, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, on standard error; yields the function to call with each count."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn(label),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda count: bar.update(task, completed=count)


def outcome_text(path: Path, config: Config, outcome: Outcome) -> str:
    """One line about the outcome of a run."""
    if outcome.quality is None:
        return f"{path}: aborted after {outcome.step} steps, before any evaluation"
    goal, figures = config.missed(outcome.quality), config.figures(outcome.quality)
    if outcome.converged:
        samples = outcome.step * config.global_batch_size
        return f"{path}: reached {goal} with {figures} after {samples:,} samples"
    return f"{path}: aborted at step {outcome.step} with {figures}; target {goal}"
