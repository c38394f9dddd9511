"""Hyperparameters of the optimizer and of its learning rate schedule."""

from __future__ import annotations

from functools import partial

from podium.logging_spec.keys.key import Key

_hyper = partial(Key, role="hyperparameter")

# --- optimizer ---

OPT_NAME = _hyper("opt_name", "str", "optimizer")
# `any`: published logs also have lists of rates under this key
OPT_BASE_LEARNING_RATE = _hyper("opt_base_learning_rate", "any", "base or peak learning rate")
OPT_END_LEARNING_RATE = _hyper(
    "opt_end_learning_rate", "float", "learning rate after decay", since="3.0"
)
OPT_WEIGHT_DECAY = _hyper("opt_weight_decay", "float", "weight decay")
OPT_MOMENTUM = _hyper("opt_momentum", "float", "momentum", since="1.0", until="4.0")
OPT_EPSILON = _hyper("opt_epsilon", "float", "optimizer epsilon", since="0.7", until="2.0")
OPT_GRADIENT_CLIP_NORM = _hyper(
    "opt_gradient_clip_norm", "float", "norm to which gradients are clipped", since="1.0"
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
    "opt_lamb_learning_rate_min", "float", "minimum learning rate of LAMB", since="1.0", until="3.1"
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
    "initial value of the Adagrad accumulator",
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
    "opt_learning_rate_warmup_factor", "float", "factor at the start of the warm-up", until="5.1"
)
OPT_LEARNING_RATE_WARMUP_START_LR = _hyper(
    "opt_learning_rate_warmup_start_lr",
    "float",
    "learning rate at the start of the warm-up",
    since="6.1",
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
    "step at which the warm-up of bert starts; may be negative",
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
    "step at which the decay starts",
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
    "epochs of the decays",
    unit="epochs",
    until="4.0",
)
OPT_LEARNING_RATE_DECAY_BOUNDARY_STEPS = _hyper(
    "opt_learning_rate_decay_boundary_steps",
    "list",
    "steps of the decays",
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
    "step at which the decay of dlrm starts",
    unit="steps",
    since="0.7",
    until="3.1",
)
LR_BOUNDARIES = _hyper(
    "lr_boundaries",
    "any",
    "steps at which minigo changes its learning rate",
    unit="steps",
    since="0.7",
    until="3.1",
)
LR_RATES = _hyper("lr_rates", "any", "learning rates of minigo", since="0.7", until="3.1")
