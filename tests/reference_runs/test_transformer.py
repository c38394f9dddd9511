"""Transformer: size, causal decoding, beam search compared with brute force, sub-words, files."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from podium.reference_runs.benchmarks.transformer.config import Transformer, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.transformer.data import from_files  # noqa: E402
from podium.reference_runs.benchmarks.transformer.decoding import beam_search  # noqa: E402
from podium.reference_runs.benchmarks.transformer.model import Translator  # noqa: E402
from podium.reference_runs.benchmarks.transformer.subwords import Subwords, joined_words, words  # noqa: E402
from podium.reference_runs.benchmarks.transformer.train import AttentionTranslation  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.samples import DatasetSize  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402
from podium.reference_runs.modeling.beams import END, PAD, penalty  # noqa: E402
from podium.reference_runs.modeling.translation import padded, synthetic  # noqa: E402
from tests.reference_runs.laws import predicts_from_the_past, reaches_every_parameter  # noqa: E402

DERIVED = 6 * (12 * 1024**2 + 5120 + 4096) + 6 * (16 * 1024**2 + 5120 + 6144) + 33_708 * 1024
"""Size from the matrices in Table 3 of the paper: 210.8 million with the benchmark's vocabulary,
213 million with the paper's of about 37,000. Pre-norm stacks end with two more norms."""


def task(config: Transformer | None = None) -> AttentionTranslation:
    made = AttentionTranslation(config or smoke(), Setting(), Ranks(torch.device("cpu")))
    made.prepare()
    return made


def tiny() -> Transformer:
    return replace(smoke(), width=16, heads=2, ffn_width=32, vocabulary=6, extra_length=1)


def test_the_reference_model_has_the_size_of_its_published_shapes() -> None:
    with torch.device("meta"):
        model = Translator(reference())
    assert sum(p.numel() for p in model.parameters()) == DERIVED + 2 * 2 * 1024


def test_a_step_gives_every_parameter_a_gradient() -> None:
    trained = task()
    loss = reaches_every_parameter(trained, trained.build())
    assert 4 < loss.total.item() / float(loss.items) < 7  # about log 128 at the start


def test_scores_do_not_depend_on_later_words_or_padding() -> None:
    torch.manual_seed(1)
    predicts_from_the_past(Translator(smoke()).eval())


