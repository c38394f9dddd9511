"""Hyperparameters of the model and its data: sizes, lengths, and settings of single benchmarks."""

from __future__ import annotations

from functools import partial

from podium.logging_spec.keys.key import Key

_statistic = partial(Key, role="statistic")
_hyper = partial(Key, role="hyperparameter")
_rnnt = partial(_hyper, since="1.0", until="3.1")

# --- batch, length, model ---

GLOBAL_BATCH_SIZE = _hyper(
    "global_batch_size", "int", "batch of one optimizer step over all devices", unit="samples"
)
GRADIENT_ACCUMULATION_STEPS = _hyper(
    "gradient_accumulation_steps", "int", "micro-batches summed per optimizer step", since="1.0"
)
LOCAL_BATCH_SIZE = _hyper("local_batch_size", "int", "batch of one device", unit="samples")
D_BATCH_SIZE = _hyper("d_batch_size", "int", "batch of one device", unit="samples")
MAX_STEPS = _hyper("max_steps", "int", "limit of optimizer steps", unit="steps", since="5.1")
# The policy's tables use the name in `formerly`; rules and logs use this one
MAX_SEQUENCE_LENGTH = _hyper(
    "max_sequence_length",
    "int",
    "maximum sequence length in training",
    unit="tokens",
    formerly=("sequence_length",),
)
INIT_CHECKPOINT_STEP = _hyper(
    "init_checkpoint_step",
    "int",
    "step of the checkpoint from which training starts",
    unit="steps",
    since="3.0",
    formerly=("opt_init_checkpoint_step",),
)
# Only for flux1: the official verifier checks this record, not the positions of evaluations
EVALUATION_FREQUENCY = _hyper(
    "evaluation_frequency",
    "int",
    "amount of training between evaluations",
    unit="samples",
    since="5.1",
)
EVAL_EVERY_DATA_PCT = _hyper(
    "eval_every_data_pct", "float", "share of the data between evaluations", since="6.1"
)
HSTU_ATTN_NUM_LAYERS = _hyper("hstu_attn_num_layers", "int", "attention layers", since="6.1")
HISTORY_LENGTH = _hyper(
    "history_length", "int", "maximum history length of a user", unit="samples", since="6.1"
)
LORA_ALPHA = _hyper("lora_alpha", "float", "scale of the low-rank update", since="4.0")
LORA_DROPOUT = _hyper(
    "lora_dropout", "float", "share of activations dropped before the low-rank update", since="4.0"
)
LORA_RANK = _hyper("lora_rank", "int", "rank of the low-rank update", since="4.0")
MOE_AUX_LOSS_COEFF = _hyper(
    "moe_aux_loss_coeff", "float", "weight of the expert balancing loss", since="6.0"
)
LABEL_SMOOTHING = _hyper(
    "label_smoothing", "float", "weight of the uniform distribution in the labels", until="4.0"
)
MODEL_BN_SPAN = _hyper(
    "model_bn_span",
    "int",
    "samples that share batch normalization statistics",
    unit="samples",
    until="4.0",
)

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
    "overlap of neighboring evaluation windows",
    since="1.0",
    until="4.0",
    formerly=("evaluation_overlap",),
)

# --- speech ---

# The misspelling is the official name.
DATA_SPEED_PERTURBATON_MAX = _rnnt(
    "data_speed_perturbaton_max",
    "float",
    "maximum speed factor",
    formerly=("data_train_speed_perturbation_max", "data_speed_perturbation_max"),
)
DATA_SPEED_PERTURBATON_MIN = _rnnt(
    "data_speed_perturbaton_min",
    "float",
    "minimum speed factor",
    formerly=("data_train_speed_perturbation_min", "data_speed_perturbation_min"),
)
DATA_SPEC_AUGMENT_FREQ_N = _rnnt("data_spec_augment_freq_n", "int", "frequency masks")
DATA_SPEC_AUGMENT_FREQ_MIN = _rnnt(
    "data_spec_augment_freq_min", "int", "minimum width of a frequency mask"
)
DATA_SPEC_AUGMENT_FREQ_MAX = _rnnt(
    "data_spec_augment_freq_max", "int", "maximum width of a frequency mask"
)
DATA_SPEC_AUGMENT_TIME_N = _rnnt("data_spec_augment_time_n", "int", "time masks")
DATA_SPEC_AUGMENT_TIME_MIN = _rnnt(
    "data_spec_augment_time_min", "float", "minimum share of masked time"
)
DATA_SPEC_AUGMENT_TIME_MAX = _rnnt(
    "data_spec_augment_time_max", "float", "maximum share of masked time"
)
DATA_TRAIN_NUM_BUCKETS = _rnnt(
    "data_train_num_buckets", "int", "buckets into which utterances are sorted by length"
)
DATA_NUM_BUCKETS = _hyper(
    "data_num_buckets", "int", "unused duplicate of data_train_num_buckets", since="1.0"
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

# 3.1 although MiniGo retired after 2.1: the official rule folders of 3.0 and 3.1 keep its file
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
