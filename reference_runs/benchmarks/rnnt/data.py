"""Utterances: words of tones at smoke scale, otherwise LibriSpeech."""

from __future__ import annotations

import json
import wave
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from podium.reference_runs.benchmarks.rnnt.features import (
    augmented,
    dithered,
    log_mel,
    masked,
    stacked,
)
from podium.reference_runs.benchmarks.rnnt.pieces import Pieces
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from torch import Tensor

    from podium.reference_runs.benchmarks.rnnt.config import RnnT
    from podium.reference_runs.benchmarks.rnnt.features import Sound
    from podium.reference_runs.engine.samples import DatasetSize

LETTERS = "abcdefgh"
WORDS, LONGEST_WORD = 16, 3
LOUDNESS, NOISE = 0.1, 0.02
LANGUAGE_SEED = 960


class Batch(NamedTuple):
    """Utterances in the model's format."""

    features: Tensor
    """(B, T, F)."""
    frames: Tensor
    symbols: Tensor
    """(B, U - 1), of which `counts` are symbols."""
    counts: Tensor
    indices: tuple[int, ...]


@dataclass
class Utterances:
    """Sounds with their transcripts; training ones are augmented differently in each epoch."""

    config: RnnT
    sound: Callable[[int], Sound]
    seconds: Sequence[float]
    texts: Sequence[str]
    pieces: Pieces
    training: bool = False
    seed: int = 0
    epoch: int = 1

    def __post_init__(self) -> None:
        self.symbols = [self.pieces.ids(text) for text in self.texts]

    def __len__(self) -> int:
        return len(self.texts)

    def set_epoch(self, epoch: int) -> None:
        """Augment for this epoch."""
        self.epoch = epoch

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Utterances by index; the augmentation of one does not depend on the others."""
        config = self.config
        rngs = [np.random.default_rng([self.seed, self.epoch, index]) for index in indices]
        waves = [self.sound(index) for index in indices]
        if self.training:
            pairs = zip(waves, rngs, strict=True)
            waves = [augmented(sound, config, rng) for sound, rng in pairs]
        else:
            pairs = zip(waves, rngs, strict=True)
            waves = [dithered(sound, config.dither, rng) for sound, rng in pairs]
        features_BTM, frames_B = log_mel(waves, config)
        if self.training:
            for row, frames, rng in zip(features_BTM, frames_B.tolist(), rngs, strict=True):
                masked(row[:frames], config, rng)
        features_BTF, frames_B = stacked(features_BTM, frames_B, config.stacked_frames)
        symbols = [self.symbols[index] for index in indices]
        counts_B = torch.tensor([len(row) for row in symbols])
        symbols_BU = torch.zeros(len(symbols), max(1, int(counts_B.max())), dtype=torch.long)
        for padded, row in zip(symbols_BU, symbols, strict=True):
            padded[: len(row)] = torch.tensor(row, dtype=torch.long)
        return Batch(features_BTF, frames_B, symbols_BU, counts_B, tuple(indices))


class Speech:
    """A toy language: words of two or three letters, each letter two tones at once.

    A model must distinguish pairs of tones at any speed, in noise, and know the words.
    """

    def __init__(self, sample_rate: int) -> None:
        self.rate = sample_rate
        rng = np.random.default_rng(LANGUAGE_SEED)
        tones = np.geomspace(250, 0.42 * sample_rate, 8)
        pairs = [(low, high) for index, low in enumerate(tones) for high in tones[index + 1 :]]
        self.tones = np.array(pairs)[rng.permutation(len(pairs))[: len(LETTERS)]]
        spelt: set[str] = set()
        while len(spelt) < WORDS:
            spelt.add("".join(rng.choice(list(LETTERS), rng.integers(2, LONGEST_WORD + 1))))
        self.words = sorted(spelt)

    def utterance(self, rng: np.random.Generator) -> tuple[str, Sound]:
        """Two or three words with pauses before, between and after."""
        words = [self.words[index] for index in rng.integers(0, WORDS, rng.integers(2, 4))]
        parts = [self._silence(rng)]
        for word in words:
            parts += [*(self._letter_sound(LETTERS.index(letter), rng) for letter in word)]
            parts.append(self._silence(rng))
        sound = np.concatenate(parts)
        noise = NOISE * rng.standard_normal(len(sound), dtype=np.float32)
        return " ".join(words), sound + noise

    def _letter_sound(self, letter: int, rng: np.random.Generator) -> Sound:
        count = int(rng.uniform(0.07, 0.12) * self.rate)
        time = np.arange(count, dtype=np.float32) / self.rate
        tones = self.tones[letter] * rng.uniform(0.98, 1.02, 2)
        phases = rng.uniform(0, 2 * np.pi, 2)
        waves = [
            np.sin(np.float32(2 * np.pi * tone) * time + np.float32(phase))
            for tone, phase in zip(tones, phases, strict=True)
        ]
        rise = np.minimum(1, np.minimum(np.arange(count), np.arange(count)[::-1]) / (0.1 * count))
        loudness = np.float32(LOUDNESS * rng.uniform(0.5, 1.5))
        sound: Sound = loudness * rise.astype(np.float32) * (waves[0] + waves[1])
        return sound

    def _silence(self, rng: np.random.Generator) -> Sound:
        return np.zeros(int(rng.uniform(0.04, 0.08) * self.rate), dtype=np.float32)


def synthetic(config: RnnT, seed: int) -> tuple[Utterances, Utterances]:
    """Training utterances by seed, and evaluation utterances, the same for every seed."""
    speech = Speech(config.sample_rate)
    rng = np.random.default_rng([seed, 0x5E0])
    training: list[tuple[str, Sound]] = []
    while len(training) < config.train_samples:
        text, sound = speech.utterance(rng)
        if len(sound) <= config.data_train_max_duration * config.sample_rate:
            training.append((text, sound))
    rng = np.random.default_rng(LANGUAGE_SEED)
    evaluation = [speech.utterance(rng) for _ in range(config.eval_samples)]
    return _utterances(config, training, seed, True), _utterances(config, evaluation, 0, False)


def _utterances(
    config: RnnT, spoken: Sequence[tuple[str, Sound]], seed: int, training: bool
) -> Utterances:
    return Utterances(
        config,
        [sound for _, sound in spoken].__getitem__,
        [len(sound) / config.sample_rate for _, sound in spoken],
        [text for text, _ in spoken],
        Pieces.letters(LETTERS),
        training=training,
        seed=seed,
    )


PARTS = {
    "training": ("train-clean-100", "train-clean-360", "train-other-500"),
    "evaluation": ("dev-clean",),
}


MANIFEST = "librispeech-{}-wav.json"


def from_files(
    folder: Path, config: RnnT, seed: int, expected: DatasetSize
) -> tuple[Utterances, Utterances]:
    """LibriSpeech as WAV files in manifests; raises DataMissing.

    Utterances longer than the config's limit are excluded from training and counts.
    """
    pieces = Pieces.read(folder / "librispeech1023.vocab", config.pieces)
    datasets = []
    for use, check in (
        ("training", expected.check_training),
        ("evaluation", expected.check_evaluation),
    ):
        rows = [row for part in PARTS[use] for row in _manifest(folder, part)]
        what = "utterances"
        if use == "training":
            longest = config.data_train_max_duration
            rows = [row for row in rows if row[1] <= longest]
            what = f"utterances of at most {longest:g} s"
        check(folder / MANIFEST.format(f"{{{','.join(PARTS[use])}}}"), len(rows), what)
        paths, seconds, texts = zip(*rows, strict=True)
        sound = _Files(paths, config.sample_rate)
        datasets.append(Utterances(config, sound, seconds, texts, pieces, use == "training", seed))
    return datasets[0], datasets[1]


def _manifest(folder: Path, part: str) -> list[tuple[Path, float, str]]:
    path = folder / MANIFEST.format(part)
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [
            (
                folder / row["files"][0]["fname"],
                float(row["original_duration"]),
                row["transcript"].lower(),
            )
            for row in rows
        ]
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataMissing(f"{path} cannot be read as a manifest: {error!r}") from None


@dataclass(frozen=True)
class _Files:
    """Sounds that are read on access."""

    paths: Sequence[Path]
    sample_rate: int

    def __call__(self, index: int) -> Sound:
        path = self.paths[index]
        try:
            with wave.open(str(path)) as stream:
                kind = stream.getnchannels(), stream.getsampwidth(), stream.getframerate()
                count = stream.getnframes()
                data = stream.readframes(count)
        except (OSError, EOFError, wave.Error) as error:
            raise DataMissing(f"{path} cannot be read as a WAV file: {error}") from None
        if kind != (1, 2, self.sample_rate):
            raise DataMissing(
                f"{path} has {kind[0]} channels of {8 * kind[1]} bits at {kind[2]} Hz;"
                f" expected 1 of 16 bits at {self.sample_rate} Hz"
            )
        if len(data) != 2 * count:
            raise DataMissing(f"{path} ends within its {count} samples of sound")
        return without_silence(np.frombuffer(data, "<i2").astype(np.float32) / np.float32(32768))


def without_silence(sound: Sound) -> Sound:
    """Trim sound that is softer than -60 dB of the loudest, at both ends."""
    loud = np.flatnonzero(np.abs(sound) > 1e-3 * np.abs(sound).max(initial=1e-9))
    return sound[loud[0] : loud[-1] + 1] if len(loud) else sound
