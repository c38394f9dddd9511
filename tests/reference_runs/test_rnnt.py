"""RNN-T: size, loss compared with all alignments, front end, decoding, schedule and files."""

from __future__ import annotations

import itertools
import json
import math
import wave
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from podium.reference_runs.benchmarks.rnnt.config import TENSORS, RnnT, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.rnnt.data import from_files, synthetic, without_silence  # noqa: E402
from podium.reference_runs.benchmarks.rnnt.features import (  # noqa: E402
    augmented,
    changed_speed,
    log_mel,
    masked,
    mel_filters,
    stacked,
)
from podium.reference_runs.benchmarks.rnnt.model import Transducer, greedy  # noqa: E402
from podium.reference_runs.benchmarks.rnnt.pieces import SPACE, Pieces  # noqa: E402
from podium.reference_runs.benchmarks.rnnt.train import Recognition  # noqa: E402
from podium.reference_runs.benchmarks.rnnt.transducer import transducer_loss  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.samples import DatasetSize  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402

DERIVED = 49_006_080
"""49 million: encoder 42,967,040, prediction 4,726,272, joint 1,312,768, from their matrices."""


def small() -> RnnT:
    return replace(smoke(), train_samples=64, eval_samples=40)


def task(config: RnnT | None = None) -> Recognition:
    made = Recognition(config or small(), Setting(), Ranks(torch.device("cpu")))
    made.prepare()
    return made


# --- model ---


def test_the_reference_model_has_the_size_of_its_published_shapes() -> None:
    with torch.device("meta"):
        model = Transducer(reference())
    assert sum(p.numel() for p in model.parameters()) == DERIVED


def test_the_modules_with_weights_are_those_that_the_rules_name() -> None:
    model = Transducer(smoke())
    assert {name.partition(".")[0] for name, _ in model.named_parameters()} == set(TENSORS)


def test_initial_weights_are_scaled_and_forget_gates_have_a_bias_of_half() -> None:
    torch.manual_seed(3)
    model = Transducer(smoke())
    width = smoke().encoder_width
    largest = model.pre_rnn.weight_hh_l0.abs().max().item()
    assert 0.4 / width**0.5 < largest <= 0.5 / width**0.5
    # The reference also scales the biases, so the forget gate's bias of 1 becomes 0.5
    for rnn in (model.pre_rnn, model.post_rnn, model.dec_rnn):
        both = rnn.bias_ih_l0 + rnn.bias_hh_l0
        assert set(both.view(4, -1)[1].tolist()) == {0.5}
        others = torch.cat(
            [bias.view(4, -1)[[0, 2, 3]] for bias in (rnn.bias_ih_l0, rnn.bias_hh_l0)]
        )
        assert 0.4 / rnn.hidden_size**0.5 < others.abs().max() <= 0.5 / rnn.hidden_size**0.5


@pytest.mark.parametrize("frames", [20, 21])
def test_only_the_last_frame_of_an_odd_number_depends_on_the_padding(frames: int) -> None:
    # For this reason, ranks with different longest utterances differ by more than rounding
    torch.manual_seed(3)
    model = Transducer(smoke()).double().eval()
    alone = torch.randn(1, frames, smoke().mel_bands * smoke().stacked_frames).double()
    among = torch.cat((alone, torch.zeros(1, 10, alone.shape[2]).double()), dim=1)
    found = model.encode(alone)
    far = (found - model.encode(among)[:, : found.shape[1]]).abs().amax(-1)[0]
    assert far[:-1].max() < 1e-12
    assert bool(far[-1] > 1e-6) == (frames % 2 == 1)


def test_every_trained_parameter_gets_a_gradient_and_the_average_follows() -> None:
    trained = task()
    model = trained.build()
    trained.loss(model, next(trained.batches(1, 0))).total.backward()
    given_grad = [p for p in model.parameters() if p.requires_grad]
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in given_grad)
    before = [p.clone() for p in model.average.parameters()]
    with torch.no_grad():
        for p in given_grad:
            p += 1
    trained.after_step(model, 1)
    moved = [a - b for a, b in zip(model.average.parameters(), before, strict=True)]
    wanted = 1 - trained.config.model_eval_ema_factor
    assert all(torch.allclose(m, torch.full_like(m, wanted), atol=1e-5) for m in moved)


