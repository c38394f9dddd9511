"""The vocabulary of a log: every standard key once, with the type of its value and its meaning."""

from __future__ import annotations

import difflib
import re
from functools import cache, lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

ValueType = Literal["int", "float", "bool", "str", "list", "object", "none", "any"]
"""Type of a value: `int` is a whole number however written, `float` any number, `any` varies."""

Role = Literal[
    "submission",
    "interval_start",
    "interval_end",
    "point",
    "hyperparameter",
    "disclosure",
    "power",
    "statistic",
]
"""What a key is for; a `point` or `statistic` may differ between the runs of one result."""


class Key(NamedTuple):
    """One log key: its name, the type of its value, and what it means.

    `since` and `until` are the first and last round whose rules or constants name it; `until` is
    None while the newest training round knows it. `formerly` holds other names of policy texts.
    """

    name: str
    type: ValueType
    meaning: str
    role: Role
    unit: str | None = None
    since: str = "0.6"
    until: str | None = None
    formerly: tuple[str, ...] = ()


_submission = partial(Key, role="submission")
_start = partial(Key, role="interval_start")
_end = partial(Key, role="interval_end")
_point = partial(Key, role="point")
_hyper = partial(Key, role="hyperparameter")
_disclosure = partial(Key, role="disclosure")
_power = partial(Key, role="power")
_statistic = partial(Key, role="statistic")
_rnnt = partial(_hyper, since="1.0", until="3.1")
_hpc = partial(_hyper, since="hpc 1.0", until="hpc 3.0")
_openfold = partial(_hyper, since="hpc 3.0", until="hpc 3.0")

# --- standard values ---

INTERVAL_START: Final = "INTERVAL_START"
INTERVAL_END: Final = "INTERVAL_END"
POINT_IN_TIME: Final = "POINT_IN_TIME"
EVENT_TYPES: Final = (INTERVAL_START, INTERVAL_END, POINT_IN_TIME)

SUCCESS: Final = "success"
ABORTED: Final = "aborted"
STATUSES: Final = (SUCCESS, ABORTED)

CLOSED: Final = "closed"
OPEN: Final = "open"
DIVISIONS: Final = (CLOSED, OPEN)

ONPREM: Final = "onprem"
CLOUD: Final = "cloud"
RESEARCH: Final = "research"
PREVIEW: Final = "preview"
AVAILABILITIES: Final = (ONPREM, CLOUD, RESEARCH, PREVIEW)

ADAGRAD: Final = "adagrad"
ADAM: Final = "adam"
ADAMW: Final = "adamw"
LARS: Final = "lars"
LAZY_ADAM: Final = "lazy_adam"
SGD: Final = "sgd"
LAMB: Final = "lamb"
OPTIMIZERS: Final = (ADAGRAD, ADAM, ADAMW, LARS, LAZY_ADAM, SGD, LAMB)

# --- who submits what ---

SUBMISSION_BENCHMARK = _submission("submission_benchmark", "str", "benchmark that was run")
SUBMISSION_DIVISION = _submission("submission_division", "str", "closed or open division")
SUBMISSION_ORG = _submission("submission_org", "str", "organisation that submits")
SUBMISSION_PLATFORM = _submission("submission_platform", "str", "system the run was made on")
SUBMISSION_STATUS = _submission(
    "submission_status", "str", "availability category of the system", until="4.0"
)
SUBMISSION_ENTRY = _submission(
    "submission_entry", "str", "system description as one text", until="0.6"
)
SUBMISSION_POC_NAME = _submission(
    "submission_poc_name", "str", "name of the contact person", until="0.6"
)
SUBMISSION_POC_EMAIL = _submission("submission_poc_email", "str", "mail of the contact person")

# --- life of a run ---

CACHE_CLEAR = _point("cache_clear", "bool", "caches of the operating system dropped")
INIT_START = _start("init_start", "none", "initialisation begins; limited, not scored")
INIT_STOP = _end("init_stop", "none", "initialisation ends")
RUN_START = _start("run_start", "none", "scored time begins")
RUN_STOP = _end("run_stop", "any", "scored time ends; its metadata holds the status")
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
    "a tensor, named in metadata, was initialised",
    since="1.0",
    until="2.1",
)

# --- quality ---

EVAL_ACCURACY = _point("eval_accuracy", "any", "quality reached; for language models a loss")
EVAL_ERROR = _point(
    "eval_error", "float", "quality reached, lower is better", since="hpc 1.0", until="hpc 3.0"
)
AGGREGATED_EVAL_ACCURACY = _point(
    "aggregated_eval_accuracy",
    "object",
    "metrics of one evaluation joined by a checker, never logged",
    since="3.1",
    until="5.0",
)
AVERAGED_VALIDATION_LOSS = _point(
    "averaged_validation_loss", "float", "loss averaged over the validation set", since="5.1"
)
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

# --- batch, length, model ---

