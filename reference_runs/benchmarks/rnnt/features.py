"""From sound to features: speed, dither, log-mel bands, masks, stacked frames.

Dimensions: B utterances, N samples of sound, T frames, M mel bands, F features.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own custom

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from podium.reference_runs.benchmarks.rnnt.config import RnnT

    Sound = NDArray[np.float32]

SILENCE = 2.0**-24
"""Added to each band's power, so that silence has a logarithm."""


def changed_speed(wave: Sound, factor: float) -> Sound:
    """The sound at `factor` times its speed, with linear interpolation."""
    places = np.arange(0, len(wave) - 1, factor)
    faster: Sound = np.interp(places, np.arange(len(wave)), wave).astype(np.float32)
    return faster


def dithered(wave: Sound, amount: float, rng: np.random.Generator) -> Sound:
    """The sound with a little noise."""
    return wave + np.float32(amount) * rng.standard_normal(len(wave), dtype=np.float32)


def augmented(wave: Sound, config: RnnT, rng: np.random.Generator) -> Sound:
    """The sound with a random speed and dither, for training."""
    low, high = config.data_speed_perturbaton_min, config.data_speed_perturbaton_max
    return dithered(changed_speed(wave, rng.uniform(low, high)), config.dither, rng)


def log_mel(waves: Sequence[Sound], config: RnnT) -> tuple[Tensor, Tensor]:
    """Log power in mel bands with mean 0 and variance 1 in each utterance's band, (B, T, M).

    Also returns the number of frames of each utterance; later frames are 0.
    """
    hop, window = (
        round(seconds * config.sample_rate)
        for seconds in (config.hop_seconds, config.frame_seconds)
    )
    waves_BN = torch.zeros(len(waves), max(map(len, waves)))
    for row, wave in zip(waves_BN, waves, strict=True):
        row[: len(wave)] = torch.from_numpy(wave)
        row[1 : len(wave)] -= config.preemphasis * torch.from_numpy(wave[:-1])
    spectrum_BFT = torch.stft(
        waves_BN,
        config.fft_size,
        hop,
        window,
        torch.hann_window(window),
        pad_mode="constant",
        return_complex=True,
    )
    filters_MF = mel_filters(config.mel_bands, config.fft_size, config.sample_rate)
    power_BMT = filters_MF @ spectrum_BFT.abs().square()
    frames_B = torch.tensor([-(-len(wave) // hop) for wave in waves])
    return _normalised((power_BMT + SILENCE).log().transpose(1, 2), frames_B), frames_B


def _normalised(logs_BTM: Tensor, frames_B: Tensor) -> Tensor:
    logs_BTM = logs_BTM[:, : int(frames_B.max())]
    there_BT1 = (torch.arange(logs_BTM.shape[1]) < frames_B.unsqueeze(1)).unsqueeze(2)
    count_B11 = frames_B[:, None, None]
    mean_B1M = (logs_BTM * there_BT1).sum(1, keepdim=True) / count_B11
    centred_BTM = (logs_BTM - mean_B1M) * there_BT1
    variance_B1M = centred_BTM.square().sum(1, keepdim=True) / (count_B11 - 1).clamp(min=1)
    return centred_BTM / (variance_B1M.sqrt() + 1e-5)


@cache
def mel_filters(bands: int, fft_size: int, sample_rate: int) -> Tensor:
    """Triangular filters with equal area and corners evenly spaced in mel, (M, F)."""
    top = _mel(torch.tensor(sample_rate / 2))
    corners = 700 * (10 ** (torch.linspace(0, float(top), bands + 2) / 2595) - 1)
    frequencies = torch.linspace(0, sample_rate / 2, fft_size // 2 + 1)
    low, middle, high = (corners[begin : begin + bands, None] for begin in range(3))
    rising = (frequencies - low) / (middle - low)
    falling = (high - frequencies) / (high - middle)
    return torch.minimum(rising, falling).clamp(min=0) * (2 / (high - low))


def _mel(frequency: Tensor) -> Tensor:
    return 2595 * torch.log10(1 + frequency / 700)


def masked(features_TM: Tensor, config: RnnT, rng: np.random.Generator) -> None:
    """Mask bands and time ranges, in place (SpecAugment, Park et al., 2019)."""
    frames, bands = features_TM.shape
    low, high = config.data_spec_augment_freq_min, config.data_spec_augment_freq_max
    for _ in range(config.data_spec_augment_freq_n):
        width = int(rng.integers(low, high + 1))
        first = int(rng.integers(0, max(1, bands - width + 1)))
        features_TM[:, first : first + width] = 0
    for _ in range(config.data_spec_augment_time_n):
        share = rng.uniform(config.data_spec_augment_time_min, config.data_spec_augment_time_max)
        width = round(float(share) * frames)
        first = int(rng.integers(0, max(1, frames - width + 1)))
        features_TM[first : first + width] = 0


def stacked(features_BTM: Tensor, frames_B: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Stack every `count` consecutive frames, (B, T / count, M · count)."""
    batch, frames, _ = features_BTM.shape
    padded_BTM = F.pad(features_BTM, (0, 0, 0, -frames % count))
    return padded_BTM.reshape(batch, padded_BTM.shape[1] // count, -1), -(-frames_B // count)
