"""OC20: published size, bases compared with SciPy, graphs, forces, data and files."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

torch = pytest.importorskip("torch")

from podium.reference_runs.benchmarks.oc20 import potential  # noqa: E402
from podium.reference_runs.benchmarks.oc20.bases import (  # noqa: E402
    Envelope,
    RadialBasis,
    SphericalBasis,
    bessel_zeros,
    spherical_bessel,
)
from podium.reference_runs.benchmarks.oc20.config import Oc20, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.oc20.data import Batch, Structures, joined  # noqa: E402
from podium.reference_runs.benchmarks.oc20.frames import Structure, write  # noqa: E402
from podium.reference_runs.benchmarks.oc20.graph import graph_of  # noqa: E402
from podium.reference_runs.benchmarks.oc20.model import DimeNetPlusPlus  # noqa: E402
from podium.reference_runs.benchmarks.oc20.train import Catalysis  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing, RunFault  # noqa: E402

DERIVED = 1_810_182
"""6 frequencies, an embedding of 130,368, three blocks of 360,512, four outputs of 149,568.
The paper of the dataset says "1.8 M"."""


def made(count: int, seed: int = 1) -> list[Structure]:
    return list(potential.structures(smoke(), count, np.random.default_rng(seed)))


def batch_of(structures: list[Structure], config: Oc20) -> Batch:
    """Return a batch in double precision, which finite differences need."""
    pairs = [
        (each, graph_of(each.positions, each.cell, config.cutoff, config.neighbours))
        for each in structures
    ]
    batch = joined(pairs)
    exact = torch.from_numpy(np.concatenate([each.positions for each in structures]))
    return batch._replace(positions=exact, shift=batch.shift.double())


def model_of(config: Oc20) -> DimeNetPlusPlus:
    """Return a model with outputs that do not start at 0."""
    torch.manual_seed(1)
    model = DimeNetPlusPlus(config).double()
    for output in model.outputs:
        torch.nn.init.normal_(output.last.weight, std=0.1)
    return model


def test_the_reference_model_has_the_size_of_its_published_layers() -> None:
    with torch.device("meta"):
        model = DimeNetPlusPlus(reference())
    parts = [model.radial, model.embedding, model.interactions[0], model.outputs[0]]
    sizes = [sum(p.numel() for p in part.parameters()) for part in parts]
    assert sizes == [6, 130_368, 360_512, 149_568]
    assert sum(p.numel() for p in model.parameters()) == DERIVED


# --- bases ---


@pytest.mark.parametrize("order", range(9))
def test_bessel_functions_equal_those_of_scipy(order: int) -> None:
    x = np.concatenate([np.logspace(-3, 0, 40), np.linspace(1, 40, 800)])
    found = spherical_bessel(order, torch.from_numpy(x)).numpy()
    assert np.abs(found - special.spherical_jn(order, x)).max() < 1e-13


def test_the_zeros_of_bessel_functions_are_complete() -> None:
    zeros = bessel_zeros(7, 6).numpy()
    for order, row in enumerate(zeros):
        assert np.abs(special.spherical_jn(order, row)).max() < 1e-14
        # Between 0 and the last zero, the function changes its sign only at these zeros
        fine = special.spherical_jn(order, np.linspace(0.01, row[-1] - 0.01, 4000))
        assert (np.diff(np.sign(fine)) != 0).sum() == len(row) - 1


def test_the_spherical_basis_equals_waves_and_harmonics_of_scipy() -> None:
    basis = SphericalBasis(7, 6, 6.0, Envelope(5)).double()
    distance, angle = torch.linspace(0.5, 5.9, 50).double(), torch.linspace(0, 3.1, 50).double()
    waves, slopes = basis.radial(distance)
    zeros, x = bessel_zeros(7, 6).numpy(), distance.numpy()[:, None, None] / 6
    order = np.arange(7)[:, None]
    bend = 1 / x - 28 * x**5 + 48 * x**6 - 21 * x**7
    norm = np.sqrt(2) / np.abs(special.spherical_jn(order + 1, zeros))
    wanted = bend * norm * special.spherical_jn(order, zeros * x)
    assert np.allclose(waves.numpy(), wanted, atol=1e-11)
    step = 1e-6
    across = (basis.radial(distance + step)[0] - basis.radial(distance - step)[0]) / (2 * step)
    assert np.allclose(slopes.numpy(), across.numpy(), rtol=1e-6, atol=1e-6)
    harmonics = np.sqrt((2 * np.arange(7) + 1) / (4 * np.pi)) * np.stack(
        [special.eval_legendre(n, np.cos(angle.numpy())) for n in range(7)], axis=1
    )
    assert np.allclose(basis.angular(angle.cos()).numpy(), harmonics, atol=1e-13)


def test_the_envelope_vanishes_smoothly_at_the_cutoff() -> None:
    envelope = Envelope(5)
    near = torch.tensor([1 - 1e-4, 1.0, 1.5]).double()
    assert envelope(near).abs().max() < 1e-9
    assert envelope.slope(near).abs().max() < 1e-5
    assert RadialBasis(6, 6.0, envelope)(torch.tensor([6.0, 9.0])).abs().max() == 0


# --- graph ---


def test_edges_and_pairs_of_edges_equal_a_brute_force_search() -> None:
    rng = np.random.default_rng(3)
    cell = np.array([[3.0, 0, 0], [1.0, 2.9, 0], [0.4, 0.5, 3.4]])
    places = rng.uniform(-1, 2, (4, 3)) @ cell  # some are outside the cell
    graph = graph_of(places, cell, 3.6, 500)
    wanted = set()
    for i, j in itertools.product(range(4), range(4)):
        for image in itertools.product(range(-7, 8), repeat=3):
            far = np.linalg.norm(places[j] + np.array(image) @ cell - places[i])
            if 1e-6 < far < 3.6:
                wanted.add((j, i, image))
    edges = [
        (int(j), int(i), tuple(map(int, m)))
        for j, i, m in zip(graph.source, graph.target, graph.image, strict=True)
    ]
    assert len(edges) == len(set(edges))
    assert set(edges) == wanted
    pairs = {
        (inner, outer)
        for inner, outer in itertools.product(range(len(edges)), repeat=2)
        if edges[inner][1] == edges[outer][0]
        and (
            edges[inner][0] != edges[outer][1]
            or any(a + b for a, b in zip(edges[inner][2], edges[outer][2], strict=True))
        )
    }
    found = list(zip(graph.inward.tolist(), graph.outward.tolist(), strict=True))
    assert len(found) == len(pairs)
    assert set(found) == pairs


def test_an_atom_keeps_its_nearest_neighbors() -> None:
    (structure,) = made(1)
    all_of_them = graph_of(structure.positions, structure.cell, 5.0, 500)
    few = graph_of(structure.positions, structure.cell, 5.0, 6)
    assert np.bincount(few.target).tolist() == [6] * 8

    def lengths(graph: Any) -> Any:
        apart = structure.positions[graph.source] + graph.image @ structure.cell
        return np.linalg.norm(apart - structure.positions[graph.target], axis=1)

    nearest = [np.sort(lengths(all_of_them)[all_of_them.target == i])[:6] for i in range(8)]
    assert np.allclose(lengths(few), np.concatenate(nearest))


# --- model ---


def test_a_step_gives_every_parameter_a_gradient() -> None:
    config = smoke()
    model, batch = model_of(config), batch_of(made(4), config)
    (model(batch) - batch.forces).abs().sum().backward()
    used = batch.species.unique()
    for name, each in model.named_parameters():
        assert each.grad is not None, name
        rows = each.grad[used] if name == "embedding.elements.weight" else each.grad
        assert rows.abs().sum() > 0, name


def test_forces_equal_finite_differences_of_the_energy() -> None:
    config = smoke()
    model, batch = model_of(config).eval(), batch_of(made(1), config)
    vector = batch.positions[batch.source] + batch.shift - batch.positions[batch.target]
    length = vector.norm(dim=1)
    unit = vector / length[:, None]
    expected, step = torch.zeros(8, 3).double(), 1e-5
    for edge in range(len(length)):
        moved = torch.zeros_like(length)
        moved[edge] = step
        high, low = (model.energies(batch, length + s * moved, unit).sum() for s in (1, -1))
        slope = (high - low).detach() / (2 * step)
        expected[batch.target[edge]] += slope * unit[edge]
        expected[batch.source[edge]] -= slope * unit[edge]
    assert torch.allclose(model(batch), expected, atol=1e-6)
    assert expected.abs().max() > 0.1


def test_forces_rotate_with_the_structure_and_sum_to_zero() -> None:
    config = smoke()
    model, structure = model_of(config).eval(), made(1)[0]
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]
    turned = structure._replace(
        positions=(structure.positions + 0.7) @ turn, cell=structure.cell @ turn
    )
    here, there = (model(batch_of([each], config)) for each in (structure, turned))
    assert torch.allclose(here @ torch.from_numpy(turn), there, atol=1e-5)
    assert here.sum(0).abs().max() < 1e-9
    assert here.abs().max() > 0.1


@pytest.mark.long
def test_energies_equal_those_of_pytorch_geometric() -> None:
    dimenet = pytest.importorskip("torch_geometric.nn.models.dimenet")
    config = replace(smoke(), width=24, interaction_width=12, output_width=20, blocks=2)
    torch.manual_seed(1)
    model, batch = model_of(config).eval(), batch_of(made(3), config)
    waves = (config.spherical, config.radial)
    radial = dimenet.BesselBasisLayer(6, config.cutoff, 5).double()
    spherical = dimenet.SphericalBasisLayer(*waves, config.cutoff, 5)
    act = torch.nn.functional.silu
    embedding = dimenet.EmbeddingBlock(6, 24, act).double()
    blocks = [dimenet.InteractionPPBlock(24, 12, 8, *waves, 1, 2, act).double() for _ in range(2)]
    outputs = [dimenet.OutputPPBlock(6, 24, 20, 1, 3, act).double() for _ in range(3)]
    theirs = [radial, embedding, *blocks, *outputs]
    ours = [model.radial, model.embedding, *model.interactions, *model.outputs]
    biases = [output.up.bias for output in model.outputs]
    for given, taken in zip(ours, theirs, strict=True):
        # In the order of use; the library has no bias in a layer where the benchmark has one
        given_ = [p for p in given.parameters() if all(p is not bias for bias in biases)]
        named = dict(taken.named_parameters())
        if isinstance(taken, dimenet.InteractionPPBlock):
            ordered = sorted(named, key=lambda name: _LIBRARY_ORDER.index(name.split(".")[0]))
        else:
            ordered = list(named)
        assert [tuple(named[n].shape) for n in ordered] == [tuple(p.shape) for p in given_]
        with torch.no_grad():
            for name, each in zip(ordered, given_, strict=True):
                named[name].copy_(each)
    with torch.no_grad():
        for bias in biases:
            bias.zero_()
    vector = batch.positions[batch.source] + batch.shift - batch.positions[batch.target]
    length = vector.norm(dim=1)
    outer, inner = vector[batch.outward], vector[batch.inward]
    angle = torch.atan2(torch.linalg.cross(outer, inner).norm(dim=1), (outer * inner).sum(1))
    rows, columns = radial(length), spherical(length, angle, batch.inward)
    message = embedding(batch.species, rows, batch.target, batch.source)
    energy = outputs[0](message, rows, batch.target, len(batch.species))
    for block, output in zip(blocks, outputs[1:], strict=True):
        message = block(message, rows, columns, batch.inward, batch.outward)
        energy = energy + output(message, rows, batch.target, len(batch.species))
    found = model.energies(batch, length, vector / length[:, None])
    assert torch.allclose(found, energy, rtol=1e-4, atol=1e-5)
    assert energy.std() > 0.01


_LIBRARY_ORDER = [
    *("lin_rbf1", "lin_rbf2", "lin_sbf1", "lin_sbf2", "lin_ji", "lin_kj", "lin_down", "lin_up"),
    *("layers_before_skip", "lin", "layers_after_skip"),
]
"""The layers of the library in the order of this model."""


# --- data ---


def test_forces_of_structures_include_the_angles_of_the_potential() -> None:
    structures = made(64)
    kinds = torch.tensor(
        [[potential.ELEMENTS.tolist().index(k) for k in each.species] for each in structures]
    )
    places = torch.from_numpy(np.stack([each.positions for each in structures]))
    whole, pairs = (
        potential.forces_of(kinds, places, structures[0].cell, 3.4, angles=angles)
        for angles in (True, False)
    )
    assert np.allclose(whole.numpy(), np.stack([each.forces for each in structures]))
    assert (whole - pairs).abs().mean() > 0.2


def pair_features(structure: Structure) -> tuple[Any, Any]:
    """Return pair features and forces of free atoms: 24 radial functions per pair of elements."""
    graph = graph_of(structure.positions, structure.cell, 3.4, 50)
    apart = structure.positions[graph.source] + graph.image @ structure.cell
    vector = apart - structure.positions[graph.target]
    length = np.linalg.norm(vector, axis=1)
    waves = np.exp(-0.5 * ((length[:, None] - np.linspace(1.2, 3.4, 24)) / 0.09565) ** 2)
    kinds = np.searchsorted(np.sort(potential.ELEMENTS.numpy()), structure.species)
    both = 3 * kinds[graph.source] + kinds[graph.target]
    features = np.zeros((len(structure.species), 3, 9, 24))
    for edge in range(len(length)):
        unit = vector[edge] / length[edge]
        features[graph.target[edge], :, both[edge]] += unit[:, None] * waves[edge]
    free = structure.free
    return features[free].reshape(-1, 9 * 24), structure.forces[free].ravel()


def test_the_best_pair_forces_do_not_reach_the_target() -> None:
    training, evaluation = ([pair_features(each) for each in made(n, n)] for n in (300, 60))
    known, wanted = (np.concatenate(part) for part in zip(*training, strict=True))
    square = known.T @ known + 1e-3 * np.eye(known.shape[1])
    weights = np.linalg.solve(square, known.T @ wanted)
    seen, true = (np.concatenate(part) for part in zip(*evaluation, strict=True))
    assert 1.5 * smoke().target < np.abs(seen @ weights - true).mean() < np.abs(true).mean() / 2


def test_structures_are_read_as_they_were_written(tmp_path: Path) -> None:
    structures = made(7)
    write(tmp_path / "0.extxyz", structures[:4])
    write(tmp_path / "1.extxyz", structures[4:])
    found = Structures(tmp_path, smoke()).frames
    assert len(found) == 7
    for number in (6, 0, 3, 4):
        for ours, theirs in zip(found[number], structures[number], strict=True):
            assert np.allclose(ours, theirs, atol=1e-7)


PUBLISHED = """2
Lattice="9.0 0.0 0.0 0.0 9.0 0.0 0.0 0.0 30.0" \
Properties=species:S:1:pos:R:3:move_mask:L:1:tags:I:1:forces:R:3 energy=-18.5 pbc="T T T"
Cu       1.0        2.0        3.0 0 0   0.5 0.0 0.0
H       -1.0        2.5        3.5 1 2   0.0 0.25 -0.125
"""


@pytest.mark.parametrize("mask", ["move_mask:L:1:tags:I:1", "seen:I:1:tags:I:1"])
def test_free_atoms_are_read_from_the_mask_or_the_tags(tmp_path: Path, mask: str) -> None:
    text = PUBLISHED.replace("move_mask:L:1:tags:I:1", mask)
    (tmp_path / "12.extxyz").write_text(2 * text)
    (tmp_path / "12.txt").write_text("random1,frame3,-17.0\nrandom1,frame9,-17.0\n")
    found = Structures(tmp_path, smoke()).frames[1]
    assert found.species.tolist() == [29, 1]
    assert found.free.tolist() == [False, True]
    assert found.positions[1].tolist() == [-1.0, 2.5, 3.5]
    assert found.forces[1].tolist() == [0.0, 0.25, -0.125]
    assert found.cell[2].tolist() == [0.0, 0.0, 30.0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Lattice=", "Latice="),
        ("Cu", "Cx"),
        ("1.0", "nan"),
        ("30.0", "0.0"),
        ("forces:R:3", "force:R:3"),
        ("2\n", "3\n"),
        ("2.5  ", ""),
        ("move_mask:L:1:tags:I:1", "mask:L:1:tag:I:1"),
        (PUBLISHED, "two\n"),
        (PUBLISHED, ""),
    ],
)
def test_a_damaged_structure_is_reported_with_its_file(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "0.extxyz").write_text(PUBLISHED.replace(old, new))
    (tmp_path / "0.txt").write_text("random1,frame3,-17.0\n")
    with pytest.raises(DataMissing, match=r"0\.extxyz cannot be read: structure 0 is not an ext"):
        Structures(tmp_path, smoke()).__getitems__([0])


def test_a_missing_list_is_reported_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "0.extxyz").write_text(PUBLISHED)
    with pytest.raises(DataMissing, match=r"0\.txt cannot be read: No such file"):
        Structures(tmp_path, smoke())


# --- task ---


def task_of(config: Oc20, **setting: Any) -> Catalysis:
    return Catalysis(config, Setting(usage="hpc", **setting), Ranks(torch.device("cpu")))


def test_compiling_is_refused() -> None:
    with pytest.raises(RunFault, match="--compile: oc20 needs second derivatives"):
        task_of(smoke(), compile=True).prepare()


def test_fixed_atoms_do_not_count_in_quality_and_loss() -> None:
    task = task_of(replace(smoke(), eval_samples=8))
    task.evaluation = _Kept(made(8))  # type: ignore[assignment]

    class Zero(torch.nn.Module):
        def forward(self, batch: Batch) -> torch.Tensor:
            return torch.where(batch.free[:, None], 0.0, 1e9).expand(-1, 3)

    wanted = np.mean([np.abs(each.forces[each.free]) for each in made(8)])
    assert task.evaluate(Zero()) == pytest.approx(wanted, rel=1e-5)
    loss = task.loss(Zero(), task.evaluation.__getitems__(range(8)))
    assert loss.items == 8 * 4 * 3
    assert float(loss.total / loss.items) == pytest.approx(50 * wanted / 0.5, rel=1e-5)


class _Kept:
    def __init__(self, structures: list[Structure]) -> None:
        self.structures = structures

    def __len__(self) -> int:
        return len(self.structures)

    def __getitems__(self, indices: Any) -> Batch:
        chosen = [self.structures[index] for index in indices]
        return joined([(each, graph_of(each.positions, each.cell, 3.4, 50)) for each in chosen])


def test_the_learning_rate_warms_up_and_falls_at_its_boundaries() -> None:
    task = task_of(reference(), scale="reference")
    steps = (1, 15_627, 31_253, 125_008, 125_009, 187_513, 250_017)
    rates = [task.learning_rate(step) for step in steps]
    assert rates == pytest.approx([0.8e-4, 2.4e-4, 4e-4, 4e-4, 4e-5, 4e-6, 4e-7], rel=1e-3)