# --- loss ---


def all_alignments(scores: torch.Tensor, symbols: list[int]) -> float:
    """Return minus the log of the sum over every path, computed path by path; (T, U, V)."""
    logs, frames, blank = scores.log_softmax(-1), scores.shape[0], scores.shape[2] - 1
    total = []
    steps = frames - 1 + len(symbols)
    for said_at in itertools.combinations(range(steps), len(symbols)):
        t = u = 0
        path = 0.0
        for step in range(steps):
            if step in said_at:
                path += logs[t, u, symbols[u]].item()
                u += 1
            else:
                path += logs[t, u, blank].item()
                t += 1
        total.append(path + logs[t, u, blank].item())
    return -float(np.logaddexp.reduce(total))


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_equals_the_sum_over_all_alignments(seed: int) -> None:
    torch.manual_seed(seed)
    scores = torch.randn(3, 5, 4, 6) * 2
    symbols = torch.randint(0, 5, (3, 3))
    frames, counts = torch.tensor([5, 3, 1]), torch.tensor([3, 2, 0])
    found = transducer_loss(scores, symbols, frames, counts).tolist()
    for row, (t, u) in enumerate(zip(frames.tolist(), counts.tolist(), strict=True)):
        wanted = all_alignments(scores[row, :t, : u + 1], symbols[row, :u].tolist())
        assert found[row] == pytest.approx(wanted, rel=1e-5)


def test_the_gradient_of_the_loss_is_correct_and_zero_after_an_utterance() -> None:
    torch.manual_seed(4)
    scores = torch.randn(2, 3, 3, 4, dtype=torch.float64).float().requires_grad_()
    symbols, frames = torch.tensor([[0, 2], [1, 1]]), torch.tensor([3, 2])
    counts = torch.tensor([2, 1])
    transducer_loss(scores, symbols, frames, counts).sum().backward()
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()
    assert scores.grad[1, 2:].abs().sum() == 0
    assert scores.grad[1, :, 2:].abs().sum() == 0
    at, change = (0, 1, 1, 2), 1e-2
    nudged = []
    for sign in (1, -1):
        moved = scores.detach().clone()
        moved[at] += sign * change
        nudged.append(transducer_loss(moved, symbols, frames, counts).sum().item())
    slope = (nudged[0] - nudged[1]) / (2 * change)
    assert scores.grad[at].item() == pytest.approx(slope, rel=2e-2)


# --- front end ---


def tone(frequency: float, seconds: float, rate: int = 8000) -> np.ndarray:
    return np.sin(2 * np.pi * frequency * np.arange(int(seconds * rate)) / rate).astype(np.float32)


def test_a_higher_speed_shortens_and_raises_a_tone() -> None:
    faster = changed_speed(tone(500, 1.0), 1.15)
    assert len(faster) == pytest.approx(8000 / 1.15, abs=2)
    peak = np.abs(np.fft.rfft(faster)).argmax() * 8000 / len(faster)
    assert peak == pytest.approx(575, abs=3)


def test_augmentation_stays_within_the_limits_of_the_rules() -> None:
    config, rng = smoke(), np.random.default_rng(1)
    lengths = [len(augmented(tone(500, 0.5), config, rng)) for _ in range(300)]
    assert 4000 / 1.15 - 2 <= min(lengths) < 4000 / 1.14
    assert 4000 / 0.86 < max(lengths) <= 4000 / 0.85 + 2
    widths, shares = [], []
    for _ in range(300):
        features = torch.ones(400, 80)
        masked(features, config, rng)
        widths.append(int((features.sum(0) == 0).sum()))
        shares.append(float((features.sum(1) == 0).sum()) / 400)
    assert 30 < max(widths) <= 40
    assert min(widths) < 8
    assert 0.12 < max(shares) <= 0.3


def test_a_higher_tone_is_loudest_in_a_higher_band() -> None:
    config = smoke()
    filters = mel_filters(80, 256, 8000)
    assert (filters >= 0).all()
    loudest = []
    for frequency in (400, 1000, 2500):
        sound = np.concatenate([tone(frequency, 0.3), np.zeros(2400, np.float32)])
        features, frames = log_mel([sound], config)
        assert features.shape == (1, int(frames[0]), 80) == (1, 60, 80)
        assert features.mean(1).abs().max() < 1e-3
        power = torch.stft(
            torch.tensor(tone(frequency, 0.3)), 256, window=torch.ones(256), return_complex=True
        ).abs()
        loudest.append(int((filters @ power.mean(1)).argmax()))
    assert loudest == sorted(set(loudest))


