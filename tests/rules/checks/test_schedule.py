"""Schedules of evaluations, with the figures of published results."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from podium.rules.training.shared import schedules

from .conftest import GoodLog

OFF = "evaluation.off-schedule"


def grid(first: float, interval: float, count: int = 4) -> list[float]:
    """Return evenly spaced points."""
    return [first + place * interval for place in range(count)]


def log(
    benchmark: str,
    rules: str,
    batch: int,
    points: Iterable[float],
    unit: str = "samples_count",
    division: str = "closed",
) -> list[str]:
    """Return the messages about the schedule of a log."""
    made = GoodLog(points, benchmark, rules, batch=batch, unit=unit, division=division)
    return [violation.message for violation in made.violations().get(OFF, [])]


CONFORMING = {
    "8b": ("llama31_8b", "training 5.1", 32, grid(12_288, 12_288)),
    "8b counted from 0": ("llama31_8b", "training 5.1", 32, grid(12_256, 12_288)),
    "8b rounded up": ("llama31_8b", "training 5.1", 80, grid(12_320, 12_320)),
    "gpt-oss": ("gpt_oss_20b", "training 6.0", 16, grid(12_288, 12_288)),
    "405b of 5.0": ("llama31_405b", "training 5.0", 1152, grid(46_080, 46_080)),
    "405b skips": ("llama31_405b", "training 5.1", 1152, grid(276_480 - 18_432 + 18_432, 18_432)),
    "flux1": ("flux1", "training 5.1", 1024, grid(262_144, 262_144)),
    "lora 8": ("llama2_70b_lora", "training 5.0", 8, grid(1536, 384)),
    "lora 16": ("llama2_70b_lora", "training 5.0", 16, grid(1920, 384)),
    "lora 64": ("llama2_70b_lora", "training 4.1", 64, grid(4224, 384)),
    "lora 9 up": ("llama2_70b_lora", "training 5.0", 9, grid(1548, 387)),
    "lora 9 down": ("llama2_70b_lora", "training 5.0", 9, grid(1512, 378)),
    "lora 18 down": ("llama2_70b_lora", "training 5.0", 18, grid(1890, 378)),
    "gpt3": ("gpt3", "training 4.0", 2048, grid(50_331_648, 50_331_648), "epoch_num"),
    "bert": ("bert", "training 1.1", 3072, grid(175_000, 175_000), "epoch_num"),
    "bert drifts": ("bert", "training 5.0", 768, [150_094, 299_399, 449_076], "epoch_num"),
    "bert from 0": ("bert", "training 1.0", 4096, grid(0, 176_128), "epoch_num"),
    "resnet offset": ("resnet", "training 3.0", 2560, grid(3, 4, 9), "epoch_num"),
    "resnet rounded": ("resnet", "training 1.0", 8192, [3, 6, 10, 14, 18, 22], "epoch_num"),
    "resnet oftener in 0.7": ("resnet", "training 0.7", 32768, grid(2, 2, 20), "epoch_num"),
    "ssd of 0.7": ("ssd", "training 0.7", 912, [41, 51], "epoch_num"),
    "retinanet": ("retinanet", "training 5.0", 256, grid(1, 1), "epoch_num"),
    "dlrm": ("dlrm", "training 2.0", 55296, grid(1.05, 0.05), "epoch_num"),
    "dcnv2": ("dlrm_dcnv2", "training 4.0", 135_168, grid(0.04994, 0.0499726), "epoch_num"),
    "rgat": ("rgat", "training 5.0", 16_384, grid(0.05, 0.05), "epoch_num"),
    "rgat in two decimals": (
        "rgat",
        "training 5.1",
        1_048_576,
        [0.06, 0.11, 0.17, 0.22, 0.27, 0.33],
        "epoch_num",
    ),
    "unet3d": ("unet3d", "training 2.0", 56, grid(1000, 20), "epoch_num"),
    "unet3d padded": ("unet3d", "training 1.0", 32, grid(875, 18), "epoch_num"),
    "unet3d samples": ("unet3d", "training 3.1", 56, grid(168_000, 3360), "epoch_num"),
    "diffusion, last two": ("stable_diffusion", "training 4.1", 1024, grid(2_048_000, 512_000, 2)),
    "diffusion steps": ("stable_diffusion", "training 3.1", 1024, grid(500, 500), "step_num"),
    "deepseek": ("deepseekv3_671b", "training 6.1", 4096, grid(196_608, 4096)),
    "openfold": ("openfold", "hpc 3.0", 144, grid(5760, 5760), "epoch_num"),
    "openfold from 0": ("openfold", "hpc 3.0", 218, grid(0, 8720), "epoch_num"),
    "cosmoflow": ("cosmoflow", "hpc 2.0", 128, grid(1, 1, 9), "epoch_num"),
}

DEVIATING = {
    "8b twice as far": ("llama31_8b", "training 5.1", 64, grid(24_576, 24_576), "", 2),
    "8b too often": ("llama31_8b", "training 5.1", 32, grid(8192, 8192), "", 2),
    "8b half": ("llama31_8b", "training 5.1", 32, grid(6144, 6144), "", 2),
    "8b four times": ("llama31_8b", "training 5.1", 128, grid(49_152, 49_152), "", 2),
    "8b odd": ("llama31_8b", "training 5.1", 96, grid(21_888, 21_888), "", 2),
    "405b of 5.0 in 5.1": ("llama31_405b", "training 5.1", 1024, grid(46_080, 46_080), "", 2),
    "405b no skip": ("llama31_405b", "training 5.1", 1152, grid(18_432, 18_432), "", 1),
    "lora skips too few": ("llama2_70b_lora", "training 5.0", 16, grid(1536, 384), "", 1),
    "lora no skip": ("llama2_70b_lora", "training 4.1", 64, grid(1920, 384), "", 1),
    "lora twice": ("llama2_70b_lora", "training 4.0", 64, grid(8448, 768), "", 2),
    "dcnv2": ("dlrm_dcnv2", "training 5.1", 55_296, grid(0.132, 0.132), "epoch_num", 2),
    "rgat a fifth too far": ("rgat", "training 5.1", 16_384, grid(0.062, 0.062), "epoch_num", 2),
    "rgat rarely": ("rgat", "training 5.1", 16_384, grid(0.1, 0.1), "epoch_num", 2),
    "rgat often": ("rgat", "training 5.0", 16_384, grid(0.02, 0.02), "epoch_num", 2),
    "diffusion often": ("stable_diffusion", "training 5.0", 512, grid(1_536_000, 128_000), "", 1),
    "diffusion off": ("stable_diffusion", "training 5.0", 512, grid(1_280_000, 512_000), "", 1),
    "resnet 3": ("resnet", "training 3.0", 2560, grid(3, 3, 9), "epoch_num", 1),
    "resnet in the end": ("resnet", "training 4.0", 1536, [27, 31, 33, 34, 35], "epoch_num", 1),
    "resnet rarely in 0.7": ("resnet", "training 0.7", 4096, grid(8, 8), "epoch_num", 1),
    "bert quarter": ("bert", "training 4.0", 768, grid(37_500, 37_500), "epoch_num", 2),
    "gpt3 half": ("gpt3", "training 4.0", 2048, grid(25_165_824, 25_165_824), "epoch_num", 2),
    "unet3d early": ("unet3d", "training 2.0", 56, grid(500, 20), "epoch_num", 1),
    "unet3d rarely": ("unet3d", "training 2.0", 56, grid(1000, 100), "epoch_num", 1),
    "retinanet rarely": ("retinanet", "training 5.0", 256, grid(2, 2), "epoch_num", 2),
    "flux1": ("flux1", "training 5.1", 1024, grid(131_072, 131_072), "", 2),
    "deepseek": ("deepseekv3_671b", "training 6.0", 4096, grid(196_608, 8192), "", 1),
}


@pytest.mark.parametrize("case", CONFORMING)
def test_published_schedules_are_accepted(case: str) -> None:
    assert log(*CONFORMING[case]) == []


@pytest.mark.parametrize("case", DEVIATING)
def test_other_schedules_are_reported(case: str) -> None:
    benchmark, rules, batch, points, unit, count = DEVIATING[case]
    found = log(benchmark, rules, batch, points, unit or "samples_count")
    assert len(found) == count


STEPS = "evaluation.counts-steps"


@pytest.mark.parametrize("batch", [2, 8, 32, 48, 512, 4096])
@pytest.mark.parametrize("count", [2, 7])
def test_positions_in_steps_are_one_error(batch: int, count: int) -> None:
    interval = -(-12_288 // batch)
    made = GoodLog(grid(interval, interval, count), batch=batch)
    [found] = made.violations()[STEPS]
    assert found.position == made.of("eval_accuracy")
    assert "samples_count seems to count steps" in found.message
    assert f"every position is 1/{batch} of the scheduled one" in found.message


@pytest.mark.parametrize(
    ("batch", "first", "interval"),
    [
        *((32, 12_288, 12_288), (32, 384, 400), (32, 6144, 6144), (1, 12_288, 12_288)),
        # Too small for the schedule in samples as well as in steps
        (16, 1, 1),
    ],
)
def test_other_positions_are_not_reported_as_steps(batch: int, first: int, interval: int) -> None:
    assert STEPS not in GoodLog(grid(first, interval), batch=batch).violations()


def test_the_open_division_has_no_schedule() -> None:
    points = grid(100, 100)
    assert log("llama31_8b", "training 5.1", 32, points, division="open") == []


def test_positions_in_an_implausible_unit_are_not_checked() -> None:
    assert log("bert", "training 2.1", 3072, grid(1, 1), "epoch_num") == []


def test_messages_contain_the_computed_positions() -> None:
    first, interval = log("llama2_70b_lora", "training 4.0", 64, grid(8448, 768, 3))
    assert first == "the first evaluation is at 8448 samples; must be at 4224 samples"
    assert interval == (
        "the interval before the evaluation at 9216 samples is 768 samples (2 of 3 evaluations "
        "deviate); must be 384 samples"
    )


def test_the_text_of_a_schedule_reads_like_the_policy() -> None:
    assert schedules.V5_1["llama31_8b"].text == (
        "every ceil(12_288 / global_batch_size) * global_batch_size samples, first at "
        "ceil(12_288 / global_batch_size) * global_batch_size"
    )
    assert schedules.V0_7["resnet"].text == "at least every 4 epochs"
    assert schedules.V2_0["ssd"].text == "every epoch, first at 1"


def test_the_interval_and_the_first_evaluation_depend_on_the_batch_size() -> None:
    due = schedules.V5_1["llama31_405b"].due(2304)[0]
    assert (due.interval, due.first) == (18_432, 18 * 18_432)
    assert schedules.V5_1["llama2_70b_lora"].due(0) == ()


def test_a_batch_size_of_zero_is_not_checked() -> None:
    assert log("llama31_8b", "training 5.1", 0, grid(5, 5)) == []
