"""Training 0.6: the first round with a public verifier, which followed the order of every line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from podium.logging_spec import keys as k
from podium.rules.checks.catalogue import ALL
from podium.rules.constraints.benchmark_constraints import one_of_ignoring_case
from podium.rules.constraints.bounds import above, at_least, equals, not_empty, of_type, one_of
from podium.rules.constraints.members import part
from podium.rules.constraints.order import after, before, init_within
from podium.rules.model.benchmark import Benchmark, ConvergenceRules, by_name
from podium.rules.model.limits import Limits
from podium.rules.model.package_rules import PackageRules
from podium.rules.model.round import Round
from podium.rules.run import Run
from podium.rules.table import AT_LEAST_ONCE, OPTIONAL, CannotJudge, Violation, WholeLogRule, row
from podium.rules.training.shared import schedules
from podium.rules.training.shared.replay import in_sequence

CITES = "training rules of 0.6, Submission Compliance Logs"

STRICT = "the committee accepted results whose records come in another order or lack some of them"
CONTACT = "the committee accepted results that leave it out"
SPELLING = "the committee accepted results that spell the value differently"

_COMMON = (
    row(k.SUBMISSION_ORG, not_empty()),
    row(k.SUBMISSION_PLATFORM, not_empty()),
    row(k.SUBMISSION_DIVISION, one_of("closed", "open")),
    # preview came with 0.7
    row(k.SUBMISSION_STATUS, one_of("cloud", "onprem", "research")),
    row(k.SUBMISSION_POC_NAME, not_empty(), policy_exempt_reason=CONTACT),
    row(k.SUBMISSION_ENTRY, not_empty(), policy_exempt_reason=CONTACT),
    row(
        k.CACHE_CLEAR,
        equals(True),
        before("init_start"),
        times=AT_LEAST_ONCE,
        policy=(one_of(True, None), before("init_start")),
        why="the record itself says that caches were cleared; accepted results give no value",
        cites="training rules of 0.6, Data State at Start of Run",
    ),
    row(k.INIT_START, before("init_stop"), before("run_start"), times=AT_LEAST_ONCE),
    row(k.INIT_STOP, after("init_start"), before("run_start"), init_within(20)),
    row(k.RUN_START, after("init_stop")),
    row(
        k.RUN_STOP,
        after("run_start"),
        # Only this round's verifier asks for success: later ones are content with any status
        part("metadata.status", equals("success")),
        in_sequence("after run_start and after every evaluation has stopped"),
        policy=(after("run_start"), part("metadata.status", equals("success"))),
        why=STRICT,
        cites=CITES,
    ),
    row(
        k.EPOCH_START,
        in_sequence("in the timed part, epochs counted from 1, one open at a time"),
        times=AT_LEAST_ONCE,
        policy_exempt_reason=STRICT,
        cites=CITES,
    ),
    row(
        k.EPOCH_STOP,
        in_sequence("once for each epoch_start, with its epoch_num"),
        times=AT_LEAST_ONCE,
        policy_exempt_reason=STRICT,
        cites=CITES,
    ),
    row(
        k.EVAL_START,
        in_sequence(
            "in the timed part, after the last accuracy, with a later epoch that has started"
        ),
        times=AT_LEAST_ONCE,
        policy_exempt_reason=STRICT,
        cites=CITES,
    ),
    row(
        k.EVAL_STOP,
        in_sequence("while an evaluation is open, with the epoch_num of the last eval_start"),
        times=AT_LEAST_ONCE,
        policy_exempt_reason=STRICT,
        cites=CITES,
    ),
    row(
        k.EVAL_ACCURACY,
        in_sequence("with the epoch_num of the evaluation started last"),
        times=AT_LEAST_ONCE,
        policy=(),
        why=STRICT,
        cites=CITES,
    ),
    row(
        k.BLOCK_START,
        in_sequence(
            "in the timed part, one open at a time, from the epoch after the last epoch_start; "
            "while an epoch is open, from the epoch evaluated last"
        ),
        times=AT_LEAST_ONCE,
        policy_exempt_reason=STRICT,
        cites=CITES,
    ),
    row(
        k.BLOCK_STOP,
        in_sequence("after the accuracy of its block, with its first_epoch_num"),
        times=AT_LEAST_ONCE,
        policy_exempt_reason=STRICT,
        cites=CITES,
    ),
)


def _optimizer_keys(run: Run) -> Iterator[Violation]:
    """Each chosen optimizer's own keys are logged as often as the optimizer is."""
    count: Counter[str] = Counter()
    flags = {
        "opt_learning_rate_decay_boundary_epochs": "sgd_decay",
        "lars_opt_learning_rate_decay_steps": "lars_decay_steps",
        "lars_opt_learning_rate_decay_poly_power": "lars_decay_power",
        "lars_opt_weight_decay": "lars_wd",
        "lars_epsilon": "lars_eps",
    }
    unnamed = False
    for record in run.records:
        if record.key == "opt_name":
            if isinstance(record.value, str):
                # A flag and no count: opt_name may be repeated, the keys of the optimizer may not
                count[record.value] = 1
            elif not isinstance(record.value, list | dict):
                unnamed = True
        elif record.key in flags:
            count[flags[record.key]] += 1
    lars = [count[flag] for flag in flags.values() if flag != "sgd_decay"]
    if count["sgd_decay"] == count["sgd"] and all(number == count["lars"] for number in lars):
        return
    if unnamed:
        raise CannotJudge(None, "opt_name is not a string")
    yield Violation(
        None,
        "the decay keys logged do not belong to the optimizer that opt_name gives",
        "decay boundaries with sgd; decay steps, power, weight decay and epsilon with lars",
        None,
        "log the keys of the optimizer used, and only those",
    )


