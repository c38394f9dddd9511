"""3D U-Net: size and layers, evaluation steps, patches, sliding windows and Dice scores."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.benchmarks.unet3d.config import BENCHMARKS, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.unet3d.data import (  # noqa: E402
    PAD,
    Patches,
    SyntheticVolumes,
    from_files,
    padded,
    synthetic,
)
from podium.reference_runs.benchmarks.unet3d.evaluation import corners, dice, dice_loss, segment  # noqa: E402
from podium.reference_runs.benchmarks.unet3d.model import SegmentationNet  # noqa: E402
from podium.reference_runs.benchmarks.unet3d.train import Segmentation  # noqa: E402
from podium.reference_runs.engine.config import Unit  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.samples import DatasetSize  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402
from podium.rules.training.shared.tensors import tensor_names  # noqa: E402

(BENCHMARK,) = BENCHMARKS
FILTERS = (32, 64, 128, 256, 320, 320)


def small_task(**more: str) -> Segmentation:
    torch.manual_seed(1)
    task = Segmentation(smoke().with_settings(more), Setting(), Ranks(torch.device("cpu")))
    task.prepare()
    return task


def test_the_reference_model_has_the_size_of_its_filters() -> None:
    with torch.device("meta"):
        model = SegmentationNet(reference())

    def block(wide_in: int, wide_out: int) -> int:
        return 27 * (wide_in + wide_out) * wide_out + 2 * 2 * wide_out

    steps = list(pairwise(FILTERS))
    down = block(1, 32) + sum(block(above, below) for above, below in steps)
    up = sum(8 * b * a + a + block(2 * a, a) for a, b in steps)
    assert sum(p.numel() for p in model.parameters()) == down + up + 33 * 3 == 31_190_243


def logged_name(layer: str) -> str:
    """Return a layer's name in the rules' list: `down0_block_1_conv` for `down.0.1.conv`."""
    parts = layer.replace("up.", "up").replace("down.", "down").split(".")
    if parts == ["output"]:
        return "output_conv"
    if parts[0] == "input_block":
        return f"input_block_{parts[1]}_{parts[2]}"
    if parts[1] == "deconv":
        return f"{parts[0]}_deconv"
    return f"{parts[0]}_block_{parts[-2]}_{parts[-1]}"


def test_the_layers_of_the_reference_model_are_those_that_the_rules_list() -> None:
    with torch.device("meta"):
        model = SegmentationNet(reference())
    layers = {name.rpartition(".")[0] for name, _ in model.named_parameters()}
    names = [logged_name(layer) for layer in layers]
    assert sorted(names) == sorted(reference().weights("2.1")) == sorted(tensor_names("unet3d"))


def test_the_smoke_model_names_its_own_layers() -> None:
    model = SegmentationNet(smoke())
    layers = {name.rpartition(".")[0] for name, _ in model.named_parameters()}
    assert {logged_name(layer) for layer in layers} == set(smoke().weights("1.1"))
    assert smoke().weights("1.0") == smoke().weights("3.0") == ()


def test_a_step_gives_every_parameter_a_gradient() -> None:
    task = small_task()
    model = task.build()
    batch = next(task.batches(1, 0))
    loss = task.loss(model, batch)
    loss.total.backward()
    assert loss.items == 168
    assert model(batch[0]).shape == (168, 3, 4, 4, 4)
    # An instance norm removes the mean of its input, so some gradients are almost 0.
    assert [n for n, p in model.named_parameters() if p.grad is None] == []


def test_the_loss_does_not_depend_on_how_a_batch_is_split() -> None:
    task = small_task()
    model = task.build()
    images, labels = next(task.batches(1, 0))
    whole = task.loss(model, (images, labels)).total.detach()
    halves = zip(images.chunk(2), labels.chunk(2), strict=True)
    parts = sum(task.loss(model, half).total.detach() for half in halves)
    assert float(whole) == pytest.approx(float(parts), rel=1e-5)


@pytest.mark.parametrize(
    ("batch", "first", "second"),
    [(168, 1000, 1020), (28, 1000, 1020), (56, 1000, 1020), (64, 1313, 1340), (80, 1050, 1071)],
)
def test_evaluation_is_at_the_epochs_of_the_rules(batch: int, first: int, second: int) -> None:
    config = reference().with_settings({"global_batch_size": str(batch)})
    steps = list(config.evaluation_steps())
    epochs = [step / config.steps_per_epoch for step in steps[:2]]
    assert epochs == [first, second]


def test_progress_is_in_epochs_until_3_0_and_in_samples_from_3_1() -> None:
    assert [smoke().unit_in(each) for each in ("1.0", "3.0", "3.1", "4.0")] == [
        Unit.EPOCHS,
        Unit.EPOCHS,
        Unit.SAMPLES_AS_EPOCHS,
        Unit.SAMPLES_AS_EPOCHS,
    ]


# --- data ---


def test_patches_depend_on_epoch_and_volume_and_not_on_the_batch() -> None:
    source, _ = synthetic((12, 1), 10, seed=1)
    patches = Patches(source, smoke(), seed=1)
    patches.set_epoch(2)
    images, labels = patches.__getitems__([7, 3])
    alone, label = patches.__getitems__([3])
    assert torch.equal(images[1], alone[0])
    assert torch.equal(labels[1], label[0])
    patches.set_epoch(3)
    assert not torch.equal(patches.__getitems__([3])[0], alone)


def test_a_patch_is_a_mirrored_part_of_its_volume() -> None:
    place = np.arange(10**3, dtype=np.float32).reshape(1, 10, 10, 10)
    patches = Patches(SyntheticVolumes(place, np.ones_like(place, dtype=np.uint8)), smoke(), seed=1)
    mirrored = set()
    for epoch in range(40):
        patches.set_epoch(epoch)
        patches.chances[:, 8] = patches.chances[:, 10] = 1.0  # neither brightness nor noise
        part = patches.__getitems__([0])[0][0, 0]
        begin = part[0, 0, 0]
        steps = [int(next_ - begin) for next_ in (part[1, 0, 0], part[0, 1, 0], part[0, 0, 1])]
        assert [abs(step) for step in steps] == [100, 10, 1]
        mirrored.add(tuple(step < 0 for step in steps))
    assert len(mirrored) > 4


def test_a_tenth_of_the_patches_is_about_twice_as_bright() -> None:
    source = SyntheticVolumes(np.ones((1, 4, 4, 4), np.float32), np.zeros((1, 4, 4, 4), np.uint8))
    patches = Patches(source, smoke(), seed=1)
    factors = []
    for epoch in range(500):
        patches.set_epoch(epoch)
        patches.chances[:, 10] = 1.0  # no noise
        factors.append(float(patches.__getitems__([0])[0].mean()))
    changed = [factor for factor in factors if factor != 1]
    assert 0.05 < len(changed) / len(factors) < 0.15
    # The reference multiplies by one plus a factor of 0.7 to 1.3
    assert 1.7 <= min(changed) < 1.8
    assert 2.2 < max(changed) <= 2.3


def test_two_fifths_of_the_patches_are_centered_at_an_organ() -> None:
    label = np.zeros((1, 40, 40, 40), dtype=np.uint8)
    label[0, 20, 20, 20] = 1
    patches = Patches(SyntheticVolumes(label.astype(np.float32), label), smoke(), seed=1)
    hits = 0
    for epoch in range(300):
        patches.set_epoch(epoch)
        hits += bool(patches.__getitems__([0])[1].any())
    assert 90 < hits < 150


def test_a_volume_smaller_than_a_patch_is_padded_with_air() -> None:
    source, _ = synthetic((1, 1), 6, seed=1)
    case = padded(source.case(0), (8, 4, 6))
    assert case.image.shape == case.label.shape == (8, 6, 6)
    assert (case.image[6:] == np.float32(PAD)).all()
    assert not case.label[6:].any()


def test_brightness_alone_does_not_reach_the_target() -> None:
    source, _ = synthetic((100, 1), 10, seed=1)
    scores = []
    for case in source.cases:
        seen = torch.from_numpy(np.digitize(case.image, (-0.5, 0.5)))
        one_hot = torch.nn.functional.one_hot(seen, 3).movedim(-1, 0).float()
        scores.append(dice(one_hot, torch.from_numpy(case.label.astype(np.int64))).mean())
    assert float(torch.stack(scores).mean()) < 0.7 < smoke().target


def test_shuffled_labels_are_those_of_other_volumes() -> None:
    right, wrong = (small_task(shuffled_labels=text).training.source for text in ("False", "True"))
    same = [np.array_equal(right.case(at).label, wrong.case(at).label) for at in range(168)]
    assert sum(same) < 10
    assert np.array_equal(right.case(0).image, wrong.case(0).image)


def test_cases_are_split_by_the_list_of_evaluation_cases(tmp_path: Path) -> None:
    for number in range(3):
        np.save(tmp_path / f"case_{number:05d}_x.npy", np.full((1, 4, 4, 4), float(number)))
        np.save(tmp_path / f"case_{number:05d}_y.npy", np.ones((1, 4, 4, 4), dtype=np.int8))
    (tmp_path / "evaluation_cases.txt").write_text("1\n")
    training, evaluation = from_files(tmp_path, smoke(), DatasetSize(2, 1))
    assert [float(training.case(at).image[0, 0, 0]) for at in range(2)] == [0.0, 2.0]
    assert float(evaluation.case(0).image[0, 0, 0]) == 1.0
    with pytest.raises(DataMissing, match=r"cases\.txt contains 1 case numbers; expected 2"):
        from_files(tmp_path, smoke(), DatasetSize(1, 2))
    with pytest.raises(DataMissing, match=r"contains 2 cases next to those of .*; expected 3"):
        from_files(tmp_path, smoke(), DatasetSize(3, 1))
    for wrong, said in ((np.ones((4, 4, 4)), "has shape"), (np.full((1, 4, 4, 4), 3), "classes 3")):
        np.save(tmp_path / "case_00000_y.npy", wrong)
        with pytest.raises(DataMissing, match=rf"case_00000_y\.npy .*{said}"):
            training.case(0)
    (tmp_path / "case_00002_y.npy").unlink()
    with pytest.raises(DataMissing, match=r"case_00002_y\.npy is missing"):
        from_files(tmp_path, smoke(), DatasetSize(2, 1))


# --- evaluation ---


def test_windows_cover_the_volume_and_overlap_by_half() -> None:
    found = corners((10, 7, 4), smoke())
    assert sorted({corner[0] for corner in found}) == [0, 2, 4, 6]
    assert sorted({corner[1] for corner in found}) == [0, 2, 3]
    assert {corner[2] for corner in found} == {0}
    assert len(found) == 12


def test_windows_that_agree_give_their_common_segmentation() -> None:
    truth = torch.randint(0, 3, (10, 9, 8), generator=torch.Generator().manual_seed(1))

    def knows(windows: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.one_hot(windows[:, 0].long(), 3).movedim(-1, 1) * 20.0

    scores = segment(knows, truth.float(), smoke(), 3)
    assert torch.equal(scores.argmax(0), truth)
    assert torch.allclose(scores.sum(0), torch.ones(truth.shape))
    assert dice(scores, truth).tolist() == [1.0, 1.0]


def test_dice_is_twice_the_intersection_over_both_sizes() -> None:
    label = torch.tensor([[[1, 1, 2, 0]]])
    seen = torch.nn.functional.one_hot(torch.tensor([[[1, 0, 0, 0]]]), 3).movedim(-1, 0).float()
    assert dice(seen, label).tolist() == pytest.approx([2 / 3, 0], abs=1e-5)
    nowhere = torch.zeros(1, 1, 4, dtype=torch.int64)
    empty = torch.nn.functional.one_hot(nowhere, 3).movedim(-1, 0).float()
    assert dice(empty, nowhere).tolist() == [1.0, 1.0]


def test_the_dice_loss_falls_from_one_to_zero() -> None:
    label = torch.tensor([[[[1, 2, 0, 0]]]])
    right = torch.nn.functional.one_hot(label, 3).movedim(-1, 1) * 30.0
    assert float(dice_loss(right, label)) == pytest.approx(0.0, abs=1e-5)
    assert float(dice_loss(right.roll(1, 1), label)) > 0.9
