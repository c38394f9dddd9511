"""Radial and spherical bases of DimeNet: waves between two atoms that vanish at the cutoff.

Source: Gasteiger, Groß, Günnemann, Directional Message Passing for Molecular Graphs (2020),
section 5. Dimensions: E edges, T triplets, N radial waves, L angular orders.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

SERIES_TERMS = 18
"""Terms of the power series: for order 7 at its largest argument, 8, the next is below 1e-16."""


def spherical_bessel(order: int, x: Tensor) -> Tensor:
    """The spherical Bessel function of the first kind, for positive arguments.

    In double precision. By recurrence from lower orders for large arguments; by the power series
    for arguments below the order, where the recurrence would amplify rounding.
    """
    x = x.double()
    series = term = x**order / math.prod(range(1, 2 * order + 2, 2))
    for k in range(1, SERIES_TERMS):
        term = term * (-(x**2) / 2 / (k * (2 * order + 2 * k + 1)))
        series = series + term
    lower, this = x.cos() / x, x.sin() / x
    for lower_order in range(order):
        lower, this = this, (2 * lower_order + 1) / x * this - lower
    return torch.where(x < order + 1, series, this)


def bessel_zeros(orders: int, count: int) -> Tensor:
    """The first positive zeros of each order of `spherical_bessel` below `orders`, (L, N)."""
    # Zeros of the next order are between this one's, so each order needs one zero more
    zeros = math.pi * torch.arange(1, count + orders, dtype=torch.float64, device="cpu")
    rows = [zeros[:count]]
    for order in range(1, orders):
        low, high = zeros[:-1].clone(), zeros[1:].clone()
        rising = spherical_bessel(order, high) > 0
        for _ in range(60):
            middle = (low + high) / 2
            beyond = (spherical_bessel(order, middle) > 0) == rising
            low, high = torch.where(beyond, low, middle), torch.where(beyond, middle, high)
        zeros = (low + high) / 2
        rows.append(zeros[:count])
    return torch.stack(rows)


class Envelope:
    """1/x, modified so that it and its first two derivatives vanish at the cutoff, x = 1."""

    def __init__(self, exponent: int) -> None:
        p = exponent + 1
        self.power = p - 1
        self.factors = (-(p + 1) * (p + 2) / 2, p * (p + 2), -p * (p + 1) / 2)

    def __call__(self, x: Tensor) -> Tensor:
        """Its value for distances relative to the cutoff."""
        bent = sum(f * x ** (self.power + k) for k, f in enumerate(self.factors))
        return torch.where(x < 1, 1 / x + bent, torch.zeros_like(x))

    def slope(self, x: Tensor) -> Tensor:
        """Its derivative."""
        powers = ((self.power + k, f) for k, f in enumerate(self.factors))
        bent = sum(f * power * x ** (power - 1) for power, f in powers)
        return torch.where(x < 1, bent - 1 / x**2, torch.zeros_like(x))


class RadialBasis(nn.Module):
    """Sine waves of the distance divided by it; their frequencies are trained."""

    def __init__(self, count: int, cutoff: float, envelope: Envelope) -> None:
        super().__init__()
        self.cutoff, self.envelope = cutoff, envelope
        self.frequencies = nn.Parameter(math.pi * torch.arange(1.0, count + 1))

    def forward(self, distance_E: Tensor) -> Tensor:
        """Waves of each edge, (E, N)."""
        x_E1 = distance_E[:, None] / self.cutoff
        waves: Tensor = self.envelope(x_E1) * (self.frequencies * x_E1).sin()
        return waves


class SphericalBasis(nn.Module):
    """Standing waves in a ball: Bessel functions of a distance, Legendre polynomials of an angle.

    It has no trained parameters.
    """

    zeros: Tensor
    norms: Tensor

    def __init__(self, orders: int, count: int, cutoff: float, envelope: Envelope) -> None:
        super().__init__()
        self.cutoff, self.envelope, self.orders = cutoff, envelope, orders
        zeros_LN = bessel_zeros(orders, count)
        next_LN = torch.stack([spherical_bessel(n + 1, row) for n, row in enumerate(zeros_LN)])
        # Normalization: the integral of a wave's square over the ball is 1
        norms_LN = math.sqrt(2) / next_LN.abs()
        made = torch.ones(0).device  # the default device, possibly meta
        for name, values in (("zeros", zeros_LN), ("norms", norms_LN)):
            self.register_buffer(name, values.to(made), persistent=False)

    def radial(self, distance_E: Tensor) -> tuple[Tensor, Tensor]:
        """Waves of each distance, (E, L, N), and their derivatives, in the distances' precision."""
        x_E1 = (distance_E / self.cutoff).double()[:, None]
        waves, slopes = [], []
        for order in range(self.orders):
            zeros_N = self.zeros[order].double()
            at_EN = x_E1 * zeros_N
            wave, above = (spherical_bessel(order + more, at_EN) for more in (0, 1))
            waves.append(wave)
            # Recurrence of derivatives: j' = (order / x) j - j of the next order
            slopes.append((order / at_EN * wave - above) * zeros_N)
        wave_ELN, slope_ELN = (
            torch.stack(parts, 1) * self.norms.double() for parts in (waves, slopes)
        )
        bend, fall = (
            factor[..., None] for factor in (self.envelope(x_E1), self.envelope.slope(x_E1))
        )
        values = bend * wave_ELN
        changes = (fall * wave_ELN + bend * slope_ELN) / self.cutoff
        return values.to(distance_E.dtype), changes.to(distance_E.dtype)

    def angular(self, cosine_T: Tensor) -> Tensor:
        """Zonal spherical harmonics, (T, L)."""
        harmonics = [torch.ones_like(cosine_T), cosine_T]
        for n in range(1, self.orders - 1):
            harmonics.append(
                ((2 * n + 1) * cosine_T * harmonics[n] - n * harmonics[n - 1]) / (n + 1)
            )
        norms = [math.sqrt((2 * n + 1) / (4 * math.pi)) for n in range(self.orders)]
        return torch.stack(
            [norm * harmonic for norm, harmonic in zip(norms, harmonics, strict=False)], dim=1
        )