GLOBAL_BATCH_SIZE = _hyper(
    "global_batch_size", "int", "batch of one optimizer step over all devices", unit="samples"
)
GRADIENT_ACCUMULATION_STEPS = _hyper(
    "gradient_accumulation_steps", "int", "micro-batches summed per optimizer step", since="1.0"
)
MAX_STEPS = _hyper("max_steps", "int", "limit of optimizer steps", unit="steps", since="5.1")
MAX_SEQUENCE_LENGTH = _hyper(
    "max_sequence_length",
    "int",
    "longest sequence trained on",
    unit="tokens",
    formerly=("sequence_length",),
)
INIT_CHECKPOINT_STEP = _hyper(
    "init_checkpoint_step",
    "int",
    "step of the checkpoint training starts from",
    unit="steps",
    since="3.0",
    formerly=("opt_init_checkpoint_step",),
)
EVALUATION_FREQUENCY = _hyper(
    "evaluation_frequency", "int", "training between evaluations", unit="samples", since="5.1"
)
EVAL_EVERY_DATA_PCT = _hyper(
    "eval_every_data_pct", "float", "share of the data between evaluations", since="6.1"
)
LORA_ALPHA = _hyper("lora_alpha", "float", "scale of the low-rank update", since="4.0")
LORA_RANK = _hyper("lora_rank", "int", "rank of the low-rank update", since="4.0")
MOE_AUX_LOSS_COEFF = _hyper(
    "moe_aux_loss_coeff", "float", "weight of the expert balancing loss", since="6.0"
)
MODEL_BN_SPAN = _hyper(
    "model_bn_span",
    "int",
    "samples that share batch normalisation statistics",
    unit="samples",
    until="4.0",
)
DROPOUT = _hpc("dropout", "float", "share of activations dropped")

# --- reinforcement learning of a language model ---

GENERATION_TRAINING_ROLLOUT_TEMPERATURE = _hyper(
    "generation_training_rollout_temperature",
    "float",
    "sampling temperature of training roll-outs",
    since="6.1",
)
GENERATION_TRAINING_ROLLOUT_TOP_P = _hyper(
    "generation_training_rollout_top_p",
    "float",
    "probability mass sampled from in training roll-outs",
    since="6.1",
)
GENERATION_VALIDATION_ROLLOUT_TEMPERATURE = _hyper(
    "generation_validation_rollout_temperature",
    "float",
    "sampling temperature of validation roll-outs",
    since="6.1",
)
GENERATION_VALIDATION_ROLLOUT_TOP_P = _hyper(
    "generation_validation_rollout_top_p",
    "float",
    "probability mass sampled from in validation roll-outs",
    since="6.1",
)
NUM_PROMPTS_PER_STEP = _hyper(
    "num_prompts_per_step", "int", "prompts per optimizer step", since="6.1"
)
NUM_GENERATIONS_PER_PROMPT = _hyper(
    "num_generations_per_prompt", "int", "roll-outs per prompt", since="6.1"
)

# --- optimizer ---

