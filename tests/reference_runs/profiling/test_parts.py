"""The counts and times of the levels, on modules with known values."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from podium.reference_runs.profiling.chrome import shortened
from podium.reference_runs.profiling.counts import Counter, OperatorCall
from podium.reference_runs.profiling.joined import operators_of, timeline_of
from podium.reference_runs.profiling.kernels import (
    STEPS,
    WARM_UP,
    RecordedKernels,
    Recording,
    recorded,
)
from podium.reference_runs.profiling.layers import LayerClock
from podium.reference_runs.profiling.profile import Roof
from podium.reference_runs.profiling.spans import overlap, total, union

CPU = torch.device("cpu")


class Two(nn.Module):
    """Two linear layers: 8 to 16 to 4 features."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.ModuleDict({"first": nn.Linear(8, 16), "second": nn.Linear(16, 4)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply both layers to a batch."""
        y: torch.Tensor = self.inner["second"](self.inner["first"](x))
        return y


def flop(counter: Counter, module: str, phase: str) -> float:
    return sum(c.flop for p, c in counter.found.items() if (p.module, p.phase) == (module, phase))


def test_products_have_the_flop_of_their_dimensions() -> None:
    counter, model = Counter(), Two()
    with counter.counting(model):
        model(torch.randn(32, 8)).sum().backward()
    assert flop(counter, "inner.first", "forward") == 2 * 32 * 8 * 16
    assert flop(counter, "inner.second", "forward") == 2 * 32 * 16 * 4
    # The first layer needs no gradient of its input: one product; the second has two
    assert flop(counter, "inner.first", "backward") == 2 * 32 * 8 * 16
    assert flop(counter, "inner.second", "backward") == 2 * (2 * 32 * 16 * 4)


@pytest.mark.parametrize(("query_heads", "heads"), [(4, 4), (4, 2)])
def test_attention_has_the_flop_of_its_products(query_heads: int, heads: int) -> None:
    """Two products forward; backward, the scores again and four gradients."""
    queries = torch.randn(2, query_heads, 32, 8, requires_grad=True)
    keys, values = (torch.randn(2, heads, 32, 8, requires_grad=True) for _ in range(2))
    counter = Counter()
    with counter.counting(nn.Identity()):
        attended = nn.functional.scaled_dot_product_attention(
            queries, keys, values, is_causal=True, enable_gqa=True
        )
        attended.sum().backward()
    product = 2 * 2 * query_heads * 32 * 32 * 8
    found: dict[str, float] = defaultdict(float)
    for place, count in counter.found.items():
        found[place.phase] += count.flop
    assert found == {"other": 2 * product, "backward": 5 * product}


def test_views_move_no_bytes_and_in_place_sums_allocate_no_memory() -> None:
    counter, x = Counter(), torch.zeros(10, 10)
    with counter.counting(Two()):
        x.t().reshape(100)
        x.view(100)
        x.add_(1)
        x + x
    found = {place.operator: count for place, count in counter.found.items()}
    assert found["aten::view"] == (0, 0, 0)
    assert found["aten::add_"] == (0, 800, 0)
    assert found["aten::add"] == (0, 1200, 400)


def test_the_optimizer_is_a_separate_phase() -> None:
    counter, model = Counter(), Two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.randn(2, 8)).sum().backward()
    with counter.counting(model):
        optimizer.step()
    assert {place.phase for place in counter.found} == {"optimizer"}


def test_each_pass_of_each_module_is_timed() -> None:
    clock, model = LayerClock(CPU), Two()
    with clock.on(model):
        for _ in range(3):
            model(torch.randn(32, 8)).sum().backward()
    passes = clock.passes()
    assert set(passes) == {"", "inner.first", "inner.second"}
    for each in passes.values():
        assert each.calls == 3
        assert each.forward > 0
        assert each.backward > 0
    assert passes[""].forward > passes["inner.first"].forward + passes["inner.second"].forward
    # The hooks are removed
    model(torch.randn(32, 8))
    assert clock.passes() == passes


def test_a_pass_without_gradients_has_no_backward() -> None:
    clock, model = LayerClock(CPU), Two()
    with clock.on(model), torch.no_grad():
        model(torch.randn(32, 8))
    assert {each.backward for each in clock.passes().values()} == {0}


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ([(0, 4)], [(1, 2), (3, 9)], 2),
        ([(0, 1)], [(1, 2)], 0),
        ([(0, 2), (1, 3)], [(0, 3)], 3),
        ([], [(0, 1)], 0),
    ],
)
def test_the_overlap_of_spans_is_counted_once(
    first: list[tuple[float, float]], second: list[tuple[float, float]], both: float
) -> None:
    assert overlap(union(first), union(second)) == both
    assert overlap(union(second), union(first)) == both
    assert total(union([*first, *second])) == total(union(first)) + total(union(second)) - both


def test_the_roofline_is_flat_above_its_ridge_point() -> None:
    roof = Roof(flop_per_s=100, bytes_per_s=10)
    assert [roof.reachable(x) for x in (1, 10, 1000)] == [10, 100, 100]