def test_features_do_not_depend_on_the_rest_of_the_batch() -> None:
    config = smoke()
    alone, _ = log_mel([tone(700, 0.4)], config)
    together, frames = log_mel([tone(700, 0.4), tone(900, 0.7)], config)
    assert torch.allclose(alone[0], together[0, : frames[0]], atol=1e-4)
    assert together[0, frames[0] :].abs().sum() == 0


def test_frames_are_stacked_in_order() -> None:
    features, frames = stacked(torch.arange(14.0).view(1, 7, 2), torch.tensor([7]), 3)
    assert frames.tolist() == [3]
    assert features[0, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert features[0, 2].tolist() == [12, 13, 0, 0, 0, 0]


def test_augmentation_depends_on_the_epoch_and_not_on_the_batch() -> None:
    training, _ = synthetic(small(), seed=1)
    first = training.__getitems__([5])
    again = training.__getitems__([9, 5])
    assert torch.allclose(first.features[0], again.features[1, : first.frames[0]], atol=1e-3)
    training.set_epoch(2)
    assert training.__getitems__([5]).features.shape != first.features.shape or not torch.allclose(
        training.__getitems__([5]).features, first.features, atol=1e-2
    )


# --- decoding and quality ---


class _Scripted(torch.nn.Module):
    """A transducer that emits the symbols of a script at each frame."""

    def __init__(self, script: list[list[int]]) -> None:
        super().__init__()
        self.script = torch.tensor(script)
        self.joint_net = torch.nn.Linear(1, 5)
        self.pred_embed = torch.nn.Embedding(4, 1)

    def encode(self, features: torch.Tensor) -> torch.Tensor:
        return torch.arange(features.shape[1]).float().view(1, -1, 1).expand(len(features), -1, 1)

    def predict(self, embedded: torch.Tensor, state: object) -> tuple[torch.Tensor, object]:
        said = torch.zeros(1, len(embedded), 1) if state is None else state[0] + 1  # type: ignore[index]
        return said.transpose(0, 1), (said, said)

    def join(self, encoded: torch.Tensor, predicted: torch.Tensor) -> torch.Tensor:
        best = self.script[encoded[:, 0].long(), predicted[:, 0].long().clamp(max=3)]
        return torch.nn.functional.one_hot(best, 5).float()


def test_decoding_stays_at_a_frame_until_blank_is_best() -> None:
    blank = 4
    script = [[1, 2, blank, blank], [blank] * 4, [0, 0, 3, blank]]  # by frame and emitted symbols
    said = greedy(_Scripted(script), torch.zeros(2, 3, 1), torch.tensor([3, 2]), 300)  # type: ignore[arg-type]
    assert said == [[1, 2, 3], [1, 2]]
    always = [[1] * 4] * 3
    endless = greedy(_Scripted(always), torch.zeros(1, 3, 1), torch.tensor([3]), 40)  # type: ignore[arg-type]
    assert [len(row) for row in endless] == [40]


def test_the_quality_is_the_share_of_wrong_words(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = task()
    texts = trained.evaluation.texts
    model = trained.build()

    def heard(_model: object, batch: object) -> list[str]:
        return [texts[at] for at in batch.indices]  # type: ignore[attr-defined]

    monkeypatch.setattr(trained, "_texts", heard)
    assert trained.evaluate(model) == 0
    monkeypatch.setattr(trained, "_texts", lambda _, batch: [""] * len(batch.indices))
    assert trained.evaluate(model) == 1


def test_batches_contain_utterances_of_similar_length() -> None:
    trained = task(replace(small(), train_samples=600, global_batch_size=20))
    order = list(trained.order(1))
    assert sorted(order) == list(range(600))
    seconds = np.asarray(trained.training.seconds)
    spread = [np.ptp(seconds[order[at : at + 20]]) for at in range(0, 600, 20)]
    assert np.mean(spread) < np.ptp(seconds) / 3
    assert max(seconds) <= trained.config.data_train_max_duration


def test_the_learning_rate_rises_stays_constant_and_decays_to_its_minimum() -> None:
    made = Recognition(reference(), Setting(), Ranks(torch.device("cpu")))
    each = reference().steps_per_epoch
    base = reference().opt_base_learning_rate
    # The RCP has three epochs of warmup and seventeen at the base rate
    assert base == 0.007447
    assert made.learning_rate(1) == pytest.approx(base / (3 * each + 1))
    assert made.learning_rate(3 * each + 1) == made.learning_rate(20 * each) == base
    assert made.learning_rate(21 * each + 1) == pytest.approx(base * 0.9037)
    assert made.learning_rate(1000 * each) == 1e-5


# --- sub-words and files ---


def test_the_split_with_the_highest_sum_is_chosen() -> None:
    scores = {SPACE: -2.0, "a": -3.0, "b": -3.0, "ab": -4.0, f"{SPACE}a": -4.5, "abb": -9.5}
    pieces = Pieces(tuple(scores), scores)
    assert [pieces.names[at] for at in pieces.ids("ab")] == [SPACE, "ab"]
    assert [pieces.names[at] for at in pieces.ids("abb")] == [SPACE, "ab", "b"]
    assert pieces.text(pieces.ids("abb a?b")) == "abb ab"


@given(st.text(alphabet="abc ", max_size=20))
def test_decoding_pieces_restores_the_text(text: str) -> None:
    pieces = Pieces.letters("abc")
    assert pieces.text(pieces.ids(text)) == " ".join(text.split())


def speech(folder: Path, seconds: float = 0.5, rate: int = 16_000) -> RnnT:
    """Write a small LibriSpeech with one utterance in each part."""
    rows = [("\u2581", -1.0), *((letter, -2.0) for letter in "ab")]
    (folder / "librispeech1023.vocab").write_text("".join(f"{p}\t{s}\n" for p, s in rows))
    for part in ("train-clean-100", "train-clean-360", "train-other-500", "dev-clean"):
        with wave.open(str(folder / f"{part}.wav"), "wb") as stream:
            stream.setparams((1, 2, rate, 0, "NONE", ""))
            sound = np.concatenate([np.zeros(400), tone(400, seconds, rate) * 9000])
            stream.writeframes(sound.astype("<i2").tobytes())
        row = {
            "files": [{"fname": f"{part}.wav"}],
            "original_duration": seconds if part != "train-other-500" else 20.0,
            "transcript": "AB A",
        }
        (folder / f"librispeech-{part}-wav.json").write_text(json.dumps([row]))
    return replace(reference(), pieces=3)


def test_librispeech_is_read_trimmed_and_filtered(tmp_path: Path) -> None:
    training, evaluation = from_files(tmp_path, speech(tmp_path), 1, DatasetSize(2, 1))
    assert (len(training), len(evaluation)) == (2, 1)
    batch = evaluation.__getitems__([0])
    assert batch.features.shape == (1, math.ceil(50 / 3), 240)
    assert [evaluation.pieces.names[at] for at in batch.symbols[0]] == [SPACE, *"ab", SPACE, "a"]
    said = r"train-other-500}-wav\.json contains 2 utterances of at most 16\.7 s; expected 3"
    with pytest.raises(DataMissing, match=said):
        from_files(tmp_path, speech(tmp_path), 1, DatasetSize(3, 1))


def test_missing_and_wrong_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=r"librispeech1023\.vocab"):
        from_files(tmp_path, reference(), 1, DatasetSize(2, 1))
    config = speech(tmp_path, rate=8000)
    with pytest.raises(DataMissing, match=r"at 8000 Hz; expected 1 of 16 bits at 16000 Hz"):
        from_files(tmp_path, config, 1, DatasetSize(2, 1))[1].__getitems__([0])
    (tmp_path / "librispeech-dev-clean-wav.json").write_text("[{}]")
    with pytest.raises(DataMissing, match="dev-clean"):
        from_files(tmp_path, config, 1, DatasetSize(2, 1))


def test_silence_at_both_ends_is_removed() -> None:
    quiet, loud = np.full(50, 1e-4, np.float32), np.full(20, 0.5, np.float32)
    assert len(without_silence(np.concatenate([quiet, loud, quiet]))) == 20
