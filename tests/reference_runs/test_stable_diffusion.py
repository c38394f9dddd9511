"""Stable Diffusion: size, equality with diffusers, diffusion process, scores and files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.compliance.cli.running.progress import outcome_text  # noqa: E402
from podium.reference_runs.benchmarks.stable_diffusion.config import (  # noqa: E402
    Scores,
    StableDiffusion,
    reference,
    smoke,
)
from podium.reference_runs.benchmarks.stable_diffusion.data import EVALUATION_SEED, Samples  # noqa: E402
from podium.reference_runs.benchmarks.stable_diffusion.files import from_files, networks  # noqa: E402
from podium.reference_runs.benchmarks.stable_diffusion.frozen import made  # noqa: E402
from podium.reference_runs.benchmarks.stable_diffusion.model import Transformer, UNet  # noqa: E402
from podium.reference_runs.benchmarks.stable_diffusion.quality import (  # noqa: E402
    Gaussian,
    frechet_distance,
    gaussian,
    sums,
)
from podium.reference_runs.benchmarks.stable_diffusion.train import Diffusion  # noqa: E402
from podium.reference_runs.engine.loop import Outcome  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.samples import DatasetSize  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing, RunFault  # noqa: E402
from podium.reference_runs.modeling.diffusion import Steps  # noqa: E402
from podium.reference_runs.modeling.shapes import (  # noqa: E402
    LENGTH,
    VOCABULARY,
    ImageEncoder,
    draw,
)
from tests.reference_runs.datasets import LITTLE  # noqa: E402

CPU = Ranks(torch.device("cpu"))

# --- the model ---

PUBLISHED = 865_910_724
"""Parameters of the released U-Net; the benchmark has other norm groups but the same number."""


def test_the_reference_model_has_the_published_number_of_parameters() -> None:
    with torch.device("meta"):
        model = UNet(reference())
    assert sum(p.numel() for p in model.parameters()) == PUBLISHED


def small(**changes: Any) -> StableDiffusion:
    """Return a narrow config with three levels, of which two have attention."""
    shape = {"channels": 16, "multiples": (1, 2, 2), "blocks": 2, "attention_levels": 2}
    return replace(smoke(), **{**shape, "head_width": 8, "norm_groups": 4, **changes})


def filled(config: StableDiffusion) -> UNet:
    """Return a model with random parameters; parameters that start at 0 would have no effect."""
    torch.manual_seed(1)
    model = UNet(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    return model


def inputs(config: StableDiffusion) -> tuple[torch.Tensor, ...]:
    side = config.latent_size
    latents = torch.randn(2, config.latent_channels, side, side)
    return latents, torch.tensor([3, 777]), torch.randn(2, 8, config.context_width)


def test_a_batch_has_v_and_gives_every_parameter_a_gradient() -> None:
    config = small()
    model, given = filled(config), inputs(config)
    found = model(*given)
    assert found.shape == given[0].shape
    found.square().mean().backward()
    assert [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()] == []


def test_an_untrained_model_predicts_zero() -> None:
    torch.manual_seed(1)
    assert not UNet(small())(*inputs(small())).any()


def in_the_library(name: str) -> str:
    """Return the name of a tensor in diffusers' UNet2DConditionModel."""
    for ours, theirs in (
        ("time_inner.", "time_embedding.linear_1."),
        ("time_out.", "time_embedding.linear_2."),
        ("norm_out.", "conv_norm_out."),
        ("down.", "down_blocks."),
        ("up.", "up_blocks."),
        ("middle.", "mid_block."),
    ):
        if name.startswith(ours):
            name = theirs + name.removeprefix(ours)
            break
    sampler = "downsamplers" if name.startswith("down_blocks.") else "upsamplers"
    for ours, theirs in (
        (".residual.", ".resnets."),
        (".attention.", ".attentions."),
        (".resize.", f".{sampler}.0.conv."),
        (".skip.", ".conv_shortcut."),
        (".time.", ".time_emb_proj."),
        (".inward.", ".proj_in."),
        (".outward.", ".proj_out."),
    ):
        name = name.replace(ours, theirs)
    head, found, tail = name.partition(".attentions.")
    if not found:
        return name
    at, _, rest = tail.partition(".")
    for ours, theirs in (
        ("norm1.", "norm1."),
        ("norm2.", "norm2."),
        ("norm3.", "norm3."),
        ("image.out.", "attn1.to_out.0."),
        ("text.out.", "attn2.to_out.0."),
        ("image.", "attn1.to_"),
        ("text.", "attn2.to_"),
        ("up.", "ff.net.0.proj."),
        ("down.", "ff.net.2."),
    ):
        if rest.startswith(ours):
            rest = "transformer_blocks.0." + theirs + rest.removeprefix(ours)
            letters = {"query": "q", "key": "k", "value": "v"}
            for word, letter in letters.items():
                rest = rest.replace(f"to_{word}", f"to_{letter}")
            break
    return f"{head}{found}{at}.{rest}"