OPT_NAME = _hyper("opt_name", "str", "optimizer")
OPT_BASE_LEARNING_RATE = _hyper("opt_base_learning_rate", "any", "base or peak learning rate")
OPT_END_LEARNING_RATE = _hyper(
    "opt_end_learning_rate", "float", "learning rate after decay", since="3.0"
)
OPT_WEIGHT_DECAY = _hyper("opt_weight_decay", "float", "weight decay")
OPT_MOMENTUM = _hyper("opt_momentum", "float", "momentum", since="1.0", until="4.0")
OPT_EPSILON = _hyper("opt_epsilon", "float", "optimizer epsilon", since="0.7", until="2.0")
OPT_GRADIENT_CLIP_NORM = _hyper(
    "opt_gradient_clip_norm", "float", "norm gradients are clipped to", since="1.0"
)
OPT_ADAM_BETA_1 = _hyper("opt_adam_beta_1", "float", "Adam beta 1")
OPT_ADAM_BETA_2 = _hyper("opt_adam_beta_2", "float", "Adam beta 2")
OPT_ADAM_EPSILON = _hyper("opt_adam_epsilon", "float", "Adam epsilon")
OPT_ADAMW_BETA_1 = _hyper("opt_adamw_beta_1", "float", "AdamW beta 1", since="3.1")
OPT_ADAMW_BETA_2 = _hyper("opt_adamw_beta_2", "float", "AdamW beta 2", since="3.1")
OPT_ADAMW_EPSILON = _hyper("opt_adamw_epsilon", "float", "AdamW epsilon", since="3.1")
OPT_ADAMW_WEIGHT_DECAY = _hyper(
    "opt_adamw_weight_decay",
    "float",
    "AdamW weight decay",
    since="3.1",
    formerly=("opt_weight_decay",),
)
OPT_LAMB_BETA_1 = _hyper("opt_lamb_beta_1", "float", "LAMB beta 1", since="0.7", until="5.1")
OPT_LAMB_BETA_2 = _hyper("opt_lamb_beta_2", "float", "LAMB beta 2", since="0.7", until="5.1")
OPT_LAMB_EPSILON = _hyper(
    "opt_lamb_epsilon", "float", "LAMB epsilon", until="5.1", formerly=("opt_epsilon",)
)
OPT_LAMB_WEIGHT_DECAY_RATE = _hyper(
    "opt_lamb_weight_decay_rate", "float", "LAMB weight decay", since="0.7", until="5.1"
)
OPT_LAMB_LEARNING_RATE_MIN = _hyper(
    "opt_lamb_learning_rate_min", "float", "least learning rate of LAMB", since="1.0", until="3.1"
)
OPT_LAMB_LEARNING_RATE_DECAY_POLY_POWER = _hyper(
    "opt_lamb_learning_rate_decay_poly_power",
    "float",
    "power or base of the learning rate decay of LAMB",
    since="1.0",
    until="3.1",
)
OPT_LAMB_LEARNING_RATE_HOLD_EPOCHS = _hyper(
    "opt_lamb_learning_rate_hold_epochs",
    "float",
    "time at peak learning rate",
    unit="epochs",
    since="1.0",
    until="3.1",
)
OPT_ADAGRAD_EPSILON = _hyper(
    "opt_adagrad_epsilon", "float", "Adagrad epsilon", since="3.0", until="6.0"
)
OPT_ADAGRAD_INITIAL_ACCUMULATOR_VALUE = _hyper(
    "opt_adagrad_initial_accumulator_value",
    "float",
    "first value of the Adagrad accumulator",
    since="3.0",
    until="6.0",
)
OPT_ADAGRAD_LEARNING_RATE_DECAY = _hyper(
    "opt_adagrad_learning_rate_decay",
    "float",
    "learning rate decay of Adagrad",
    since="3.0",
    until="6.0",
)
OPT_SPARSE_NAME = _hyper("opt_sparse_name", "str", "optimizer of the embeddings", since="6.1")
OPT_SPARSE_BASE_LEARNING_RATE = _hyper(
    "opt_sparse_base_learning_rate",
    "float",
    "base learning rate of the embeddings",
    since="6.1",
)
LARS_OPT_BASE_LEARNING_RATE = _hyper(
    "lars_opt_base_learning_rate", "float", "base learning rate of LARS", until="4.0"
)
LARS_OPT_END_LEARNING_RATE = _hyper(
    "lars_opt_end_learning_rate", "float", "learning rate of LARS after decay", until="4.0"
)
LARS_OPT_LEARNING_RATE_DECAY_POLY_POWER = _hyper(
    "lars_opt_learning_rate_decay_poly_power",
    "float",
    "power of the learning rate decay of LARS",
    until="4.0",
)
LARS_OPT_LEARNING_RATE_DECAY_STEPS = _hyper(
    "lars_opt_learning_rate_decay_steps",
    "float",
    "length of the learning rate decay of LARS",
    unit="steps",
    until="4.0",
)
LARS_OPT_LEARNING_RATE_WARMUP_EPOCHS = _hyper(
    "lars_opt_learning_rate_warmup_epochs",
    "float",
    "length of the warm-up of LARS",
    unit="epochs",
    until="4.0",
)
LARS_OPT_MOMENTUM = _hyper("lars_opt_momentum", "float", "momentum of LARS", until="4.0")
LARS_OPT_WEIGHT_DECAY = _hyper(
    "lars_opt_weight_decay", "float", "weight decay of LARS", until="4.0"
)
LARS_EPSILON = _hyper("lars_epsilon", "float", "LARS epsilon", until="4.0")
SGD_OPT_BASE_LEARNING_RATE = _hyper(
    "sgd_opt_base_learning_rate", "float", "base learning rate of SGD", since="0.7", until="4.0"
)
SGD_OPT_END_LEARNING_RATE = _hyper(
    "sgd_opt_end_learning_rate",
    "float",
    "learning rate of SGD after decay",
    since="0.7",
    until="4.0",
)
SGD_OPT_LEARNING_RATE_DECAY_POLY_POWER = _hyper(
    "sgd_opt_learning_rate_decay_poly_power",
    "float",
    "power of the learning rate decay of SGD",
    since="0.7",
    until="4.0",
)
SGD_OPT_LEARNING_RATE_DECAY_STEPS = _hyper(
    "sgd_opt_learning_rate_decay_steps",
    "float",
    "length of the learning rate decay of SGD",
    unit="steps",
    since="0.7",
    until="4.0",
)
SGD_OPT_MOMENTUM = _hyper("sgd_opt_momentum", "float", "momentum of SGD", since="0.7", until="4.0")
SGD_OPT_WEIGHT_DECAY = _hyper(
    "sgd_opt_weight_decay", "float", "weight decay of SGD", since="0.7", until="4.0"
)

# --- learning rate schedule ---

