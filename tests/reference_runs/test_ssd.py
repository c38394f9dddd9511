"""SSD: sizes derived from published ones, default boxes, hard negatives, crops and files."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from PIL import Image  # noqa: E402

from podium.reference_runs.benchmarks.ssd.boxes import default_boxes  # noqa: E402
from podium.reference_runs.benchmarks.ssd.config import reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.ssd.data import Crops, colored, cropped  # noqa: E402
from podium.reference_runs.benchmarks.ssd.detection import NONE, detect, losses, match  # noqa: E402
from podium.reference_runs.benchmarks.ssd.model import Body, Detector, Predictor  # noqa: E402
from podium.reference_runs.benchmarks.ssd.train import SingleShotDetection  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing, RunFault  # noqa: E402
from podium.reference_runs.modeling.detection.backbone import load_backbone  # noqa: E402
from podium.reference_runs.modeling.detection.boxes import suppress  # noqa: E402
from podium.reference_runs.modeling.detection.drawn import synthetic  # noqa: E402
from podium.reference_runs.modeling.detection.precision import (  # noqa: E402
    mean_average_precision,
    rows,
)
from podium.reference_runs.modeling.detection.scenes import Batch, Files, Scene  # noqa: E402
from podium.reference_runs.modeling.detection.share import Share  # noqa: E402
from podium.rules.training.shared.tensors import tensor_names  # noqa: E402
from tests.reference_runs.laws import reaches_every_parameter  # noqa: E402

CPU = torch.device("cpu")


def task_of(config: Any = None, **changes: Any) -> SingleShotDetection:
    config = replace(config or smoke(), **{"train_samples": 32, "eval_samples": 4} | changes)
    made = SingleShotDetection(config, Setting(), Ranks(CPU))
    made.prepare()
    return made


def size(model: torch.nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


# --- the model ---


def test_the_backbone_with_all_stages_has_the_size_of_resnet_34() -> None:
    with torch.device("meta"):
        body = Body(replace(reference(), units=(3, 4, 6, 3)))
    assert size(body) + 513 * 1000 == 21_797_672  # with the fourth stage and a classifier


def test_the_reference_model_has_the_size_of_its_layers() -> None:
    with torch.device("meta"):
        model = Detector(reference())
    body = 21_797_672 - 13_114_368 - 513_000
    inside, outputs = (256, 256, 128, 128, 128), (512, 512, 256, 256, 256)
    inputs = (256, *outputs)
    extras = sum(
        (wide_in + 1) * middle + (9 * middle + 1) * wide_out
        for wide_in, middle, wide_out in zip(inputs, inside, outputs, strict=False)
    )
    predictors = sum(
        (9 * wide + 1) * count * (81 + 4)
        for wide, count in zip(inputs, (4, 6, 6, 6, 4, 4), strict=True)
    )
    assert size(model.body) == body == 8_170_304
    assert size(model) == body + extras + predictors == 19_972_534


@pytest.mark.parametrize("config", [smoke(), reference()], ids=["smoke", "reference"])
def test_the_model_has_as_many_tensors_as_the_rules_list(config: Any) -> None:
    with torch.device("meta"):
        model = Detector(config)
    names = config.weights("1.1")
    assert Counter(names) == Counter(tensor_names("ssd"))
    assert len(list(model.parameters())) == len(names) == 119
    assert config.weights("1.0") == ()


def test_maps_and_boxes_are_those_of_the_paper() -> None:
    config = reference()
    with torch.device("meta"):
        scores, offsets = Detector(config)(torch.empty(1, 3, 300, 300))
    assert config.sides() == [38, 19, 10, 5, 3, 1]
    assert scores.shape == (1, 8732, 81)
    assert offsets.shape == (1, 8732, 4)
    assert len(default_boxes(config)) == 8732


def test_a_step_gives_every_parameter_a_gradient() -> None:
    torch.manual_seed(1)
    made = task_of()
    loss = reaches_every_parameter(made, made.build())
    assert loss.items == smoke().global_batch_size


def test_offsets_and_scores_are_initialized_as_separate_convolutions() -> None:
    weights = Predictor(64, 4, 21).conv.weight.unflatten(0, (4, -1))
    for part, outputs in ((weights[:, :4], 16), (weights[:, 4:], 84)):
        bound = math.sqrt(6 / (9 * (64 + outputs)))
        assert 0.95 * bound < part.abs().max() <= bound


# --- boxes and losses ---


def test_default_boxes_have_the_sizes_of_the_paper_around_each_cell() -> None:
    boxes = default_boxes(reference())
    first = boxes[:4]
    assert torch.allclose((first[:, :2] + first[:, 2:]) / 2, torch.tensor(4.0))
    sizes = (first[:, 2:] - first[:, :2]).tolist()
    middle, root = math.sqrt(21 * 45), math.sqrt(2)
    expected = [[21, 21], [middle, middle], [21 * root, 21 / root], [21 / root, 21 * root]]
    assert np.allclose(sizes, expected)
    # The next four boxes belong to the next cell of the row
    assert torch.allclose(boxes[4:8] - first, torch.tensor([8.0, 0.0, 8.0, 0.0]))
    # The last map has one cell; its wide box is clipped to the width of the image
    assert (boxes[-2, 2:] - boxes[-2, :2]).tolist() == pytest.approx([300, 261 / root])


def objects(*boxes: tuple[float, float, float, float]) -> Batch:
    classes = [index if box[2] > box[0] else -1 for index, box in enumerate(boxes)]
    return Batch(torch.empty(0), torch.tensor([boxes]), torch.tensor([classes]))


def test_objects_match_their_best_box_and_boxes_that_overlap_by_half() -> None:
    places = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 19], [0, 0, 10, 21], [40, 40, 50, 50]])
    batch = objects((0, 0, 10, 10), (42, 42, 64, 64), (0, 0, 0, 0))
    assert match(smoke(), places, batch).tolist() == [[0, 0, NONE, 1]]


def test_a_box_that_is_best_for_several_objects_matches_the_last_object() -> None:
    places = torch.tensor([[0.0, 0, 10, 10], [40, 40, 50, 50]])
    batch = objects((0, 0, 10, 10), (0, 0, 10, 8), (0, 0, 0, 0))
    assert match(smoke(), places, batch).tolist() == [[1, NONE]]


def test_the_loss_counts_three_hard_negatives_for_each_positive_box() -> None:
    places = torch.tensor([[0.0, 0, 10, 10], *([40.0 + at, 40, 50 + at, 50] for at in range(5))])
    batch = objects((0, 0, 10, 10))
    scores = torch.zeros(1, 6, 4)
    scores[0, 1:, 0] = torch.tensor([5.0, 1.0, 2.0, 3.0, 4.0])  # confidence in the background
    found = losses(smoke(), places, (scores, torch.zeros(1, 6, 4)), batch, Share([(1, 6)], CPU))
    negatives = [math.log(1 + 3 * math.exp(-sure)) for sure in (1, 2, 3)]
    assert found.tolist() == pytest.approx([math.log(4) + sum(negatives)])


def test_an_offset_of_one_is_a_tenth_of_a_box() -> None:
    places = torch.tensor([[0.0, 0, 10, 10], [40, 40, 50, 50]])
    batch = objects((1, 0, 11, 10))  # a tenth to the right
    scores, offsets = torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)
    share = Share([(1, 2)], CPU)
    off = losses(smoke(), places, (scores, offsets), batch, share)
    offsets[0, 0, 0] = 1.0
    exact = losses(smoke(), places, (scores, offsets), batch, share)
    assert (off - exact).tolist() == pytest.approx([0.5])


def test_an_image_without_objects_has_no_loss() -> None:
    places = torch.tensor([[0.0, 0, 10, 10]])
    output = torch.zeros(1, 1, 4), torch.zeros(1, 1, 4)
    found = losses(smoke(), places, output, objects((0, 0, 0, 0)), Share([(1, 1)], CPU))
    assert found.tolist() == [0.0]


def test_detections_are_the_best_boxes_after_suppression() -> None:
    torch.manual_seed(2)
    config = replace(smoke(), least_score=0.3)
    places = default_boxes(config)
    scores = 3 * torch.randn(len(places), 4)
    boxes, values, classes = detect(config, places, scores, torch.zeros(len(places), 4))
    shares = scores.softmax(-1)[:, 1:]
    which, kinds = (shares > 0.3).nonzero(as_tuple=True)
    clipped = places.clamp(0, 64)[which]
    keep = suppress(clipped, shares[which, kinds], kinds, config.most_overlap)
    assert 200 < len(keep) < len(which)
    keep = keep[: config.detections]
    assert torch.equal(values, shares[which, kinds][keep])
    assert torch.equal(classes, kinds[keep])
    assert torch.allclose(boxes, clipped[keep], atol=1e-4)


# --- the schedule ---


def test_the_learning_rate_rises_and_falls_twice() -> None:
    config = reference()
    made = SingleShotDetection(config, Setting(), Ranks(CPU))
    epoch = config.steps_per_epoch
    steps = (1, 151, 301, 40 * epoch, 40 * epoch + 1, 50 * epoch + 1)
    rates = [made.learning_rate(step) / 0.08 for step in steps]
    assert rates == pytest.approx([0, 0.5, 1, 1, 0.1, 0.01])
    half = replace(config, opt_learning_rate_warmup_factor=1)
    made = SingleShotDetection(half, Setting(), Ranks(CPU))
    assert made.learning_rate(1) / 0.08 == pytest.approx(0.5)


def test_evaluation_is_every_five_epochs_from_epoch_40() -> None:
    config = reference()
    epochs = [step / config.steps_per_epoch for step in config.evaluation_steps()]
    assert epochs == [40, 45, 50, 55, 60, 65, 70, 75, 80]


def test_a_span_that_does_not_divide_the_batch_is_refused() -> None:
    with pytest.raises(RunFault, match="model_bn_span is 16; must divide the 8 images"):
        task_of(global_batch_size=8)


# --- crops and colors ---


def scene() -> Scene:
    """Return a scene of two objects, each filled with a different value."""
    pixels = np.zeros((40, 80, 3), np.uint8)
    pixels[5:15, 10:20], pixels[20:38, 50:75] = 100, 200
    boxes = np.array([[10, 5, 20, 15], [50, 20, 75, 38]], np.float32)
    return Scene(pixels, boxes, np.array([0, 1]))


def test_a_crop_has_the_objects_whose_centers_it_contains() -> None:
    seen = set()
    for seed in range(300):
        found = cropped(scene(), np.random.default_rng(seed), 50)
        height, width = found.pixels.shape[:2]
        assert width >= 0.3 * 80 - 1
        assert height >= 0.3 * 40 - 1
        assert 0 < len(found.boxes) == len(found.classes)
        seen.add((len(found.boxes), found.pixels.shape == (40, 80, 3)))
        for (left, top, right, bottom), kind in zip(found.boxes, found.classes, strict=True):
            inside = found.pixels[int(top) : int(bottom), int(left) : int(right)]
            assert inside.size
            assert set(inside.flatten()) == {100 if kind == 0 else 200}
    assert seen == {(1, False), (2, False), (2, True)}


def test_a_crop_has_an_object_with_one_attempt_and_with_many() -> None:
    """A crop cannot overlap both objects by half, so only the whole image and free crops remain."""
    for attempts in (1, 50):
        for seed in range(100):
            found = cropped(scene(), np.random.default_rng(seed), attempts)
            assert len(found.boxes)


def test_colors_change_and_keep_the_shape() -> None:
    image = Image.fromarray(np.random.default_rng(1).integers(0, 256, (8, 8, 3), np.uint8))
    found = [np.asarray(colored(image, np.random.default_rng(seed))) for seed in (1, 1, 2)]
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
    assert found[0].shape == (8, 8, 3)


def test_training_scenes_change_with_the_epoch_unlike_evaluation_scenes() -> None:
    source, _ = synthetic((8, 1), 64, seed=1)
    training, evaluation = Crops(source, 1, 64, 50), Crops(source, None, 64, 50)
    first = training.__getitems__(range(8))
    assert torch.equal(first.images, training.__getitems__(range(8)).images)
    training.set_epoch(2)
    assert not torch.equal(first.images, training.__getitems__(range(8)).images)
    assert first.images.shape == (8, 3, 64, 64)
    assert evaluation.__getitems__([3]).images[0].permute(1, 2, 0).tolist() == (
        source.scene(3).pixels.tolist()
    )


# --- files ---


def in_folder(folder: Path, *, empty: bool = True) -> Files:
    return Files(folder / "notes.json", folder, 2, empty=empty)


def test_images_without_objects_can_be_excluded_and_crowds_are_marked(tmp_path: Path) -> None:
    for name in "ab":
        Image.new("RGB", (40, 20)).save(tmp_path / f"{name}.jpg")
    notes = {
        "images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}],
        "categories": [{"id": 3}, {"id": 9}],
        "annotations": [
            {"image_id": 2, "category_id": 3, "bbox": [0, 0, 9, 9], "iscrowd": 1},
            {"image_id": 2, "category_id": 9, "bbox": [5, 5, 9, 9], "iscrowd": 0},
        ],
    }
    (tmp_path / "notes.json").write_text(json.dumps(notes))
    assert len(in_folder(tmp_path)) == 2
    files = in_folder(tmp_path, empty=False)
    assert len(files) == 1
    assert files.scene(0).pixels.shape == (20, 40, 3)
    assert files.scene(0).crowds is not None
    assert files.scene(0).crowds.tolist() == [True, False]  # type: ignore[union-attr]


class Alone:
    """A source with one scene."""

    def __init__(self, only: Scene) -> None:
        self.only = only

    def __len__(self) -> int:
        return 1

    def scene(self, _: int) -> Scene:
        return self.only


def test_a_crowd_is_neither_a_hit_nor_a_miss() -> None:
    crowd = replace(scene(), crowds=np.array([True, False]))
    both = torch.from_numpy(crowd.boxes), torch.tensor([0.8, 0.9]), torch.tensor([0, 1])
    second = tuple(each[1:] for each in both)
    for found in (both, second):
        detected = [rows(0, found)]  # type: ignore[arg-type]
        assert mean_average_precision(Alone(crowd), detected, 2) == pytest.approx(1.0)
    missed = [rows(0, second)]  # type: ignore[arg-type]
    assert mean_average_precision(Alone(scene()), missed, 2) == pytest.approx(0.5)


def test_an_older_backbone_file_is_loaded_and_another_network_is_refused(
    tmp_path: Path,
) -> None:
    first, second = Body(smoke()), Body(smoke())
    state = {n: v for n, v in first.state_dict().items() if not n.endswith("batches_tracked")}
    torch.save({**state, "layer4.0.conv1.weight": torch.zeros(1)}, tmp_path / "backbone.pt")
    load_backbone(second, tmp_path / "backbone.pt", "ResNet-34")
    found = second.state_dict()
    assert all(torch.equal(found[name], value) for name, value in state.items())
    del state["layer3.5.bn2.running_var"]
    torch.save(state, tmp_path / "part.pt")
    with pytest.raises(DataMissing, match=r"is not a ResNet-34: 'layer3\.5\.bn2\.running_var'"):
        load_backbone(second, tmp_path / "part.pt", "ResNet-34")
