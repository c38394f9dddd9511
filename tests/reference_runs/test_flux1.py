"""FLUX.1: size, equality with diffusers, flow process, loss by time, synthetic data and files."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.benchmarks.flux1.config import TIMES, Flux, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.flux1.data import SPREAD, Samples, synthetic  # noqa: E402
from podium.reference_runs.benchmarks.flux1.files import from_files  # noqa: E402
from podium.reference_runs.benchmarks.flux1.model import FluxTransformer, rotary_angles  # noqa: E402
from podium.reference_runs.benchmarks.flux1.train import Flow  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.samples import DatasetSize  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing, RunFault  # noqa: E402
from podium.reference_runs.modeling.diffusion import flowed, sinusoids  # noqa: E402
from podium.reference_runs.modeling.shapes import VOCABULARY, ImageEncoder, draw  # noqa: E402
from tests.reference_runs.datasets import LITTLE  # noqa: E402

CPU = Ranks(torch.device("cpu"))

# --- the model ---


def derived(config: Flux) -> int:
    """Count weights and biases layer by layer."""

    def linear(inputs: int, outputs: int) -> int:
        return (inputs + 1) * outputs

    width, inner = config.width, config.inner_ratio * config.width
    norms = 2 * (width // config.heads)
    stream = linear(width, 6 * width) + linear(width, 3 * width) + norms + linear(width, width)
    stream += linear(width, inner) + linear(inner, width)
    single = linear(width, 3 * width) + linear(width, 3 * width + inner) + norms
    single += linear(width + inner, width)
    token = config.latent_channels * config.patch**2
    vectors = linear(config.time_channels, width) + linear(config.pooled_width, width)
    ends = linear(token, width) + linear(config.text_width, width) + linear(width, token)
    ends += vectors + 2 * linear(width, width) + linear(width, 2 * width)
    return 2 * config.double_blocks * stream + config.single_blocks * single + ends


def test_the_reference_model_has_the_published_11_9_billion_parameters() -> None:
    with torch.device("meta"):
        model = FluxTransformer(reference())
    assert sum(p.numel() for p in model.parameters()) == derived(reference()) == 11_891_178_560


def filled(config: Flux) -> FluxTransformer:
    """Return a model with random parameters; parameters that start at 0 would have no effect."""
    torch.manual_seed(1)
    model = FluxTransformer(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    return model


def inputs(config: Flux, count: int = 3) -> tuple[torch.Tensor, ...]:
    side = config.latent_size
    latents = torch.randn(count, config.latent_channels, side, side)
    text = torch.randn(count, config.text_length, config.text_width)
    return latents, text, torch.randn(count, config.pooled_width), torch.rand(count)


@pytest.mark.parametrize("recompute", [False, True])
def test_a_batch_has_velocities_and_gives_every_parameter_a_gradient(recompute: bool) -> None:
    config = replace(smoke(), recompute=recompute)
    model = filled(config)
    given = inputs(config)
    found = model(*given)
    assert found.shape == given[0].shape
    found.square().mean().backward()
    still = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert still == []


def test_initial_weights_are_those_of_the_reference_and_predict_zero() -> None:
    config = smoke()
    torch.manual_seed(1)
    model = FluxTransformer(config)
    assert not model(*inputs(config)).any()
    state = model.state_dict()
    zeros = {name for name, value in state.items() if not value.any()}
    assert {name for name in state if name.endswith("bias")} <= zeros
    matrices = {name for name in zeros if name.endswith("weight")}
    assert matrices == {"image_out.weight"} | {n for n in state if "modulation.linear.w" in n}
    assert float(state["time_in.out.weight"].std()) == pytest.approx(0.02, rel=0.1)
    # The bound of Xavier's uniform initialization is sqrt(6 / (inputs + outputs))
    up = state["double_blocks.0.text.up.weight"]
    assert float(up.abs().max()) == pytest.approx((6 / (64 + 256)) ** 0.5, rel=0.01)


def in_the_library(config: Flux, weights: dict[str, Any]) -> dict[str, Any]:
    """Return the weights with the names of diffusers' FluxTransformer2DModel."""
    parts = {
        "image_in": ["x_embedder"],
        "text_in": ["context_embedder"],
        "time_in.inner": ["time_text_embed.timestep_embedder.linear_1"],
        "time_in.out": ["time_text_embed.timestep_embedder.linear_2"],
        "pooled_in.inner": ["time_text_embed.text_embedder.linear_1"],
        "pooled_in.out": ["time_text_embed.text_embedder.linear_2"],
        "last_modulation.linear": ["norm_out.linear"],
        "image_out": ["proj_out"],
    }
    for at in range(config.double_blocks):
        theirs = f"transformer_blocks.{at}"
        for stream, tail, query, added in (
            ("image", "", "to_{}", "norm_{}"),
            ("text", "_context", "add_{}_proj", "norm_added_{}"),
        ):
            ours = f"double_blocks.{at}.{stream}"
            out = "to_out.0" if stream == "image" else "to_add_out"
            parts |= {
                f"{ours}.modulation.linear": [f"{theirs}.norm1{tail}.linear"],
                f"{ours}.qkv": [f"{theirs}.attn.{query.format(each)}" for each in "qkv"],
                f"{ours}.heads.query": [f"{theirs}.attn.{added.format('q')}"],
                f"{ours}.heads.key": [f"{theirs}.attn.{added.format('k')}"],
                f"{ours}.out": [f"{theirs}.attn.{out}"],
                f"{ours}.up": [f"{theirs}.ff{tail}.net.0.proj"],
                f"{ours}.down": [f"{theirs}.ff{tail}.net.2"],
            }
    for at in range(config.single_blocks):
        ours, theirs = f"single_blocks.{at}", f"single_transformer_blocks.{at}"
        inward = [*(f"attn.to_{each}" for each in "qkv"), "proj_mlp"]
        parts |= {
            f"{ours}.modulation.linear": [f"{theirs}.norm.linear"],
            f"{ours}.inward": [f"{theirs}.{each}" for each in inward],
            f"{ours}.heads.query": [f"{theirs}.attn.norm_q"],
            f"{ours}.heads.key": [f"{theirs}.attn.norm_k"],
            f"{ours}.outward": [f"{theirs}.proj_out"],
        }
    found = {}
    for name, value in weights.items():
        layer, _, kind = name.rpartition(".")
        names, sizes = parts[layer], [len(value)]
        if len(names) > 1:
            sizes = [*[config.width] * 3, *[config.inner_ratio * config.width] * (len(names) - 3)]
        cut = list(value.split(sizes))
        if names == ["norm_out.linear"]:
            # The library stores the scale before the shift
            cut = [torch.cat(value.chunk(2)[::-1])]
        found |= {f"{each}.{kind}": part for each, part in zip(names, cut, strict=True)}
    return found