def test_decoding_word_by_word_equals_one_forward_pass() -> None:
    torch.manual_seed(2)
    model = Translator(smoke()).eval()
    source, target = torch.randint(2, 120, (2, 6)), torch.randint(2, 120, (2, 5))
    whole = model(source, target)
    encoded, past, parts = model.encode(source), None, []
    for word in torch.nn.functional.pad(target[:, :-1], (1, 0)).split(1, dim=1):
        scores, past = model.decode(word, past, encoded)
        parts.append(scores)
    assert torch.allclose(whole, torch.cat(parts, 1), atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_the_best_of_all_translations(seed: int) -> None:
    torch.manual_seed(seed)
    config = replace(tiny(), beams=30)
    model = Translator(config).eval()
    for parameter in model.parameters():
        parameter.data *= 2  # so that one translation is clearly the best
    source = torch.tensor([[2, 3, END]])
    best, found = -1e9, []
    longest = source.shape[1] + config.extra_length
    with torch.no_grad():
        for length in range(longest):
            for chosen in itertools.product([0, 2, 3, 4, 5], repeat=length):
                target = torch.tensor([[*chosen, END]])
                logs = model(source, target).log_softmax(-1).gather(2, target.unsqueeze(-1))
                score = float(logs.sum()) / penalty(length + 1, config.length_penalty)
                if score > best:
                    best, found = score, [word for word in chosen if word != PAD]
        assert beam_search(model, source, config) == [found]


def test_the_length_penalty_is_that_of_the_paper() -> None:
    assert penalty(1, 0.6) == 1.0
    assert penalty(19, 0.6) == pytest.approx(4**0.6)


def test_synthetic_translations_need_more_than_word_by_word_mapping() -> None:
    training, evaluation = synthetic(128, (500, 100), seed=4)
    assert synthetic(128, (500, 100), seed=5)[1].source[7].tolist() == evaluation.source[7].tolist()
    assert {len(s) for s in training.source} > {5, 8, 11}
    pairs = zip(training.source, training.target, strict=True)
    first_words = [(int(source[0]), int(target[0])) for source, target in pairs]
    assert len(set(first_words)) > len({source for source, _ in first_words}) * 3
    assert max(int(max(row)) for row in training.target) < 128


def test_batches_contain_each_pair_once_and_sentences_of_similar_length() -> None:
    trained = task()
    order = list(trained.order(3))
    assert sorted(order) == list(range(1024))
    assert order != list(trained.order(4))
    spread = [np.ptp(trained.lengths[order[at : at + 64]]) for at in range(0, 1024, 64)]
    assert np.mean(spread) < 2


def test_the_quality_of_correct_translations_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = task()
    known = trained.evaluation
    answers = {
        tuple(source.tolist()): target.tolist()
        for source, target in zip(known.source, known.target, strict=True)
    }

    def right(_model: object, source: torch.Tensor, _config: object) -> list[list[int]]:
        rows = [[w for w in row if w not in (PAD, END)] for row in source.tolist()]
        return [answers[tuple(row)] for row in rows]

    monkeypatch.setattr("podium.reference_runs.benchmarks.transformer.train.beam_search", right)
    assert trained.evaluate(trained.build()) == pytest.approx(1.0)
    answers.update(zip(answers, [[5], *answers.values()], strict=False))
    assert trained.evaluate(trained.build()) < 0.1


def test_the_learning_rate_peaks_at_the_end_of_the_warmup() -> None:
    made = AttentionTranslation(reference(), Setting(), Ranks(torch.device("cpu")))
    rates = [made.learning_rate(step) for step in (1, 830, 831, 832, 3324)]
    assert rates[2] == max(rates) == pytest.approx(1.875 * 1024**-0.5 * 831**-0.5)
    assert rates[4] == pytest.approx(rates[2] / 2)
    assert rates[0] == pytest.approx(rates[2] / 831)


# --- sub-words ---

VOCABULARY = ["<pad>_", "<EOS>_", "he", "hell", "o_", "l", "_", ", _", ".", "w", "orld_"]


def subwords(tmp_path: Path) -> Subwords:
    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789\\;u"]
    lines = VOCABULARY + [letter for letter in letters if letter not in VOCABULARY]
    (tmp_path / "vocabulary.txt").write_text("".join(f"'{line}'\n" for line in lines))
    return Subwords.read(tmp_path / "vocabulary.txt")


def test_the_longest_matching_piece_is_chosen_first(tmp_path: Path) -> None:
    cut = subwords(tmp_path)
    pieces = [cut.pieces[at] for at in cut.ids("hello, world")]
    assert pieces == ["hell", "o_", ", _", "w", "orld_"]


@given(st.text(alphabet="abcz019 ,.;\\_\u20ac\u00fc", max_size=30))
def test_decoding_pieces_restores_the_text(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    cut = subwords(tmp_path_factory.mktemp("v"))
    assert cut.text(cut.ids(text)) == text.strip()


@given(st.text(max_size=30))
def test_joined_words_equal_their_text(text: str) -> None:
    assert joined_words(words(text)) == text.strip()


def test_missing_and_short_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=r"vocabulary\.txt"):
        from_files(tmp_path, reference(), DatasetSize(1, 1))
    subwords(tmp_path)
    with pytest.raises(DataMissing, match=r"train\.en"):
        from_files(tmp_path, reference(), DatasetSize(1, 1))
    for name in ("train.en", "train.de", "newstest2014.en", "newstest2014.de"):
        (tmp_path / name).write_text("hello, world\n" * 2)
    with pytest.raises(DataMissing, match=r"contains 2 pairs below 80 sub-words; expected 3"):
        from_files(tmp_path, reference(), DatasetSize(3, 2))
    with pytest.raises(DataMissing, match=r"newstest2014\.en contains 2 lines; expected 1"):
        from_files(tmp_path, reference(), DatasetSize(2, 1))
    training, evaluation, texts = from_files(tmp_path, reference(), DatasetSize(2, 2))
    assert (len(training), len(evaluation), texts) == (2, 2, ["hello, world"] * 2)
    with pytest.raises(DataMissing, match=r"vocabulary\.txt contains \d+ sub-words; expected 9"):
        from_files(tmp_path, replace(reference(), vocabulary=9), DatasetSize(2, 2))
    # U+2028 is a line separator in Unicode, but it occurs within sentences of the corpus
    (tmp_path / "train.de").write_text("hello\u2028, world\n" * 3)
    with pytest.raises(DataMissing, match=r"train\.de has 3 lines; train\.en has 2"):
        from_files(tmp_path, reference(), DatasetSize(2, 2))


def test_a_batch_is_padded_after_the_end_tokens() -> None:
    batch = padded([np.array([5, 6], np.int32), np.array([7], np.int32)])
    assert batch.tolist() == [[5, 6, END], [7, END, PAD]]
