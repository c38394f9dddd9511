"""Speech recognition: RNN-T on LibriSpeech, as introduced in Training 1.0."""

import math

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import above, any_of, at_least, at_most, below, equals
from podium.rules.constraints.members import has
from podium.rules.model.benchmark import Benchmark
from podium.rules.table import AT_LEAST_ONCE, row
from podium.rules.training.shared.tensors import NAMED_TENSOR, initialised

RNNT = Benchmark(
    name="rnnt",
    title="Speech recognition: RNN-T on LibriSpeech",
    also_called=("rnn_speech_recognition",),
    runs=10,
    target="word error rate of 0.058",
    closed=(
        NAMED_TENSOR,
        row(k.MODEL_WEIGHTS_INITIALIZATION_SCALE),
        row(k.GLOBAL_BATCH_SIZE),
        row(k.OPT_NAME, equals("lamb")),
        row(k.OPT_BASE_LEARNING_RATE),
        row(k.OPT_LAMB_EPSILON, equals(1e-09)),
        row(k.OPT_LAMB_LEARNING_RATE_DECAY_POLY_POWER),
        row(k.OPT_LAMB_LEARNING_RATE_HOLD_EPOCHS),
        row(k.OPT_LEARNING_RATE_WARMUP_EPOCHS),
        row(k.OPT_WEIGHT_DECAY, equals(0.001)),
        row(k.OPT_LAMB_BETA_1),
        row(k.OPT_LAMB_BETA_2),
        # The verifier's JSON decoder accepts Infinity, which means no clipping
        row(k.OPT_GRADIENT_CLIP_NORM, any_of(equals(1), equals(math.inf))),
        row(k.OPT_LEARNING_RATE_ALT_DECAY_FUNC, equals(True)),
        row(k.OPT_LEARNING_RATE_ALT_WARMUP_FUNC, equals(True)),
        row(k.OPT_LAMB_LEARNING_RATE_MIN, equals(1e-05)),
        row(
            k.TRAIN_SAMPLES,
            policy=(at_least(270_000), at_most(290_000)),
            why="the number of remaining utterances, of 281 thousand, depends on the maximum "
            "length",
        ),
        row(k.EVAL_SAMPLES, equals(2703)),
        row(k.DATA_TRAIN_MAX_DURATION),
        row(k.DATA_TRAIN_NUM_BUCKETS, equals(6)),
        # Spelling of the official keys; the text of the policy has another name for them
        row(k.DATA_SPEED_PERTURBATON_MIN, equals(0.85)),
        row(k.DATA_SPEED_PERTURBATON_MAX, equals(1.15)),
        row(k.DATA_SPEC_AUGMENT_FREQ_N, equals(2)),
        row(k.DATA_SPEC_AUGMENT_FREQ_MIN, equals(0)),
        row(k.DATA_SPEC_AUGMENT_FREQ_MAX, equals(20)),
        row(k.DATA_SPEC_AUGMENT_TIME_N, equals(10)),
        row(k.DATA_SPEC_AUGMENT_TIME_MIN, equals(0)),
        row(k.DATA_SPEC_AUGMENT_TIME_MAX, equals(0.03)),
        row(k.MODEL_EVAL_EMA_FACTOR),
        row(k.EVAL_MAX_PREDICTION_SYMBOLS, equals(300)),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_most(0.058), above(0.0)),
        ),
        initialised("rnnt"),
    ),
    open=(row(k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(below(1.0),)),),
)
