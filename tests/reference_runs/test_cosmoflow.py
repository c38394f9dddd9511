"""CosmoFlow: published shapes, synthetic fields, files, staging in the log and schedule."""

from __future__ import annotations

import contextlib
import gzip
import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from podium.logging_spec import Logger  # noqa: E402
from podium.reference_runs.benchmarks.cosmoflow.config import CosmoFlow, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.cosmoflow.data import fields, open_made, open_simulated, write  # noqa: E402
from podium.reference_runs.benchmarks.cosmoflow.model import Regressor  # noqa: E402
from podium.reference_runs.benchmarks.cosmoflow.train import Cosmology  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402

DERIVED = 8_907_556
"""Five convolutions of 32 to 512 filters (4,704,608), dense layers of 128, 64 and 4 (4,202,948)."""


def small() -> CosmoFlow:
    return replace(smoke(), train_samples=32, eval_samples=8, global_batch_size=8)


def task(log: Path, config: CosmoFlow | None = None) -> Cosmology:
    """Return a task with staged volumes."""
    made = Cosmology(config or small(), Setting(usage="hpc"), Ranks(torch.device("cpu")))
    made.prepare()
    with Logger(str(log), rank=0) as logger:
        made.stage(logger)
    made.open_data()
    return made


def test_the_reference_model_has_the_size_of_its_published_shapes() -> None:
    with torch.device("meta"):
        model = Regressor(reference())
    assert sum(p.numel() for p in model.parameters()) == DERIVED


def test_a_step_gives_every_parameter_a_gradient(tmp_path: Path) -> None:
    trained = task(tmp_path / "log.txt")
    model = trained.build()
    batch = next(trained.batches(1, 0))
    assert batch[0].shape == (8, 4, 16, 16, 16)
    loss = trained.loss(model, batch)
    loss.total.backward()
    assert loss.items == 8
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_predictions_have_a_magnitude_of_at_most_1_2() -> None:
    model = Regressor(smoke())
    assert model(torch.randn(50, 4, 16, 16, 16) * 30).abs().max() <= 1.2


# --- data ---


def moments(parameter: int, value: float) -> dict[str, float]:
    """Return statistics of volumes after a change of one parameter."""
    parameters = np.zeros((64, 4))
    parameters[:, parameter] = value
    volumes = fields(parameters, 16, np.random.default_rng(5)).astype(float)
    last = volumes[:, 3]
    spread = last.std(axis=(1, 2, 3)) / last.mean(axis=(1, 2, 3))
    centred = last - last.mean(axis=(1, 2, 3), keepdims=True)
    near = (centred * np.roll(centred, 2, axis=3)).mean() / centred.var()
    return {
        "density": float(volumes.mean()),
        "contrast": float(spread.mean()),
        "scale": float(near),
        "growth": float(last.mean() / volumes[:, 0].mean()),
    }


@pytest.mark.parametrize(
    ("parameter", "trace"), list(enumerate(("density", "contrast", "scale", "growth")))
)
def test_each_parameter_increases_a_separate_statistic(parameter: int, trace: str) -> None:
    low, middle, high = (moments(parameter, value)[trace] for value in (-1, 0, 1))
    assert low * 1.1 < middle < high / 1.1


