"""Keys of the course of a run: phases, quality, positions and power."""

from __future__ import annotations

from functools import partial

from podium.logging_spec.keys.key import Key

_start = partial(Key, role="interval_start")
_end = partial(Key, role="interval_end")
_point = partial(Key, role="point")
_statistic = partial(Key, role="statistic")
_power = partial(Key, role="power")

# --- phases of a run ---

CACHE_CLEAR = _point("cache_clear", "bool", "caches of the operating system cleared")
INIT_START = _start("init_start", "none", "initialization begins; limited, not scored")
INIT_STOP = _end("init_stop", "none", "initialization ends")
RUN_START = _start("run_start", "none", "scored time begins")
# `any`: null in most published logs, but numbers, strings and objects occur
RUN_STOP = _end("run_stop", "any", "scored time ends; its metadata has the status")
BLOCK_START = _start("block_start", "any", "training between two evaluations begins")
BLOCK_STOP = _end("block_stop", "any", "training between two evaluations ends")
EPOCH_START = _start("epoch_start", "any", "one pass over the training data begins")
EPOCH_STOP = _end("epoch_stop", "any", "one pass over the training data ends")
EVAL_START = _start("eval_start", "any", "evaluation begins")
EVAL_STOP = _end("eval_stop", "any", "evaluation ends")
STAGING_START = _start(
    "staging_start",
    "none",
    "copying to node-local storage begins",
    since="hpc 1.0",
    until="hpc 3.0",
)
STAGING_STOP = _end(
    "staging_stop", "none", "copying to node-local storage ends", since="hpc 1.0", until="hpc 3.0"
)
SEED = _point("seed", "int", "random seed of the run", since="0.7")
WEIGHTS_INITIALIZATION = _point(
    "weights_initialization",
    "none",
    "a tensor, named in metadata, was initialized",
    since="1.0",
    until="2.1",
)

# --- quality ---

# `any`: usually a number, an object of BBOX and SEGM for Mask R-CNN, a string in some 0.7 logs
EVAL_ACCURACY = _point("eval_accuracy", "any", "quality reached; for language models a loss")
EVAL_ERROR = _point(
    "eval_error", "float", "quality reached, lower is better", since="hpc 1.0", until="hpc 3.0"
)
# The official verifier joins Stable Diffusion's FID and CLIP before its rules run
AGGREGATED_EVAL_ACCURACY = _point(
    "aggregated_eval_accuracy",
    "object",
    "metrics of one evaluation, combined by a checker, never logged",
    since="3.1",
    until="5.0",
)
# Only the open rules of flux1 name it, and no closed log has it
AVERAGED_VALIDATION_LOSS = _point(
    "averaged_validation_loss", "float", "loss averaged over the validation set", since="5.1"
)
# MiniGo's score in 0.6 is the timestamp in the metadata of this record, not of run_stop
EVAL_RESULT = _point("eval_result", "float", "win rate of the first winning model", until="0.6")
SAVE_MODEL = _point("save_model", "any", "model of a generation saved", until="0.6")
BBOX = _statistic("bbox", "float", "box average precision, part of a quality value", since="0.7")
SEGM = _statistic("segm", "float", "mask average precision, part of a quality value", since="0.7")

# --- positions and counts, mostly members of metadata ---

STATUS = _point("status", "str", "outcome of the run, in the metadata of run_stop")
EPOCH_NUM = _statistic("epoch_num", "float", "position in training", unit="epochs")
FIRST_EPOCH_NUM = _statistic("first_epoch_num", "float", "first epoch of a block", unit="epochs")
EPOCH_COUNT = _statistic("epoch_count", "float", "length of a block", unit="epochs")
STEP_NUM = _statistic("step_num", "int", "position in training", unit="steps", since="3.1")
SAMPLES_COUNT = _statistic(
    "samples_count", "int", "position in training", unit="samples", since="4.0"
)
TRAIN_SAMPLES = _statistic(
    "train_samples", "int", "size of the training set", unit="samples", since="0.7"
)
EVAL_SAMPLES = _statistic(
    "eval_samples", "int", "size of the evaluation set", unit="samples", since="0.7"
)
TRAINED_SAMPLES = _statistic(
    "trained_samples", "int", "samples consumed by training", unit="samples", since="3.0"
)

# --- power files ---

# `any`: some power files of 4.0 have the string "null" here
POWER_MEASUREMENT_START = _power(
    "power_measurement_start", "any", "measurement begins", since="3.1"
)
POWER_MEASUREMENT_STOP = _power("power_measurement_stop", "any", "measurement ends", since="3.1")
POWER_READING = _power("power_reading", "float", "power drawn by a node", unit="W", since="3.1")
# No node file of 4.0 has this record: its absence means 1.0
CONVERSION_EFF = _power(
    "conversion_eff", "float", "factor from measured to consumed power", since="3.1"
)
INTERCONNECT_POWER_EST = _power(
    "interconnect_power_est", "float", "estimated power of a switch", unit="W", since="3.1"
)
