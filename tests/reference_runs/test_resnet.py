"""ResNet: published size, tensors of the rules, groups of batch norm, schedule and data."""

from __future__ import annotations

import io
import tarfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from PIL import Image  # noqa: E402

from podium.reference_runs.benchmarks.resnet.config import BENCHMARKS, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.resnet.data import (  # noqa: E402
    Centres,
    Crops,
    Files,
    crop_box,
    images_in,
    synthetic,
)
from podium.reference_runs.benchmarks.resnet.model import ResidualNet  # noqa: E402
from podium.reference_runs.benchmarks.resnet.train import Classification  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing, RunFault  # noqa: E402
from podium.reference_runs.modeling.normalization import GroupNormedBatch  # noqa: E402
from podium.rules.training.shared.tensors import tensor_names  # noqa: E402

(BENCHMARK,) = BENCHMARKS
SMALL = {"train_samples": "64", "eval_samples": "20"}


def small_task(**more: str) -> Classification:
    config = smoke().with_settings({**SMALL, **more})
    torch.manual_seed(1)
    task = Classification(config, Setting(), Ranks(torch.device("cpu")))
    task.prepare()
    return task


def logged_name(parameter: str) -> str:
    """Return the name of a parameter in the rules' lists of initialized tensors."""
    place, _, kind = parameter.rpartition(".")
    if ".bn" in f".{place}":
        kind = {"weight": "gamma", "bias": "beta"}[kind]
    return f"{place}.{kind}".replace(".", "_")


def test_the_reference_model_has_the_published_number_of_parameters() -> None:
    with torch.device("meta"):
        model = ResidualNet(reference())
    assert sum(p.numel() for p in model.parameters()) == 25_557_032


@pytest.mark.parametrize("config", [smoke(), reference()], ids=["smoke", "reference"])
def test_the_tensors_are_those_that_the_rules_list(config: object) -> None:
    with torch.device("meta"):
        model = ResidualNet(config)  # type: ignore[arg-type]
    names = Counter(logged_name(name) for name, _ in model.named_parameters())
    assert names == Counter(smoke().weights("2.0")) == Counter(tensor_names("resnet"))
    assert smoke().weights("1.0") == smoke().weights("3.0") == ()


@pytest.mark.parametrize("optimizer", ["sgd", "lars"])
def test_two_steps_change_every_parameter(optimizer: str) -> None:
    task = small_task(opt_name=optimizer)
    model = task.build()
    before = {name: p.clone() for name, p in model.named_parameters()}
    (using,) = task.optimizers(model)
    model.train()
    for step in (1, 2):  # in step 1, the last scales of the blocks are 0 and pass no gradient
        task.loss(model, next(task.batches(step, 0))).total.backward()
        using.step()
    assert [name for name, p in model.named_parameters() if torch.equal(p, before[name])] == []


def test_only_convolutions_and_the_classifier_use_weight_decay_and_lars() -> None:
    task = small_task(opt_name="lars")
    model = task.build()
    (lars,) = task.optimizers(model)
    decaying, excluded = lars.param_groups
    assert decaying["weight_decay"] == 2e-4
    assert decaying["adapt"]
    assert excluded["weight_decay"] == 0.0
    assert not excluded["adapt"]
    assert {p.dim() for p in decaying["params"]} == {2, 4}
    assert len(excluded["params"]) == 53 * 2 + 1


def test_each_group_of_a_batch_is_normalized_by_its_own_statistics() -> None:
    torch.manual_seed(0)
    norm, whole = GroupNormedBatch(3, span=4), torch.nn.BatchNorm2d(3)
    batch = (
        torch.randn(8, 3, 5, 5) * torch.tensor([1.0, 9.0]).repeat_interleave(4)[:, None, None, None]
    )
    halves = [torch.nn.BatchNorm2d(3) for _ in range(2)]
    expected = torch.cat([bn(part) for bn, part in zip(halves, batch.split(4), strict=True)])
    assert torch.allclose(norm(batch), expected, atol=1e-6)
    assert not torch.allclose(norm(batch), whole(batch), atol=1e-2)


def test_running_statistics_are_the_mean_of_those_of_separate_ranks() -> None:
    torch.manual_seed(0)
    batch = torch.randn(8, 3, 5, 5) + 2
    norm, ranks = GroupNormedBatch(3, span=4), [GroupNormedBatch(3, span=4) for _ in range(2)]
    norm(batch)
    for rank, part in zip(ranks, batch.split(4), strict=True):
        rank(part)
    for name, value in norm.named_buffers():
        if value.is_floating_point():
            mean = torch.stack([rank.get_buffer(name) for rank in ranks]).mean(0)
            assert torch.allclose(value, mean, atol=1e-6)
            assert not torch.allclose(value, torch.zeros(3)) or "mean" not in name


