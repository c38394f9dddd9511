"""Values that the policy accepts or rejects, for each row that differs from the verifier."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from podium.compliance.judging.logs.judge import judge_log
from podium.logging_spec.reader.read import Log
from podium.logging_spec.reader.record import Record
from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.citations import COMPLIANCE_CHECKER
from podium.rules.finding import Profile, Severity, StatedBy
from podium.rules.run import Run
from podium.rules.table import OPTIONAL, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.rules.finding import Finding
    from podium.rules.model.round import Round

POWERS_AND_NAMES = {"submission_benchmark", "weights_initialization"}
"""Rows that the round or rules/training/shared/tensors.py creates."""


class Case(NamedTuple):
    """Values of a key that the policy accepts and rejects, with other values that the run logs."""

    good: tuple[Any, ...]
    bad: tuple[Any, ...]
    batch: int = 32
    rate: float = 0.001


def fixed(value: float, *bad: Any) -> Case:
    return Case((value,), (value + 1, -value if value else 1, "x", *bad))


COUNT = Case((0, 5, 600.0), (-1, 0.5, "x", None))
POSITIVE_COUNT = Case((1, 5, 600.0), (0, -1, 1.5, "x", None))
SHAPE = Case(([128, 128, 128], [128, 128, 128, 1]), ([128, 128], [64, 128, 128], 128, []))
LISTED = Case(([32, 64], [20], [1.0]), ([0], [1.5], [-1], 32, ["x"], None))
STRETCH_16 = Case(
    ([12_000, 16_000], [10_000, 13_333], [10_000, 13_334]),
    ([12_000, 17_000], [12_000], [12_000, 16_000, 20_000], [0, 0], 12_000, [12_500, 16_000]),
    batch=96,
)

CASES: dict[tuple[str, str], tuple[Case, ...]] = {
    ("bert", "eval_samples"): (Case((10_000, 10_240), (9_999, [10_000], None)),),
    ("bert", "train_samples"): (Case((150_000, 156_725_653, [3_872_218]), (149_999, [1], None)),),
    ("bert", "opt_name"): (Case(("lamb", "LAMB"), ("adam", None)),),
    ("cosmoflow", "eval_samples"): (fixed(65_536),),
    ("cosmoflow", "train_samples"): (fixed(524_288, 262_144),),
    ("cosmoflow", "sgd_opt_momentum"): (fixed(0.9),),
    ("cosmoflow", "opt_learning_rate_decay_boundary_epochs"): (LISTED,),
    ("cosmoflow", "opt_learning_rate_decay_factor"): (
        Case((0.25, [0.25, 0.125]), (0, 1, [0.5, 1], [0.5, 0], "x", [None])),
    ),
    ("deepcam", "opt_weight_decay"): (Case((0, 0.01), (-0.01, "x")),),
    ("deepcam", "scheduler_t_max"): (Case((0, 0.5, 9000), (-1, "x")),),
    ("deepseekv3_671b", "opt_base_learning_rate"): (
        Case((0.000025456, 0.00002545584412), (0.000025455, 0.000025457), batch=18_432),
    ),
    ("deepseekv3_671b", "train_samples"): (Case((16_384, 10**9), (16_383, 1), batch=16_384),),
    ("dlrm", "eval_samples"): (Case((89_137_318, 89_137_319), (89_137_317, 89_137_320, None)),),
    ("dlrm", "train_samples"): (Case((209_759_884, 4_195_197_692), (209_759_883, 1)),),
    ("dlrm_dcnv2", "train_samples"): (fixed(4_195_197_692),),
    ("flux1", "eval_samples"): (fixed(29_696),),
    ("flux1", "train_samples"): (Case((262_144, 1_099_776), (262_143, 1)),),
    ("flux1", "evaluation_frequency"): (
        Case((262_144,), (262_145, 131_072, "x"), batch=512),
        Case((262_144, 262_656), (262_080, 263_232), batch=576),
    ),
    ("gnmt", "eval_samples"): (fixed(3003),),
    ("gnmt", "opt_learning_rate_decay_factor"): (fixed(0.5),),
    ("gnmt", "opt_learning_rate_decay_steps"): (fixed(4),),
    ("rgat", "eval_samples"): (fixed(788_379),),
    ("rgat", "train_samples"): (fixed(94_605_581),),
    ("gpt3", "dropout"): (fixed(0.0),),
    ("gpt3", "opt_weight_decay"): (fixed(0.1),),
    ("gpt3", "train_samples"): (Case((24_576, 1_207_959_552), (24_575, 1)),),
    ("gpt3", "eval_samples"): (Case((24_567, 11_590_004), (24_576, None)),),
    # Runs of 0.6 warm up from 0
    ("maskrcnn", "opt_learning_rate_warmup_factor"): (Case((0, 0.1), (-0.1, "x")),),
    ("gpt3", "global_batch_size"): (Case((1536, 4096, 8192), (1535, 8193, "x")),),
    ("gpt3", "init_checkpoint_step"): (
        Case((4000,), (3999, 4001, "x"), batch=1536),
        Case((1500,), (4000,), batch=4096),
        Case((1463,), (1462,), batch=4200),
    ),
    ("gpt3", "opt_base_learning_rate"): (
        Case((2e-5,), (3e-5, 2.1e-5, "x"), batch=2048),
        Case((2e-5, 3e-5), (4e-5,), batch=3500),
        Case((3e-5,), (2e-5,), batch=4096),
        Case((1e-5,), (), batch=1024),
    ),
    ("gpt3", "opt_end_learning_rate"): (Case((2e-6,), (0.1, 2e-5, "x"), rate=2e-5),),
    ("gpt3", "opt_learning_rate_decay_steps"): (Case((81_450,), (81_251, "x"), batch=2048),),
    ("gpt3", "opt_learning_rate_warmup_steps"): (Case((199,), (198, 200, "x"), batch=2048),),
    ("gpt_oss_20b", "train_samples"): (Case((12_288, 1_574_207_408), (12_287, 1)),),
    ("gpt_oss_20b", "dropout"): (fixed(0.0),),
    ("gpt_oss_20b", "opt_end_learning_rate"): (Case((8e-5,), (8e-4, 0.0, "x"), rate=8e-4),),
    ("llama2_70b_lora", "eval_samples"): (fixed(173),),
    ("llama2_70b_lora", "train_samples"): (fixed(3901),),
    ("llama2_70b_lora", "lora_dropout"): (fixed(0.1, 0.5, 0.0),),
    ("llama2_70b_lora", "lora_alpha"): (fixed(32, 999),),
    ("llama2_70b_lora", "max_sequence_length"): (Case((8192, 8196), (8193, 4096, -8192, "x")),),
    ("llama2_70b_lora", "opt_adamw_weight_decay"): (fixed(0.0001, 5),),
    ("llama2_70b_lora", "opt_gradient_clip_norm"): (fixed(0.3, 7),),
    ("llama2_70b_lora", "opt_name"): (Case(("adamw", "AdamW"), ("adam", 1)),),
    ("llama31_405b", "dropout"): (fixed(0.0),),
    ("llama31_405b", "global_batch_size"): (Case((1152, 2304, 9216), (9217, "x")),),
    ("llama31_405b", "opt_base_learning_rate"): (
        Case((0.00010667, 8e-5 * 1536 / 1152), (0.0001067, 0.00010668, 8e-5, "x"), batch=1536),
        Case((8e-5,), (8.1e-5,), batch=1152),
    ),
    ("llama31_405b", "train_samples"): (Case((18_432, 1_574_207_408), (18_431, 1)),),
    ("llama31_405b", "opt_end_learning_rate"): (Case((8e-7,), (1.0, 8e-6, "x")),),
    ("llama31_405b", "opt_learning_rate_decay_steps"): (
        Case((1_192_000,), (1_200_000, "x"), batch=1152),
        Case((1_200_000 * 3 // 4 - 6000,), (1_192_000,), batch=1536),
    ),
    ("llama31_405b", "opt_learning_rate_warmup_steps"): (
        Case((8000,), (1, 7999, "x"), batch=1152),
        Case((6000,), (8000,), batch=1536),
    ),
    ("llama31_8b", "dropout"): (fixed(0.0),),
    ("llama31_8b", "train_samples"): (Case((12_288, 1_574_207_408), (12_287, 1)),),
    ("llama31_8b", "opt_end_learning_rate"): (Case((1e-4,), (0.5, 1e-3, "x"), rate=1e-3),),
    ("maskrcnn", "eval_samples"): (
        Case((5000, 5088, 53, 1), (50, 4999, 5089, 2.5, None), batch=96),
    ),
    ("maskrcnn", "train_samples"): (
        Case((118_287, 117_266, 117_216, 118_368, 1222, 20_000, 40_000), (1, 5000, 118_369), 96),
    ),
    ("maskrcnn", "max_image_size"): (fixed(1333),),
    ("maskrcnn", "min_image_size"): (fixed(800),),
    ("maskrcnn", "num_image_candidates"): (Case((1000, 6000), (0, -1000, 1500, "x")),),
    ("maskrcnn", "opt_base_learning_rate"): (Case((0.02, 0.24), (0, -0.02, 0.03, "x")),),
    ("maskrcnn", "opt_learning_rate_decay_steps"): (STRETCH_16,),
    ("minigo", "train_batch_size"): (POSITIVE_COUNT,),
    ("oc20", "eval_samples"): (fixed(999_866),),
    ("oc20", "train_samples"): (fixed(2_000_000),),
    ("oc20", "opt_base_learning_rate"): (Case((0.0004,), (0, -1, "x")),),
    ("oc20", "opt_learning_rate_decay_boundary_steps"): (LISTED,),
    ("oc20", "opt_learning_rate_decay_factor"): (Case((0.1, 1, [0.1, 0]), (1.1, -1, "x")),),
    ("oc20", "opt_learning_rate_warmup_factor"): (Case((0, 0.2, 1), (1.1, -1, "x")),),
    ("resnet", "eval_samples"): (Case((50_000, 65_536), (49_999, None)),),
    ("resnet", "label_smoothing"): (Case((0, 0.0, 0.1), (0.3, 0.2, 1, "x", None)),),
    ("resnet", "train_samples"): (
        Case((1_281_167, 1_277_952, 1_310_720, 39, 40), (1_277_951, 1_310_721, 1, 41), 32_768),
    ),
    ("resnet", "lars_opt_learning_rate_decay_steps"): (COUNT,),
    ("resnet", "lars_opt_learning_rate_warmup_epochs"): (COUNT,),
    ("resnet", "lars_opt_momentum"): (
        Case((0.9,), (0.95, "x"), batch=16_384),
        Case((0.9, 0.95), (), batch=32_768),
    ),
    ("resnet", "opt_learning_rate_warmup_epochs"): (COUNT,),
    ("resnet", "sgd_opt_learning_rate_decay_poly_power"): (fixed(2),),
    ("resnet", "sgd_opt_learning_rate_decay_steps"): (COUNT,),
    ("resnet", "sgd_opt_momentum"): (fixed(0.9),),
    ("deepcam", "scheduler_decay_rate"): (Case((0.5, 1.0, 1.5), ()),),
    ("retinanet", "opt_learning_rate_warmup_epochs"): (COUNT,),
    ("retinanet", "eval_samples"): (
        Case((24_781, 24_832, 97, 194, 49), (100, 24_780, 24_833, 0, None), 256),
        Case((24_781, 25, 2), (100, 26), 1024),
        # Evaluation has batches of 1024 (32 on each of 32 accelerators), training of 384
        Case((25,), (26, 100), 384),
    ),
    ("retinanet", "train_samples"): (
        Case((1_170_301, 1_170_176, 1_170_432, 4571, 4572), (1_170_175, 100, 4573), 256),
    ),
    ("rnnt", "train_samples"): (Case((270_000, 281_241, 290_000), (269_999, 290_001, 1)),),
    ("ssd", "eval_samples"): (Case((5000, 4952, 5120, 5), (50, 4951, 5121), 1024),),
    ("ssd", "train_samples"): (Case((118_287, 117_266, 116_736), (1, 50_000), 1024),),
    ("ssd", "model_bn_span"): (POSITIVE_COUNT,),
    ("ssd", "opt_learning_rate_decay_boundary_epochs"): (
        Case(
            ([40, 50], [44, 55], [64.0, 80.0], [36, 45]),
            ([40, 55], [41, 50], [44, 50], [40], 40, [42, 52.5]),
        ),
    ),
    ("ssd", "opt_learning_rate_warmup_factor"): (COUNT,),
    ("ssd", "opt_learning_rate_warmup_steps"): (POSITIVE_COUNT,),
    ("stable_diffusion", "eval_samples"): (fixed(30_000),),
    ("stable_diffusion", "train_samples"): (fixed(6_513_144),),
    ("transformer", "eval_samples"): (fixed(3003),),
    ("transformer", "opt_name"): (Case(("adam", "Adam", "LAZY_ADAM"), ("sgd", None)),),
    ("unet3d", "oversampling"): (fixed(0.4),),
    ("unet3d", "training_input_shape"): (SHAPE,),
    ("unet3d", "validation_input_shape"): (SHAPE,),
    ("unet3d", "validation_overlap"): (fixed(0.5),),
    ("dlrmv4", "hstu_attn_num_layers"): (fixed(3),),
    ("dlrmv4", "history_length"): (fixed(4086),),
}


class Stated(NamedTuple):
    """A row as the policy states it, and its location."""

    title: str
    division: str
    owner: str
    row: Row

    def __str__(self) -> str:
        return f"{self.title} {self.division} {self.owner} {self.row.name}"


def rows_of(rules: Round, division: str, benchmark: str) -> Iterator[tuple[str, Row]]:
    for scope in rules.scopes(division, benchmark):
        # From 2.0 to 4.1 ssd is RetinaNet
        owner = rules.benchmarks[benchmark].lineage if scope.benchmark else scope.name
        yield from ((owner, row) for row in scope.rows)
        for variant in scope.variants:
            yield from ((owner, row) for row in variant.rows if isinstance(row, Row))


def all_rows() -> Iterator[Stated]:
    for usage in USAGES:
        for rules in rounds_of(usage).values():
            if not rules.verified:
                continue
            for division in ("closed", "open"):
                for benchmark in rules.benchmarks:
                    for owner, row in rows_of(rules, division, benchmark):
                        yield Stated(rules.title, division, owner, row)


def once(rows: Iterator[Stated]) -> list[Stated]:
    return list({str(stated): stated for stated in rows}.values())


def wants_case(stated: Stated) -> bool:
    row = stated.row
    says_more = row.policy is not None or row.stated_by is StatedBy.POLICY
    of_value = all(type(each).__name__ not in ORDER for each in row.as_policy.each)
    return says_more and of_value and row.name not in POWERS_AND_NAMES | {"eval_accuracy"}


ORDER = {"in_sequence", "after", "before", "init_within", "init_longer_for"}

DIFFERENT = [s for s in once(all_rows()) if wants_case(s) and s.row.name != "eval_result"]


def run_with(stated: Stated, case: Case, value: Any) -> Run:
    context = {"global_batch_size": case.batch, "opt_base_learning_rate": case.rate}
    context[stated.row.name] = value
    run = Run([Record(key, 0, given, {}) for key, given in context.items()])
    run.ordered = run.exact = False
    return run


# One test for all rounds of a key: the rows of neighboring rounds rarely differ
each_key = pytest.mark.parametrize("key", CASES, ids=" ".join)


def rows_with(key: tuple[str, str]) -> list[Stated]:
    return [stated for stated in DIFFERENT if (stated.owner, stated.row.name) == key]


@each_key
def test_the_policy_accepts_good_values_and_rejects_bad_values(key: tuple[str, str]) -> None:
    for stated, case in product(rows_with(key), CASES[key]):
        row = stated.row.as_policy
        for value in case.good:
            assert not row.judge(run_with(stated, case, value)), (str(stated), value)
        for value in case.bad:
            assert row.judge(run_with(stated, case, value)), (str(stated), value)


@each_key
def test_the_verifier_and_the_policy_differ_on_some_value(key: tuple[str, str]) -> None:
    for stated in rows_with(key):
        if stated.row.stated_by is StatedBy.POLICY:
            assert stated.row.times is OPTIONAL, str(stated)
            continue
        policy = stated.row.as_policy
        differ = []
        for case in CASES[key]:
            for value in (*case.good, *case.bad):
                run = run_with(stated, case, value)
                run.exact = True
                differ.append(bool(stated.row.judge(run)) != bool(policy.judge(run)))
        assert any(differ), str(stated)


def test_every_case_has_a_row_and_every_row_has_a_case() -> None:
    assert set(CASES) == {(stated.owner, stated.row.name) for stated in DIFFERENT}


def test_a_row_that_differs_has_a_reason() -> None:
    for stated in once(all_rows()):
        row = stated.row
        by_policy = row.stated_by is StatedBy.POLICY
        if row.policy is not None or row.policy_some is not None or by_policy:
            assert row.why, str(stated)
        # A row without a reason has no section of the policy to differ from
        if row.stated_by is StatedBy.VERIFIER:
            assert row.policy_exempt_reason or row.cites == COMPLIANCE_CHECKER, str(stated)


# --- whole logs ---


def log_of(*records: tuple[str, Any, dict[str, Any]], generation: Any = "mllog") -> Log:
    made = [Record(key, index * 1000.0, *rest) for index, (key, *rest) in enumerate(records)]
    log = Log(generation=generation, records=made)
    log.lines = list(range(1, len(made) + 1))
    return log


def found(
    rules: Round, profile: Profile, *records: tuple[str, Any, dict[str, Any]]
) -> list[Finding]:
    generation = rules.generation
    return judge_log(log_of(*records, generation=generation), rules, profile, "log").findings


def by_id(findings: list[Finding], rule: str) -> list[Finding]:
    return [finding for finding in findings if finding.id == rule]


Given = tuple[str, Any, dict[str, Any]]
"""Key, value and metadata of a record."""

LORA: tuple[Given, ...] = (
    ("submission_division", "closed", {}),
    ("submission_benchmark", "llama2_70b_lora", {}),
)


@pytest.mark.parametrize(
    ("key", "value", "expected", "severity"),
    [
        ("lora_alpha", 999, "32", Severity.ERROR),
        ("lora_dropout", 0.5, "0.1", Severity.ERROR),
        # The policy prints 8196, and the reference has 8192
        ("max_sequence_length", 4096, "one of 8192, 8196", Severity.WARNING),
    ],
)
def test_a_value_that_only_the_policy_fixes_has_the_severity_of_its_row(
    key: str, value: float, expected: str, severity: Severity
) -> None:
    rules = rounds_of("training")["5.0"]
    records: tuple[Given, ...] = (*LORA, (key, value, {}))
    rule = f"closed.llama2_70b_lora.{key}"
    assert not by_id(found(rules, Profile.VERIFIER, *records), rule)
    (finding,) = by_id(found(rules, Profile.POLICY, *records), rule)
    assert finding.severity is severity
    assert finding.stated_by is StatedBy.POLICY
    assert finding.expected == expected


@pytest.mark.parametrize(("name", "reported"), [("5.0", False), ("5.1", True), ("6.0", True)])
def test_a_405b_batch_size_below_the_table_is_a_warning_since_5_1(
    name: str, reported: bool
) -> None:
    """The table of 5.1 begins at 1152; the table of 5.0 has no lowest batch size."""
    records: tuple[Given, ...] = (
        ("submission_division", "closed", {}),
        ("submission_benchmark", "llama31_405b", {}),
        ("global_batch_size", 1151, {}),
    )
    weighed = found(rounds_of("training")[name], Profile.POLICY, *records)
    rule = "closed.llama31_405b.global_batch_size"
    severities = [finding.severity for finding in by_id(weighed, rule)]
    assert severities == ([Severity.WARNING] if reported else [])


BERT: tuple[Given, ...] = (
    ("submission_division", "closed", {}),
    ("submission_benchmark", "bert", {}),
)


@pytest.mark.parametrize("logged", ["opt_epsilon", "opt_lamb_epsilon", None])
def test_the_policy_accepts_its_own_name_for_a_key(logged: str | None) -> None:
    rules, rule = rounds_of("training")["2.1"], "closed.bert.opt_lamb_epsilon"
    records = (*BERT, (logged, 1e-6, {})) if logged else BERT
    strict = by_id(found(rules, Profile.VERIFIER, *records), rule)
    assert bool(strict) is (logged != "opt_lamb_epsilon")
    weighed = by_id(found(rules, Profile.POLICY, *records), rule)
    assert [finding.severity for finding in weighed] == ([] if logged else [Severity.ERROR])


@pytest.mark.parametrize(
    ("logged", "value", "rule", "severity"),
    [
        ("opt_weight_decay", 5, "opt_adamw_weight_decay", Severity.ERROR),
        ("sequence_length", 4096, "max_sequence_length", Severity.WARNING),
    ],
)
def test_a_value_with_the_policy_name_of_a_key_is_checked(
    logged: str, value: float, rule: str, severity: Severity
) -> None:
    rules = rounds_of("training")["5.0"]
    records: tuple[Given, ...] = (*LORA, (logged, value, {}))
    (finding,) = by_id(found(rules, Profile.POLICY, *records), f"closed.llama2_70b_lora.{rule}")
    assert finding.severity is severity
    assert finding.line == len(records)
    assert finding.message.startswith(f"{logged} is ")


OPEN: tuple[Given, ...] = (
    ("submission_division", "open", {}),
    ("submission_benchmark", "llama31_8b", {}),
    ("run_start", None, {}),
    ("eval_accuracy", 3.2, {"samples_count": 12_288}),
    ("run_stop", None, {"status": "success"}),
)


@pytest.mark.parametrize("name", ["5.1", "6.0", "6.1"])
def test_an_open_perplexity_above_1_is_an_error_only_for_the_verifier(name: str) -> None:
    rules = rounds_of("training")[name]
    (strict,) = by_id(found(rules, Profile.VERIFIER, *OPEN), "open.llama31_8b.target")
    (weighed,) = by_id(found(rules, Profile.POLICY, *OPEN), "open.llama31_8b.target")
    assert strict.severity is Severity.ERROR
    assert weighed.severity is Severity.WARNING
    assert weighed.stated_by is StatedBy.VERIFIER
    assert judge_log(log_of(*OPEN), rules, Profile.POLICY, "log").converged


def test_the_policy_has_one_target_for_bert_of_0_7() -> None:
    rules = rounds_of("training")["0.7"]
    records: tuple[Given, ...] = (
        ("submission_division", "closed", {}),
        ("submission_benchmark", "bert", {}),
        ("global_batch_size", 8192, {}),
        ("eval_accuracy", 0.71, {"epoch_num": 1}),
    )
    assert not by_id(found(rules, Profile.VERIFIER, *records), "closed.bert.target")
    (finding,) = by_id(found(rules, Profile.POLICY, *records), "closed.bert.target")
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("usage", "name", "benchmark", "division", "severity"),
    [
        ("training", "3.0", "gpt3", "closed", Severity.NOTE),
        ("training", "3.0", "bert", "closed", Severity.ERROR),
        ("training", "3.1", "gpt3", "closed", Severity.ERROR),
        ("hpc", "2.0", "cosmoflow", "open", Severity.NOTE),
        ("hpc", "2.0", "cosmoflow", "closed", Severity.ERROR),
        ("hpc", "1.0", "cosmoflow", "open", Severity.ERROR),
    ],
)
def test_longer_initialization_is_a_note_where_the_policy_allows_it(
    usage: str, name: str, benchmark: str, division: str, severity: Severity
) -> None:
    log = log_of(
        ("submission_division", division, {}),
        ("submission_benchmark", benchmark, {}),
        ("init_start", None, {}),
        ("init_stop", None, {}),
    )
    log.records[3] = Record("init_stop", 2_702_000.0, None, {})
    verdict = judge_log(log, rounds_of(usage)[name], Profile.POLICY, "log")
    (finding,) = by_id(verdict.findings, "common.init_stop")
    assert finding.severity is severity


ACCEPTED_06: tuple[Given, ...] = (
    ("submission_org", "o", {}),
    ("submission_platform", "p", {}),
    ("submission_division", "closed", {}),
    ("submission_status", "cloud", {}),
    ("submission_benchmark", "transformer", {}),
    ("cache_clear", None, {}),
    ("init_start", None, {}),
    ("init_stop", None, {}),
    ("run_start", None, {}),
    ("block_start", None, {"first_epoch_num": 0, "epoch_count": 4}),
    ("eval_accuracy", 25.1, {"epoch_num": 3}),
    ("run_stop", None, {"status": "success"}),
    ("opt_name", "Adam", {}),
    ("global_batch_size", 2048, {}),
    ("opt_base_learning_rate", 1.0, {}),
    ("opt_learning_rate_warmup_steps", 1000, {}),
    ("max_sequence_length", 80, {}),
    ("opt_adam_beta_1", 0.9, {}),
    ("opt_adam_beta_2", 0.98, {}),
    ("opt_adam_epsilon", 1e-9, {}),
)


def test_a_log_of_0_6_that_is_only_out_of_order_passes_the_policy() -> None:
    rules = rounds_of("training")["0.6"]
    weighed = found(rules, Profile.POLICY, *ACCEPTED_06)
    assert not [finding for finding in weighed if finding.severity is Severity.ERROR]
    strict = {f.key for f in found(rules, Profile.VERIFIER, *ACCEPTED_06)}
    assert strict >= {"cache_clear", "submission_entry", "block_start", "opt_name", "epoch_start"}


@pytest.mark.parametrize(
    "key", ["run_start", "run_stop", "eval_accuracy", "submission_division", "global_batch_size"]
)
def test_a_missing_required_key_of_0_6_is_an_error(key: str) -> None:
    rules = rounds_of("training")["0.6"]
    records = [record for record in ACCEPTED_06 if record[0] != key]
    errors = [f for f in found(rules, Profile.POLICY, *records) if f.severity is Severity.ERROR]
    assert any(finding.key == key for finding in errors)


def test_an_aborted_run_of_0_6_is_an_error() -> None:
    rules = rounds_of("training")["0.6"]
    records: list[Given] = [
        ("run_stop", None, {"status": "abort"}) if record[0] == "run_stop" else record
        for record in ACCEPTED_06
    ]
    errors = [f for f in found(rules, Profile.POLICY, *records) if f.severity is Severity.ERROR]
    assert {finding.key for finding in errors} == {"run_stop"}
