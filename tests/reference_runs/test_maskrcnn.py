"""Mask R-CNN: published size, pooled regions, sampled anchors, masks, precisions and files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from PIL import Image  # noqa: E402

from podium.compliance import check  # noqa: E402
from podium.reference_runs.benchmarks.maskrcnn.config import (  # noqa: E402
    MaskRCNN,
    Precisions,
    reference,
    smoke,
)
from podium.reference_runs.benchmarks.maskrcnn.data import (  # noqa: E402
    Batch,
    Scenes,
    generated,
    normalise,
)
from podium.reference_runs.benchmarks.maskrcnn.detector import Detected, Detector  # noqa: E402
from podium.reference_runs.benchmarks.maskrcnn.evaluation import precisions, results  # noqa: E402
from podium.reference_runs.benchmarks.maskrcnn.files import ANNOTATIONS, Files, resized  # noqa: E402
from podium.reference_runs.benchmarks.maskrcnn.masks import masks_of_regions, pasted  # noqa: E402
from podium.reference_runs.benchmarks.maskrcnn.pooling import pooled  # noqa: E402
from podium.reference_runs.benchmarks.maskrcnn.regions import (  # noqa: E402
    BACKGROUND,
    IGNORED,
    anchors,
    best,
    chosen,
    matched_anchors,
    proposals,
)
from podium.reference_runs.benchmarks.maskrcnn.train import Segmentation  # noqa: E402
from podium.reference_runs.engine.launch import run, run_request  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402
from podium.reference_runs.modeling.detection.boxes import suppress  # noqa: E402
from podium.rules.training.shared.tensors import tensor_names  # noqa: E402
from tests.reference_runs.laws import reaches_every_parameter  # noqa: E402

Profile = Literal["policy", "verifier"]

FPN_MODEL = 44_401_393
"""Parameters of the published Mask R-CNN with a ResNet-50 and 91 classes, without norms."""


def small_task(**more: str) -> Segmentation:
    config = smoke().with_settings({"train_samples": "16", "eval_samples": "4", **more})
    torch.manual_seed(1)
    task = Segmentation(config, Setting(), Ranks(torch.device("cpu")))
    task.prepare()
    return task


def size(config: MaskRCNN) -> int:
    with torch.device("meta"):
        model = Detector(config)
    return sum(p.numel() for p in model.parameters())


def test_the_model_with_90_classes_has_the_published_size() -> None:
    assert size(replace(reference(), classes=90)) == FPN_MODEL


def test_the_reference_model_lacks_the_classes_that_coco_does_not_use() -> None:
    fewer = 10 * (5 * (1024 + 1) + 256 + 1)
    assert size(reference()) == FPN_MODEL - fewer == 44_347_573


def test_the_stem_and_the_first_stage_do_not_train_at_reference_scale() -> None:
    with torch.device("meta"):
        model = Detector(reference())
    frozen = [name for name, p in model.named_parameters() if not p.requires_grad]
    assert {name.split(".")[1] for name in frozen} == {"conv1", "layer1"}


def test_the_named_layers_are_those_that_the_rules_list() -> None:
    assert sorted(smoke().weights("2.0")) == sorted(tensor_names("maskrcnn"))
    assert len(smoke().weights("1.1")) == 21
    assert smoke().weights("1.0") == smoke().weights("3.0") == ()


def test_a_step_gives_every_parameter_a_gradient() -> None:
    task = small_task()
    loss = reaches_every_parameter(task, task.build())
    assert loss.items == 16


def test_the_loss_does_not_depend_on_how_a_batch_is_split() -> None:
    task = small_task()
    model = task.build()
    batch = next(task.batches(1, 0))
    halves = [Batch(*(each[at : at + 8] for each in batch)) for at in (0, 8)]
    whole = task.loss(model, batch).total.detach()
    parts = sum(task.loss(model, half).total.detach() for half in halves)
    assert float(whole) == pytest.approx(float(parts), rel=1e-5)


def test_an_image_without_objects_has_a_loss() -> None:
    task = small_task()
    model = task.build()
    batch = next(task.batches(1, 0))
    empty = batch._replace(classes=torch.full_like(batch.classes, -1))
    loss = task.loss(model, empty).total
    loss.backward()
    assert 0 < float(loss.detach()) < float(task.loss(model, batch).total.detach())
    grads = [p.grad for p in model.parameters()]
    assert all(grad is not None and grad.isfinite().all() for grad in grads)


def test_a_model_without_detections_has_precisions_of_zero() -> None:
    task = small_task(least_score="1.0")
    model = task.build().eval()
    with torch.no_grad():
        quality = task.evaluate(model)
    assert isinstance(quality, Precisions)
    assert (quality, quality.masks) == (0, 0)


@pytest.mark.parametrize("profile", ["policy", "verifier"])
def test_a_log_of_round_0_6_is_accepted(profile: Profile, tmp_path: Path) -> None:
    changes = {"train_samples": 16, "eval_samples": 4, "target": 0.0, "mask_target": 0.0}
    settings = {key: str(value) for key, value in changes.items()}
    request = run_request("maskrcnn", Setting(device="cpu"), settings, ("0.6", "closed"))
    path = tmp_path / "result_0.txt"
    assert run(request, path, lambda _: None).converged
    report = check(str(path), round="0.6", usage="training", profile=profile)
    assert [str(each) for each in report.findings if each.severity == "error"] == []


# --- settings ---


def test_both_precisions_must_reach_their_targets() -> None:
    config = smoke()
    good, few_boxes, few_masks = (
        Precisions(*each) for each in ((0.4, 0.4), (0.3, 0.4), (0.4, 0.3))
    )
    assert [config.reached(each) for each in (good, few_boxes, few_masks)] == [True, False, False]
    assert config.missed(few_boxes).endswith("0.95 >= 0.377")
    assert config.missed(few_masks) == "of masks >= 0.339"
    assert config.figures(good) == "boxes 0.4000, masks 0.4000"
    assert [*config.quality_records(good, "closed")] == [
        ("eval_accuracy", {"BBOX": 0.4, "SEGM": 0.4}, {})
    ]


def test_the_learning_rate_warms_up_and_falls_twice() -> None:
    task = Segmentation(reference(), Setting(), Ranks(torch.device("cpu")))
    base = reference().opt_base_learning_rate
    rates = [task.learning_rate(step) / base for step in (400, 800, 18_000, 18_001, 24_001)]
    assert rates == pytest.approx([0.50005, 1, 1, 0.1, 0.01], rel=1e-6)


def test_biases_have_twice_the_learning_rate_and_no_weight_decay() -> None:
    task = small_task()
    (optimizer,) = task.optimizers(task.build())
    weights, biases = optimizer.param_groups
    assert (weights["weight_decay"], biases["weight_decay"], biases["scale"]) == (1e-4, 0, 2)
    assert {p.dim() for p in biases["params"]} == {1}
    assert 1 not in {p.dim() for p in weights["params"]}


# --- regions ---


def by_loop(level: torch.Tensor, box: list[float], cells: int, stride: int) -> torch.Tensor:
    """Return the mean of the four points of each cell, computed point by point, (C, S, S)."""
    (left, top, right, bottom), (height, width) = (v / stride for v in box), level.shape[1:]
    wide, high = max(right - left, 1.0), max(bottom - top, 1.0)
    found = torch.zeros(len(level), cells, cells, dtype=level.dtype)
    for row in range(2 * cells):
        for column in range(2 * cells):
            y = top + (row + 0.5) * high / (2 * cells)
            x = left + (column + 0.5) * wide / (2 * cells)
            if not (-1 <= y <= height and -1 <= x <= width):
                continue
            y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
            i, j = int(y), int(x)
            below, after = min(i + 1, height - 1), min(j + 1, width - 1)
            a, b = y - i, x - j
            upper = (1 - b) * level[:, i, j] + b * level[:, i, after]
            lower = (1 - b) * level[:, below, j] + b * level[:, below, after]
            found[:, row // 2, column // 2] += ((1 - a) * upper + a * lower) / 4
    return found


def test_pooled_regions_equal_a_loop_over_points() -> None:
    torch.manual_seed(1)
    levels = [torch.randn(2, 3, side, side + 2, dtype=torch.float64) for side in (16, 8)]
    # Boxes on the finer and the coarser level, beyond the border, and without an area
    boxes = torch.tensor(
        [
            [[3.0, 5, 20, 30], [0, 0, 64, 64], [10, 10, 10, 10]],
            [[50.0, 40, 90, 80], [-20, -9, 40, 44], [1, 2, 30, 9]],
        ],
        dtype=torch.float64,
    )
    found = pooled(levels, boxes, (4, 8), 3, 160).unflatten(0, (2, 3))
    for image in range(2):
        for at, box in enumerate(boxes[image].tolist()):
            area = (box[2] - box[0]) * (box[3] - box[1])
            level = 1 if area**0.5 >= 80 else 0
            expected = by_loop(levels[level][image], box, 3, (4, 8)[level])
            assert torch.allclose(found[image, at], expected)
    coarse = pooled(levels, boxes, (4, 8), 3, 64).unflatten(0, (2, 3))
    expected = by_loop(levels[1][0], boxes[0, 1].tolist(), 3, 8)
    assert torch.allclose(coarse[0, 1], expected)


def test_pooling_without_regions_returns_no_features() -> None:
    found = pooled([torch.zeros(1, 3, 4, 4)], torch.zeros(1, 0, 4), (4,), 7, 224)
    assert found.shape == (0, 3, 7, 7)


def test_each_position_has_three_anchors_of_equal_area() -> None:
    found = anchors([(2, 3), (1, 1)], (4, 8), (32, 64))
    assert len(found) == 3 * (6 + 1)
    sides = found[:, 2:] - found[:, :2]
    assert torch.allclose(sides.prod(1), torch.tensor([32.0**2] * 18 + [64.0**2] * 3))
    assert torch.allclose(sides[:3, 1] / sides[:3, 0], torch.tensor([0.5, 1, 2]))
    assert found[3:6].mean(0).tolist() == pytest.approx([6 - 17, 2 - 17, 6 + 17, 2 + 17], abs=1)


def test_anchors_are_matched_by_overlap_and_every_object_has_an_anchor() -> None:
    overlap = torch.tensor([[[0.8, 0.5, 0.1, 0.0], [0.0, 0.2, 0.1, 0.25], [0.0, 0, 0, 0]]])
    assert matched_anchors(overlap).tolist() == [[0, IGNORED, BACKGROUND, 1]]


def test_the_share_of_positive_samples_is_limited() -> None:
    draws = torch.tensor([1, 2])
    positive = torch.zeros(2, 40, dtype=torch.bool)
    positive[0, :20] = True
    positive[1, :2] = True
    negative = ~positive
    negative[:, 36:] = False
    at, there = chosen(positive, negative, draws, 16, 0.25)
    assert there.all()
    counts = positive.gather(1, at).sum(1)
    assert counts.tolist() == [4, 2]
    for image, count in enumerate(counts.tolist()):
        assert positive[image, at[image, :count]].all()
        assert negative[image, at[image, count:]].all()
        assert len({*at[image].tolist()}) == 16
    again, _ = chosen(positive, negative, draws, 16, 0.25)
    other, _ = chosen(positive, negative, draws + 1, 16, 0.25)
    assert torch.equal(at, again)
    assert not torch.equal(at, other)
    _, few = chosen(positive, negative, draws, 40, 0.25)
    assert few.sum(1).tolist() == [26, 36]


def test_proposals_are_the_best_boxes_of_all_levels_after_suppression() -> None:
    boxes = torch.tensor([[[0.0, 0, 10, 10], [0, 0, 10, 11], [20, 20, 30, 30], [5, 5, 5, 9]]])
    scores = torch.tensor([[3.0, 4.0, 1.0, 9.0]])
    ranked = best(boxes, scores, 4)
    elsewhere = best(boxes[:, :1] + 50, torch.tensor([[2.0]]), 4)
    found = proposals([ranked, elsewhere], 4)
    assert found.boxes[found.there].tolist() == [
        [0, 0, 10, 11],
        [50, 50, 60, 60],
        [20, 20, 30, 30],
    ]


def test_suppression_of_no_boxes_returns_no_boxes() -> None:
    none = torch.zeros(0)
    assert suppress(torch.zeros(0, 4), none, none, 0.5).tolist() == []


# --- masks ---


def test_a_mask_is_resampled_to_a_region() -> None:
    mask = torch.zeros(1, 8, 8)
    mask[:, :, 4:] = 1  # the right half of the box
    box = torch.tensor([[10.0, 10, 26, 26]])
    assert torch.equal(masks_of_regions(mask, box, box, 8).float(), mask)
    right = torch.tensor([[18.0, 10, 26, 26]])
    assert masks_of_regions(mask, box, right, 8).all()
    twice = torch.tensor([[2.0, 2, 34, 34]])
    assert masks_of_regions(mask, box, twice, 8).sum() == 2 * 4


def test_a_full_mask_covers_the_pixels_of_its_box() -> None:
    found = pasted(torch.ones(1, 28, 28), torch.tensor([[2.0, 3, 10, 8]]), 12, 16)
    expected = torch.zeros(12, 16, dtype=torch.bool)
    expected[3:8, 2:10] = True
    assert torch.equal(found[0], expected)


def perfect(config: MaskRCNN, shift: float = 0.0) -> Precisions:
    """Return the precisions of the true objects as detections, optionally shifted."""
    _, source = generated(config, seed=1)
    found = []
    for index in range(len(source)):
        scene = source.scene(index)
        boxes = torch.from_numpy(scene.boxes) + torch.tensor([shift, 0, shift, 0])
        detected = Detected(
            boxes,
            torch.full((len(boxes),), 0.9),
            torch.from_numpy(scene.classes),
            torch.from_numpy(scene.masks).float(),
        )
        found.append(results(source, index, detected, torch.tensor([64.0, 64.0])))
    return precisions(source, found)


def test_exact_detections_are_precise_and_shifted_detections_less() -> None:
    config = replace(smoke(), train_samples=1, eval_samples=20)
    exact, shifted = perfect(config), perfect(config, 4.0)
    assert exact == pytest.approx(1.0)
    assert exact.masks > 0.9  # the grid of a mask has fewer points than the largest shapes
    assert 0.05 < shifted < 0.8
    assert 0.05 < shifted.masks < 0.8


# --- data ---


def test_a_mirrored_scene_has_mirrored_boxes_and_masks() -> None:
    source, _ = generated(replace(smoke(), train_samples=30, eval_samples=1), seed=1)
    scenes, plain = Scenes(source, seed=1), Scenes(source, seed=None)
    scenes.set_epoch(1)
    seen, was = (each.__getitems__(range(30)) for each in (scenes, plain))
    turned = [at for at in range(30) if not torch.equal(seen.images[at], was.images[at])]
    assert 5 < len(turned) < 25
    assert len({*seen.draws.tolist()}) == 30
    for at in turned:
        assert torch.equal(seen.images[at].flip(-1), was.images[at])
        there = was.classes[at] >= 0
        assert torch.equal(seen.boxes[at, there, 0], 64 - was.boxes[at, there, 2])
        assert torch.equal(seen.masks[at].flip(-1), was.masks[at])


def test_shuffled_labels_give_images_the_objects_of_other_images() -> None:
    right, wrong = (small_task(shuffled_labels=text) for text in ("False", "True"))
    first, second = (task.training.source for task in (right, wrong))
    pairs = [(first.scene(at), second.scene(at)) for at in range(16)]
    assert all(np.array_equal(a.pixels, b.pixels) for a, b in pairs)
    assert sum(np.array_equal(a.boxes, b.boxes) for a, b in pairs) < 8


def test_pixels_outside_of_an_image_are_zero() -> None:
    images = torch.full((1, 3, 2, 4), 200, dtype=torch.uint8)
    images[:, 0] = 100  # red, the last of the channels after normalization
    found = normalise(images, torch.tensor([[2.0, 3.0]]))
    assert found[0, :, :, 3].abs().max() == 0
    assert found[0, :, 0, 0].tolist() == pytest.approx([97.0199, 84.0535, -22.7717], abs=1e-4)


@pytest.mark.parametrize(
    ("before", "after"),
    [((640, 480), (1067, 800)), ((480, 640), (800, 1067)), ((1000, 300), (1333, 400))],
)
def test_the_shorter_side_is_800_unless_the_longer_is_too_long(
    before: tuple[int, int], after: tuple[int, int]
) -> None:
    assert resized(before, 800, 1333) == after


def annotated(folder: Path, notes: list[dict[str, Any]]) -> Path:
    """Write a folder with two images of 40 x 20 and annotations of the first image."""
    (folder / "annotations").mkdir(exist_ok=True)
    (folder / "val2017").mkdir(exist_ok=True)
    for name in ("a.jpg", "b.jpg"):
        Image.new("RGB", (40, 20), (255, 0, 0)).save(folder / "val2017" / name)
    whole = {
        "images": [
            {"id": 7, "file_name": "a.jpg", "height": 20, "width": 40},
            {"id": 8, "file_name": "b.jpg", "height": 20, "width": 40},
        ],
        "categories": [{"id": 3}, {"id": 9}],
        "annotations": notes,
    }
    path = folder / ANNOTATIONS.format("val2017")
    path.write_text(json.dumps(whole))
    return path


NOTE = {
    "id": 1,
    "image_id": 7,
    "category_id": 9,
    "iscrowd": 0,
    "area": 100.0,
    "bbox": [10, 5, 20, 10],
    "segmentation": [[10, 5, 20, 5, 20, 15, 10, 15]],
}
"""An object that fills the left half of its box."""
CROWD = {**NOTE, "id": 2, "iscrowd": 1, "segmentation": {"size": [20, 40], "counts": [800]}}


def test_annotations_are_read_and_resized(tmp_path: Path) -> None:
    annotated(tmp_path, [NOTE, CROWD])
    config = replace(smoke(), min_image_size=40, max_image_size=100, mask_points=8)
    files = Files(tmp_path, "val2017", config)
    scene = files.scene(0)
    assert scene.pixels.shape == (40, 80, 3)
    assert scene.boxes.tolist() == [[20, 10, 60, 30]]  # training ignores the crowd
    assert scene.classes.tolist() == [1]
    assert scene.masks[0, :, :4].all()
    assert not scene.masks[0, :, 5:].any()
    assert (files.original(0), files.category(1)) == ((7, 20, 40), 9)
    assert len(files.scene(1).classes) == 0
    assert len(Files(tmp_path, "val2017", config, annotated=True)) == 1
    detected = Detected(
        torch.from_numpy(scene.boxes),
        torch.tensor([0.9]),
        torch.from_numpy(scene.classes),
        torch.from_numpy(scene.masks).float(),
    )
    found = results(files, 0, detected, torch.tensor([40.0, 80.0]))
    quality = precisions(files, [found])
    assert quality == pytest.approx(1.0)
    assert quality.masks > 0.8


@pytest.mark.parametrize("wrong", [{"category_id": 4}, {"bbox": [1, 2]}, {"bbox": "none"}])
def test_wrong_annotations_are_reported(wrong: dict[str, Any], tmp_path: Path) -> None:
    annotated(tmp_path, [{**NOTE, **wrong}])
    with pytest.raises(DataMissing, match="not an annotation file in COCO's format"):
        Files(tmp_path, "val2017", smoke())


def test_wrong_outlines_and_images_are_reported(tmp_path: Path) -> None:
    annotated(tmp_path, [{**NOTE, "segmentation": [[10, 5, 20]]}])
    with pytest.raises(DataMissing, match=r"an outline in a\.jpg is wrong"):
        Files(tmp_path, "val2017", smoke()).scene(0)
    annotated(tmp_path, [NOTE])
    (tmp_path / "val2017" / "a.jpg").write_bytes(b"not an image")
    with pytest.raises(DataMissing, match=r"a\.jpg cannot be read as an image"):
        Files(tmp_path, "val2017", smoke()).scene(0)
    with pytest.raises(DataMissing, match="has 2 categories; expected 1"):
        Files(tmp_path, "val2017", replace(smoke(), classes=1))