def test_gradients_do_not_depend_on_how_a_batch_is_split() -> None:
    task = small_task()
    model = task.build().train()
    images, labels = next(task.batches(1, 0))
    grads = []
    for parts in (1, 2):
        model.zero_grad()
        for part in zip(images.chunk(parts), labels.chunk(parts), strict=True):
            task.loss(model, part).total.backward()
        grads.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    assert torch.allclose(*grads, rtol=1e-4, atol=1e-4 * float(grads[0].abs().max()))


def test_a_rank_with_part_of_a_group_uses_the_statistics_of_the_group() -> None:
    torch.manual_seed(0)
    batch = torch.randn(8, 3, 5, 7) * 3 + 2
    whole, parts = GroupNormedBatch(3, span=8), [GroupNormedBatch(3, span=8) for _ in range(2)]
    halves = batch.split(4)
    variances, means = torch.var_mean(torch.stack(halves), (1, 3, 4), correction=0)
    of_ranks = torch.stack((means, variances), 1)[..., None, None]
    for rank, part in enumerate(parts):

        def gathered(own: torch.Tensor, rank: int = rank) -> torch.Tensor:
            assert torch.allclose(own, of_ranks[rank], atol=1e-5)
            return of_ranks

        part.of_ranks = gathered
    found = torch.cat([part(half) for part, half in zip(parts, halves, strict=True)])
    assert torch.allclose(found, whole(batch), atol=1e-5)
    for name, value in whole.named_buffers():
        assert value.dtype == torch.int64 or torch.allclose(parts[0].get_buffer(name), value)


def test_a_span_must_divide_or_be_a_multiple_of_the_micro_batch() -> None:
    ranks = Ranks(torch.device("cpu"), 0, 4)
    for span in (8, 16, 32, 64):
        Classification(replace(smoke(), model_bn_span=span), Setting(), ranks).check_settings()
    refused = "model_bn_span is 48; must divide the 16 images of a rank's micro-batch, or be a"
    for span in (0, -16, 24, 48, 128):
        task = Classification(replace(smoke(), model_bn_span=span), Setting(), ranks)
        with pytest.raises(RunFault, match=refused.replace("48", str(span))):
            task.prepare()


def test_groups_of_several_ranks_cannot_be_compiled() -> None:
    task = Classification(smoke(), Setting(compile=True), Ranks(torch.device("cpu"), 0, 4))
    with pytest.raises(RunFault, match=r"--compile: .* model_bn_span is 32, more than the 16"):
        task.prepare()


@pytest.mark.parametrize("optimizer", ["sgd", "lars"])
def test_the_learning_rate_falls_by_the_logged_power(optimizer: str) -> None:
    prefix = f"{optimizer}_opt"
    settings = {
        "opt_name": optimizer,
        f"{prefix}_base_learning_rate": "1.0",
        f"{prefix}_end_learning_rate": "0.0",
        f"{prefix}_learning_rate_decay_steps": "5",
    }
    for power in (2, 3):
        key = f"{prefix}_learning_rate_decay_poly_power"
        task = small_task(**settings, **{key: str(power)})
        assert task.config.records("4.0")[key] == power
        # Warmup is the only step of the first epoch; half of the decay is complete at step 3
        assert task.learning_rate(3) == pytest.approx(0.5**power)


def test_evaluation_is_every_four_epochs_from_the_offset() -> None:
    config = reference()
    steps = list(config.evaluation_steps())
    assert [step / config.steps_per_epoch for step in steps[:3]] == [3, 7, 11]
    assert steps[-1] <= config.last_step


def test_only_settings_of_the_optimizer_in_use_are_logged() -> None:
    keys = smoke().records("4.0").keys()
    assert "sgd_opt_momentum" in keys
    assert not any(key.startswith("lars") for key in keys)
    keys = reference().records("4.0").keys()
    assert "lars_epsilon" in keys
    assert not any(key.startswith("sgd") for key in keys)


def test_crops_are_within_the_image_and_have_the_minimum_area() -> None:
    for seed in range(300):
        rng = np.random.default_rng(seed)
        wide, high = (int(n) for n in rng.integers(20, 200, 2))
        left, top, right, bottom = crop_box(rng, (wide, high), 0.3)
        assert 0 <= left < right <= wide
        assert 0 <= top < bottom <= high
        assert (right - left) * (bottom - top) >= 0.299 * wide * high


def test_crops_depend_on_the_epoch_and_image_and_not_on_the_batch() -> None:
    training, _ = synthetic((8, 1), 32, seed=1)
    crops = Crops(training, 32, 0.5, seed=1)
    crops.set_epoch(3)
    together, _ = crops.__getitems__([5, 2])
    alone, _ = crops.__getitems__([2])
    assert torch.equal(together[1], alone[0])
    crops.set_epoch(4)
    assert not torch.equal(crops.__getitems__([2])[0], alone)