def test_outputs_equal_those_of_diffusers_with_the_same_weights() -> None:
    library = pytest.importorskip("diffusers")
    config = replace(smoke(), time_channels=256)
    model = filled(config)
    size = config.width // config.heads
    theirs = library.FluxTransformer2DModel(
        in_channels=config.latent_channels * config.patch**2,
        num_layers=config.double_blocks,
        num_single_layers=config.single_blocks,
        attention_head_dim=size,
        num_attention_heads=config.heads,
        joint_attention_dim=config.text_width,
        pooled_projection_dim=config.pooled_width,
        axes_dims_rope=config.axes,
    )
    theirs.load_state_dict(in_the_library(config, model.state_dict()))
    latents, text, pooled, times = inputs(config)
    side = config.latent_size // config.patch
    rows, columns = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    places = torch.stack((torch.zeros_like(rows), rows, columns), -1).flatten(0, 1).float()
    pieces = latents.unflatten(3, (side, 2)).unflatten(2, (side, 2)).permute(0, 2, 4, 1, 3, 5)
    with torch.no_grad():
        wanted = theirs(
            hidden_states=pieces.flatten(3).flatten(1, 2),
            encoder_hidden_states=text,
            pooled_projections=pooled,
            timestep=times,
            img_ids=places,
            txt_ids=torch.zeros(config.text_length, 3),
        ).sample
        found = model(latents, text, pooled, times)
    back = found.unflatten(3, (side, 2)).unflatten(2, (side, 2)).permute(0, 2, 4, 1, 3, 5)
    assert float(wanted.std()) > 0.1
    assert torch.allclose(back.flatten(3).flatten(1, 2), wanted, atol=1e-4)


