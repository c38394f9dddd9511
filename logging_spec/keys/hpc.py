"""Hyperparameters that only benchmarks of the HPC rounds set."""

from __future__ import annotations

from functools import partial

from podium.logging_spec.keys.key import Key

_hpc = partial(Key, role="hyperparameter", since="hpc 1.0", until="hpc 3.0")
_openfold = partial(_hpc, since="hpc 3.0")

# --- deepcam ---

DROPOUT = _hpc(
    "dropout",
    "float",
    "share of activations dropped",
    # Published logs of GPT-3 have it for each kind of layer
    formerly=("attention_dropout", "hidden_dropout"),
)
GRADIENT_ACCUMULATION_FREQUENCY = _hpc(
    "gradient_accumulation_frequency", "int", "micro-batches summed per optimizer step"
)
BATCHNORM_GROUP_SIZE = _hpc(
    "batchnorm_group_size", "int", "devices that share batch normalization statistics"
)
OPT_LR = _hpc("opt_lr", "float", "base learning rate")
OPT_BETAS = _hpc("opt_betas", "list", "both betas of Adam, AdamW or LAMB")
OPT_EPS = _hpc("opt_eps", "float", "optimizer epsilon")
OPT_BIAS_CORRECTION = _hpc("opt_bias_correction", "bool", "LAMB corrects the bias of its averages")
OPT_GRAD_AVERAGING = _hpc("opt_grad_averaging", "bool", "LAMB averages gradients")
OPT_MAX_GRAD_NORM = _hpc("opt_max_grad_norm", "float", "norm to which LAMB clips gradients")
SCHEDULER_TYPE = _hpc("scheduler_type", "str", "multistep or cosine_annealing")
SCHEDULER_LR_WARMUP_STEPS = _hpc(
    "scheduler_lr_warmup_steps", "int", "length of the warm-up", unit="steps"
)
SCHEDULER_LR_WARMUP_FACTOR = _hpc(
    "scheduler_lr_warmup_factor", "float", "factor at the end of the warm-up"
)
SCHEDULER_MILESTONES = _hpc("scheduler_milestones", "list", "steps of the decays", unit="steps")
SCHEDULER_DECAY_RATE = _hpc("scheduler_decay_rate", "float", "factor applied at each milestone")
SCHEDULER_T_MAX = _hpc("scheduler_t_max", "float", "length of the cosine", unit="steps")
SCHEDULER_ETA_MIN = _hpc("scheduler_eta_min", "float", "learning rate at the end of the cosine")

# --- openfold ---

OPT_LEARNING_RATE_WARMUP_INIT = _openfold(
    "opt_learning_rate_warmup_init", "float", "learning rate at the start of the warm-up"
)
OPT_AMSGRAD = _openfold("opt_amsgrad", "bool", "the AMSGrad variant of Adam is used")
OPT_GRADIENT_CLIPPING = _openfold("opt_gradient_clipping", "bool", "gradients are clipped")
INIT_CHECKPOINT_SHA256SUM = _openfold(
    "init_checkpoint_sha256sum", "str", "hash of the checkpoint from which training starts"
)
INITIAL_TRAINING_DATALOADER_TYPE = _openfold(
    "initial_training_dataloader_type", "str", "data loader that was used"
)
MODEL_PARAMETERS_COUNT = _openfold("model_parameters_count", "int", "trainable parameters")
TRAIN_MAX_PDB_RELEASE_DATE = _openfold(
    "train_max_pdb_release_date", "str", "release date of the newest training structure"
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
TARGET_AVG_LDDT_CA_VALUE = _openfold("target_avg_lddt_ca_value", "float", "target quality")
VAL_EVERY_ITERS = _openfold(
    "val_every_iters", "int", "amount of training between evaluations", unit="steps"
)
VAL_MIN_CAMEO_SUBMISSION_DATE = _openfold(
    "val_min_cameo_submission_date", "str", "date of the oldest evaluation target"
)
VAL_MAX_CAMEO_SUBMISSION_DATE = _openfold(
    "val_max_cameo_submission_date", "str", "date of the newest evaluation target"
)
VAL_MAX_SEQUENCE_LENGTH = _openfold(
    "val_max_sequence_length", "int", "maximum length of an evaluation target", unit="residues"
)
