"""RetinaNet: sizes derived from published ones, boxes, losses, precision and files."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from PIL import Image  # noqa: E402

from podium.reference_runs.benchmarks.retinanet.boxes import anchors  # noqa: E402
from podium.reference_runs.benchmarks.retinanet.config import BENCHMARKS, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.retinanet.detection import (  # noqa: E402
    BACKGROUND,
    IGNORED,
    focal_loss,
    match,
)
from podium.reference_runs.benchmarks.retinanet.model import Detector  # noqa: E402
from podium.reference_runs.benchmarks.retinanet.train import FocalDetection  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402
from podium.reference_runs.modeling.detection.backbone import load_backbone  # noqa: E402
from podium.reference_runs.modeling.detection.boxes import (  # noqa: E402
    decode,
    encode,
    overlaps,
    suppress,
)
from podium.reference_runs.modeling.detection.drawn import synthetic  # noqa: E402
from podium.reference_runs.modeling.detection.precision import (  # noqa: E402
    mean_average_precision,
    rows,
)
from podium.reference_runs.modeling.detection.pyramid import FrozenNorm  # noqa: E402
from podium.reference_runs.modeling.detection.scenes import Batch, Files, Scenes  # noqa: E402
from podium.rules.training.shared.tensors import tensor_names  # noqa: E402

(BENCHMARK,) = BENCHMARKS


def small_task(**more: str) -> FocalDetection:
    config = smoke().with_settings({"train_samples": "16", "eval_samples": "4", **more})
    torch.manual_seed(1)
    task = FocalDetection(config, Setting(), Ranks(torch.device("cpu")))
    task.prepare()
    return task


def size(model: torch.nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_the_model_with_a_plain_resnet_has_the_published_size() -> None:
    plain = replace(reference(), groups=1, group_width=64, classes=91)
    with torch.device("meta"):
        model = Detector(plain)
    assert size(model) == 34_014_999  # a ResNet-50 detector of 91 classes


def test_the_backbone_has_the_size_of_resnext_without_its_classifier() -> None:
    with torch.device("meta"):
        body = Detector(reference()).backbone["body"]
    norms = [module for module in body.modules() if isinstance(module, FrozenNorm)]
    scales = sum(norm.weight.numel() + norm.bias.numel() for norm in norms)
    assert size(body) + scales + (2048 + 1) * 1000 == 25_028_904


def test_the_reference_model_has_the_size_of_its_parts() -> None:
    with torch.device("meta"):
        model = Detector(reference())
    plain_body = 25_557_032 - 2049 * 1000 - 53_120  # ResNet-50 without classifier and norms
    body = 25_028_904 - 2049 * 1000 - 68_224  # ResNeXt-50 32x4d without classifier and norms
    more_classes = (264 - 91) * 9 * (9 * 256 + 1)
    assert size(model) == 34_014_999 - plain_body + body + more_classes == 37_060_652
    frozen = 3 * 64 * 49 + 61_952 + 2 * 70_144  # the stem and the three blocks of stage 1
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == 37_060_652 - frozen


@pytest.mark.parametrize("config", [smoke(), reference()], ids=["smoke", "reference"])
def test_the_tensors_are_those_that_the_rules_list(config: object) -> None:
    with torch.device("meta"):
        model = Detector(config)  # type: ignore[arg-type]
    names = Counter(f"module.{name}" for name, _ in model.named_parameters())
    assert names == Counter(smoke().weights("2.0")) == Counter(tensor_names("retinanet"))
    assert smoke().weights("3.0") == ()


def test_a_step_gives_every_parameter_a_gradient() -> None:
    task = small_task()
    model = task.build()
    loss = task.loss(model, next(task.batches(1, 0)))
    loss.total.backward()
    assert loss.items == 16
    assert [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()] == []


def test_the_stem_and_the_first_stage_do_not_train_at_reference_scale() -> None:
    with torch.device("meta"):
        model = Detector(reference())
    frozen = {n.split(".")[2] for n, p in model.named_parameters() if not p.requires_grad}
    assert frozen == {"conv1", "layer1"}


def test_the_loss_does_not_depend_on_how_a_batch_is_split() -> None:
    task = small_task()
    model = task.build()
    batch = next(task.batches(1, 0))
    halves = [Batch(*(each[at : at + 8] for each in batch)) for at in (0, 8)]
    whole = task.loss(model, batch).total.detach()
    parts = sum(task.loss(model, half).total.detach() for half in halves)
    assert float(whole) == pytest.approx(float(parts), rel=1e-5)


# --- boxes ---

SIDES = st.floats(1, 50)
BOXES = st.lists(
    st.tuples(st.floats(0, 50), st.floats(0, 50), SIDES, SIDES), min_size=1, max_size=30
)


def tensor(boxes: list[tuple[float, float, float, float]]) -> torch.Tensor:
    return torch.tensor([(x, y, x + w, y + h) for x, y, w, h in boxes], dtype=torch.float64)


@given(BOXES, st.integers(0, 2**32))
def test_suppression_equals_a_loop_over_boxes(
    boxes: list[tuple[float, float, float, float]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    place = tensor(boxes)
    scores = torch.from_numpy(rng.random(len(boxes)))
    classes = torch.from_numpy(rng.integers(0, 2, len(boxes)))
    kept: list[int] = []
    for at in scores.argsort(descending=True).tolist():
        same = [other for other in kept if classes[other] == classes[at]]
        if all(float(overlaps(place[[other]], place[[at]])) <= 0.5 for other in same):
            kept.append(at)
    assert suppress(place, scores, classes, 0.5).tolist() == kept


@given(BOXES)
def test_decoding_encoded_offsets_returns_the_box(
    boxes: list[tuple[float, float, float, float]],
) -> None:
    place = tensor(boxes)
    anchor = place.roll(1, 0)
    assert torch.allclose(decode(encode(place, anchor), anchor), place, atol=1e-6)


def test_overlap_is_intersection_over_union() -> None:
    first = torch.tensor([[0.0, 0, 4, 4], [0, 0, 1, 1]])
    second = torch.tensor([[2.0, 0, 6, 4], [8, 8, 9, 9]])
    assert torch.allclose(overlaps(first, second), torch.tensor([[8 / 24, 0], [0, 0]]))


def test_each_cell_of_the_five_levels_has_nine_anchors() -> None:
    assert len(anchors(reference())) == 9 * (100**2 + 50**2 + 25**2 + 13**2 + 7**2)
    first = anchors(reference())[:9]
    assert torch.allclose(first[:, :2], -first[:, 2:])  # around the upper left corner
    assert (first[3, 2:] - first[3, :2]).tolist() == [32, 32]


def test_anchors_are_matched_by_overlap_and_every_object_has_an_anchor() -> None:
    config = smoke()
    places = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 22], [0, 0, 10, 30], [40, 40, 50, 50]])
    objects = torch.tensor([[[0.0, 0, 10, 10], [42, 42, 64, 64], [0, 0, 0, 0]]])
    batch = Batch(torch.empty(0), objects, torch.tensor([[0, 1, -1]]))
    found = match(config, places, batch)
    assert found.tolist() == [[0, IGNORED, BACKGROUND, 1]]  # overlaps 1, 0.45, 0.33, 0.12


def test_the_focal_loss_equals_its_formula() -> None:
    scores = torch.tensor([0.0, 2.0])
    wanted = torch.tensor([1.0, 0.0])
    p = 1 / (1 + np.exp(-2))
    expected = [0.25 * 0.5**2 * np.log(2), 0.75 * p**2 * -np.log(1 - p)]
    assert focal_loss(smoke(), scores, wanted).tolist() == pytest.approx(expected)


# --- precision and data ---


def perfect(source: object, shift: float = 0.0) -> list[np.ndarray]:
    found = []
    for index in range(len(source)):  # type: ignore[arg-type]
        scene = source.scene(index)  # type: ignore[attr-defined]
        boxes = torch.from_numpy(scene.boxes) + torch.tensor([shift, 0, shift, 0])
        classes = torch.from_numpy(scene.classes)
        found.append(rows(index, (boxes, torch.full((len(boxes),), 0.9), classes)))
    return found


def test_exact_boxes_have_a_precision_of_one_and_shifted_boxes_less(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, source = synthetic((1, 20), 64, seed=1)
    assert mean_average_precision(source, perfect(source), 3) == pytest.approx(1.0)
    assert 0.05 < mean_average_precision(source, perfect(source, 4.0), 3) < 0.8
    assert mean_average_precision(source, [], 3) == 0.0
    assert capsys.readouterr().out == ""


def test_a_mirrored_scene_has_mirrored_boxes() -> None:
    source, _ = synthetic((30, 1), 64, seed=1)
    scenes, plain = Scenes(source, seed=1), Scenes(source, seed=None)
    scenes.set_epoch(1)
    seen, was = (each.__getitems__(range(30)) for each in (scenes, plain))
    turned = [at for at in range(30) if not torch.equal(seen.images[at], was.images[at])]
    assert 5 < len(turned) < 25
    for at in turned:
        assert torch.equal(seen.images[at].flip(-1), was.images[at])
        there = was.classes[at] >= 0
        assert torch.equal(seen.boxes[at, there, 0], 64 - was.boxes[at, there, 2])


def test_shuffled_labels_give_images_the_objects_of_other_images() -> None:
    right, wrong = (small_task(shuffled_labels=text) for text in ("False", "True"))
    first, second = (task.training.source for task in (right, wrong))
    assert np.array_equal(first.pixels, second.pixels)  # type: ignore[attr-defined]
    same = [np.array_equal(first.scene(at).boxes, second.scene(at).boxes) for at in range(16)]
    assert sum(same) < 8


def in_folder(folder: Path, classes: int = 2) -> Files:
    annotations = folder / "labels" / "openimages-mlperf.json"
    return Files(annotations, folder / "data", classes, side=80)


def test_files_in_coco_format_are_read_and_stretched(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    (tmp_path / "data").mkdir()
    Image.new("RGB", (40, 20), (255, 0, 0)).save(tmp_path / "data" / "a.jpg")
    notes = {
        "images": [{"id": 7, "file_name": "a.jpg"}],
        "categories": [{"id": 3}, {"id": 9}],
        "annotations": [{"image_id": 7, "category_id": 9, "bbox": [10, 5, 20, 10]}],
    }
    (tmp_path / "labels" / "openimages-mlperf.json").write_text(json.dumps(notes))
    scene = in_folder(tmp_path).scene(0)
    assert scene.pixels.shape == (80, 80, 3)
    assert scene.boxes.tolist() == [[20, 20, 60, 60]]
    assert scene.classes.tolist() == [1]
    with pytest.raises(DataMissing, match="not an annotation file"):
        in_folder(tmp_path / "data")
    with pytest.raises(DataMissing, match="has 2 categories; expected 1"):
        in_folder(tmp_path, classes=1)
    (tmp_path / "data" / "a.jpg").write_bytes(b"no image")
    with pytest.raises(DataMissing, match=r"a\.jpg cannot be read as an image"):
        in_folder(tmp_path).scene(0)
    for wrong in ({"category_id": 4}, {"bbox": [1, 2]}, {"bbox": "none"}):
        changed = {**notes, "annotations": [{**notes["annotations"][0], **wrong}]}
        (tmp_path / "labels" / "openimages-mlperf.json").write_text(json.dumps(changed))
        with pytest.raises(DataMissing, match="not an annotation file"):
            in_folder(tmp_path)


def test_images_are_read_from_archives_by_file_name(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    (tmp_path / "data").mkdir()
    with tarfile.open(tmp_path / "data" / "part-0.tar", "w") as archive:
        Image.new("RGB", (40, 20), (255, 0, 0)).save(tmp_path / "a.jpg")
        archive.add(tmp_path / "a.jpg", "images/a.jpg")
    notes = {"images": [{"id": 7, "file_name": "a.jpg"}], "categories": [], "annotations": []}
    path = tmp_path / "labels" / "openimages-mlperf.json"
    path.write_text(json.dumps(notes))
    assert in_folder(tmp_path).scene(0).pixels[..., 0].min() > 200
    path.write_text(json.dumps({**notes, "images": [{"id": 7, "file_name": "b.jpg"}]}))
    with pytest.raises(DataMissing, match=r"data: no archive contains b\.jpg"):
        in_folder(tmp_path)


def test_a_complete_backbone_is_loaded_and_other_files_are_refused(tmp_path: Path) -> None:
    first, second = (Detector(smoke()).backbone["body"] for _ in range(2))
    torch.save({**first.state_dict(), "fc.weight": torch.zeros(1)}, tmp_path / "backbone.pt")
    load_backbone(second, tmp_path / "backbone.pt", "ResNeXt-50 32x4d")
    state = second.state_dict()
    assert all(torch.equal(state[name], value) for name, value in first.state_dict().items())
    torch.save({"conv1.weight": state["conv1.weight"]}, tmp_path / "part.pt")
    with pytest.raises(DataMissing, match="is not a ResNeXt-50"):
        load_backbone(second, tmp_path / "part.pt", "ResNeXt-50 32x4d")
    (tmp_path / "text.pt").write_text("weights")
    with pytest.raises(DataMissing, match=r"text\.pt cannot be read as weights"):
        load_backbone(second, tmp_path / "text.pt", "ResNeXt-50 32x4d")