def test_the_seed_changes_training_images_but_not_evaluation_images() -> None:
    first, second = (synthetic((40, 20), 32, seed) for seed in (1, 2))
    assert not np.array_equal(first[0].pixels, second[0].pixels)
    assert np.array_equal(first[1].pixels, second[1].pixels)
    assert Counter(first[0].labels.tolist()) == dict.fromkeys(range(10), 4)


def test_shuffled_labels_are_a_permutation_of_the_labels() -> None:
    right, wrong = small_task(), small_task(shuffled_labels="True")
    labels = [task.training.source.labels for task in (right, wrong)]
    assert not np.array_equal(*labels)
    assert np.array_equal(*map(np.sort, labels))


def test_imagenet_files_are_read_in_the_order_of_their_folders(tmp_path: Path) -> None:
    for at, name in enumerate(("n01", "n02")):
        (tmp_path / name).mkdir()
        colour = (0, 255 * at, 0)
        Image.new("RGB", (40, 30), colour).save(tmp_path / name / "a.JPEG")
    files = Files(tmp_path, 2)
    images, labels = Centres(files, 16).__getitems__([0, 1])
    assert images.shape == (2, 3, 16, 16)
    assert labels.tolist() == [0, 1]
    assert images[1, 1].float().mean() > 200 > 50 > images[0, 1].float().mean()
    with pytest.raises(DataMissing, match="contains 2 folders; expected 1000"):
        Files(tmp_path, 1000)
    (tmp_path / "n02" / "a.JPEG").write_bytes(b"no image")
    with pytest.raises(DataMissing, match=r"n02/a\.JPEG cannot be read as an image"):
        Centres(files, 16).__getitems__([1])


# --- tar archives ---


def shards(folder: Path, count: int = 6) -> list[Path]:
    """Write webdataset archives of two images each; brightness and class depend on the index."""
    webdataset = pytest.importorskip("webdataset")
    folder.mkdir()
    with webdataset.ShardWriter(str(folder / "part-%04d.tar"), maxcount=2, verbose=0) as writer:
        for number in range(count):
            image = np.full((30, 40, 3), 40 * number, np.uint8)
            writer.write({"__key__": f"a/n{number:02}", "jpg": image, "cls": number})
    return sorted(folder.glob("*.tar"))


def test_tar_archives_are_read_like_files(tmp_path: Path) -> None:
    paths = shards(tmp_path / "train")
    source = images_in(tmp_path / "train", 6)
    images, labels = Centres(source, 16).__getitems__([4, 1, 5])
    assert len(paths) == 3
    assert source.labels.tolist() == [0, 1, 2, 3, 4, 5]
    assert labels.tolist() == [4, 1, 5]
    assert images.float().mean((1, 2, 3)).tolist() == pytest.approx([160, 40, 200], abs=3)


def archive(path: Path, files: dict[str, bytes], mode: Literal["w", "w:gz"] = "w") -> None:
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, mode) as opened:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            opened.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.jpg": b""}, r"one\.tar: a\.jpg has no class; a\.cls is missing"),
        ({"a.jpg": b"", "a.cls": b"9"}, r"a\.cls is '9'; expected a class from 0 to 5"),
        ({"a.jpg": b"", "a.cls": b"cat"}, r"a\.cls is 'cat'; expected a class"),
        ({"a.txt": b""}, r"contain no \*\.jpg files"),
    ],
)
def test_archives_with_wrong_contents_are_reported(
    files: dict[str, bytes], said: str, tmp_path: Path
) -> None:
    archive(tmp_path / "train" / "one.tar", files)
    with pytest.raises(DataMissing, match=said):
        images_in(tmp_path / "train", 6)


def test_damaged_and_compressed_archives_are_reported(tmp_path: Path) -> None:
    paths = shards(tmp_path / "train")
    source = images_in(tmp_path / "train", 6)
    paths[0].write_bytes(paths[0].read_bytes()[:700])
    with pytest.raises(DataMissing, match=r"part-0000\.tar: n00\.jpg has .* the archive ends"):
        source.image(0)
    with pytest.raises(DataMissing, match=r"part-0000\.tar cannot be read as an archive"):
        images_in(tmp_path / "train", 6)
    archive(tmp_path / "other" / "one.tar", {"a.jpg": b"no image", "a.cls": b"1"})
    with pytest.raises(DataMissing, match=r"one\.tar: a\.jpg cannot be read as an image"):
        images_in(tmp_path / "other", 6).image(0)
    archive(tmp_path / "packed" / "one.tar", {"a.jpg": b"", "a.cls": b"1"}, "w:gz")
    with pytest.raises(DataMissing, match=r"one\.tar cannot be read as an archive"):
        images_in(tmp_path / "packed", 6)