def test_training_files_depend_on_the_seed_and_evaluation_files_do_not(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write(tmp_path / name, small(), seed)
    a, b, c = (open_made(tmp_path / name, "train") for name in "abc")
    assert torch.equal(a.__getitems__([3])[0], b.__getitems__([3])[0])
    assert not torch.equal(a.__getitems__([3])[0], c.__getitems__([3])[0])
    d, e = (open_made(tmp_path / name, "validation") for name in "ac")
    assert torch.equal(d.__getitems__([7])[0], e.__getitems__([7])[0])


def field(number: int, content: bytes) -> bytes:
    """Return a field of a protocol buffer: number, length and content."""
    length, sized = len(content), b""
    while length > 127:
        sized, length = sized + bytes([length & 127 | 128]), length >> 7
    return bytes([number << 3 | 2]) + sized + bytes([length]) + content


def tfrecord(counts: np.ndarray, parameters: np.ndarray) -> bytes:
    """Return a TFRecord file with one record; the checksums are 0 because they are not checked."""
    x = field(1, field(1, counts.astype("<i2").tobytes()))
    y = field(2, field(1, parameters.astype("<f4").tobytes()))
    entries = [field(1, field(1, name) + field(2, value)) for name, value in ((b"x", x), (b"y", y))]
    record = field(1, b"".join(entries))
    return struct.pack("<Q", len(record)) + bytes(4) + record + bytes(4)


def test_plain_and_gzipped_simulations_are_read(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    counts = np.arange(4 * 8).reshape(2, 2, 2, 4)  # the last axis is the redshift
    data = tfrecord(counts, np.array([0.5, -0.5, 0.25, 0]))
    (tmp_path / "train" / "0.tfrecord").write_bytes(data)
    (tmp_path / "train" / "1.tfrecord").write_bytes(gzip.compress(data))
    volumes, parameters = open_simulated(tmp_path, "train", 2).__getitems__([1, 0])
    assert volumes.shape == (2, 4, 2, 2, 2)
    assert volumes[0, 3, 0, 0, 1] == pytest.approx(np.log1p(7))
    assert parameters.tolist() == [[0.5, -0.5, 0.25, 0]] * 2
    said = r"0\.tfrecord contains 32 counts and 4 parameters; expected 256 and 4"
    with pytest.raises(DataMissing, match=said):
        open_simulated(tmp_path, "train", 4).__getitems__([0])


@given(st.integers(0, 200), st.binary(max_size=4))
def test_a_damaged_simulation_is_read_or_raises_data_missing(
    tmp_path_factory: pytest.TempPathFactory, place: int, junk: bytes
) -> None:
    folder = tmp_path_factory.mktemp("d") / "train"
    folder.mkdir()
    data = tfrecord(np.zeros((2, 2, 2, 4)), np.zeros(4))
    (folder / "0.tfrecord").write_bytes(data[:place] + junk)
    with contextlib.suppress(DataMissing):
        open_simulated(folder.parent, "train", 2).__getitems__([0])


def test_an_unreadable_simulation_is_reported_with_its_file_name(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "0.tfrecord").write_bytes(b"no record at all, but long enough")
    with pytest.raises(DataMissing, match=r"0\.tfrecord cannot be read"):
        open_simulated(tmp_path, "train", 2).__getitems__([0])


def test_a_folder_without_volumes_is_reported_with_its_name(tmp_path: Path) -> None:
    setting = Setting(scale="reference", usage="hpc", data=tmp_path)
    with pytest.raises(DataMissing, match="train"):
        Cosmology(reference(), setting, Ranks(torch.device("cpu"))).check_files()


# --- staging, schedule, quality ---


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line.partition(" ")[2]) for line in path.read_text().splitlines()]


def test_volumes_are_read_from_the_staged_copy_and_staging_is_logged(tmp_path: Path) -> None:
    trained = task(tmp_path / "log.txt")
    begun, ended = records(tmp_path / "log.txt")
    assert (begun["key"], begun["event_type"]) == ("staging_start", "INTERVAL_START")
    assert (ended["key"], ended["event_type"]) == ("staging_stop", "INTERVAL_END")
    assert ended["metadata"]["staging_duration"] >= 0
    assert trained.near.path != trained.source
    copied = {path.relative_to(trained.near.path) for path in trained.near.path.rglob("*.npz")}
    assert copied == {path.relative_to(trained.source) for path in trained.source.rglob("*.npz")}
    assert all(trained.near.path in path.parents for path in trained.training.files)


def test_the_learning_rate_warms_up_and_falls_at_its_boundaries() -> None:
    config = replace(reference(), opt_learning_rate_warmup_factor=2.0)
    made = Cosmology(config, Setting(usage="hpc"), Ranks(torch.device("cpu")))
    each = config.steps_per_epoch
    rates = [made.learning_rate(epoch * each + 1) for epoch in (2, 4, 15, 16, 31, 32)]
    assert rates == pytest.approx([0.0015, 0.002, 0.002, 0.0005, 0.0005, 0.00025], rel=1e-3)


def test_the_quality_is_the_mean_absolute_error(tmp_path: Path) -> None:
    trained = task(tmp_path / "log.txt")
    _, wanted = trained.evaluation.__getitems__(range(8))

    class Zero(torch.nn.Module):
        def forward(self, volumes: torch.Tensor) -> torch.Tensor:
            return torch.zeros(len(volumes), 4)

    assert trained.evaluate(Zero()) == pytest.approx(float(wanted.abs().mean()))
