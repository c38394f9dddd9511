"""R-GAT: published shapes, sampling of neighbors, dropout and the files of the graph."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.benchmarks.rgat.config import BENCHMARKS, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.rgat.data import Seeds, from_files, synthetic  # noqa: E402
from podium.reference_runs.benchmarks.rgat.model import RGAT  # noqa: E402
from podium.reference_runs.benchmarks.rgat.sampling import Csr, Sampler  # noqa: E402
from podium.reference_runs.benchmarks.rgat.train import Classification  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.samples import DatasetSize  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402

(BENCHMARK,) = BENCHMARKS
SMALL = {"papers": "2000", "train_samples": "1280", "eval_samples": "200"}


def task_of(**settings: str) -> Classification:
    """Return a prepared task on a small graph."""
    config = smoke().with_settings(SMALL | settings)
    task = Classification(config, Setting(), Ranks(torch.device("cpu")))
    task.prepare()
    return task


def test_the_reference_model_has_the_published_shapes() -> None:
    with torch.device("meta"):
        model = RGAT(reference())
    first, later = (11 * (wide * 512 + 3 * 512) for wide in (1024, 512))
    total = sum(p.numel() for p in model.parameters())
    assert total == first + 2 * later + 512 * 2983 + 2983 == 13_115_303


def test_only_relations_to_papers_get_gradients_in_the_last_layer() -> None:
    task = task_of()
    model = task.build()
    loss = task.loss(model, next(task.batches(1, 0)))
    loss.total.backward()
    assert loss.items == smoke().global_batch_size
    last = model.layers[-1]
    for relation, attention in zip(last.relations, last.attention, strict=True):
        moved = attention.project.weight.grad is not None
        assert moved == (relation[2] == "paper")
    assert model.output.weight.grad.abs().sum() > 0


def test_drawn_neighbors_are_distinct_and_complete_for_low_degrees() -> None:
    rng = np.random.default_rng(1)
    source, target = rng.integers(0, 1000, 400), np.repeat(np.arange(40), 10)
    target[:5] = 39
    csr = Csr.of(source + 1000 * np.arange(400), target, 41)
    drawn, there = csr.draw(np.arange(41), 7, key=5)
    degree = np.diff(csr.starts)
    for t in range(41):
        mine = drawn[t][there[t]]
        own = csr.sources[csr.starts[t] : csr.starts[t + 1]]
        assert len(set(mine)) == len(mine) == min(7, degree[t])
        assert set(mine) <= set(own)


def test_every_neighbor_is_drawn_equally_often() -> None:
    csr = Csr.of(np.arange(10), np.zeros(10, np.int64), 1)
    drawn = [csr.draw(np.zeros(1, np.int64), 3, key)[0] for key in range(6000)]
    share = np.bincount(np.concatenate(drawn).ravel(), minlength=10) / 6000
    assert np.allclose(share, 0.3, atol=0.03)


def test_a_block_indexes_its_sources_by_row_of_its_input_nodes() -> None:
    cites, writes = ("paper", "cites", "paper"), ("author", "writes", "paper")
    edges = {
        cites: Csr.of(np.array([90, 40, 40, 20]), np.array([70, 70, 90, 40]), 100),
        writes: Csr.of(np.array([6, 5]), np.array([90, 90]), 100),
    }
    nodes, (inner, outer) = Sampler(edges, ("author", "paper"), (2, 2)).around(
        np.array([70, 90]), (1, 1)
    )
    assert {kind: ids.tolist() for kind, ids in nodes.items()} == {
        "author": [5, 6],
        "paper": [70, 90, 40, 20],
    }
    assert outer.targets["paper"].tolist() == [70, 90]
    assert outer.sources[cites].tolist() == [[1, 2], [2, 0]]
    assert outer.there[cites].tolist() == [[True, True], [True, False]]
    assert outer.sources[writes].tolist() == [[0, 0], [1, 0]]
    assert outer.there[writes].tolist() == [[False, False], [True, True]]
    assert inner.targets["paper"].tolist() == [70, 90, 40]
    assert inner.targets["author"].tolist() == [5, 6]
    assert inner.sources[cites].tolist() == [[1, 2], [2, 0], [3, 0]]
    assert inner.there[cites].tolist() == [[True, True], [True, False], [True, False]]


def test_scores_of_a_paper_do_not_depend_on_the_rest_of_its_batch() -> None:
    task = task_of()
    model = task.build().train()
    whole = task.training.__getitems__(range(16)).drawn(3)
    halves = [task.training.__getitems__(part).drawn(3) for part in (range(8), range(8, 16))]
    apart = torch.cat([model(half) for half in halves])
    assert torch.allclose(model(whole), apart, atol=1e-5)


def test_dropout_has_its_configured_rate_and_changes_with_the_draw() -> None:
    model = RGAT(smoke()).train()
    ones, ids = torch.ones(2000, 32), torch.arange(2000)
    first, again, other = (model._dropped(ones, ids, draw) for draw in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert float((first == 0).double().mean()) == pytest.approx(0.2, abs=0.01)
    assert float(first.mean()) == pytest.approx(1.0, abs=0.02)


def test_neighbors_change_by_epoch_and_evaluation_papers_are_held_out() -> None:
    config = smoke().with_settings(SMALL)
    graph = synthetic(config, seed=1)
    assert not set(graph.training) & set(graph.evaluation)
    seeds = Seeds(graph, graph.training, config, seed=1)
    batches = []
    for epoch in (1, 2):
        seeds.set_epoch(epoch)
        batches.append(seeds.__getitems__(range(8)))
    assert not torch.equal(*(b.blocks[0].sources[config.relations[0]][:50] for b in batches))


def _write_graph(folder: Path) -> None:
    config = reference()
    rng = np.random.default_rng(0)
    for kind in {kind for source, _, target in config.relations for kind in (source, target)}:
        (folder / kind).mkdir()
        np.save(folder / kind / "node_feat.npy", rng.random((6, 1024), np.float32))
    for relation in config.relations:
        place = folder / "__".join(relation)
        place.mkdir()
        np.save(place / "edge_index.npy", rng.integers(0, 6, (12, 2)))
    np.save(folder / "paper" / "node_label_2K.npy", np.arange(6, dtype=np.float32))
    torch.save(torch.arange(4), folder / "train_idx.pt")
    torch.save(torch.arange(4, 6), folder / "val_idx.pt")


def test_the_real_graph_is_read_from_its_files_and_sampled(tmp_path: Path) -> None:
    _write_graph(tmp_path)
    config = reference().with_settings({"width": "16", "classes": "6"})
    graph = from_files(tmp_path, config, DatasetSize(4, 2))
    cites = np.load(tmp_path / "paper__cites__paper" / "edge_index.npy")
    assert len(graph.edges[config.relations[0]].sources) == 2 * len(cites)
    batch = Seeds(graph, graph.training, config, seed=1).__getitems__(range(4))
    assert RGAT(config).eval()(batch).shape == (4, 6)
    with pytest.raises(DataMissing, match=r"train_idx\.pt contains 4 papers; expected 5"):
        from_files(tmp_path, config, DatasetSize(5, 2))


def test_a_missing_graph_is_reported_with_its_file_name(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=r"author/node_feat\.npy cannot be read"):
        from_files(tmp_path, reference(), DatasetSize(4, 2))


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("paper/node_feat.npy", np.zeros((6, 16), np.float32), r"has shape \(6, 16\)"),
        ("paper__cites__paper/edge_index.npy", np.full((3, 2), 6), "has a paper beyond the 6"),
        (
            "paper__cites__paper/edge_index.npy",
            np.zeros((2, 3), int),
            r"has shape \(2, 3\); ",
        ),
        ("paper/node_label_2K.npy", np.zeros(5), "has 5 classes; expected 6"),
        ("paper/node_label_2K.npy", np.full(6, 2983), "contains classes 2983 to 2983; expected 0"),
        ("train_idx.pt", torch.tensor([6]), "names papers beyond the 6"),
        ("train_idx.pt", b"no tensor", "cannot be read as a tensor"),
        ("val_idx.pt", torch.tensor([0.5]), "is not a tensor of paper indices"),
    ],
)
def test_a_wrong_file_of_the_graph_is_reported_with_its_name(
    tmp_path: Path, name: str, wrong: Any, said: str
) -> None:
    _write_graph(tmp_path)
    path = tmp_path / name
    if isinstance(wrong, bytes):
        path.write_bytes(wrong)
    elif isinstance(wrong, torch.Tensor):
        torch.save(wrong, path)
    else:
        np.save(path, wrong)
    with pytest.raises(DataMissing, match=f"{re.escape(name)} {said}"):
        from_files(tmp_path, reference(), DatasetSize(4, 2, exactly=False))
