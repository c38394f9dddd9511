"""What a user sees of a training run: a bar on a terminal, a line per evaluation elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from podium.reference_runs.engine.config import Config
    from podium.reference_runs.engine.loop import Outcome, RunProgress, Watch


@contextmanager
def follow(path: Path, config: Config, *, quiet: bool) -> Iterator[Watch]:
    """What is to be called as the run goes on."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar() as bar:
            task = bar.add_task(path.name, total=config.last_step, loss="", quality="")
            yield lambda standing: _move(bar, task, config, standing)
    else:
        yield lambda standing: _line(path, config, standing)


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
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _move(bar: Progress, task: TaskID, config: Config, standing: RunProgress) -> None:
    display_path = {}
    if standing.loss is not None:
        display_path["loss"] = f"loss {standing.loss:.3f}"
    if standing.quality is not None:
        display_path["quality"] = f", {config.metric} {standing.quality:.4f}"
    bar.update(task, completed=standing.step, **display_path)  # type: ignore[arg-type]


def _line(path: Path, config: Config, standing: RunProgress) -> None:
    if standing.quality is not None:
        loss = "" if standing.loss is None else f"loss {standing.loss:.4f}, "
        text = f"{path.name}: step {standing.step}, {loss}{config.metric} {standing.quality:.4f}"
        sys.stderr.write(f"{text}\n")


def told(path: Path, config: Config, outcome: Outcome) -> str:
    """One line about how a run ended."""
    sign = ">=" if config.better == "higher" else "<="
    goal = f"{config.metric} {sign} {config.target:g}"
    if outcome.quality is None:
        return f"{path}: aborted after {outcome.step} steps, before any evaluation"
    if outcome.converged:
        samples = outcome.step * config.global_batch_size
        return f"{path}: reached {goal} with {outcome.quality:.4f} after {samples:,} samples"
    return f"{path}: aborted at step {outcome.step} with {outcome.quality:.4f}; wanted {goal}"
