"""Measuring kernels: intervals, order, memory, skipped kernels, ranks and recordings."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402 - once torch is known to be there
import torch.multiprocessing as mp  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from podium.reference_runs.kernels import memory  # noqa: E402
from podium.reference_runs.kernels.lists import listed  # noqa: E402
from podium.reference_runs.kernels.mesh_sum import MeshSum  # noqa: E402
from podium.reference_runs.kernels.problems import (  # noqa: E402
    AllReduce,
    Convolution,
    Gemm,
    Recurrent,
    SparseGemm,
    bytes_of,
)
from podium.reference_runs.kernels.ranks import RankGroup, RanksLost  # noqa: E402
from podium.reference_runs.kernels.recording import Recorder  # noqa: E402
from podium.reference_runs.kernels.session import (  # noqa: E402
    NO_TIME,
    Bench,
    Conditions,
    Item,
    measure,
    spread,
)
from podium.reference_runs.kernels.tape import Tape  # noqa: E402
from podium.reference_runs.kernels.timing import median_interval, timing  # noqa: E402
from podium.reference_runs.kernels.torch_calls import TensorPlace, prepared  # noqa: E402
from podium.reference_runs.kernels.trainer import gradient_sums  # noqa: E402

CPU = torch.device("cpu")
SMALL = [
    Gemm(8, 4, 16),
    Gemm(8, 4, 16, a_t=True, b_t=True),
    *(
        Convolution(9, 7, 3, 2, 4, 3, 2, 1, 0, 2, 1, direction)
        for direction in ("forward", "backward_inputs", "backward_weights")
    ),
    *(
        Recurrent(cell, 8, 2, 3, direction)
        for cell in ("vanilla", "lstm", "gru")
        for direction in ("forward", "backward")
    ),
    SparseGemm(16, 4, 16, 0.9),
]


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(
        Conditions(source="test", device=CPU, precision="fp32", threads=1, ranks=2), budget_s=0.5
    )


def test_every_kind_is_measured(bench: Bench) -> None:
    run = measure([Item(each) for each in SMALL], bench)
    assert {each.status for each in run.kernels} == {"measured"}
    for each in run.kernels:
        assert each.timing is not None
        assert each.tflops is not None
        assert each.timing.low_ms <= each.timing.median_ms <= each.timing.high_ms
        assert each.tflops == pytest.approx(each.flop / each.timing.median_ms / 1e9)
        assert each.flop_share == pytest.approx(each.tflops * 1e12 / run.roof.flop_per_s)  # type: ignore[union-attr]


@pytest.mark.parametrize("problem", SMALL[:5], ids=lambda each: each.label)
def test_the_flop_of_a_problem_match_those_of_its_call(problem: Any) -> None:
    call = prepared(problem, TensorPlace(CPU, torch.float32)).call
    with FlopCounterMode(display=False) as counter:
        call()
    assert counter.get_total_flops() == problem.flop


def test_the_flop_of_a_recurrent_problem_are_those_of_the_state_product() -> None:
    layer, problem = nn.RNN(1, 64, nonlinearity="relu"), Recurrent("vanilla", 64, 8, 10)
    with FlopCounterMode(display=False) as counter:
        layer(torch.randn(10, 8, 1))
    assert 1 <= counter.get_total_flops() / problem.flop < 1 + 2 / 64


def test_the_interval_of_a_median_is_from_order_statistics() -> None:
    # The median is between about the 40th and the 60th of 100 samples in 95 % of cases
    assert median_interval([*map(float, range(100))]) == (40, 59)
    assert median_interval([3.0]) == (3.0, 3.0)
    found = timing([0.001, 0.002, 0.003], first=0.1, cold=None)
    assert (found.median_ms, found.first_ms, found.cold_ms) == (2, 100, None)


def test_the_first_problems_are_spread_over_kinds_and_sizes() -> None:
    problems = [*(Gemm(n, n, n) for n in range(1, 16)), *(SMALL[-1:])]
    order = spread(problems)
    assert sorted(order) == [*range(16)]
    assert problems[order[0]] == Gemm(8, 8, 8)
    assert problems[order[1]].kind == "sparse_gemm"
    assert [problems[at].m for at in order[2:4]] == [4, 12]  # type: ignore[union-attr]


def test_an_exhausted_budget_skips_kernels_with_a_note(bench: Bench) -> None:
    items = [Item(each) for each in SMALL]
    run = measure(items, bench, budget_s=1e-9)
    assert {(each.status, each.reason) for each in run.kernels} == {("skipped", NO_TIME)}
    assert run.notes == (f"budget 1e-09 s: 0 of {len(items)} kernels, spread over kinds and sizes",)


def test_a_known_kernel_is_not_measured_again(bench: Bench) -> None:
    first = measure([Item(SMALL[0])], bench).kernels[0]
    marked = replace(first, tflops=-1.0)
    run = measure([Item(each) for each in SMALL[:2]], bench, known={SMALL[0]: marked})
    assert [(each.tflops or 0) > 0 for each in run.kernels] == [False, True]


def test_a_kernel_too_large_for_memory_is_skipped_before_allocation(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_of_machine", lambda: 1e6)
    huge = bench.measured(Item(Gemm(1 << 20, 1 << 20, 1 << 20)))
    assert huge.status == "skipped"
    assert "needs 19,791,209 MB of memory; 1 MB are free" in huge.reason
    assert bench.measured(Item(SMALL[0])).status == "measured"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError("\"addmm\" not implemented for 'Half'"), "skipped"),
        (NotImplementedError("no such kernel"), "skipped"),
        (RuntimeError("[enforce] can't allocate memory"), "skipped"),
        (RuntimeError("an illegal memory access"), "failed"),
    ],
)
def test_unsupported_kernels_are_skipped_and_other_errors_are_failures(
    bench: Bench, error: Exception, status: str
) -> None:
    def fail(_: TensorPlace) -> Any:
        raise error

    found = bench.measured(Item(SMALL[0], make=fail))
    assert (found.status, found.reason) == (status, str(error))


def test_an_all_reduce_of_one_rank_is_skipped(bench: Bench) -> None:
    alone = Bench(replace(bench.conditions, ranks=1), budget_s=0.5)
    found = alone.measured(Item(AllReduce(100, 1)))
    assert (found.status, found.reason) == ("skipped", "an all-reduce requires --ranks 2 or more")


@pytest.mark.long
def test_a_killed_rank_is_an_error_and_is_replaced() -> None:
    group = RankGroup(2, CPU, 1.0)
    try:
        assert group.timing(1000).median_ms > 0
        group._processes[1].kill()
        with pytest.raises(RanksLost):
            group.timing(1000)
        # New processes replace the ranks
        assert group.timing(10).repeats > 0
    finally:
        group.close()


def as_rank_of_a_mesh(rank: int, folder: Path, world: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=world)
    found: list[Any] = []
    for rows in (2, world):
        # Fewer elements than columns, equal parts, and parts of unequal length
        for elements in (1, 12, 17):
            values = torch.arange(elements) + 100.0 * rank
            wanted = values.clone()
            dist.all_reduce(wanted)
            MeshSum(rows)(values)
            found.append(torch.equal(values, wanted))
    (folder / f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


@pytest.mark.long
def test_a_sum_over_a_mesh_is_the_sum_over_all_ranks(tmp_path: Path) -> None:
    world = 6
    mp.spawn(as_rank_of_a_mesh, (tmp_path, world), nprocs=world)
    for rank in range(world):
        assert json.loads((tmp_path / f"{rank}.json").read_text()) == [True] * 6


@pytest.mark.long
def test_an_all_reduce_is_timed_with_and_without_a_mesh() -> None:
    group = RankGroup(4, CPU, 0.3)
    try:
        for rows in (2, 1, 4):
            assert group.timing(1001, rows).median_ms > 0
    finally:
        group.close()


def test_an_all_reduce_over_a_mesh_is_a_separate_kernel() -> None:
    flat, mesh = AllReduce(100, 8), AllReduce(100, 8, 2)
    assert (flat.label, mesh.label) == ("100 on 8 ranks", "100 on 2x4 ranks")
    assert bytes_of(flat, "fp32") == bytes_of(mesh, "fp32")
    assert {each.rows for each in listed("training", 8, 2) if isinstance(each, AllReduce)} == {2}


# --- recordings ---


class Model(nn.Module):
    """A convolution, an attention and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3, stride=2, groups=1)
        self.output = nn.Linear(8, 5)

    def forward(self, images: Any) -> Any:
        """Map (B, 3, H, W) to (B, positions, 5)."""
        places = self.convolution(images).flatten(2).transpose(1, 2)[:, None].contiguous()
        mixed = nn.functional.scaled_dot_product_attention(places, places, places)
        return self.output(mixed[:, 0])


