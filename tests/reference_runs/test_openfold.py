"""OpenFold: published size, invariant attention, geometry, quality and synthetic proteins."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.compliance.cli.entry import run  # noqa: E402
from podium.reference_runs.benchmarks.openfold.config import OpenFold, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.openfold.data import (  # noqa: E402
    PROTEIN_SEED,
    Chains,
    folded,
    preferences,
)
from podium.reference_runs.benchmarks.openfold.geometry import (  # noqa: E402
    CA_CA,
    CHI,
    Frames,
    atoms_of,
    chain,
    frame_of,
    from_quaternion,
)
from podium.reference_runs.benchmarks.openfold.losses import CA, fape, lddt, losses  # noqa: E402
from podium.reference_runs.benchmarks.openfold.model import AlphaFold  # noqa: E402
from podium.reference_runs.benchmarks.openfold.structure import PointAttention  # noqa: E402
from podium.reference_runs.benchmarks.openfold.train import Folding  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import RunFault  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path


def task_of(config: OpenFold, **setting: Any) -> Folding:
    return Folding(config, Setting(usage="hpc", **setting), Ranks(torch.device("cpu")))


def turn(seed: int) -> torch.Tensor:
    """Return a random rotation."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    return torch.from_numpy(q * np.sign(np.linalg.det(q))).float()


def evaluated() -> Chains:
    return Chains(smoke(), 64, PROTEIN_SEED)


# --- model ---


def test_the_reference_model_has_the_published_size() -> None:
    with torch.device("meta"):
        model = AlphaFold(reference())
    count = sum(p.numel() for p in model.parameters())
    assert count == reference().model_parameters_count == 93_229_082


def test_a_model_that_differs_from_the_logged_size_is_refused() -> None:
    with pytest.raises(RunFault, match="model_parameters_count is 326483; the network has"):
        task_of(replace(smoke(), blocks=1)).build()


def test_all_parameters_except_the_unweighted_head_get_gradients() -> None:
    torch.manual_seed(1)
    config = replace(smoke(), max_templates=2)  # with one template, the query has no effect
    model, batch = AlphaFold(config), Chains(config, 4, 1).__getitems__(range(4))
    with torch.no_grad():
        for each in model.parameters():  # layers that start at 0 pass no gradient
            each.add_(0.02 * torch.randn_like(each))
    losses(config, model(batch._replace(recycles=1)), batch).sum().backward()
    lacking = {name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()}
    assert lacking == {"resolved.weight", "resolved.bias"}


def test_point_attention_is_invariant_to_a_global_transformation() -> None:
    torch.manual_seed(1)
    config = smoke()
    attention = PointAttention(config)
    torch.nn.init.normal_(attention.output.weight)
    single, pairs = torch.randn(2, 5, config.single_width), torch.randn(2, 5, 5, config.pair_width)
    frames = from_quaternion(torch.randn(2, 5, 6))
    whole = Frames(turn(3), torch.tensor([1.0, -2.0, 0.5])).compose(frames)
    here, there = (attention(single, pairs, each) for each in (frames, whole))
    assert torch.allclose(here, there, atol=1e-3)
    one_moved = Frames(frames.rotation, frames.place + torch.randn(2, 5, 3))
    assert (attention(single, pairs, one_moved) - here).abs().max() > 0.1


def test_detaching_removes_the_gradient_of_the_rotation_only() -> None:
    frames = from_quaternion(torch.randn(3, 6, requires_grad=True))
    kept = frames.detached_rotation()
    assert not kept.rotation.requires_grad
    assert kept.place.requires_grad


# --- geometry and quality ---


def dihedral(*atoms: torch.Tensor) -> torch.Tensor:
    before, axis, behind = (b - a for a, b in pairwise(atoms))
    axis = axis / axis.norm(dim=-1, keepdim=True)
    left, right = torch.linalg.cross(before, axis), torch.linalg.cross(axis, behind)
    sine = (torch.linalg.cross(left, right) * axis).sum(-1)
    return torch.atan2(sine, (left * right).sum(-1))


def test_side_chains_have_the_torsions_that_were_drawn() -> None:
    chains = Chains(smoke(), 16, 1)
    n, ca, _, cb, _, cg = chains.atoms.unbind(2)
    angle = dihedral(n, ca, cb, cg)
    found = torch.stack([angle.sin(), angle.cos()], -1)
    assert torch.allclose(found, chains.torsions[:, :, CHI], atol=1e-4)


def test_residues_of_a_chain_have_the_given_rotations_and_distance() -> None:
    turns = 0.5 * torch.randn(2, 6, 3)
    frames = chain(turns)
    apart = frames.place.diff(dim=1)
    assert torch.allclose(apart.norm(dim=-1), torch.full((2, 5), CA_CA), atol=1e-4)
    steps = frames.rotation[:, :-1].transpose(-1, -2) @ frames.rotation[:, 1:]
    cosine = (steps.diagonal(dim1=-2, dim2=-1).sum(-1) - 1) / 2
    assert torch.allclose(cosine, turns[:, 1:].norm(dim=-1).cos(), atol=1e-5)
    # A rotation does not change its axis
    axis = turns[:, 1:, :, None]
    assert torch.allclose(steps @ axis, axis, atol=1e-5)


