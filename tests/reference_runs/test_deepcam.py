"""DeepCAM: published size, metric, maps, schedule, logged settings and staging."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.logging_spec import Logger  # noqa: E402
from podium.logging_spec.reader.read import read_log  # noqa: E402
from podium.reference_runs.benchmarks.deepcam.config import BENCHMARKS, DeepCam, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.deepcam.data import Weather, draw, write  # noqa: E402
from podium.reference_runs.benchmarks.deepcam.model import DeepLab  # noqa: E402
from podium.reference_runs.benchmarks.deepcam.train import Segmentation, overlap  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing, RunFault  # noqa: E402

(BENCHMARK,) = BENCHMARKS
CPU = Ranks(torch.device("cpu"))
SMALL = {"train_samples": "16", "eval_samples": "4"}


def task_of(**settings: str) -> Segmentation:
    config = smoke().with_settings(SMALL | settings)
    return Segmentation(config, Setting(usage="hpc", round="3.0"), CPU)


def staged(task: Segmentation) -> Segmentation:
    """Stage and open the data of a task, as the training loop does."""
    task.prepare()
    with Logger(io.StringIO(), rank=0) as log:
        task.stage(log)
    task.open_data()
    return task


def _separable(inputs: int, outputs: int) -> int:
    return 9 * inputs + inputs * outputs


def _block(*widths: int, stride: int = 1, tail: bool = False) -> int:
    """Count a block's parameters: convolutions with norms, a tail without, a skip with a norm."""
    inner = sum(_separable(a, b) + 2 * b for a, b in pairwise(widths))
    first, last = widths[0], widths[-1]
    ending = _separable(last, last) if tail or stride > 1 else 0
    return inner + ending + (first * last + 2 * last if first != last else 0)


def test_the_reference_model_has_the_published_number_of_parameters() -> None:
    with torch.device("meta"):
        model = DeepLab(reference())
    stem = 9 * 16 * 32 + 2 * 32 + 9 * 32 * 64 + 2 * 64
    entry = sum(_block(a, b, b, stride=2) for a, b in ((64, 128), (128, 256), (256, 728)))
    middle = 16 * _block(728, 728, 728, 728)
    after = sum(_separable(a, b) + 2 * b for a, b in ((1024, 1536), (1536, 1536), (1536, 2048)))
    encoder = stem + entry + middle + _block(728, 728, 1024, tail=True) + after
    pyramid = (1 + 3 * 9 + 1) * 2048 * 256 + 5 * 512 + 5 * 256 * 256 + 512
    decoder = 128 * 48 + 96 + 3 * (9 * 256 * 256 + 512)
    decoder += 9 * (256 + 48) * 256 + 512 + 9 * 256 * 256 + 512 + 256 * 256 + 256 + 9 * 256 * 3
    total = sum(p.numel() for p in model.parameters())
    assert total == encoder + pyramid + decoder == 56_454_720


def test_every_parameter_gets_a_gradient_and_scores_have_full_resolution() -> None:
    task = staged(task_of())
    model = task.build()
    batch = next(task.batches(1, 0))
    assert model(batch[0]).shape == (8, 3, 48, 64)
    loss = task.loss(model, batch)
    loss.total.backward()
    assert loss.items == 8
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_the_quality_is_the_mean_iou_and_an_absent_class_counts_as_one() -> None:
    true = torch.tensor([[[0, 0], [1, 1]], [[0, 0], [0, 0]]])
    found = torch.tensor([[[0, 1], [1, 1]], [[0, 0], [0, 0]]])
    assert overlap(found, true).tolist() == pytest.approx([(1 / 2 + 2 / 3 + 1) / 3, 1.0])
    assert overlap(true, true).tolist() == [1.0, 1.0]


def test_classes_of_drawn_maps_have_the_configured_frequencies() -> None:
    config = smoke()
    _, labels = draw(config, 200, np.random.default_rng(1))
    shares = np.bincount(labels.ravel(), minlength=3) / labels.size
    assert np.allclose(shares, config.class_frequencies, atol=0.02)