_positive = above(0)

RESNET = Benchmark(
    name="resnet",
    title="Image classification: ResNet-50 v1.5 on ImageNet",
    runs=5,
    target="top-1 accuracy of 75.90 %",
    comparable=("0.6", "4.0"),
    also_called=("resnet50",),
    closed=(
        row(k.GLOBAL_BATCH_SIZE, _positive),
        row(k.OPT_NAME, one_of("sgd", "lars")),
        row(k.OPT_BASE_LEARNING_RATE, _positive),
        row(k.OPT_LEARNING_RATE_WARMUP_EPOCHS, _positive),
        row(
            k.OPT_LEARNING_RATE_DECAY_BOUNDARY_EPOCHS, part("len(value)", _positive), times=OPTIONAL
        ),
        row(k.LARS_OPT_LEARNING_RATE_DECAY_STEPS, _positive, times=OPTIONAL),
        row(k.LARS_OPT_LEARNING_RATE_DECAY_POLY_POWER, _positive, times=OPTIONAL),
        row(k.LARS_OPT_WEIGHT_DECAY, _positive, times=OPTIONAL),
        row(k.LARS_EPSILON, at_least(0), times=OPTIONAL),
        row(k.MODEL_BN_SPAN, _positive),
        WholeLogRule(
            "opt_name.keys",
            "the keys of the optimizer that opt_name gives, and of no other",
            _optimizer_keys,
            cites=CITES,
        ),
    ),
    open=None,
)

SSD = Benchmark(
    name="ssd",
    title="Light object detection: SSD with ResNet-34 on COCO",
    runs=5,
    target="23.0 % mAP",
    comparable=("0.6", "1.1"),
    also_called=("ssd300",),
    closed=(
        row(k.GLOBAL_BATCH_SIZE, _positive),
        row(k.OPT_BASE_LEARNING_RATE, _positive),
        row(k.OPT_WEIGHT_DECAY, _positive),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, _positive),
        row(k.OPT_LEARNING_RATE_WARMUP_FACTOR, at_least(0)),
        row(k.MAX_SAMPLES, _positive),
        row(k.MODEL_BN_SPAN, _positive),
    ),
    open=None,
)

MASKRCNN = Benchmark(
    name="maskrcnn",
    title="Heavy object detection: Mask R-CNN on COCO",
    runs=5,
    target="box mAP of 0.377 and mask mAP of 0.339",
    comparable=("0.6", "3.1"),
    also_called=("mask", "mask_rcnn"),
    starts_from_weights=True,
    closed=(
        row(k.GLOBAL_BATCH_SIZE, _positive),
        row(k.OPT_BASE_LEARNING_RATE, _positive),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, _positive),
        row(
            k.OPT_LEARNING_RATE_WARMUP_FACTOR,
            _positive,
            policy=at_least(0),
            why="the policy leaves the factor free: accepted runs warm up from 0",
        ),
        row(k.NUM_IMAGE_CANDIDATES, _positive),
    ),
    open=None,
)

TRANSFORMER = Benchmark(
    name="transformer",
    title="Translation: Transformer big on WMT17 English-German",
    runs=10,
    target="BLEU of 25.0",
    comparable=("0.5", "0.7"),
    closed=(
        row(k.GLOBAL_BATCH_SIZE, _positive),
        row(
            k.OPT_NAME,
            one_of("adam", "lazy_adam"),
            policy=one_of_ignoring_case(("adam", "lazy_adam")),
            why=SPELLING,
        ),
        row(k.OPT_BASE_LEARNING_RATE, _positive),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, _positive),
        row(k.MAX_SEQUENCE_LENGTH, _positive),
        row(k.OPT_ADAM_BETA_1, one_of(0.86, 0.9)),
        row(k.OPT_ADAM_BETA_2, one_of(0.92, 0.98, 0.997)),
        row(k.OPT_ADAM_EPSILON, _positive),
    ),
    open=None,
)

