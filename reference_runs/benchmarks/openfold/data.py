"""Synthetic proteins: families of chains whose alignments and relatives determine their fold.

A chain is a sequence of motifs. Each motif has a rotation of the backbone and the side chains, and
two preferred amino acids at each residue. Single amino acids are noisy; the rows of the MSA, which
have the same motifs, determine the motif together. A template is the structure of a relative with
some motifs changed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.openfold.geometry import (
    ATOMS,
    CHI,
    PSI,
    TORSIONS,
    atoms_of,
    chain,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from podium.reference_runs.benchmarks.openfold.config import OpenFold

ANGLE_FEATURES = 35
"""Features of seven torsions: sines and cosines, the same of the alternatives, and a mask."""
DISTANCES = 39
PAIR_FEATURES = DISTANCES + 5
"""Binned distances, their mask, a unit vector, the backbone's mask."""

TURNS = np.radians([(0.0, 0.0, 15.0), (20.0, 0.0, 50.0)])
"""For each motif: the rotation of a residue relative to the previous one, along its axis. Peptides
turn by 60 degrees and more, which so small a network takes long to learn."""
ANGLES = np.radians([(-60.0, -60.0), (60.0, 60.0)])
"""For each motif: psi and the side chain's torsion."""
SWAY, RELATIVES_SWAY = math.radians(4), math.radians(10)
"""Standard deviation of each of these angles, in a chain and in a template."""
MOTIF_LENGTH = 4
PREFERENCE, LIKED = 0.8, 2
"""Share of amino acids that are among those that the motif prefers at a residue, and the number of
these; the others are random."""
CHANGED = 0.5
"""Share of the motifs that differ in a template."""
ALIGNED = 20
"""Rows of an MSA, the chain's own row first."""
REACHES = (1.4, 1.9)
"""Å: the bond beyond the beta carbon, for the first amino acid and the last."""
MASKED, HIDDEN, CHANGED_LETTER, COPIED = 0.15, 0.7, 0.1, 0.1
"""Share of tokens to predict; of those, shares of masked, random and column-sampled tokens."""
CLAMPED = 0.9
"""Share of the chains whose backbone errors are clamped in training."""
FAMILY_SEED, PROTEIN_SEED = 20, 93
"""Seeds of the preferred amino acids and of the evaluation chains: the same for every run."""


class Batch(NamedTuple):
    """B chains of R residues: S rows of the MSA, E extra rows, T templates."""

    target: Tensor
    """(B, R, kinds + 2)."""
    rows: Tensor
    """(B, S, R, 2 letters + 3)."""
    extra: Tensor
    """(B, E, R, letters + 2)."""
    template_angles: Tensor
    template_pairs: Tensor
    """(B, T, R, …) and (B, T, R, R, …)."""
    reach: Tensor
    """Å, (B, R): the last bond of each residue's side chain."""
    letters: Tensor
    masked: Tensor
    """MSA tokens, (B, S, R), and the mask of positions to predict."""
    atoms: Tensor
    """In Å, (B, R, A, 3)."""
    psi: Tensor
    chi: Tensor
    """Sines and cosines, (B, R, 2)."""
    clamped: Tensor
    """Whether large errors are clamped, (B,)."""
    recycles: int = 0
    """Number of folds before the trained one."""

    def to(self, device: torch.device) -> Batch:
        """The batch on a device."""
        moved: dict[str, Any] = {
            name: getattr(self, name).to(device, non_blocking=True)
            for name in self._fields
            if name != "recycles"
        }
        return self._replace(**moved)


