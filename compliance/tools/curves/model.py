"""A curve: one quantity of one run, as a log or an experiment tracker recorded it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Source = Literal["log", "tensorboard", "wandb"]


class Point(NamedTuple):
    """How far training was, in the curve's unit; seconds since 1970; the value."""

    at: float
    time: float | None
    value: float


class Curve(NamedTuple):
    """One quantity over a run, in the order of the file.

    `unit` says what `at` of its points counts: a member of the log's metadata, or `step`.
    """

    path: str
    source: Source
    name: str
    unit: str
    points: tuple[Point, ...]


class BadRecording(Exception):
    """A file of a tracker that cannot be read; the message says why, without the file's name."""