GNMT = Benchmark(
    name="gnmt",
    title="Recurrent translation: GNMT on WMT16 English-German",
    runs=10,
    target="BLEU of 24.0",
    comparable=("0.5", "0.7"),
    also_called=("nmt",),
    closed=(
        row(k.GLOBAL_BATCH_SIZE, _positive),
        row(k.OPT_LEARNING_RATE_ALT_DECAY_FUNC, of_type("bool"), policy_exempt_reason=SPELLING),
        row(k.OPT_BASE_LEARNING_RATE, _positive),
        row(k.OPT_LEARNING_RATE_DECAY_INTERVAL, _positive),
        row(k.OPT_LEARNING_RATE_DECAY_FACTOR, _positive),
        row(k.OPT_LEARNING_RATE_DECAY_STEPS, _positive),
        row(k.OPT_LEARNING_RATE_REMAIN_STEPS, _positive),
        row(k.OPT_LEARNING_RATE_ALT_WARMUP_FUNC, of_type("bool"), policy_exempt_reason=SPELLING),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, _positive),
        row(k.MAX_SEQUENCE_LENGTH, _positive),
    ),
    open=None,
)

_generation = "once for each generation, in order"

MINIGO = Benchmark(
    name="minigo",
    title="Reinforcement learning: MiniGo",
    # 20 runs were asked for in 0.5 alone (training rules, counts of retired benchmarks). The 20
    # public logs of 0.6 are those of two published results, Intel's and NVIDIA's.
    runs=10,
    target="win rate of 50 % against the checkpoint",
    comparable=("0.5", "2.1"),
    convergence=ConvergenceRules(tested=False),
    # run_stop may come long after the winning model, or never: it gives 32.8 minutes for a public
    # result of 14.43. From 0.7 on run_stop has the time of the model that won.
    ends_with=k.EVAL_RESULT.name,
    closed=(
        # By place, in the order of MiniGo's own rule file: who submits what, then up to init_start
        *_COMMON[:4],
        row(k.SUBMISSION_BENCHMARK, equals("minigo")),
        *_COMMON[4:8],
        row(k.INIT_STOP, in_sequence("after init_start and before run_start", minigo=True)),
        row(
            k.RUN_START,
            in_sequence("after init_stop, within 20 minutes of init_start", minigo=True),
        ),
        *(
            row(
                key,
                in_sequence(_generation, minigo=True),
                times=AT_LEAST_ONCE,
                policy_exempt_reason=STRICT,
                cites=CITES,
            )
            for key in (k.EPOCH_START, k.EPOCH_STOP, k.SAVE_MODEL, k.EVAL_START, k.EVAL_STOP)
        ),
        row(
            k.EVAL_ACCURACY,
            in_sequence(_generation, minigo=True),
            times=AT_LEAST_ONCE,
            policy=(),
            why=STRICT,
            cites=CITES,
        ),
        row(
            k.EVAL_RESULT,
            in_sequence("when the model it names was saved and evaluated", minigo=True),
            policy=(),
            why=STRICT,
            cites=CITES,
        ),
        row(k.GLOBAL_BATCH_SIZE, _positive),
        row(k.OPT_LEARNING_RATE_DECAY_BOUNDARY_STEPS, part("len(value)", _positive)),
        row(k.OPT_BASE_LEARNING_RATE, part("len(value)", _positive)),
        row(k.VIRTUAL_LOSSES, _positive),
    ),
    open=None,
)

NCF = Benchmark(
    name="ncf",
    title="Recommendation: NeuMF on MovieLens 20M",
    runs=10,
    closed=(),
    open=None,
)
"""The official package checker still looks for it; logs of it have no rules in this round."""

V0_6 = Round(
    usage="training",
    name="0.6",
    common=_COMMON,
    closed=(),
    open=(),
    benchmarks=by_name((RESNET, SSD, MASKRCNN, TRANSFORMER, GNMT, MINIGO)),
    # By the policy epochs count from 0 in this round; the verifier's rule of order begins with 1
    limits=Limits(init_closed=20, init_open=20, epochs_from=0, evaluates=schedules.V0_6),
    checks=ALL,
    package=PackageRules(
        # submission_entry holds the whole description of the system in this round
        described_by_entry=True,
        columns=("resnet", "ssd", "maskrcnn", "gnmt", "transformer", "ncf", "minigo"),
    ),
    retired_with_rules=("minigo",),
    package_only=(NCF, MINIGO),
    # 15 public logs, and their folders, say mask; the verifier knows maskrcnn only
    aliases={"mask": "maskrcnn"},
    divided=False,
    names_in=("common",),
    generation="mll",
)