OPT_LEARNING_RATE_WARMUP_STEPS = _hyper(
    "opt_learning_rate_warmup_steps", "float", "length of the warm-up", unit="steps"
)
OPT_LEARNING_RATE_WARMUP_EPOCHS = _hyper(
    "opt_learning_rate_warmup_epochs", "float", "length of the warm-up", unit="epochs", until="5.1"
)
OPT_LEARNING_RATE_WARMUP_FACTOR = _hyper(
    "opt_learning_rate_warmup_factor", "float", "factor the warm-up starts from", until="5.1"
)
OPT_LEARNING_RATE_WARMUP_START_LR = _hyper(
    "opt_learning_rate_warmup_start_lr",
    "float",
    "learning rate the warm-up starts from",
    since="6.1",
)
OPT_LEARNING_RATE_WARMUP_INIT = _openfold(
    "opt_learning_rate_warmup_init", "float", "learning rate the warm-up starts from"
)
NUM_WARMUP_STEPS = _hyper(
    "num_warmup_steps",
    "float",
    "length of the warm-up of bert",
    unit="steps",
    since="0.7",
    until="5.1",
)
START_WARMUP_STEP = _hyper(
    "start_warmup_step",
    "float",
    "step the warm-up of bert counts from, may be negative",
    unit="steps",
    since="0.7",
    until="5.1",
)
OPT_LEARNING_RATE_TRAINING_STEPS = _hyper(
    "opt_learning_rate_training_steps",
    "float",
    "length of the whole schedule",
    unit="steps",
    since="0.7",
)
OPT_LEARNING_RATE_DECAY_SCHEDULE = _hyper(
    "opt_learning_rate_decay_schedule", "str", "name of the schedule", since="3.0"
)
OPT_LEARNING_RATE_DECAY_STEPS = _hyper(
    "opt_learning_rate_decay_steps", "any", "length of the decay, or its steps", unit="steps"
)
OPT_LEARNING_RATE_DECAY_START_STEP = _hyper(
    "opt_learning_rate_decay_start_step",
    "int",
    "step the decay starts at",
    unit="steps",
    since="0.7",
    until="6.0",
)
OPT_LEARNING_RATE_DECAY_FACTOR = _hyper(
    "opt_learning_rate_decay_factor", "any", "factor applied at each decay", until="4.0"
)
OPT_LEARNING_RATE_DECAY_INTERVAL = _hyper(
    "opt_learning_rate_decay_interval", "int", "steps between decays", unit="steps", until="0.7"
)
OPT_LEARNING_RATE_DECAY_BOUNDARY_EPOCHS = _hyper(
    "opt_learning_rate_decay_boundary_epochs",
    "list",
    "epochs the decay happens at",
    unit="epochs",
    until="4.0",
)
OPT_LEARNING_RATE_DECAY_BOUNDARY_STEPS = _hyper(
    "opt_learning_rate_decay_boundary_steps",
    "list",
    "steps the decay happens at",
    unit="steps",
    until="hpc 3.0",
)
OPT_LEARNING_RATE_REMAIN_STEPS = _hyper(
    "opt_learning_rate_remain_steps",
    "int",
    "steps before the first decay",
    unit="steps",
    until="0.7",
)
OPT_LEARNING_RATE_ALT_DECAY_FUNC = _hyper(
    "opt_learning_rate_alt_decay_func", "bool", "the alternative decay is used", until="3.1"
)
OPT_LEARNING_RATE_ALT_WARMUP_FUNC = _hyper(
    "opt_learning_rate_alt_warmup_func", "bool", "the alternative warm-up is used", until="3.1"
)
LR_DECAY_START_STEPS = _hyper(
    "lr_decay_start_steps",
    "int",
    "step the decay of dlrm starts at",
    unit="steps",
    since="0.7",
    until="3.1",
)
LR_BOUNDARIES = _hyper(
    "lr_boundaries",
    "any",
    "steps minigo changes its learning rate at",
    unit="steps",
    since="0.7",
    until="3.1",
)
LR_RATES = _hyper("lr_rates", "any", "learning rates of minigo", since="0.7", until="3.1")

# --- vision ---

MAX_SAMPLES = _hyper("max_samples", "int", "crop attempts of ssd", until="1.1")
NUM_IMAGE_CANDIDATES = _hyper(
    "num_image_candidates", "int", "region proposals kept per image", until="3.1"
)
MIN_IMAGE_SIZE = _hyper(
    "min_image_size", "int", "limit of the shorter side", unit="pixels", since="0.7", until="3.1"
)
MAX_IMAGE_SIZE = _hyper(
    "max_image_size", "int", "limit of the longer side", unit="pixels", since="0.7", until="3.1"
)
OVERSAMPLING = _hyper(
    "oversampling",
    "float",
    "share of the batch that must show a foreground class",
    since="1.0",
    until="4.0",
)
TRAINING_INPUT_SHAPE = _hyper(
    "training_input_shape", "list", "shape of a training patch", since="1.0", until="4.0"
)
VALIDATION_INPUT_SHAPE = _hyper(
    "validation_input_shape",
    "list",
    "shape of the sliding evaluation window",
    since="1.0",
    until="4.0",
    formerly=("evaluation_input_shape",),
)
VALIDATION_OVERLAP = _hyper(
    "validation_overlap",
    "float",
    "overlap of neighbouring evaluation windows",
    since="1.0",
    until="4.0",
    formerly=("evaluation_overlap",),
)

# --- speech ---

