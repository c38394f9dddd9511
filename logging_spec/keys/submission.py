"""Keys of the submission and of disclosed values."""

from __future__ import annotations

from functools import partial

from podium.logging_spec.keys.key import Key

_submission = partial(Key, role="submission")
_disclosure = partial(Key, role="disclosure")

# --- submission ---

SUBMISSION_BENCHMARK = _submission("submission_benchmark", "str", "benchmark that was run")
SUBMISSION_DIVISION = _submission("submission_division", "str", "closed or open division")
SUBMISSION_ORG = _submission("submission_org", "str", "submitting organization")
SUBMISSION_PLATFORM = _submission("submission_platform", "str", "system that ran the benchmark")
# Rules from 4.1 on have no entry for it, although logs still have it
SUBMISSION_STATUS = _submission(
    "submission_status", "str", "availability category of the system", until="4.0"
)
# In 0.6 a Python dict of the whole system, printed as one string
SUBMISSION_ENTRY = _submission(
    "submission_entry", "str", "system description as one string", until="0.6"
)
SUBMISSION_POC_NAME = _submission(
    "submission_poc_name", "str", "name of the contact person", until="0.6"
)
SUBMISSION_POC_EMAIL = _submission("submission_poc_email", "str", "email of the contact person")

# --- disclosed values ---

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
    "pipeline_parallelism",
    "int",
    "stages that share the layers",
    unit="stages",
    since="6.0",
)
CONTEXT_PARALLELISM = _disclosure(
    "context_parallelism", "int", "devices that share a sequence", unit="devices", since="6.0"
)
EXPERT_PARALLELISM = _disclosure(
    "expert_parallelism",
    "int",
    "devices that share the experts",
    unit="devices",
    since="6.0",
)
MICRO_BATCH_SIZE = _disclosure(
    "micro_batch_size", "int", "batch of one forward pass", unit="samples", since="6.0"
)
CONFIG_FILENAME = _disclosure(
    "config_filename", "str", "file with the configuration of the run", since="6.0"
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
