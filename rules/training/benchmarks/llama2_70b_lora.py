"""Large language model fine-tuning: Llama 2 70B with LoRA on GovReport, as introduced in Training 4.0."""

from logging_spec import keys as k
from rules.benchmark import Benchmark
from rules.constraints import above, at_most, below, equals, has
from rules.table import AT_LEAST_ONCE, row

LLAMA2_70B_LORA = Benchmark(
    name="llama2_70b_lora",
    title="Large language model fine-tuning: Llama 2 70B with LoRA on GovReport",
    runs=10,
    closed=(
        row(k.GLOBAL_BATCH_SIZE),
        row(k.OPT_BASE_LEARNING_RATE),
        row(k.LORA_ALPHA),
        row(k.OPT_LEARNING_RATE_TRAINING_STEPS),
        row(k.OPT_GRADIENT_CLIP_NORM),
        row(k.OPT_ADAMW_WEIGHT_DECAY),
        row(k.GRADIENT_ACCUMULATION_STEPS),
        row(k.LORA_RANK, equals(16)),
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            times=AT_LEAST_ONCE,
            some=(
                at_most(0.925),
                above(0.0),
            ),
        ),
    ),
    open=(row(k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(below(1.0),)),),
)