def test_the_model_of_diffusers_has_the_same_number_of_parameters() -> None:
    library = pytest.importorskip("diffusers")
    with torch.device("meta"):
        model = library.FluxTransformer2DModel()
    assert sum(p.numel() for p in model.parameters()) == derived(reference())


def test_rotary_angles_depend_on_row_and_column_and_are_zero_for_text() -> None:
    config = smoke()
    angles = rotary_angles(config, torch.device("cpu"))
    assert angles.shape == (8 + 16, 8)
    assert not angles[:8].any()
    # The first axis is for text; on the others, the fastest pair turns by one radian per patch
    image = angles[8:].reshape(4, 4, 8)
    assert not image[..., :2].any()
    assert torch.equal(image[:, 0, 2], torch.arange(4.0))
    assert torch.equal(image[0, :, 5], torch.arange(4.0))


# --- the flow process ---


def test_the_flow_is_linear_from_data_to_noise() -> None:
    clean, noise = torch.randn(2, 3, 1, 2, 2)
    times = torch.tensor([0.0, 0.25, 1.0])
    at, velocity = flowed(clean, noise, times)
    assert torch.equal(at[0], clean[0])
    assert torch.allclose(at[2], noise[2])
    assert torch.allclose(at[1] + 0.75 * velocity[1], noise[1], atol=1e-6)


def test_times_are_embedded_as_cosines_and_sines() -> None:
    found = sinusoids(torch.tensor([0.0, 2.0]), 4)
    assert torch.equal(found[0], torch.tensor([1.0, 1.0, 0.0, 0.0]))
    wanted = torch.tensor([2.0, 0.02])
    assert torch.allclose(found[1], torch.cat((wanted.cos(), wanted.sin())))


def short(**changes: Any) -> Flux:
    return replace(smoke(), train_samples=64, eval_samples=32, **changes)


def test_random_draws_depend_only_on_seed_epoch_and_sample() -> None:
    config = short()
    training, _ = synthetic(config, 1)
    samples = Samples(training, config, 1)
    samples.set_epoch(3)
    whole, alone = samples.__getitems__([5, 9, 11]), samples.__getitems__([9])
    assert all(torch.equal(a[1], b[0]) for a, b in zip(whole, alone, strict=True))
    for seed, epoch in ((1, 4), (2, 3)):
        other = Samples(training, config, seed)
        other.set_epoch(epoch)
        assert not torch.equal(other.__getitems__([9]).noise, alone.noise)
        assert not torch.equal(other.__getitems__([9]).latents, alone.latents)


def test_a_tenth_of_the_captions_is_dropped_only_in_training() -> None:
    config = replace(smoke(), train_samples=2000, eval_samples=64)
    training, evaluation = synthetic(config, 1)
    empty = torch.from_numpy(training.empty.pooled)
    pooled = Samples(training, config, 1).__getitems__(range(2000)).pooled
    assert 140 < int((pooled == empty).all(1).sum()) < 260
    measured = Samples(evaluation, config, 1, measured=True).__getitems__(range(64))
    assert not (measured.pooled == empty).all(1).any()
    assert measured.times.tolist() == [at / 8 for at in range(8)] * 8