def library_model(config: StableDiffusion, size: int) -> Any:
    library = pytest.importorskip("diffusers")
    widths = [config.channels * each for each in config.multiples]
    levels, attending = len(widths), config.attention_levels
    kinds = ["CrossAttn"] * attending + [""] * (levels - attending)
    return library.UNet2DConditionModel(
        sample_size=size,
        block_out_channels=widths,
        layers_per_block=config.blocks,
        down_block_types=[f"{kind}DownBlock2D" for kind in kinds],
        up_block_types=[f"{kind}UpBlock2D" for kind in reversed(kinds)],
        # The library uses this argument as the number of heads
        attention_head_dim=[width // config.head_width for width in widths],
        cross_attention_dim=config.context_width,
        use_linear_projection=True,
        norm_num_groups=config.norm_groups,
    )


def test_outputs_equal_those_of_diffusers_with_the_same_weights() -> None:
    config = small()
    theirs = library_model(config, config.latent_size)
    model, (latents, steps, text) = filled(config), inputs(config)
    weights = {in_the_library(name): value for name, value in model.state_dict().items()}
    theirs.load_state_dict(weights)
    with torch.no_grad():
        wanted, found = theirs(latents, steps, text).sample, model(latents, steps, text)
    assert float(wanted.std()) > 0.05
    assert torch.allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("fid", "clip", "missed"),
    [
        (55.2, 0.1, "CLIP score >= 0.15"),
        (99.0, 0.2, "FID <= 90"),
        (99.0, 0.1, "FID <= 90 and CLIP score >= 0.15"),
    ],
)
def test_an_aborted_run_names_the_missed_scores(fid: float, clip: float, missed: str) -> None:
    text = outcome_text(Path("log"), smoke(), Outcome(False, 384, Scores(fid, clip)))
    figures = f"FID {fid:.4f}, CLIP score {clip:.4f}"
    assert text == f"log: aborted at step 384 with {figures}; target {missed}"


def test_norms_have_the_groups_of_the_reference() -> None:
    """The blocks have 16 and the transformers 32; the number of parameters does not show this."""
    with torch.device("meta"):
        model = UNet(reference())
    inside = {
        name + ".norm" for name, each in model.named_modules() if isinstance(each, Transformer)
    }
    groups = {
        name: each.num_groups
        for name, each in model.named_modules()
        if isinstance(each, torch.nn.GroupNorm)
    }
    assert len(inside) == 16
    assert {groups.pop(name) for name in inside} == {32}
    assert {*groups.values()} == {16}


def test_the_model_of_diffusers_has_the_same_number_of_parameters() -> None:
    pytest.importorskip("diffusers")
    with torch.device("meta"):
        model = library_model(reference(), 64)
    assert sum(p.numel() for p in model.parameters()) == PUBLISHED


# --- the diffusion process ---

PROCESS = Steps(1000, 0.00085, 0.012)


def test_data_and_noise_can_be_computed_from_a_sample_and_its_v() -> None:
    clean, noise = torch.randn(2, 5, 1, 2, 2)
    steps = torch.tensor([0, 10, 500, 900, 999])
    noisy, v = PROCESS.noised(clean, noise, steps)
    kept, lost = (each[steps, None, None, None] for each in (PROCESS.kept, PROCESS.lost))
    assert torch.allclose(kept * noisy - lost * v, clean.double(), atol=1e-6)
    assert torch.allclose(lost * noisy + kept * v, noise.double(), atol=1e-6)
    # The published process starts with little noise and ends with little of the data
    assert float(PROCESS.kept[0]) ** 2 == pytest.approx(1 - 0.00085)
    assert 0.06 < float(PROCESS.kept[-1]) < 0.07