# The misspelling is the official name.
DATA_SPEED_PERTURBATON_MAX = _rnnt(
    "data_speed_perturbaton_max",
    "float",
    "greatest speed factor",
    formerly=("data_train_speed_perturbation_max", "data_speed_perturbation_max"),
)
DATA_SPEED_PERTURBATON_MIN = _rnnt(
    "data_speed_perturbaton_min",
    "float",
    "least speed factor",
    formerly=("data_train_speed_perturbation_min", "data_speed_perturbation_min"),
)
DATA_SPEC_AUGMENT_FREQ_N = _rnnt("data_spec_augment_freq_n", "int", "frequency masks")
DATA_SPEC_AUGMENT_FREQ_MIN = _rnnt(
    "data_spec_augment_freq_min", "int", "least width of a frequency mask"
)
DATA_SPEC_AUGMENT_FREQ_MAX = _rnnt(
    "data_spec_augment_freq_max", "int", "greatest width of a frequency mask"
)
DATA_SPEC_AUGMENT_TIME_N = _rnnt("data_spec_augment_time_n", "int", "time masks")
DATA_SPEC_AUGMENT_TIME_MIN = _rnnt(
    "data_spec_augment_time_min", "float", "least share of time masked"
)
DATA_SPEC_AUGMENT_TIME_MAX = _rnnt(
    "data_spec_augment_time_max", "float", "greatest share of time masked"
)
DATA_TRAIN_NUM_BUCKETS = _rnnt(
    "data_train_num_buckets", "int", "buckets utterances are sorted into by length"
)
DATA_NUM_BUCKETS = _hyper(
    "data_num_buckets", "int", "unused twin of data_train_num_buckets", since="1.0"
)
DATA_TRAIN_MAX_DURATION = _rnnt(
    "data_train_max_duration", "float", "longer utterances are dropped", unit="s"
)
MODEL_EVAL_EMA_FACTOR = _rnnt(
    "model_eval_ema_factor", "float", "decay of the weight average used in evaluation"
)
MODEL_WEIGHTS_INITIALIZATION_SCALE = _hyper(
    "model_weights_initialization_scale",
    "float",
    "factor on the initial weights",
    since="1.0",
    until="2.1",
)
EVAL_MAX_PREDICTION_SYMBOLS = _rnnt(
    "eval_max_prediction_symbols", "int", "limit of decoded symbols"
)

# --- games ---

ACTUAL_SELFPLAY_GAMES_PER_GENERATION = _statistic(
    "actual_selfplay_games_per_generation",
    "int",
    "self-play games played in a generation",
    unit="games",
    since="0.7",
    until="3.1",
)
MIN_SELFPLAY_GAMES_PER_GENERATION = _hyper(
    "min_selfplay_games_per_generation",
    "int",
    "self-play games required in a generation",
    unit="games",
    since="0.7",
    until="3.1",
)
TRAIN_BATCH_SIZE = _hyper(
    "train_batch_size", "int", "batch of minigo", unit="samples", since="0.7", until="3.1"
)
VIRTUAL_LOSSES = _hyper("virtual_losses", "int", "virtual losses of the tree search", until="0.6")

# --- what a submitter discloses ---

LOWEST_NUMERICAL_PRECISION_IN_LINEAR = _disclosure(
    "lowest_numerical_precision_in_linear",
    "str",
    "lowest precision used in linear layers",
    since="6.0",
)
LOWEST_NUMERICAL_PRECISION_IN_ATTN = _disclosure(
    "lowest_numerical_precision_in_attn", "str", "lowest precision used in attention", since="6.0"
)
LOWEST_NUMERICAL_PRECISION_IN_COMM = _disclosure(
    "lowest_numerical_precision_in_comm",
    "str",
    "lowest precision used in communication",
    since="6.0",
)
TENSOR_PARALLELISM = _disclosure(
    "tensor_parallelism", "int", "devices that share a tensor", unit="devices", since="6.0"
)
PIPELINE_PARALLELISM = _disclosure(
    "pipeline_parallelism", "int", "stages the layers are spread over", unit="stages", since="6.0"
)
CONTEXT_PARALLELISM = _disclosure(
    "context_parallelism", "int", "devices that share a sequence", unit="devices", since="6.0"
)
EXPERT_PARALLELISM = _disclosure(
    "expert_parallelism", "int", "devices the experts are spread over", unit="devices", since="6.0"
)
MICRO_BATCH_SIZE = _disclosure(
    "micro_batch_size", "int", "batch of one forward pass", unit="samples", since="6.0"
)
CONFIG_FILENAME = _disclosure(
    "config_filename", "str", "file that holds the configuration of the run", since="6.0"
)
NUMBER_OF_NODES = _disclosure(
    "number_of_nodes", "int", "nodes used", unit="nodes", since="hpc 1.0", until="hpc 3.0"
)
ACCELERATORS_PER_NODE = _disclosure(
    "accelerators_per_node",
    "int",
    "accelerators used per node",
    unit="accelerators",
    since="hpc 1.0",
    until="hpc 3.0",
)

