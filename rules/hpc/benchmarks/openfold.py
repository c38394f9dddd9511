"""Protein structure: OpenFold, as introduced in HPC 3.0."""

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import above, at_least, at_most, equals, one_of
from podium.rules.constraints.members import has
from podium.rules.model.benchmark import Benchmark, ConvergenceRules
from podium.rules.table import AT_LEAST_ONCE, row

OPENFOLD = Benchmark(
    name="openfold",
    title="Protein structure: OpenFold",
    also_called=("alphafold", "alphafold2"),
    runs=10,
    target="lDDT-C-alpha of 0.8",
    # epoch_num counts samples in logs of this benchmark
    convergence=ConvergenceRules(unit="samples"),
    cites="HPC rules, Hyperparameters and Optimizer",
    closed=(
        row(k.GLOBAL_BATCH_SIZE, above(0)),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_least(0.8), at_most(1.0)),
        ),
        row(k.TARGET_AVG_LDDT_CA_VALUE, equals(0.8)),
        row(k.TRAIN_MAX_PDB_RELEASE_DATE, equals("2021-09-16")),
        row(k.VAL_MIN_CAMEO_SUBMISSION_DATE, equals("2021-09-17")),
        row(k.VAL_MAX_CAMEO_SUBMISSION_DATE, equals("2021-12-11")),
        row(k.VAL_MAX_SEQUENCE_LENGTH, equals(700)),
        row(k.VAL_EVERY_ITERS, equals(40)),
        row(k.TRAIN_SAMPLES, equals(594_595)),
        row(k.EVAL_SAMPLES, equals(180)),
        row(k.MODEL_PARAMETERS_COUNT, equals(93_229_082)),
        row(
            k.INIT_CHECKPOINT_SHA256SUM,
            equals("b518be4677048f2c0f94889c91e2da73655a73b825a8aa7f8b6f5e580d8ffbed"),
        ),
        row(k.TRAIN_SEQUENCE_CROP_SIZE, equals(256)),
        row(k.NUM_RECYCLING_ITERS, equals(3)),
        row(k.MAX_MSA_CLUSTERS, equals(124)),
        row(k.MAX_EXTRA_MSA, equals(1024)),
        row(k.TEMPLATES_ENABLED, equals(True)),
        row(k.MAX_TEMPLATES, equals(4)),
        row(k.FAPE_LOSS_WEIGHT, equals(1.0)),
        row(k.FAPE_LOSS_BACKBONE_WEIGHT, equals(0.5)),
        row(k.FAPE_LOSS_SIDECHAIN_WEIGHT, equals(0.5)),
        row(k.SUPERVISED_CHI_LOSS_WEIGHT, equals(1.0)),
        row(k.DISTOGRAM_LOSS_WEIGHT, equals(0.3)),
        row(k.MASKED_MSA_LOSS_WEIGHT, equals(2.0)),
        row(k.PLDDT_LOSS_WEIGHT, equals(0.01)),
        row(k.OPT_NAME, equals("Adam")),
        row(k.OPT_ADAM_BETA_1, equals(0.9)),
        row(k.OPT_ADAM_BETA_2, equals(0.999)),
        row(k.OPT_ADAM_EPSILON, equals(1e-06)),
        row(k.OPT_WEIGHT_DECAY, equals(0.0)),
        row(k.OPT_AMSGRAD, equals(False)),
        row(k.OPT_GRADIENT_CLIPPING, equals(True)),
        row(k.OPT_GRADIENT_CLIP_NORM, equals(0.1)),
        row(k.SWA_ENABLED, equals(True)),
        row(k.SWA_DECAY_RATE, equals(0.9)),
        row(k.OPT_BASE_LEARNING_RATE, at_least(0.0)),
        row(k.OPT_LEARNING_RATE_WARMUP_INIT, at_least(0.0)),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, at_least(0)),
        row(
            k.INITIAL_TRAINING_DATALOADER_TYPE,
            one_of("InitialTrainingDataloaderPT", "InitialTrainingDataloaderPQ"),
        ),
    ),
    open=(
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_least(0.8), at_most(1.0)),
        ),
    ),
)