@pytest.mark.parametrize("steps", [7, 50])
def test_sampling_with_the_true_v_ends_at_the_data(steps: int) -> None:
    clean, noise = torch.randn(2, 3, 1, 2, 2).double()
    seen = []

    def predict(x: torch.Tensor, at: int) -> torch.Tensor:
        seen.append(at)
        kept, lost = PROCESS.kept[at], PROCESS.lost[at]
        return (kept * x - clean) / lost  # because x = kept · data + lost · noise

    found = PROCESS.sampled(noise, steps, predict)
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == len({*seen}) >= steps
    assert float((found - clean).abs().max()) < 0.2


# --- scores ---


def test_the_frechet_distance_equals_its_closed_form() -> None:
    first = Gaussian(torch.zeros(3).double(), torch.diag(torch.tensor([1.0, 4.0, 9.0])).double())
    assert frechet_distance(first, first) == pytest.approx(0, abs=1e-9)
    second = Gaussian(torch.tensor([3.0, 0, 0]).double(), torch.eye(3).double())
    # 3² + (1 - 1)² + (2 - 1)² + (3 - 1)²
    assert frechet_distance(first, second) == pytest.approx(14)
    turn = torch.linalg.qr(torch.randn(3, 3).double())[0]
    moved = [
        Gaussian(turn @ each.mean, turn @ each.covariance @ turn.T) for each in (first, second)
    ]
    assert frechet_distance(*moved) == pytest.approx(14)


def test_sums_of_parts_give_the_mean_and_covariance_of_the_whole() -> None:
    features = torch.randn(50, 4).double() @ torch.randn(4, 4).double()
    found = gaussian(sums(features[:20]) + sums(features[20:]))
    assert torch.allclose(found.mean, features.mean(0))
    assert torch.allclose(found.covariance, torch.cov(features.T))


def test_both_scores_must_be_reached_and_are_logged() -> None:
    config = smoke()
    for distance, clip, reached in (
        (90.0, 0.15, True),
        (90.1, 0.9, False),
        (10.0, 0.14, False),
        (float("nan"), 0.9, False),
    ):
        assert config.reached(Scores(distance, clip)) is reached
    assert not config.reached(10.0)
    assert [*config.quality_records(Scores(42.0, 0.5), "closed")] == [
        ("eval_accuracy", 42.0, {"metric": "FID"}),
        ("eval_accuracy", 0.5, {"metric": "CLIP"}),
    ]


def test_the_learning_rate_warms_up_to_the_base_rate_times_the_batch_size() -> None:
    task = Diffusion(reference(), Setting(), CPU)
    assert task.learning_rate(1000) == pytest.approx(512 * 2.3e-7)
    assert task.learning_rate(500) == pytest.approx(256 * 2.3e-7)
    assert task.learning_rate(10**6) == task.learning_rate(1000)


def test_too_many_sampling_steps_are_refused() -> None:
    with pytest.raises(RunFault, match=r"sampling_steps is 1000; expected 1 or more, below 1000"):
        Diffusion(replace(smoke(), sampling_steps=1000), Setting(), CPU).prepare()


@pytest.mark.parametrize("changed", [{"latent_size": 64}, {"context_length": 77}])
def test_shapes_that_differ_from_the_synthetic_images_are_refused(changed: dict[str, int]) -> None:
    with pytest.raises(RunFault, match=r"is \d+; without --data, images have 8"):
        Diffusion(replace(smoke(), **changed), Setting(), CPU).prepare()