# --- deepcam ---

GRADIENT_ACCUMULATION_FREQUENCY = _hpc(
    "gradient_accumulation_frequency", "int", "micro-batches summed per optimizer step"
)
BATCHNORM_GROUP_SIZE = _hpc(
    "batchnorm_group_size", "int", "devices that share batch normalisation statistics"
)
OPT_LR = _hpc("opt_lr", "float", "base learning rate")
OPT_BETAS = _hpc("opt_betas", "list", "both betas of Adam, AdamW or LAMB")
OPT_EPS = _hpc("opt_eps", "float", "optimizer epsilon")
OPT_BIAS_CORRECTION = _hpc("opt_bias_correction", "bool", "LAMB corrects the bias of its averages")
OPT_GRAD_AVERAGING = _hpc("opt_grad_averaging", "bool", "LAMB averages gradients")
OPT_MAX_GRAD_NORM = _hpc("opt_max_grad_norm", "float", "norm LAMB clips gradients to")
SCHEDULER_TYPE = _hpc("scheduler_type", "str", "multistep or cosine_annealing")
SCHEDULER_LR_WARMUP_STEPS = _hpc(
    "scheduler_lr_warmup_steps", "int", "length of the warm-up", unit="steps"
)
SCHEDULER_LR_WARMUP_FACTOR = _hpc(
    "scheduler_lr_warmup_factor", "float", "factor the warm-up leads to"
)
SCHEDULER_MILESTONES = _hpc(
    "scheduler_milestones", "list", "steps the decay happens at", unit="steps"
)
SCHEDULER_DECAY_RATE = _hpc("scheduler_decay_rate", "float", "factor applied at each milestone")
SCHEDULER_T_MAX = _hpc("scheduler_t_max", "float", "length of the cosine", unit="steps")
SCHEDULER_ETA_MIN = _hpc("scheduler_eta_min", "float", "learning rate the cosine ends at")

# --- openfold ---

OPT_AMSGRAD = _openfold("opt_amsgrad", "bool", "the AMSGrad variant of Adam is used")
OPT_GRADIENT_CLIPPING = _openfold("opt_gradient_clipping", "bool", "gradients are clipped")
INIT_CHECKPOINT_SHA256SUM = _openfold(
    "init_checkpoint_sha256sum", "str", "hash of the checkpoint training starts from"
)
INITIAL_TRAINING_DATALOADER_TYPE = _openfold(
    "initial_training_dataloader_type", "str", "data loader that was used"
)
MODEL_PARAMETERS_COUNT = _openfold("model_parameters_count", "int", "trainable parameters")
TRAIN_MAX_PDB_RELEASE_DATE = _openfold(
    "train_max_pdb_release_date", "str", "newest structure trained on"
)
TRAIN_SEQUENCE_CROP_SIZE = _openfold(
    "train_sequence_crop_size", "int", "residues of a training crop", unit="residues"
)
NUM_RECYCLING_ITERS = _openfold("num_recycling_iters", "int", "recycling iterations")
MAX_MSA_CLUSTERS = _openfold("max_msa_clusters", "int", "limit of alignment clusters")
MAX_EXTRA_MSA = _openfold("max_extra_msa", "int", "limit of extra alignment rows")
TEMPLATES_ENABLED = _openfold("templates_enabled", "bool", "structure templates are used")
MAX_TEMPLATES = _openfold("max_templates", "int", "limit of structure templates")
FAPE_LOSS_WEIGHT = _openfold("fape_loss_weight", "float", "weight of the frame aligned error")
FAPE_LOSS_BACKBONE_WEIGHT = _openfold(
    "fape_loss_backbone_weight", "float", "share of the backbone in the frame aligned error"
)
FAPE_LOSS_SIDECHAIN_WEIGHT = _openfold(
    "fape_loss_sidechain_weight", "float", "share of the side chains in the frame aligned error"
)
SUPERVISED_CHI_LOSS_WEIGHT = _openfold(
    "supervised_chi_loss_weight", "float", "weight of the torsion angle loss"
)
DISTOGRAM_LOSS_WEIGHT = _openfold(
    "distogram_loss_weight", "float", "weight of the distance histogram loss"
)
MASKED_MSA_LOSS_WEIGHT = _openfold(
    "masked_msa_loss_weight", "float", "weight of the masked alignment loss"
)
PLDDT_LOSS_WEIGHT = _openfold("plddt_loss_weight", "float", "weight of the confidence loss")
SWA_ENABLED = _openfold("swa_enabled", "bool", "weights are averaged for evaluation")
SWA_DECAY_RATE = _openfold("swa_decay_rate", "float", "decay of the weight average")
TARGET_AVG_LDDT_CA_VALUE = _openfold("target_avg_lddt_ca_value", "float", "quality aimed at")
VAL_EVERY_ITERS = _openfold("val_every_iters", "int", "training between evaluations", unit="steps")
VAL_MIN_CAMEO_SUBMISSION_DATE = _openfold(
    "val_min_cameo_submission_date", "str", "oldest target evaluated on"
)
VAL_MAX_CAMEO_SUBMISSION_DATE = _openfold(
    "val_max_cameo_submission_date", "str", "newest target evaluated on"
)
VAL_MAX_SEQUENCE_LENGTH = _openfold(
    "val_max_sequence_length", "int", "longest target evaluated on", unit="residues"
)