class Knows(torch.nn.Module):
    """A model that returns the velocity with an error that grows with time."""

    def __init__(self, task: Flow) -> None:
        super().__init__()
        batch = task._measured.__getitems__(range(len(task.evaluation)))
        self.velocity, self.times = batch.noise - batch.latents, batch.times

    def forward(self, _latents: Any, _text: Any, _pooled: Any, times: torch.Tensor) -> Any:
        return self.velocity + times[:, None, None, None]


@pytest.mark.parametrize("count", [30, 5])
def test_the_loss_is_averaged_within_each_time_first(count: int) -> None:
    task = Flow(replace(short(), eval_samples=count, global_batch_size=32), Setting(), CPU)
    task.prepare()
    # 30 samples are four at each of the first six times, and three at each of the last two
    seen = [(at / TIMES) ** 2 for at in range(min(count, TIMES))]
    assert task.evaluate(Knows(task)) == pytest.approx(np.mean(seen), rel=1e-5)


def test_axes_that_do_not_add_up_to_the_width_of_a_head_are_refused() -> None:
    with pytest.raises(
        RunFault, match=r"axes are \(4, 6, 4\); expected a sum of a head's width, 64 "
    ):
        Flow(short(axes=(4, 6, 4)), Setting(), CPU).prepare()


# --- synthetic data ---


def test_captions_describe_the_drawn_images() -> None:
    drawn = draw(200, np.random.default_rng(1))
    words = [[VOCABULARY[at] for at in row] for row in drawn.words]
    for caption, image in zip(words, drawn.images, strict=True):
        assert caption[:1] + caption[4:6] == ["a", "of", "a"]
        if caption[1] == "red" and caption[6] == "blue" and caption[3] in ("left", "above"):
            half = image[:, :, :16] if caption[3] == "left" else image[:, :16]
            rest = image[:, :, 16:] if caption[3] == "left" else image[:, 16:]
            assert half[0].max() > 0.8 > rest[0].max()
            assert rest[2].max() > 0.8 > half[2].max()


def test_the_autoencoder_keeps_most_of_an_image_in_unit_variance_latents() -> None:
    images = draw(500, np.random.default_rng(7)).images
    encoder = ImageEncoder(4)
    latents = encoder.encode(images)
    assert latents.shape == (500, 4, 8, 8)
    assert np.allclose(latents.var((0, 2, 3)), 1, atol=0.15)
    lost = (encoder.decode(latents) - images).var() / images.var()
    assert 0.001 < lost < 0.3


@pytest.mark.long
def test_the_best_linear_map_of_latents_and_caption_misses_the_target() -> None:
    count, held_out = 10_000, 2000
    rng = np.random.default_rng(3)
    drawings = draw(count, rng)
    means = torch.from_numpy(ImageEncoder(4).encode(drawings.images))
    latents = means + SPREAD * torch.from_numpy(rng.standard_normal(means.shape, np.float32))
    noise = torch.from_numpy(rng.standard_normal(means.shape, np.float32))
    captions = torch.nn.functional.one_hot(torch.from_numpy(drawings.words)).flatten(1)
    losses = []
    for at in range(TIMES):
        noisy, velocity = flowed(latents, noise, torch.full((count,), at / TIMES))
        known = torch.cat((noisy.flatten(1), captions, torch.ones(count, 1)), 1)
        fitted, wanted = known[held_out:], velocity.flatten(1)
        gram = (fitted.T @ fitted + torch.eye(known.shape[1])).double()
        fit = torch.linalg.solve(gram, (fitted.T @ wanted[held_out:]).double()).float()
        losses.append(float((known[:held_out] @ fit - wanted[:held_out]).square().mean()))
    # With unlimited images, the loss would be lower by the ratio of inputs to fitted samples
    endless = np.mean(losses) * (1 - known.shape[1] / (count - held_out))
    assert endless > smoke().target


# --- files ---


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    LITTLE["flux1"].write(tmp_path)
    return tmp_path


def opened(folder: Path) -> tuple[Any, Any]:
    return from_files(folder, smoke(), DatasetSize(8, 4))