@pytest.mark.parametrize(
    ("settings", "rates"),
    [
        ({"scheduler_milestones": "(2, 4)"}, (1.0, 1.0, 0.1, 0.1, 0.01)),
        ({"scheduler_milestones": "(90,)", "scheduler_lr_warmup_steps": "4"}, (0.25, 0.5, 0.75, 1)),
        (
            {
                "scheduler_milestones": "(90,)",
                "scheduler_lr_warmup_steps": "2",
                "scheduler_lr_warmup_factor": "3.0",
            },
            (2.0, 3.0, 3.0),
        ),
        ({"scheduler_type": "cosine_annealing", "scheduler_t_max": "2"}, (0.5, 0.0, 0.0)),
    ],
)
def test_the_learning_rate_follows_warmup_and_schedule(
    settings: dict[str, str], rates: tuple[float, ...]
) -> None:
    task = task_of(opt_lr="1.0", **settings)
    got = [task.learning_rate(step) for step in range(1, len(rates) + 1)]
    assert got == pytest.approx(rates, abs=1e-9)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "LAMB"])
def test_only_settings_of_the_optimizer_and_scheduler_in_use_are_logged(name: str) -> None:
    config = smoke().with_settings({"opt_name": name, "scheduler_type": "cosine_annealing"})
    records = config.records("3.0")
    assert ("opt_max_grad_norm" in records) == (name == "LAMB")
    assert "scheduler_t_max" in records
    assert "scheduler_milestones" not in records
    assert records["gradient_accumulation_frequency"] == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("opt_name", "SGD"),
        ("scheduler_type", "poly"),
        ("batchnorm_span", "3"),
        ("batchnorm_group_size", "2"),
    ],
)
def test_an_unsupported_setting_is_refused_with_its_name(name: str, value: str) -> None:
    with pytest.raises(RunFault, match=f"{name} is {value}"):
        task_of(**{name: value}).prepare()


def test_staging_copies_every_file_and_logs_start_and_stop(tmp_path: Path) -> None:
    task = task_of()
    task.prepare()
    with Logger(str(tmp_path / "log.txt"), rank=0) as log:
        task.stage(log)
    far, near = task.shared.path, task.near.path
    files = sorted(path.relative_to(far) for path in far.rglob("*.np[yz]"))
    assert len(files) == 2 * (16 + 4) + 1
    assert all((far / each).read_bytes() == (near / each).read_bytes() for each in files)
    records = read_log(tmp_path / "log.txt").records
    assert [record.key for record in records] == ["staging_start", "staging_stop"]
    assert records[1].metadata["staging_duration"] >= 0


def test_staging_is_part_of_the_timed_run() -> None:
    sink = io.StringIO()
    from podium.reference_runs.engine.loop import train

    with Logger(sink, rank=0) as log:
        train(task_of(last_step="2", target="0.0"), log)
    text = sink.getvalue()
    keys = ("run_start", "staging_start", "staging_stop", "eval_start", "run_stop")
    places = [text.index(f'"{key}"') for key in keys]
    assert places == sorted(places)


def _folder(path: Path, config: DeepCam) -> Path:
    path.mkdir()
    write(config, path, seed=1)
    return path


def test_maps_are_scaled_to_0_to_1_by_the_statistics_of_the_folder(tmp_path: Path) -> None:
    config = smoke().with_settings(SMALL)
    weather = Weather(_folder(tmp_path / "cam", config), "train")
    maps, labels = weather.__getitems__(range(16))
    assert (maps.shape, labels.shape) == ((16, 4, 48, 64), (16, 48, 64))
    assert float(maps.min()) == pytest.approx(0, abs=1e-6)
    assert float(maps.max()) == pytest.approx(1, abs=1e-6)


def test_wrong_and_missing_files_are_reported_with_their_names(tmp_path: Path) -> None:
    config = smoke().with_settings(SMALL)
    folder = _folder(tmp_path / "cam", config)
    weather = Weather(folder, "train")
    for name, wrong, said in (
        ("data-00001", np.zeros((48, 64, 3)), r"shape \(48, 64, 3\); expected \(48, 64, 4\)"),
        ("label-00002", np.zeros((48, 63), np.uint8), r"shape \(48, 63\); expected \(48, 64\)"),
        ("label-00002", np.full((48, 64), 3, np.uint8), "classes outside of 0 to 2"),
    ):
        np.save(folder / "train" / f"{name}.npy", wrong)
        with pytest.raises(DataMissing, match=rf"{name}\.npy .*{said}"):
            weather.__getitems__([int(name[-1])])
    (folder / "train" / "label-00003.npy").unlink()
    with pytest.raises(DataMissing, match=r"label-00003\.npy"):
        weather.__getitems__([3])
    (folder / "stats.npz").unlink()
    with pytest.raises(DataMissing, match=r"stats\.npz"):
        Weather(folder, "train")