# --- smoke scale ---


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which these tests cache the judge network."""
    return tmp_path_factory.mktemp("cache")


def prepared(cache: Path, **changes: Any) -> Diffusion:
    config = replace(smoke(), train_samples=64, **changes)
    task = Diffusion(config, Setting(cache=cache), CPU)
    task.prepare()
    return task


class Spoken(torch.nn.Module):
    """A model that returns the v that leads to given latents from any noise."""

    def __init__(self, latents: torch.Tensor) -> None:
        super().__init__()
        self.latents, self.begin = latents, 0

    def forward(self, x: torch.Tensor, steps: torch.Tensor, _text: Any) -> torch.Tensor:
        at = int(steps[0])
        begin = self.begin
        if at == 1:
            self.begin += len(x)
        clean = self.latents[begin : begin + len(x)]
        return ((PROCESS.kept[at] * x - clean) / PROCESS.lost[at]).float()


def linear_images(task: Diffusion) -> torch.Tensor:
    """Return latents of the best linear map of captions plus noise with the residual covariance."""

    def known(words: Any) -> torch.Tensor:
        of = torch.nn.functional.one_hot(torch.as_tensor(words), len(VOCABULARY)).flatten(1)
        return torch.cat((of, torch.ones(len(of), 1)), 1).double()

    drawings = draw(3000, np.random.default_rng(5))
    latents = torch.from_numpy(ImageEncoder(4).encode(drawings.images)).double().flatten(1)
    given = known(drawings.words)
    gram = given.T @ given + torch.eye(given.shape[1])
    fit = torch.linalg.solve(gram, given.T @ latents)
    left = latents - given @ fit
    root = torch.linalg.cholesky(torch.cov(left.T) + 1e-4 * torch.eye(256))
    found = known(task.evaluation.words) @ fit
    generator = torch.Generator().manual_seed(1)
    noise = torch.randn(found.shape, generator=generator, dtype=torch.float64)
    return (found + noise @ root.T).view(-1, 4, 8, 8)


def test_scores_distinguish_true_images_from_others(cache: Path) -> None:
    task = prepared(cache)
    true = draw(task.config.eval_samples, np.random.default_rng(EVALUATION_SEED))
    assert np.array_equal(true.words, task.evaluation.words)
    latents = torch.from_numpy(ImageEncoder(4).encode(true.images))
    seen = {}
    for name, given in (
        ("true", latents),
        ("others", latents.roll(1, 0)),
        ("noise", torch.randn(latents.shape)),
        ("linear", linear_images(task)),
    ):
        with torch.no_grad():
            seen[name] = task.evaluate(Spoken(given))
        assert isinstance(seen[name], Scores)
    reached = {name: task.config.reached(scores) for name, scores in seen.items()}
    assert reached == {"true": True, "others": False, "noise": False, "linear": False}
    assert seen["true"].clip > 0.7 > 0.15 > seen["others"].clip
    assert seen["others"] < 90 < seen["noise"]
    # A linear map of the caption gives the colors, but neither the shapes nor their variation
    assert seen["linear"] > 100


def test_guidance_extrapolates_from_the_prediction_without_a_caption(cache: Path) -> None:
    class Steered(torch.nn.Module):
        """A model that returns one with a caption and zero without."""

        def forward(self, x: torch.Tensor, _: Any, text: torch.Tensor) -> torch.Tensor:
            empty = (text == nothing).flatten(1).all(1)
            return torch.where(empty, 0.0, 1.0)[:, None, None, None].expand_as(x)

    found = []
    for guidance in (1.0, 3.0):
        task = prepared(cache, guidance=guidance, sampling_steps=1)
        nothing = task.frozen.text(torch.zeros(1, LENGTH, dtype=torch.int64))
        found.append(task.generated(Steered(), [0, 1]))
    start = PROCESS.kept[0] * PROCESS.kept[1] + PROCESS.lost[0] * PROCESS.lost[1]
    turned = PROCESS.lost[0] * PROCESS.kept[1] - PROCESS.kept[0] * PROCESS.lost[1]
    difference = found[1] - found[0]
    assert 0 < float(start) < 1.01
    assert torch.allclose(difference, 2 * turned.float().expand_as(difference), atol=1e-5)


def test_random_draws_depend_on_epoch_and_sample_and_not_on_the_batch(cache: Path) -> None:
    task = prepared(cache)
    samples = task.training_data()
    samples.set_epoch(3)
    whole, alone = samples.__getitems__([5, 9, 11]), samples.__getitems__([9])
    assert all(torch.equal(a[1], b[0]) for a, b in zip(whole, alone, strict=True))
    samples.set_epoch(4)
    assert not torch.equal(samples.__getitems__([9]).noise, alone.noise)


def test_the_cached_judge_equals_the_trained_judge(cache: Path) -> None:
    first, second = (made(smoke(), Setting(cache=cache))[1].state_dict() for _ in range(2))
    assert len([*cache.iterdir()]) == 1
    assert all(torch.equal(value, second[name]) for name, value in first.items())


# --- files ---


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    LITTLE["stable_diffusion"].write(tmp_path)
    return tmp_path


def opened(folder: Path) -> tuple[Any, ...]:
    found = from_files(folder, smoke(), DatasetSize(8, 4))
    return (*found, networks(folder, torch.device("cpu")))


def test_moments_are_a_mean_and_the_logarithm_of_a_variance(folder: Path) -> None:
    moments = np.concatenate((np.full((3, 4, 8, 8), 0.5), np.full((3, 4, 8, 8), 2.0)), 1)
    np.save(folder / "train" / "z-moments.npy", moments.astype(np.float16))
    np.save(folder / "train" / "z-tokens.npy", np.full((3, 8), 7, np.int32))
    training, evaluation = from_files(folder, smoke(), DatasetSize(11, 4))
    pair = training.pair(9)
    assert (pair.mean == 0.5).all()
    assert np.allclose(pair.deviation, np.e)
    assert pair.words.tolist() == [7] * 8
    batch = Samples(training, replace(smoke(), latent_scale=0.0), 1).__getitems__([0, 9])
    assert batch.latents.shape == (2, 4, 8, 8)
    assert not batch.latents.any()
    assert evaluation.embedded.shape == (4, 5)


def unequal(folder: Path) -> None:
    np.save(folder / "train" / "00001-tokens.npy", np.zeros((3, 8), np.int64))


def narrow(folder: Path) -> None:
    np.save(folder / "train" / "00000-moments.npy", np.zeros((4, 4, 8, 8), np.float32))


def emptied(folder: Path) -> None:
    for path in (folder / "train").iterdir():
        path.unlink()


def no_covariance(folder: Path) -> None:
    np.savez(folder / "evaluation" / "features.npz", mu=np.zeros(3))


def crooked(folder: Path) -> None:
    np.savez(folder / "evaluation" / "features.npz", mu=np.zeros(3), sigma=np.eye(2))


def few_vectors(folder: Path) -> None:
    np.save(folder / "evaluation" / "embedded.npy", np.zeros((3, 5), np.float32))


def garbled(folder: Path) -> None:
    (folder / "networks" / "decoder.pt").write_bytes(b"no archive")


DAMAGE = {
    "unequal": (unequal, "00001-moments.npy contains 4 images; expected 3, the number"),
    "narrow": (narrow, r"00000-moments.npy is float32 of shape \(4, 4, 8, 8\); expected floa"),
    "emptied": (emptied, r"train contains no \*-moments.npy"),
    "no covariance": (no_covariance, "features.npz cannot be read as mu and sigma of features: "),
    "crooked": (crooked, r"features.npz has mu of shape \(3,\) and sigma of \(2, 2\); expected"),
    "few vectors": (
        few_vectors,
        r"embedded.npy is float32 of shape \(3, 5\); expected a vector",
    ),
    "garbled": (garbled, "decoder.pt cannot be read as TorchScript: "),
}


@pytest.mark.parametrize(("damage", "said"), DAMAGE.values(), ids=[*DAMAGE])
def test_unusable_data_is_reported_with_its_file_name(
    damage: Callable[[Path], None], said: str, folder: Path
) -> None:
    damage(folder)
    with pytest.raises(DataMissing, match=said):
        opened(folder)


def test_a_network_that_does_not_match_the_feature_statistics_is_reported(folder: Path) -> None:
    np.savez(folder / "evaluation" / "features.npz", mu=np.zeros(4), sigma=np.eye(4))
    setting = Setting(scale="reference", data=folder)
    task = Diffusion(replace(smoke(), train_samples=8, eval_samples=4), setting, CPU)
    task.prepare()
    task.open_data()
    with pytest.raises(
        DataMissing, match=r"features.npz describes 4 numbers of each image; networks/features.pt g"
    ):
        task.evaluate(task.build())