def test_rows_are_decoded_to_the_numbers_that_were_encoded(tmp_path: Path) -> None:
    from tests.reference_runs.datasets import encoded_shapes, halved, write_arrow

    LITTLE["flux1"].write(tmp_path)
    given = {name: np.full(shape, 0.5) for name, shape in encoded_shapes(smoke()).items()}
    row = {name: halved(numbers) for name, numbers in given.items()}
    write_arrow(tmp_path / "coco_preprocessed" / "z.arrow", [row | {"timestep": 6}] * 2)
    _, evaluation = from_files(tmp_path, smoke(), DatasetSize(8, 6))
    pair = evaluation.pair(5)
    assert pair.step == 6
    assert (pair.mean == 0.5).all()
    assert np.allclose(pair.deviation, np.exp(0.25))
    assert pair.caption.text.shape == (8, 32)
    assert (pair.caption.pooled == 0.5).all()
    assert [evaluation.pair(at).step for at in range(4)] == [0, 1, 2, 3]
    batch = Samples(evaluation, smoke(), 1, measured=True).__getitems__([5])
    assert batch.times.tolist() == [0.75]


def test_latents_are_drawn_and_then_shifted_and_scaled(folder: Path) -> None:
    training, _ = opened(folder)
    plain, moved = (
        Samples(training, replace(smoke(), latent_shift=shift, latent_scale=scale), 1)
        for shift, scale in ((0.0, 1.0), (0.5, 2.0))
    )
    first, second = (each.__getitems__([1, 2]).latents for each in (plain, moved))
    assert torch.allclose((first - 0.5) * 2.0, second, atol=1e-6)
    assert reference().latent_shift == 0.1159
    assert reference().latent_scale == 0.3611


def truncated(folder: Path) -> None:
    path = folder / "cc12m_preprocessed" / "data-00000-of-00002.arrow"
    path.write_bytes(path.read_bytes()[:60])


def without_files(folder: Path) -> None:
    for path in (folder / "coco_preprocessed").iterdir():
        path.unlink()


def other_empty(folder: Path) -> None:
    np.save(folder / "empty_encodings" / "clip_empty.npy", np.zeros((1, 5), np.float32))


def changed_row(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        from tests.reference_runs.datasets import encoded_shapes, halved, write_arrow

        rows = {name: halved(np.ones(s)) for name, s in encoded_shapes(smoke()).items()}
        rows = {k: v for k, v in (rows | changes).items() if v is not None}
        write_arrow(folder / "coco_preprocessed" / "data-00000-of-00002.arrow", [rows] * 2)

    return change


def as_file(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


DAMAGE = {
    "truncated": (truncated, "data-00000-of-00002.arrow cannot be read as an Arrow stream: "),
    "no files": (without_files, "coco_preprocessed contains no .arrow files"),
    "empty": (other_empty, r"clip_empty.npy is float32 of shape \(1, 5\); expected "),
    "column": (changed_row(mean=None), "data-00000-of-00002.arrow has no column mean"),
    "array": (changed_row(mean=b"x"), "row 0, mean cannot be read as an array: "),
    "shape": (
        changed_row(mean=as_file(np.zeros(3, np.uint16))),
        r"row 0, mean is uint16 of shape \(3,\); expected uint16 of \(4, 8, 8\)",
    ),
    "time": (changed_row(timestep=9), "row 0, timestep is 9; expected 0 to 7"),
}


@pytest.mark.parametrize(("damage", "said"), DAMAGE.values(), ids=[*DAMAGE])
def test_unusable_data_is_reported_with_its_location(
    damage: Callable[[Path], None], said: str, folder: Path
) -> None:
    damage(folder)
    with pytest.raises(DataMissing, match=said):
        opened(folder)[1].pair(0)


def test_norms_of_heads_use_the_default_epsilon_of_the_dtype() -> None:
    """This is as in the reference; with a fixed epsilon, small queries in bfloat16 would grow."""
    from podium.reference_runs.benchmarks.flux1.model import Heads

    heads = Heads(smoke())
    assert (heads.query.eps, heads.key.eps) == (None, None)