def step(model: nn.Module, images: Any) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(images).square().sum().backward()
    optimizer.step()


def test_a_recording_has_the_flop_of_torchs_counter() -> None:
    torch.manual_seed(0)
    model, images = Model(), torch.randn(2, 3, 17, 17)
    recorder = Recorder(Tape())
    with recorder.recording():
        step(model, images)
    flop: Counter[str] = Counter()
    for each in recorder.found.values():
        flop[each.problem.kind] += each.count * each.problem.flop
    # On a CPU, torch's counter counts attention only if it consists of matrix products
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        step(model, images)
    counts = {str(op): n for op, n in counter.get_flop_counts()["Global"].items()}
    assert flop["convolution"] == counts["aten.convolution"] + counts["aten.convolution_backward"]
    assert flop["gemm"] == counts["aten.mm"] + counts["aten.addmm"]
    # The backward pass computes the scores again: 7 products instead of 6
    assert flop["attention"] == counts["aten.bmm"] * 7 / 6


def test_a_tape_repeats_the_recorded_step() -> None:
    torch.manual_seed(0)
    model, images = Model(), torch.randn(2, 3, 17, 17)
    tape = Tape()
    with Recorder(tape).recording():
        step(model, images)
    tape.finish()
    other = Model()
    other.load_state_dict({k: v.clone() for k, v in model.state_dict().items()})
    taken = tape.play(CPU)
    # Compare the second step of the tape with a real one
    step(other, images)
    for played, wanted in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(played, wanted)
    assert all(ms >= 0 for ms in taken.values())
    assert sum(taken.values()) > 0


