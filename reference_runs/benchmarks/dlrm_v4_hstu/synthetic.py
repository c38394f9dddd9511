"""A stream of plays: the taste of listeners drifts, and only their latest history shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from podium.reference_runs.benchmarks.dlrm_v4_hstu.data import DAY, Days, Events, Plays

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.dlrm_v4_hstu.config import DlrmV4

TASK_SEED = 24
STYLES, LIKED = 3, 1
"""Number of styles that each listener likes at a time."""
DRIFT = 1 / 40
"""Probability that a listener's taste changes at a play: one liked style is replaced."""
HEARD = (0.06, 0.94)
"""Probability that a track is heard, for a style that is not liked and for one that is."""
LIKES = 0.15
"""Probability that a heard track is liked."""


def synthetic(config: DlrmV4) -> tuple[Plays, Plays]:
    """The training days, and the day after the first of them.

    The stream is the same for all seeds, like the real one.
    """
    users, daily_plays = config.rows[3], config.eval_samples // config.rows[3]
    # The days before the samples fill the histories, with `daily_plays` events on each
    before = -(-config.history_length // daily_plays)
    events, plays = _stream(config, users, daily_plays, before + config.days + 1)
    times = events.time[plays]
    samples = plays[times >= before * DAY]
    days = Days(samples, events.time[samples], first=before * DAY)
    labels = None
    training = Plays(events, days, range(config.days), config)
    if config.shuffled_labels:
        in_order = np.concatenate([samples[days.of(day)] for day in range(config.days)])
        labels = np.random.default_rng(TASK_SEED).permutation(events.heard[in_order])
        training = Plays(events, days, range(config.days), config, labels)
    return training, Plays(events, days, range(1, 2), config)


def _stream(config: DlrmV4, users: int, daily_plays: int, days: int) -> tuple[Events, np.ndarray]:
    """Plays of each user on each day, with likes between them; and the indices of the plays."""
    rng = np.random.default_rng(TASK_SEED)
    items, artists, albums, _ = config.rows
    artist_of = np.arange(items) % artists
    shape = users, days * daily_plays
    item = rng.integers(0, items, shape)
    taste = rng.permuted(np.tile(np.arange(STYLES) < LIKED, (users, 1)), axis=1)
    heard = np.empty(shape, bool)
    for column in range(shape[1]):
        liked = taste[np.arange(users), artist_of[item[:, column]] % STYLES]
        heard[:, column] = rng.random(users) < np.where(liked, HEARD[1], HEARD[0])
        _drift(taste, rng)
    pause = DAY // daily_plays
    time = np.arange(shape[1]) * pause + rng.integers(0, pause - 60, shape)
    likes = heard & (rng.random(shape) < LIKES)
    # Each play with a possible like after it; the likes that did not happen are then removed
    happened = _woven(np.ones(shape, bool), likes)
    user, nothing = np.repeat(np.arange(users), (1 + likes).sum(1)), np.zeros(shape, bool)
    events = Events(
        user=user,
        item=_woven(item, item)[happened],
        time=_woven(time, time + 30)[happened],
        heard=_woven(heard, nothing)[happened],
        liked=_woven(nothing, likes)[happened],
        skipped=_woven(~heard, nothing)[happened],
        organic=rng.integers(0, 2, len(user)),
        begin=np.searchsorted(user, np.arange(users)),
        artist_of=artist_of,
        album_of=np.arange(items) % albums,
    )
    return events, np.flatnonzero(~events.liked)


def _woven(plays: np.ndarray, likes: np.ndarray) -> np.ndarray:
    """A value of each play, followed by that of its like, one user after another."""
    return np.stack((plays, likes), -1).reshape(-1)


def _drift(taste: np.ndarray, rng: np.random.Generator) -> None:
    """For some listeners, replace a liked style by another one."""
    drawn = rng.random(taste.shape)
    who = np.flatnonzero(rng.random(len(taste)) < DRIFT)
    for liked in (True, False):
        taken = np.where(taste[who] == liked, drawn[who], -1).argmax(1)
        drawn[who, taken] = -2
        taste[who, taken] = not liked
