"""RNN-T: front end, widths, augmentation and schedule at both scales.

Source of the reference figures: the policy's section on hyperparameters of rounds 1.0 to 3.1, the
public results of those rounds, and the convergence point of 3.1 at a batch of 1024.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit, version
from podium.reference_runs.engine.reference_point import ReferencePoint

if TYPE_CHECKING:
    from collections.abc import Mapping

TENSORS = ("pre_rnn", "post_rnn", "pred_embed", "dec_rnn", "joint_pred", "joint_enc", "joint_net")
"""The model's parts by name; rounds 1.0 to 2.1 require the initialization of each in the log."""


@dataclass(frozen=True, kw_only=True)
class RnnT(Config):
    """Training of a speech recognition model. A sample is an utterance."""

    name: ClassVar[str] = "rnnt"
    unit: ClassVar[Unit] = Unit.EPOCHS
    better: ClassVar[Literal["higher", "lower"]] = "lower"
    metric: ClassVar[str] = "word error rate"

    # front end
    sample_rate: int
    """Samples of sound per second."""
    fft_size: int
    mel_bands: int = 80
    frame_seconds: float = 0.02
    hop_seconds: float = 0.01
    stacked_frames: int = 3
    dither: float = 1e-5
    preemphasis: float = 0.97

    # data
    data_train_max_duration: float
    """Maximum length of training utterances, in seconds."""
    data_train_num_buckets: int = 6
    # The misspelling is the official name; closed rules fix these and the masks
    data_speed_perturbaton_min: float = 0.85
    data_speed_perturbaton_max: float = 1.15
    data_spec_augment_freq_n: int = 2
    data_spec_augment_freq_min: int = 0
    data_spec_augment_freq_max: int = 20
    data_spec_augment_time_n: int = 10
    data_spec_augment_time_min: float = 0.0
    data_spec_augment_time_max: float = 0.03

    # model
    pieces: int
    """Number of word pieces, without blank."""
    encoder_width: int
    encoder_layers: tuple[int, int]
    """Number of layers before and after two frames are stacked."""
    prediction_embedding: int
    prediction_width: int
    prediction_layers: int
    joint_width: int
    encoder_dropout: float
    prediction_dropout: float
    joint_dropout: float
    model_weights_initialization_scale: float = 0.5
    model_eval_ema_factor: float

    # optimizer
    opt_name: str = "lamb"
    opt_base_learning_rate: float
    opt_lamb_beta_1: float = 0.9
    opt_lamb_beta_2: float = 0.999
    opt_lamb_epsilon: float = 1e-9
    opt_weight_decay: float = 1e-3
    opt_gradient_clip_norm: float = 1.0
    opt_learning_rate_warmup_epochs: int
    opt_lamb_learning_rate_hold_epochs: int
    opt_lamb_learning_rate_decay_poly_power: float
    """Decay factor of the rate per epoch after the hold, despite the key's name."""
    opt_lamb_learning_rate_min: float = 1e-5
    # Fixed at true by the closed rules
    opt_learning_rate_alt_decay_func: bool = True
    opt_learning_rate_alt_warmup_func: bool = True

    # evaluation
    eval_max_prediction_symbols: int = 300

    def records(self, round_name: str) -> Mapping[str, Any]:
        """All fields; from 3.0 on without the scale of initial weights, which is not required."""
        records = dict(super().records(round_name))
        if version(round_name) >= (3, 0):
            del records["model_weights_initialization_scale"]
        return records

    def weights(self, round_name: str) -> tuple[str, ...]:
        """The model's parts, in the rounds that require them."""
        return TENSORS if version(round_name) < (3, 0) else ()


def smoke() -> RnnT:
    """Words of tones in noise; about 30 s on one core. The evaluation has the official 2703."""
    return RnnT(
        sample_rate=8000,
        fft_size=256,
        data_train_max_duration=1.2,
        pieces=9,
        encoder_width=64,
        encoder_layers=(1, 1),
        prediction_embedding=32,
        prediction_width=32,
        prediction_layers=1,
        joint_width=64,
        encoder_dropout=0.0,
        prediction_dropout=0.0,
        joint_dropout=0.0,
        model_eval_ema_factor=0.9,
        global_batch_size=32,
        train_samples=3072,
        eval_samples=2703,
        target=0.058,
        last_step=96 * 12,
        opt_base_learning_rate=0.012,
        opt_learning_rate_warmup_epochs=1,
        opt_lamb_learning_rate_hold_epochs=8,
        opt_lamb_learning_rate_decay_poly_power=0.9,
    )


POINT = ReferencePoint("training", "3.1", "rnnt", "rnn_t_ref_1k")


def reference() -> RnnT:
    """LibriSpeech with the settings of the convergence points of 3.1, at a batch of 1024."""
    point = POINT.settings()
    return RnnT(
        sample_rate=16_000,
        fft_size=512,
        data_train_max_duration=16.7,
        pieces=1023,
        encoder_width=1024,
        encoder_layers=(2, 3),
        prediction_embedding=512,
        prediction_width=512,
        prediction_layers=2,
        joint_width=512,
        encoder_dropout=0.1,
        prediction_dropout=0.3,
        joint_dropout=0.3,
        model_weights_initialization_scale=point["model_weights_initialization_scale"],
        # The spelling of the convergence point
        model_eval_ema_factor=point["model_eva_ema_factor"],
        global_batch_size=point["global_batch_size"],
        gradient_accumulation_steps=64,
        train_samples=278_016,
        eval_samples=2703,
        target=0.058,
        last_step=271 * 100,
        opt_base_learning_rate=point["opt_base_learning_rate"],
        opt_lamb_beta_1=point["opt_lamb_beta_1"],
        opt_lamb_beta_2=point["opt_lamb_beta_2"],
        opt_weight_decay=point["opt_weight_decay"],
        opt_gradient_clip_norm=point["opt_gradient_clip_norm"],
        opt_learning_rate_warmup_epochs=point["opt_learning_rate_warmup_epochs"],
        opt_lamb_learning_rate_hold_epochs=point["opt_lamb_learning_rate_hold_epochs"],
        opt_lamb_learning_rate_decay_poly_power=point["opt_lamb_learning_rate_decay_poly_power"],
        opt_lamb_learning_rate_min=point["opt_lamb_learning_rate_min"],
        workers=4,
    )


BENCHMARKS = (
    Benchmark(
        name="rnnt",
        title="Speech recognition: RNN-T on LibriSpeech",
        smoke=smoke,
        reference=reference,
        point=POINT,
        rounds=("1.0", "1.1", "2.0", "2.1", "3.0", "3.1"),
        data="librispeech-*-wav.json of LibriSpeech, its WAV files, and librispeech1023.vocab",
    ),
)