def test_a_large_trace_is_shortened_by_its_shortest_events(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    events = [{"ph": "X", "name": f"k{n}", "ts": n, "dur": n % 100} for n in range(1000)]
    events.append({"ph": "M", "name": "process_name"})
    path.write_text(json.dumps({"traceEvents": events, "schemaVersion": 1}))
    assert shortened(path) == 0
    left_out = shortened(path, 20_000)
    assert path.stat().st_size <= 20_000
    trace = json.loads(path.read_text())
    kept = trace["traceEvents"]
    assert (len(kept), trace["schemaVersion"]) == (1001 - left_out, 1)
    assert kept[-1] == events[-1]
    durations = [each["dur"] for each in kept[:-1]]
    gone = [each["dur"] for each in events[:-1] if each not in kept]
    assert min(durations) >= max(gone)
    assert len(kept) > 200


def test_an_operator_includes_the_operators_that_it_calls() -> None:
    model, counter = nn.Conv2d(3, 8, 3), Counter()
    x = torch.randn(2, 3, 16, 16)
    with counter.counting(model):
        model(x).sum().backward()
    counted = frozenset(place.operator for place in counter.found)
    with recorded(None, CPU, model, counted=counted) as recording:
        for _ in range(WARM_UP + STEPS):
            model(x).sum().backward()
            recording.profiler.step()
    found = recording.found.kernels
    heavy = {place for place, count in counter.found.items() if count.flop}
    assert heavy == {
        ("", "forward", "aten::convolution"),
        ("", "backward", "aten::convolution_backward"),
    }
    # The inner product is not a separate operator
    assert "aten::_convolution" in found[OperatorCall("", "forward", "aten::convolution")]
    assert heavy <= set(found)
    assert "aten::_convolution" not in {place.operator for place in found}


def test_calls_count_only_the_operator_itself() -> None:
    """Nested calls are not counted: a product would have 3 calls and attention 22."""
    model, counter = nn.Linear(8, 4, bias=False), Counter()
    x = torch.randn(16, 8, requires_grad=True)
    with counter.counting(model):
        model(x).sum().backward()
    counted = frozenset(place.operator for place in counter.found)
    with recorded(None, CPU, model, counted=counted) as recording:
        for _ in range(WARM_UP + STEPS):
            model(x).sum().backward()
            recording.profiler.step()
    operators = operators_of(recording.found, counter.found, None)
    calls = {(each.phase, each.name): each.calls for each in operators if each.flop}
    assert calls == {("forward", "aten::mm"): 1, ("backward", "aten::mm"): 2}


def event(name: str, begin: float, end: float, **more: object) -> SimpleNamespace:
    """A profiler event in microseconds, on the host unless `device` is CUDA."""
    plain = {
        "device_type": SimpleNamespace(name=more.pop("device", "CPU")),
        "time_range": SimpleNamespace(start=begin, end=end),
        "cpu_parent": None,
        "cpu_children": [],
        "kernels": [],
        "scope": 0,
        "sequence_nr": -1,
        "is_user_annotation": False,
        "cpu_time_total": end - begin,
        "self_cpu_time_total": end - begin,
        "device_time_total": 0.0,
    }
    return SimpleNamespace(name=name, **{**plain, **more})


def found_in(events: list[SimpleNamespace], device: str) -> RecordedKernels:
    """The recorded kernels of events."""
    made = Recording(None, torch.device(device))
    made._finished(SimpleNamespace(events=lambda: events))
    return made.found


def test_communication_on_a_gpu_is_exposed_where_no_kernel_runs() -> None:
    around = event("layer 0", 0, 100, device="CUDA", is_user_annotation=True)
    events = [
        event("ProfilerStep#3", 0, 100, scope=7),
        around,
        event("sgemm", 0, 40, device="CUDA"),
        event("ncclDevKernel_AllReduce_Sum_f32", 30, 60, device="CUDA"),
        event("sgemm", 55, 58, device="CUDA"),
        event("Memcpy HtoD (Pinned -> Device)", 60, 70, device="CUDA"),
    ]
    found = found_in(events, "cuda")
    # Communication is from 30 to 60, overlapped from 30 to 40 and from 55 to 58
    assert (found.overlapped, found.exposed) == (13, 17)
    stretches = [(each.lane, each.begin_ms, each.end_ms) for each in timeline_of(found)]
    assert stretches == [
        ("device", 0.0, 0.04),
        ("device", 0.055, 0.058),
        ("communication", 0.03, 0.06),
        ("copies", 0.06, 0.07),
    ]


def test_communication_on_a_cpu_is_exposed_where_no_operator_runs() -> None:
    events = [
        event("ProfilerStep#3", 0, 100, scope=7),
        event("gloo:all_reduce", 20, 60, scope=7),
        # A range that waits for communication is not computation
        event("DistributedDataParallel.forward", 0, 100, scope=7),
        event("aten::mm", 10, 30),
        event("aten::add", 50, 55),
    ]
    found = found_in(events, "cpu")
    assert (found.overlapped, found.exposed) == (15, 25)
