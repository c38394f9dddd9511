"""Spatial parallelism: ranks have rows of images and volumes, and exchange border rows.

Every feature map is divided along its first spatial axis; the rows of a volume are planes. A rank
that computes a convolution fetches the adjacent rows that it needs (the halo), and norms reduce
over ranks (Kumar et al., "Scale MLPerf-0.6 models on Google TPU-v3 Pods", 2019, section 2). The
spatial dimensions of a map must be equal, so that the last axis, which stays whole, gives the total
number of rows.

Dimensions: B batch, C channels, R rows of this rank, S elements of a row.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.modeling.maps import MapLinear, MapMean
from podium.reference_runs.modeling.normalization import GroupNormedBatch
from podium.reference_runs.modeling.resizing import Enlarge
from podium.reference_runs.parallel.exchange import exchanged, gathered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.distributed import ProcessGroup
    from torch.distributed.device_mesh import DeviceMesh

    Span = tuple[int, int]

ROWS = 2
"""The divided axis, after batch and channels."""
FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}
"""Memory formats of images and volumes, by number of axes; concatenation preserves them."""


class Rows:
    """The ranks that rows are divided among, and this rank's index."""

    def __init__(self, group: ProcessGroup) -> None:
        self.group, self.ranks, self.rank = group, group.size(), group.rank()

    def spans(self, count: int) -> list[Span]:
        """The first and last row of each rank, of `count` rows; some ranks may have none."""
        ends = [rank * count // self.ranks for rank in range(self.ranks + 1)]
        return [*pairwise(ends)]

    def own(self, whole: Tensor) -> Tensor:
        """The rank's rows of a whole map."""
        begin, end = self.spans(whole.shape[ROWS])[self.rank]
        return whole.narrow(ROWS, begin, end - begin)

    def gathered(self, x: Tensor) -> Tensor:
        """The whole map from the rows of all ranks."""
        count = x.shape[-1]
        return self.fetched(x, [(0, count)] * self.ranks)

    def total(self, part: Tensor) -> Tensor:
        """The sum over all ranks."""
        return gathered(part, self.group).sum(0)

    def shared(self, x: Tensor, counts: Sequence[int]) -> Tensor:
        """The rows of all ranks along the first axis, concatenated; `counts` has their numbers."""
        everyone = x.flatten(1).repeat(self.ranks, 1)
        rows = exchanged(everyone, [len(x)] * self.ranks, counts, self.group)
        return rows.view(-1, *x.shape[1:])

    def windows(self, x: Tensor, kernel: int, stride: int, padding: tuple[int, float]) -> Tensor:
        """The input rows for this rank's output windows; `padding`: size, value.

        A rank without outputs gets the rows of one window, since no operation accepts fewer.
        """
        size, value = padding
        outputs = self.spans((x.shape[-1] + 2 * size - kernel) // stride + 1)
        firsts = [(begin, max(end - 1, begin)) for begin, end in outputs]
        wanted = [(a * stride - size, b * stride - size + kernel) for a, b in firsts]
        return self.fetched(x, wanted, value)

    def fetched(self, x: Tensor, wanted: Sequence[Span], value: float = 0.0) -> Tensor:
        """The rows that this rank requests; `wanted` has the requests of every rank.

        Rows before the first and after the last have a constant value.
        """
        count = x.shape[-1]
        held = self.spans(count)
        if [*wanted] == held:
            return x
        mine, need = held[self.rank], wanted[self.rank]
        going = [_common(mine, span) for span in wanted]
        coming = [_common(span, need) for span in held]
        stays, _ = going[self.rank], coming[self.rank]
        going[self.rank] = coming[self.rank] = (mine[0], mine[0])
        parts = self._exchanged(x, [_moved(span, -mine[0]) for span in going], coming)
        parts[self.rank] = x.narrow(ROWS, stays[0] - mine[0], stays[1] - stays[0])
        # Concatenated even if nothing was received: gradients of sent rows return this way
        joined = torch.cat(parts, ROWS)
        before, after = max(0, min(need[1], 0) - need[0]), max(0, need[1] - max(need[0], count))
        sides = (0, 0) * (x.dim() - ROWS - 1) + (before, after)
        return F.pad(joined, sides, value=value) if before or after else joined

    def _exchanged(self, x: Tensor, going: Sequence[Span], coming: Sequence[Span]) -> list[Tensor]:
        """Send rows to each rank; returns the rows from each."""
        around = [*x.shape]
        around[ROWS] = 1
        row = math.prod(around)
        sent = torch.cat([x.narrow(ROWS, a, b - a).reshape(-1) for a, b in going])
        sizes_out, sizes_in = ([(b - a) * row for a, b in spans] for spans in (going, coming))
        got = exchanged(sent, sizes_out, sizes_in, self.group)
        parts = []
        for part, (begin, end) in zip(torch.split(got, sizes_in), coming, strict=True):
            around[ROWS] = end - begin
            parts.append(part.view(around).contiguous(memory_format=FORMATS[x.dim()]))
        return parts

    def moments(self, x_BCRS: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of each channel over the rows of all ranks, each of which has some."""
        places = [*range(ROWS, x_BCRS.dim())]
        variance, mean = torch.var_mean(x_BCRS.float(), places, correction=0, keepdim=True)
        means, variances = gathered(torch.stack((mean, variance)), self.group).unbind(1)
        count = x_BCRS.shape[-1]
        shares = torch.tensor([(end - begin) / count for begin, end in self.spans(count)])
        share = shares.to(means).view(-1, *[1] * x_BCRS.dim())
        mean = (share * means).sum(0)
        return mean, (share * (variances + (means - mean) ** 2)).sum(0)


def _common(first: Span, second: Span) -> Span:
    """The intersection of two spans; an empty span within the first if they do not overlap."""
    begin = min(max(first[0], second[0]), first[1])
    return begin, max(begin, min(first[1], second[1]))


def _moved(span: Span, by: int) -> Span:
    return span[0] + by, span[1] + by


def divide(model: nn.Module, mesh: DeviceMesh, *, gathers: bool) -> nn.Module:
    """Make a convolutional model process its rank's rows of the images that it is called with.

    It still accepts whole images; with `gathers` it returns whole maps, too. Weights are not
    divided. The ranks along the mesh's `sp` must all be called with the same images.
    """
    if mesh["sp"].size() == 1:
        return model
    rows = Rows(mesh["sp"].get_group())
    for module in model.modules():
        if isinstance(module, nn.Conv2d | nn.Conv3d):
            _divide_windows(module, rows, 0.0)
        elif isinstance(module, nn.MaxPool2d | nn.MaxPool3d):
            _divide_windows(module, rows, -math.inf)
        elif isinstance(module, nn.InstanceNorm3d):
            module.forward = partial(_normalised, module, rows)  # type: ignore[method-assign]
        elif isinstance(module, GroupNormedBatch):
            module.of_images = rows.moments
        elif isinstance(module, Enlarge):
            module.forward = partial(_enlarged, rows)  # type: ignore[method-assign]
        elif isinstance(module, MapMean):
            module.forward = partial(_averaged, rows)  # type: ignore[method-assign]
        elif isinstance(module, MapLinear):
            module.forward = partial(_linear, module, rows)  # type: ignore[method-assign]
    model.register_forward_pre_hook(lambda _, inputs: (rows.own(inputs[0]), *inputs[1:]))
    if gathers:
        model.register_forward_hook(lambda _, _inputs, output: rows.gathered(output))
    return model


def _divide_windows(module: Any, rows: Rows, value: float) -> None:
    """Make a convolution or a pooling layer fetch the rows that it needs, with its padding."""
    axes = 3 if isinstance(module, nn.Conv3d | nn.MaxPool3d) else 2
    kernel, stride, padding = (
        (extent,) * axes if isinstance(extent, int) else extent
        for extent in (module.kernel_size, module.stride, module.padding)
    )
    module.padding = (0, *padding[1:])

    def enter(_: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
        return rows.windows(inputs[0], kernel[0], stride[0], (padding[0], value))

    def leave(_: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        begin, end = rows.spans(output.shape[-1])[rows.rank]
        return output.narrow(ROWS, 0, end - begin)

    module.register_forward_pre_hook(enter)
    module.register_forward_hook(leave)


def _normalised(norm: nn.InstanceNorm3d, rows: Rows, x_BCRS: Tensor) -> Tensor:
    """Instance norm with the moments of all ranks' rows."""
    mean, variance = rows.moments(x_BCRS)
    shape = (1, -1, *[1] * (x_BCRS.dim() - 2))
    scale = norm.weight.view(shape) * (variance + norm.eps).rsqrt()
    shift = norm.bias.view(shape) - mean * scale
    return torch.addcmul(shift, x_BCRS, scale).to(x_BCRS.dtype)


def _enlarged(rows: Rows, x: Tensor, like: Tensor) -> Tensor:
    """The rank's rows of a map that is resized to the size of another."""
    small, large = x.shape[-1], like.shape[-1]
    spans = rows.spans(large)
    wanted = [(begin * small // large, (end - 1) * small // large + 1) for begin, end in spans]
    here = rows.fetched(x, wanted)
    nearest = torch.arange(*spans[rows.rank], device=x.device) * small // large
    repeated = here.index_select(ROWS, nearest - wanted[rows.rank][0])
    return F.interpolate(repeated, size=like.shape[-2:], mode="nearest")


def _averaged(rows: Rows, x_BCHW: Tensor) -> Tensor:
    """The mean of each channel over the rows of all ranks."""
    return rows.total(x_BCHW.float().sum((2, 3))) / x_BCHW.shape[-1] ** 2


def _linear(layer: MapLinear, rows: Rows, x_BCRXX: Tensor) -> Tensor:
    """A linear layer of a whole map: the ranks multiply their rows and add up the products."""
    begin, _ = rows.spans(x_BCRXX.shape[-1])[rows.rank]
    return rows.total(layer.of_rows(x_BCRXX, begin)) + layer.bias
