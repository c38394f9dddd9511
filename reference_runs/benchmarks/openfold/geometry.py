"""Rigid frames, torsions and atoms: building a chain, and reading frames from it.

Lengths are in Å. A frame is a rotation, (..., 3, 3), and a translation, (..., 3).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

ATOMS = ("N", "CA", "C", "CB", "O", "CG")
"""Atoms of a residue; the toy residues of smoke scale have one atom beyond the beta carbon."""
TORSIONS = 7
"""omega, phi, psi and four of a side chain."""
PSI, CHI = 2, 3

# Ideal geometry of a peptide, rounded (Engh and Huber, 1991)
N_CA, CA_C, ANGLE_N_CA_C = 1.459, 1.525, 111.0
CA_CA = 3.8


class Frames(NamedTuple):
    """Rigid frames: a point p in the frame has the position rotation · p + translation."""

    rotation: Tensor
    place: Tensor

    def apply(self, point: Tensor) -> Tensor:
        """Points in local coordinates, (..., 3), transformed to the parent's coordinates."""
        return torch.einsum("...ij,...j->...i", self.rotation, point) + self.place

    def invert_apply(self, point: Tensor) -> Tensor:
        """Points in the parent's coordinates, transformed to local coordinates, (..., 3)."""
        return torch.einsum("...ji,...j->...i", self.rotation, point - self.place)

    def compose(self, other: Frames) -> Frames:
        """A frame in local coordinates, transformed to the parent's coordinates."""
        return Frames(self.rotation @ other.rotation, self.apply(other.place))

    def expanded(self) -> Frames:
        """The frames with an additional last batch dimension of size 1."""
        return Frames(self.rotation.unsqueeze(-3), self.place.unsqueeze(-2))

    def detached_rotation(self) -> Frames:
        """The frames with rotations that pass no gradients."""
        return Frames(self.rotation.detach(), self.place)

    def scaled(self, factor: float) -> Frames:
        """The frames with translations in another unit."""
        return Frames(self.rotation, self.place * factor)


def identity(*shape: int, like: Tensor) -> Frames:
    """Frames at the origin, (shape, 3, 3) and (shape, 3)."""
    eye = torch.eye(3, dtype=like.dtype, device=like.device)
    return Frames(eye.expand(*shape, 3, 3), like.new_zeros(*shape, 3))


def frame_of(behind: Tensor, origin: Tensor, ahead: Tensor) -> Frames:
    """A frame of three points: at `origin`, `ahead` on its first axis (algorithm 21)."""
    first = torch.nn.functional.normalize(ahead - origin, dim=-1)
    beside = behind - origin
    beside = beside - (first * beside).sum(-1, keepdim=True) * first
    second = torch.nn.functional.normalize(beside, dim=-1)
    third = torch.linalg.cross(first, second)
    return Frames(torch.stack([first, second, third], dim=-1), origin)


def from_quaternion(update: Tensor) -> Frames:
    """Frames from (..., 6): three parts of a quaternion whose first is 1, and a translation."""
    quaternion = torch.nn.functional.pad(update[..., :3], (1, 0), value=1.0)
    a, b, c, d = torch.nn.functional.normalize(quaternion, dim=-1).unbind(-1)
    rows = (
        (a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)),
        (2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)),
        (2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d),
    )
    return Frames(torch.stack([torch.stack(row, -1) for row in rows], -2), update[..., 3:])


def torsion_frame(a: Tensor, b: Tensor, c: Tensor) -> Frames:
    """The frame at c for an atom bound to c, rotated about the axis b to c by a torsion."""
    axis = torch.nn.functional.normalize(c - b, dim=-1)
    normal = torch.nn.functional.normalize(torch.linalg.cross(b - a, axis), dim=-1)
    across = torch.linalg.cross(normal, axis)
    return Frames(torch.stack([axis, across, normal], dim=-1), c)