def test_every_recorded_operator_can_be_called_alone(bench: Bench) -> None:
    recorder = Recorder(Tape())
    with recorder.recording():
        step(Model(), torch.randn(2, 3, 17, 17))
    kinds = Counter(each.problem.kind for each in recorder.found.values())
    assert {"gemm", "convolution", "attention", "optimizer", "other"} <= set(kinds)
    for each in recorder.found.values():
        made = each.prepared(TensorPlace(CPU, torch.float32))
        made.call()
        if made.restore:
            made.restore()
            made.call()


def test_a_host_tensor_stays_on_the_host() -> None:
    """A copy to a device is measured from the host; pinning memory is not device work."""
    recorder = Recorder(Tape())
    with recorder.recording():
        torch.zeros(4).to(torch.float64)
    ((args, _),) = [each.given for each in recorder.found.values() if "copy" in str(each.function)]
    place = TensorPlace(torch.device("meta"), torch.float32)
    assert args[0].host
    assert args[0].made(place).device.type == "cpu"
    assert replace(args[0], host=False).made(place).device.type == "meta"


def test_gradients_are_reduced_in_buckets_of_limited_size() -> None:
    million = torch.empty(1 << 20)
    assert gradient_sums([million]) == [1 << 20]
    # Gradients of 4 MiB: the first bucket is full after one, the next after seven
    assert gradient_sums([million] * 9) == [1 << 20, 7 << 20, 1 << 20]
    assert gradient_sums([]) == []