# --- power files ---

POWER_MEASUREMENT_START = _power(
    "power_measurement_start", "any", "measurement begins", since="3.1"
)
POWER_MEASUREMENT_STOP = _power("power_measurement_stop", "any", "measurement ends", since="3.1")
POWER_READING = _power("power_reading", "float", "power drawn by a node", unit="W", since="3.1")
CONVERSION_EFF = _power(
    "conversion_eff", "float", "factor from measured to consumed power", since="3.1"
)
INTERCONNECT_POWER_EST = _power(
    "interconnect_power_est", "float", "estimated power of a switch", unit="W", since="3.1"
)

ALL: Final[Mapping[str, Key]] = MappingProxyType(
    {key.name: key for key in tuple(globals().values()) if isinstance(key, Key)}
)
"""Every standard key of 0.6 and later, by name."""

INFORMAL: Final = frozenset(
    """
    attention_dropout base_learning_rate batchnorm_group_stride benchmark checkpoint current_lr
    d_batch_size data_file data_format data_oversampling_factor dataset disable_comm_overlap
    disable_resign_pct dummy enable_gds enable_graph enable_jit enable_mmap enable_nhwc
    enable_odirect eval_games eval_loss ffn_hidden_size filter_amount gating_win_rate
    hidden_dropout hidden_size holdout_pct instance_id layernorm_epsilon learning_rate
    learning_rate_decay_steps learning_rate_warmup_epochs local_batch_size loss lr_abs
    max_predictions_per_seq momentum num_eval_examples num_games num_heads num_layers num_readouts
    num_train_examples number_of_ranks opt_beta1 opt_beta2 opt_gradient_accumulation_steps
    opt_initial_learning_rate opt_matrix_epsilon opt_num_epochs opt_shampoo_start_step opt_step
    parallel_games precision precision_mode resign_threshold run_final s_network s_optimizer
    s_process samples_per_epoch shampoo_opt_base_learning_rate shampoo_opt_end_learning_rate
    shampoo_opt_learning_rate_decay_poly_power shampoo_opt_learning_rate_decay_steps
    shampoo_opt_learning_rate_train_steps shampoo_opt_learning_rate_warmup_epochs shuffle_mode
    stage_batch_size stage_dir_prefix stage_full_data_per_node stage_mode stage_use_direct_io
    stage_verify submission_model synchronous_staging target_accuracy target_accuracy_reached
    throughput tokenizer tracked_stats train_accuracy train_loss value_init_penalty weight_decay
    window_size
    """.split()  # noqa: SIM905 - a list would take a line for each name
)
"""Keys that published logs hold often and no rule names."""

# --- round 0.5, which shares few names with later rounds ---

V05_PREFIXES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "eval_hp_": "how the evaluation set is built",
        "eval_": "evaluation and its outcome",
        "input_": "how training samples are read and augmented",
        "model_hp_": "a layer or size of the model",
        "opt_": "the optimizer",
        "preproc_": "preparation of the data, before the timed part",
        "run_": "phases of the whole run",
        "train_": "phases of training",
    }
)
"""What the groups of 0.5 keys are about, longest prefix first."""

_key05 = partial(Key, since="0.5", until="0.5")
_hyper05 = partial(_key05, role="hyperparameter")

