"""A graph of papers, authors, institutes, fields: generated at smoke scale, otherwise IGBH-Full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from podium.reference_runs.benchmarks.rgat.batch import Sampled
from podium.reference_runs.benchmarks.rgat.config import CITES, Rgat
from podium.reference_runs.benchmarks.rgat.sampling import Csr, Sampler
from podium.reference_runs.engine.arrays import mapped_array, saved_tensors
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from podium.reference_runs.benchmarks.rgat.config import Relation
    from podium.reference_runs.engine.samples import DatasetSize

    Ids = NDArray[np.int64]

TASK_SEED = 19
HOMOPHILY = 0.6
"""Share of edges within a class; the others connect any two nodes."""
SIGNAL = 0.5
"""Length of a class's signal in a paper's features, relative to noise of length 1."""


@dataclass(frozen=True)
class Graph:
    """Features of each kind of node, edges of each relation, and the papers' classes."""

    features: Mapping[str, NDArray[Any]]
    edges: Mapping[Relation, Csr]
    labels: NDArray[Any]
    training: Ids
    evaluation: Ids


def synthetic(config: Rgat, seed: int) -> Graph:
    """A stochastic block model: every node has a class, and edges are mostly within a class.

    Only papers' features depend on their class, and weakly; a model must use the neighbors. The
    graph is the same for every seed; the training papers depend on the seed.
    """
    # One graph for all runs, or their times would not be comparable
    rng = np.random.default_rng(TASK_SEED)
    papers = config.papers
    sizes = {"paper": papers, "author": papers // 2, "institute": papers // 40, "fos": papers // 50}
    class_of = {kind: rng.integers(0, config.classes, size) for kind, size in sizes.items()}
    marks = rng.normal(size=(config.classes, config.features))
    marks *= SIGNAL * np.sqrt(config.features) / np.linalg.norm(marks, axis=1, keepdims=True)
    features = {
        kind: rng.normal(size=(size, config.features)).astype(np.float32)
        for kind, size in sizes.items()
    }
    features["paper"] += marks[class_of["paper"]].astype(np.float32)
    edges: dict[Relation, Csr] = {}
    forward = [r for r in config.relations if not r[1].startswith("rev_")]
    for (source, name, target), degree in zip(forward, (4, 2, 1, 1), strict=True):
        ends = _edges(class_of[source], class_of[target], degree, rng)
        edges |= _both_ways((source, name, target), ends, sizes)
    labels = class_of["paper"]
    order = rng.permutation(papers)
    evaluation, rest = order[: config.eval_samples], order[config.eval_samples :]
    drawn = np.random.default_rng([seed, 0x6A])
    training = drawn.permutation(rest)[: config.train_samples]
    if config.shuffled_labels:
        labels = labels.copy()
        labels[training] = drawn.permutation(labels[training])
    return Graph(features, _sorted(edges, config), labels, training, evaluation)


def _edges(
    source_class: Ids, target_class: Ids, degree: int, rng: np.random.Generator
) -> tuple[Ids, Ids]:
    """Edges from every source, most of them to targets of its class."""
    source = np.repeat(np.arange(len(source_class)), degree)
    by_class = np.argsort(target_class, kind="stable")
    counts = np.bincount(target_class, minlength=source_class.max() + 1)
    ends = np.cumsum(counts)
    wanted = source_class[source]
    alike = by_class[
        (ends - counts)[wanted] + (rng.random(len(source)) * counts[wanted]).astype(np.int64)
    ]
    anyone = rng.integers(0, len(target_class), len(source))
    return source, np.where(rng.random(len(source)) < HOMOPHILY, alike, anyone)


def _both_ways(
    relation: Relation, ends: tuple[Ids, Ids], sizes: Mapping[str, int]
) -> dict[Relation, Csr]:
    """A relation and its reverse; citations are made symmetric instead."""
    source, name, target = relation
    sources, targets = ends
    if relation == CITES:
        both = np.concatenate([sources, targets]), np.concatenate([targets, sources])
        return {relation: Csr.of(*both, sizes[target])}
    return {
        relation: Csr.of(sources, targets, sizes[target]),
        (target, f"rev_{name}", source): Csr.of(targets, sources, sizes[source]),
    }


def _sorted(edges: Mapping[Relation, Csr], config: Rgat) -> dict[Relation, Csr]:
    return {relation: edges[relation] for relation in config.relations}


def from_files(folder: Path, config: Rgat, expected: DatasetSize) -> Graph:
    """IGBH's `processed` folder.

    For each kind of node `KIND/node_feat.npy` (memory-mapped), for each relation
    `SOURCE__NAME__TARGET/edge_index.npy` (edges, 2), the classes in `paper/node_label_2K.npy`, and
    the split in `train_idx.pt` and `val_idx.pt`. Raises DataMissing for files that are missing or
    have another size.
    """
    kinds = sorted({kind for source, _, target in config.relations for kind in (source, target)})
    features = {kind: mapped_array(folder / kind / "node_feat.npy") for kind in kinds}
    for kind, array in features.items():
        if array.ndim != 2 or array.shape[1] != config.features:
            path, shape = folder / kind / "node_feat.npy", f"(nodes, {config.features})"
            raise DataMissing(f"{path} has shape {array.shape}; expected {shape}")
    sizes = {kind: len(array) for kind, array in features.items()}
    edges: dict[Relation, Csr] = {}
    for relation in config.relations:
        if not relation[1].startswith("rev_"):
            path = folder / "__".join(relation) / "edge_index.npy"
            edges |= _both_ways(relation, _ends(path, relation, sizes), sizes)
    path, papers = folder / "paper" / "node_label_2K.npy", sizes["paper"]
    labels = mapped_array(path)
    if len(labels) != papers:
        raise DataMissing(f"{path} has {len(labels)} classes; expected {papers}, one per paper")
    training, evaluation = (
        _split(folder / name, papers) for name in ("train_idx.pt", "val_idx.pt")
    )
    expected.check_training(folder / "train_idx.pt", len(training), "papers")
    expected.check_evaluation(folder / "val_idx.pt", len(evaluation), "papers")
    for part in (training, evaluation):
        known = labels[part]
        if not 0 <= known.min() <= known.max() < config.classes:
            raise DataMissing(
                f"{path} contains classes {known.min()} to {known.max()};"
                f" expected 0 to {config.classes - 1}"
            )
    return Graph(features, _sorted(edges, config), labels, training, evaluation)


def _ends(path: Path, relation: Relation, sizes: Mapping[str, int]) -> tuple[Ids, Ids]:
    """Sources and targets of a relation's edges, (E,) each."""
    pairs = mapped_array(path)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise DataMissing(f"{path} has shape {pairs.shape}; expected (edges, 2)")
    for column, kind in enumerate((relation[0], relation[2])):
        if len(pairs) and not 0 <= pairs[:, column].min() <= pairs[:, column].max() < sizes[kind]:
            raise DataMissing(f"{path} has a {kind} beyond the {sizes[kind]} of node_feat.npy")
    return pairs[:, 0], pairs[:, 1]


def _split(path: Path, papers: int) -> Ids:
    """The indices of the papers in a part of the split, (N,)."""
    indices = saved_tensors(path, "a tensor")
    if not isinstance(indices, torch.Tensor) or indices.dim() != 1 or indices.is_floating_point():
        raise DataMissing(f"{path} is not a tensor of paper indices")
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < papers:
        raise DataMissing(f"{path} names papers beyond the {papers} of node_feat.npy")
    numbers: Ids = indices.numpy()
    return numbers


class Seeds(torch.utils.data.Dataset[Sampled]):
    """Papers with their sampled neighborhoods; every epoch draws other neighbors."""

    def __init__(self, graph: Graph, papers: Ids, config: Rgat, seed: int) -> None:
        self._graph, self._papers, self._seed = graph, papers, seed
        self._sampler = Sampler(graph.edges, tuple(graph.features), config.fan_outs)
        self._epoch = 0

    def __len__(self) -> int:
        return len(self._papers)

    def set_epoch(self, epoch: int) -> None:
        """Draw the neighbors of another epoch."""
        self._epoch = epoch

    def __getitems__(self, indices: Sequence[int]) -> Sampled:
        """Seeds by index, with the data that the model needs to classify them."""
        papers = self._papers[np.asarray(indices)]
        nodes, blocks = self._sampler.around(papers, (self._seed, self._epoch))
        features = {
            kind: torch.from_numpy(np.asarray(self._graph.features[kind][ids], dtype=np.float32))
            for kind, ids in nodes.items()
        }
        labels = torch.from_numpy(self._graph.labels[papers].astype(np.int64))
        return Sampled(features, blocks, labels)