def bound(length: Tensor | float, angle: float, like: Tensor) -> Tensor:
    """The position of an atom, by bond length and angle (degrees), in a torsion frame at 0."""
    length = torch.as_tensor(length, dtype=like.dtype, device=like.device)
    turn = math.radians(angle)
    parts = (-math.cos(turn) * length, math.sin(turn) * length, torch.zeros_like(length))
    return torch.stack(parts, dim=-1)


def turned(frame: Frames, sine: Tensor, cosine: Tensor) -> Frames:
    """A torsion frame rotated by the torsion."""
    return Frames(frame.rotation @ about_first_axis(sine, cosine), frame.place)


def about_first_axis(sine: Tensor, cosine: Tensor) -> Tensor:
    """Rotations about the first axis, (..., 3, 3)."""
    unit, zero = torch.ones_like(sine), torch.zeros_like(sine)
    rows = ((unit, zero, zero), (zero, cosine, -sine), (zero, sine, cosine))
    return torch.stack([torch.stack(row, -1) for row in rows], -2)


def backbone_atoms(like: Tensor) -> Tensor:
    """N, CA, C and CB in the backbone's frame, (4, 3)."""
    turn = math.radians(ANGLE_N_CA_C)
    n = like.new_tensor([N_CA * math.cos(turn), N_CA * math.sin(turn), 0.0])
    ca, c = like.new_zeros(3), like.new_tensor([CA_C, 0.0, 0.0])
    frame = turned(torsion_frame(n, c, ca), *_circle(TORSION_CB, like))
    return torch.stack([n, ca, c, frame.apply(bound(CA_CB, ANGLE_C_CA_CB, like))])


CA_CB, ANGLE_C_CA_CB, TORSION_CB = 1.53, 110.1, 122.6
C_O, ANGLE_CA_C_O = 1.231, 120.1
ANGLE_CA_CB_CG = 113.8


def _circle(degrees: float, like: Tensor) -> tuple[Tensor, Tensor]:
    turn = like.new_tensor(math.radians(degrees))
    return turn.sin(), turn.cos()


def atoms_of(backbone: Frames, psi: Tensor, chi: Tensor, reach: Tensor) -> tuple[Frames, Tensor]:
    """The frames of all rigid groups, (..., 3), and atoms, (..., 6, 3), of residues.

    psi and chi are sines and cosines, (..., 2); `reach` is the length of the bond CB to CG, (...).
    """
    n, ca, c, cb = backbone_atoms(backbone.place)
    # O is opposite to the direction of psi
    at_c = turned(torsion_frame(n, ca, c), -psi[..., 0], -psi[..., 1])
    at_cb = turned(torsion_frame(n, ca, cb), chi[..., 0], chi[..., 1])
    groups = [backbone, backbone.compose(at_c), backbone.compose(at_cb)]
    oxygen = groups[1].apply(bound(C_O, ANGLE_CA_C_O, c))
    gamma = groups[2].apply(bound(reach, ANGLE_CA_CB_CG, c))
    fixed = [backbone.apply(point) for point in (n, ca, c, cb)]
    frames = Frames(
        torch.stack([group.rotation for group in groups], dim=-3),
        torch.stack([group.place for group in groups], dim=-2),
    )
    return frames, torch.stack([*fixed, oxygen, gamma], dim=-2)


def chain(turns: Tensor) -> Frames:
    """Backbone frames of chains from each residue's rotation over the previous, (..., R, 3).

    A rotation is a vector along its axis, whose length is the angle in radians. Each residue is on
    the first axis of the previous one.
    """
    none = torch.zeros_like(turns[..., 0])
    x, y, z = turns.unbind(-1)
    rows = ((none, -z, y), (z, none, -x), (-y, x, none))
    turned_by = torch.matrix_exp(torch.stack([torch.stack(row, -1) for row in rows], -2))
    ahead = turns.new_tensor([CA_CA, 0.0, 0.0])
    frames = [identity(*turns.shape[:-2], like=turns)]
    for index in range(1, turns.shape[-2]):
        frames.append(frames[-1].compose(Frames(turned_by[..., index, :, :], ahead)))
    return Frames(
        torch.stack([frame.rotation for frame in frames], dim=-3),
        torch.stack([frame.place for frame in frames], dim=-2),
    )