V05: Final[Mapping[str, Key]] = MappingProxyType(
    {
        key.name: key
        for key in (
            _key05("run_clear_caches", "none", "caches dropped", role="point"),
            _key05("run_set_random_seed", "any", "random seed set", role="point"),
            _key05("seed", "int", "random seed of the run", role="point"),
            _key05("run_start", "none", "timed part begins", role="interval_start"),
            _key05("run_stop", "object", "timed part ends, with success", role="interval_end"),
            _key05("run_final", "none", "program ends", role="point"),
            _key05("train_loop", "none", "training begins", role="interval_start"),
            _key05("train_epoch", "int", "epoch begins", unit="epochs", role="interval_start"),
            _key05("eval_start", "any", "evaluation begins", role="interval_start"),
            _key05("eval_stop", "any", "evaluation ends", role="interval_end"),
            _key05("eval_accuracy", "object", "epoch and quality reached", role="point"),
            _key05("eval_iteration_accuracy", "object", "step and quality reached", role="point"),
            _key05("eval_target", "any", "quality aimed at", role="point"),
            _key05("eval_size", "any", "samples evaluated", unit="samples", role="statistic"),
            _hyper05("eval_offset", "int", "first evaluated epoch", unit="epochs"),
            _hyper05("eval_hp_num_users", "int", "users evaluated"),
            _hyper05("eval_hp_num_neg", "int", "negatives per evaluated user"),
            _hyper05("preproc_num_train_examples", "int", "training samples", unit="samples"),
            _hyper05("preproc_num_eval_examples", "int", "evaluation samples", unit="samples"),
            _hyper05("preproc_hp_min_ratings", "int", "ratings a user needs to be kept"),
            _hyper05("preproc_hp_num_eval", "int", "negatives drawn per user"),
            _hyper05("preproc_hp_sample_eval_replacement", "any", "negatives may repeat"),
            _hyper05("input_batch_size", "int", "batch size", unit="samples"),
            _hyper05("input_order", "any", "samples are shuffled"),
            _hyper05("input_size", "any", "samples read, or side of an image"),
            _hyper05("input_resize", "list", "size images are resized to", unit="pixels"),
            _hyper05("input_resize_aspect_preserving", "object", "resize that keeps proportions"),
            _hyper05("input_central_crop", "list", "size of the central crop", unit="pixels"),
            _hyper05("input_distorted_crop", "bool", "crops are distorted"),
            _hyper05("input_distorted_crop_max_attempts", "int", "crop attempts"),
            _hyper05("input_crop_uses_bboxes", "bool", "crops follow boxes"),
            _hyper05("input_mean_subtraction", "list", "channel means subtracted"),
            _hyper05("input_random_flip", "any", "images are flipped at random"),
            _hyper05("input_hp_num_neg", "int", "negatives per training sample"),
            _hyper05("input_hp_sample_train_replacement", "any", "training negatives may repeat"),
            _key05("input_step_train_neg_gen", "none", "training negatives drawn", role="point"),
            _key05("input_step_eval_neg_gen", "none", "evaluation negatives drawn", role="point"),
            _hyper05("model_l2_regularization", "float", "weight of the L2 penalty"),
            _hyper05("model_hp_loss_fn", "any", "loss function"),
            _hyper05("model_hp_initial_shape", "any", "shape of the input"),
            _hyper05("model_hp_initial_max_pool", "any", "first pooling layer"),
            _hyper05("model_hp_begin_block", "any", "residual block begins"),
            _hyper05("model_hp_end_block", "any", "residual block ends"),
            _hyper05("model_hp_block_type", "str", "kind of residual block"),
            _hyper05("model_hp_projection_shortcut", "any", "projection on a short-cut"),
            _hyper05("model_hp_shorcut_add", "any", "short-cut is added"),
            _hyper05("model_hp_resnet_topology", "any", "shapes around a block"),
            _hyper05("model_hp_conv2d_fixed_padding", "any", "convolution layer"),
            _hyper05("model_hp_batch_norm", "any", "batch normalisation layer"),
            _hyper05("model_hp_relu", "any", "rectifier layer"),
            _hyper05("model_hp_dense", "any", "dense layer"),
            _hyper05("model_hp_final_shape", "any", "shape of the output"),
            _hyper05("model_hp_mf_dim", "int", "width of the factorisation part"),
            _hyper05("model_hp_mlp_layer_sizes", "any", "widths of the perceptron part"),
            _hyper05("opt_name", "str", "optimizer"),
            _hyper05("opt_lr", "any", "learning rate"),
            _hyper05("opt_learning_rate", "any", "learning rate of a step or epoch"),
            _hyper05("opt_momentum", "float", "momentum"),
            _hyper05("create_optim_method", "object", "optimizer with its settings"),
        )
    }
)
"""The keys met in 0.5 logs, by name; other names with a known prefix are as valid."""


def known(name: str) -> Key | None:
    """Look up the standard key of this exact name."""
    return ALL.get(name)


@lru_cache(maxsize=4096)
def nearest(name: str) -> Key | None:
    """Guess which standard key `name` is a misspelling of.

    None for standard and informal keys, for keys of 0.5, and for names that differ from a standard
    key by a word of the vocabulary: those mean something else.
    """
    if name in ALL or name in V05 or name.strip() in INFORMAL:
        return None
    plain = re.sub(r"[\s\-.]+", "_", name.strip().lower())
    respelt = _spellings().get(plain.replace("_", ""))
    if respelt is not None:
        return respelt
    close = difflib.get_close_matches(plain, ALL, n=5, cutoff=0.85) if len(plain) < 100 else []
    return next((ALL[other] for other in close if _misspells(plain, other)), None)


@cache
def _spellings() -> Mapping[str, Key]:
    """Names and other names, without underscores."""
    return {
        spelling.replace("_", ""): key
        for key in ALL.values()
        for spelling in (*(other for other in key.formerly if other not in ALL), key.name)
    }


@cache
def _words() -> frozenset[str]:
    return frozenset(word for name in (*ALL, *INFORMAL, *V05) for word in name.split("_"))


def _misspells(name: str, standard: str) -> bool:
    words, others = name.split("_"), standard.split("_")
    if len(words) != len(others):
        return False
    return all(
        word == other or _misspells_word(word, other)
        for word, other in zip(words, others, strict=True)
    )


def _misspells_word(word: str, other: str) -> bool:
    if f"{word}s" == other or f"{other}s" == word:
        return True
    if word in _words():
        return False
    return difflib.SequenceMatcher(None, word, other).ratio() >= 0.7