class Chains:
    """Chains with their alignments and templates, drawn by seed."""

    def __init__(self, config: OpenFold, count: int, seed: int) -> None:
        rng = np.random.default_rng([seed, 0xF01D])
        self.config, self.seed, self.epoch = config, seed, 0
        length = config.train_sequence_crop_size
        self.motifs = motifs(count, length, rng)
        self.alignment = emitted(self.motifs, ALIGNED, config.kinds, rng)
        shares = np.linspace(*REACHES, config.kinds)
        self.reach = torch.from_numpy(shares[self.alignment[:, 0]]).float()
        self.atoms, self.torsions = folded(self.motifs, SWAY, self.reach, rng)
        self.fold_of = np.arange(count)
        """Index of the chain whose fold belongs to each; another's if labels are shuffled."""
        self.templates = [self._relatives(rng) for _ in range(config.max_templates)]

    def _relatives(self, rng: np.random.Generator) -> tuple[NDArray[np.int64], Tensor, Tensor]:
        """Sequences, atoms and torsions of a relative of each chain."""
        count, length = self.motifs.shape
        changed = rng.random((count, -(-length // MOTIF_LENGTH))) < CHANGED
        shift = changed * rng.integers(1, len(TURNS), changed.shape)
        shift = np.repeat(shift, MOTIF_LENGTH, axis=1)[:, :length]
        others = (self.motifs + shift) % len(TURNS)
        sequence = emitted(others, 1, self.config.kinds, rng)[:, 0]
        atoms, torsions = folded(others, RELATIVES_SWAY, self.reach, rng)
        return sequence, atoms, torsions

    def __len__(self) -> int:
        return len(self.motifs)

    def set_epoch(self, epoch: int) -> None:
        """Draw and mask rows differently in each epoch."""
        self.epoch = epoch

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """A batch by index."""
        samples = np.asarray(indices)
        generators = [np.random.default_rng([self.seed, self.epoch, index]) for index in samples]
        parts = [self._rows(index, rng) for index, rng in zip(samples, generators, strict=True)]
        rows, extra, letters, masked = (
            torch.stack(tensors) for tensors in zip(*parts, strict=True)
        )
        fold = torch.from_numpy(self.fold_of[samples])
        torsions = self.torsions[fold]
        angles, pairs = zip(
            *(self._template(template, samples) for template in self.templates), strict=True
        )
        return Batch(
            F.one_hot(torch.from_numpy(self.alignment[samples, 0]), self.config.kinds + 2).float(),
            rows,
            extra,
            torch.stack(angles, 1),
            torch.stack(pairs, 1),
            self.reach[torch.from_numpy(samples)],
            letters,
            masked,
            self.atoms[fold],
            torsions[:, :, PSI],
            torsions[:, :, CHI],
            torch.tensor([rng.random() < CLAMPED for rng in generators]),
        )

    def _rows(self, index: int, rng: np.random.Generator) -> tuple[Tensor, ...]:
        """Features of the MSA rows and of the extra rows, the rows' tokens, and their mask."""
        config, alignment = self.config, self.alignment[index]
        # The chain's own row is always the first
        order = np.concatenate([[0], 1 + rng.permutation(ALIGNED - 1)])
        clusters = alignment[order[: config.max_msa_clusters]]
        beside = alignment[order[config.max_msa_clusters :][: config.max_extra_msa]]
        seen, masked = hidden(clusters, alignment, config.kinds, rng)
        count = config.kinds + 3
        shown, extra = (F.one_hot(torch.from_numpy(x), count).float() for x in (seen, beside))
        # Each extra row belongs to the cluster with which it has most tokens in common
        common = torch.einsum("erl,srl->es", extra, shown)
        member = F.one_hot(common.argmax(1), len(shown)).float()
        profile = torch.einsum("es,erl->srl", member, extra) + shown
        profile = profile / (1 + member.sum(0))[:, None, None]
        # Generated alignments have no deletions
        rows = torch.cat([shown, shown.new_zeros(*seen.shape, 2), profile], dim=-1)
        rows = F.pad(rows, (0, 1))
        letters = torch.from_numpy(clusters)
        return rows, F.pad(extra, (0, 2)), letters, torch.from_numpy(masked)

    def _template(
        self, template: tuple[NDArray[np.int64], Tensor, Tensor], samples: NDArray[np.int64]
    ) -> tuple[Tensor, Tensor]:
        """Features of a template's torsions, (B, R, …), and pairs, (B, R, R, …)."""
        sequence, atoms, torsions = template
        where = torch.from_numpy(samples)
        letters = F.one_hot(torch.from_numpy(sequence[samples]), self.config.kinds + 2).float()
        known = torsions[where].square().sum(-1) > 0
        both = torsions[where].flatten(2)
        angles = torch.cat([letters, both, both, known.float()], dim=-1)
        beta = atoms[where][:, :, ATOMS.index("CB")]
        limits = torch.linspace(3.25, 50.75, DISTANCES)
        bins = torch.bucketize(torch.cdist(beta, beta), limits).sub(1).clamp(min=0)
        distance = F.one_hot(bins, DISTANCES).float()
        length = beta.shape[1]
        rows = letters[:, :, None].expand(-1, -1, length, -1)
        columns = letters[:, None].expand(-1, length, -1, -1)
        ones = torch.ones(*bins.shape, 1)
        # The unit vector is 0, as in the published configuration
        nothing = torch.zeros(*bins.shape, PAIR_FEATURES - DISTANCES - 2)
        return angles, torch.cat([distance, ones, columns, rows, nothing, ones], dim=-1)


def motifs(count: int, length: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sequences of motifs, (N, R): each spans four residues."""
    drawn = rng.integers(len(TURNS), size=(count, -(-length // MOTIF_LENGTH)))
    return np.repeat(drawn, MOTIF_LENGTH, axis=1)[:, :length]


def preferences(length: int, kinds: int) -> NDArray[np.float64]:
    """Probability of each amino acid for each motif and position, (R, M, K)."""
    rng = np.random.default_rng(FAMILY_SEED)
    ranks = np.argsort(np.argsort(rng.random((length, kinds)), axis=1), axis=1)
    # No amino acid is preferred by two motifs at one position
    liked = ranks[:, None] // LIKED == np.arange(len(TURNS))[:, None]
    likely: NDArray[np.float64] = PREFERENCE * liked / LIKED + (1 - PREFERENCE) / kinds
    return likely


def emitted(
    motifs_NR: NDArray[np.int64], rows: int, kinds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Sequences with the given motifs, (N, rows, R)."""
    length = motifs_NR.shape[1]
    ends = np.cumsum(preferences(length, kinds), axis=2)[np.arange(length), motifs_NR][:, None]
    drawn = rng.random((len(motifs_NR), rows, length, 1))
    letters: NDArray[np.int64] = (drawn > ends).sum(-1).clip(max=kinds - 1)
    return letters


def folded(
    motifs_NR: NDArray[np.int64], sway: float, reach_NR: Tensor, rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Atoms, (N, R, A, 3), and sines and cosines of torsions, (N, R, 7, 2), or 0."""
    ideal = np.concatenate([TURNS, ANGLES], axis=1)[motifs_NR]
    drawn = torch.from_numpy(ideal + sway * rng.standard_normal(ideal.shape)).float()
    turns, angles = drawn[..., :3], drawn[..., 3:]
    torsions = torch.zeros(*motifs_NR.shape, TORSIONS, 2)
    torsions[:, :, [PSI, CHI]] = torch.stack([angles.sin(), angles.cos()], dim=-1)
    _, atoms = atoms_of(chain(turns), torsions[:, :, PSI], torsions[:, :, CHI], reach_NR)
    return atoms, torsions


def hidden(
    clusters: NDArray[np.int64],
    alignment: NDArray[np.int64],
    kinds: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rows with some tokens masked or changed, (S, R), and the mask of positions to predict."""
    shape = clusters.shape
    masked = rng.random(shape) < MASKED
    draws = rng.random(shape)
    any_kind = rng.integers(kinds, size=shape)
    of_column = np.take_along_axis(alignment, rng.integers(len(alignment), size=shape), axis=0)
    seen = np.where(masked & (draws < HIDDEN), kinds + 2, clusters)
    limit = HIDDEN + CHANGED_LETTER
    seen = np.where(masked & (draws >= HIDDEN) & (draws < limit), any_kind, seen)
    seen = np.where(masked & (draws >= limit) & (draws < limit + COPIED), of_column, seen)
    return seen, masked