def test_frames_computed_from_atoms_reproduce_the_atoms() -> None:
    batch = Chains(smoke(), 8, 1).__getitems__(range(8))
    backbone = frame_of(*(batch.atoms[:, :, at] for at in (0, 1, 2)))
    _, atoms = atoms_of(backbone, batch.psi, batch.chi, batch.reach)
    assert torch.allclose(atoms, batch.atoms, atol=1e-4)
    assert fape(backbone, backbone.place, backbone, backbone.place, 10.0).max() < 2e-3


def test_fape_is_clamped_and_invariant_to_a_global_transformation() -> None:
    places = 5 * torch.randn(1, 6, 3)
    frames = Frames(torch.stack([turn(seed) for seed in range(6)])[None], places)
    moved = Frames(turn(9), torch.tensor([3.0, 1.0, -4.0])).compose(frames)
    assert fape(moved, moved.place, frames, places, 10.0) < 2e-3
    shifted = places + torch.tensor([0.0, 0.0, 3.0])
    # All points are off by 3 Å, the frames are exact; the unit is 10 Å, up to the clamp
    for limit, wanted in ((10.0, 0.3), (2.0, 0.2)):
        assert float(fape(frames, shifted, frames, places, limit)) == pytest.approx(wanted, 1e-3)


def test_lddt_is_the_share_of_distances_within_the_limits() -> None:
    line = torch.arange(4.0)[None, :, None] * torch.tensor([4.0, 0.0, 0.0])
    assert lddt(line, line).tolist() == [[1.0] * 4]
    assert lddt(line @ turn(1) + 5, line).min() > 0.999
    # 0.2 more for each 4 Å: errors of 0.2 and 0.4 are below all limits, 0.6 is above the first
    stretched = lddt(1.05 * line, line)[0]
    assert stretched.tolist() == pytest.approx([11 / 12, 1.0, 1.0, 11 / 12])
    # Atoms 40 Å apart are not a pair
    far = torch.tensor([[[0.0, 0, 0], [40.0, 0, 0], [44.0, 0, 0]]])
    assert lddt(far * 1.001, far).tolist() == [[1.0] * 3]
    assert lddt(torch.zeros_like(line), line).max() < 0.25


# --- data ---


def test_a_constant_fold_or_a_template_does_not_reach_the_target() -> None:
    chains = evaluated()
    true = chains.atoms[:, :, CA]
    best = max(float(lddt(each.expand_as(true).contiguous(), true).mean()) for each in true)
    template = float(lddt(chains.templates[0][1][:, :, CA], true).mean())
    other = float(lddt(true.roll(1, 0), true).mean())
    assert max(template, other) < best < smoke().target - 0.05


def test_the_true_motifs_are_sufficient_to_reach_the_target() -> None:
    chains = evaluated()
    ideal, _ = folded(chains.motifs, 0.0, chains.reach, np.random.default_rng(1))
    score = lddt(ideal[:, :, CA], chains.atoms[:, :, CA]).mean()
    assert smoke().target + 0.1 < score < 1


def test_letters_follow_the_preferences_of_their_motif() -> None:
    chains = Chains(smoke(), 500, 1)
    likely = preferences(12, smoke().kinds)
    assert np.allclose(likely.sum(-1), 1)
    for place, motif in ((0, 0), (5, 1)):
        letters = chains.alignment[chains.motifs[:, place] == motif][:, :, place]
        shares = np.bincount(letters.ravel(), minlength=smoke().kinds) / letters.size
        assert np.abs(shares - likely[place, motif]).max() < 0.03


def test_shuffled_folds_are_a_permutation_of_the_folds() -> None:
    task = task_of(replace(smoke(), train_samples=64, shuffled_labels=True))
    task.prepare()
    plain = Chains(smoke(), 64, 1)
    batch, whole = (each.__getitems__(range(64)) for each in (task.training, plain))
    assert torch.equal(batch.target, whole.target)
    order = task.training.fold_of
    assert sorted(order) == list(range(64))
    assert torch.equal(batch.atoms, whole.atoms[torch.from_numpy(order)])


# --- task ---


def test_the_learning_rate_warms_up_and_stays_constant() -> None:
    task = task_of(reference(), scale="reference")
    config = reference()
    start, base = config.opt_learning_rate_warmup_init, config.opt_base_learning_rate
    warmup = config.opt_learning_rate_warmup_steps
    assert base == 1e-3
    assert start <= task.learning_rate(1) <= base
    assert task.learning_rate(warmup) == task.learning_rate(10 * warmup + 10) == base


def test_reference_scale_is_refused_with_a_message_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "openfold", "--scale", "reference", "--data", str(tmp_path)]
    assert run([*words, "--output", str(tmp_path / "logs"), "-q"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "podium reads neither structures in mmCIF nor their alignments" in said[0]
