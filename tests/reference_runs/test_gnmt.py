"""GNMT: published size, attention, beam search with coverage, schedule and files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.benchmarks.gnmt.config import Gnmt, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.gnmt.data import (  # noqa: E402
    REFERENCES,
    SOURCE,
    TRAINING,
    VOCABULARY,
    Pieces,
    detokenized,
    from_files,
)
from podium.reference_runs.benchmarks.gnmt.decoding import beam_search, coverage  # noqa: E402
from podium.reference_runs.benchmarks.gnmt.model import RecurrentTranslator  # noqa: E402
from podium.reference_runs.benchmarks.gnmt.train import RecurrentTranslation  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.samples import DatasetSize  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402
from podium.reference_runs.modeling.beams import END  # noqa: E402
from podium.reference_runs.modeling.translation import Languages  # noqa: E402
from tests.reference_runs.laws import predicts_from_the_past, reaches_every_parameter  # noqa: E402


def task(config: Gnmt | None = None) -> RecurrentTranslation:
    made = RecurrentTranslation(config or smoke(), Setting(), Ranks(torch.device("cpu")))
    made.prepare()
    return made


def test_the_reference_model_has_the_published_size() -> None:
    with torch.device("meta"):
        model = RecurrentTranslator(reference())
    assert sum(p.numel() for p in model.parameters()) == 160_665_150


def test_the_synthetic_languages_leave_two_ids_for_special_tokens() -> None:
    assert Languages().size <= smoke().vocabulary - 2


def test_a_step_gives_every_parameter_a_gradient() -> None:
    trained = task()
    loss = reaches_every_parameter(trained, trained.build())
    assert 4 < loss.total.item() / float(loss.items) < 6  # about log 130 at the start


def test_scores_do_not_depend_on_later_words_or_padding() -> None:
    torch.manual_seed(1)
    predicts_from_the_past(RecurrentTranslator(smoke()).eval())


def test_decoding_word_by_word_equals_one_forward_pass() -> None:
    torch.manual_seed(2)
    model = RecurrentTranslator(smoke()).eval()
    source, target = torch.randint(2, 120, (2, 6)), torch.randint(2, 120, (2, 5))
    encoded, states, parts = model.encode(source), [None] * smoke().layers, []
    before = torch.nn.functional.pad(target[:, :-1], (1, 0), value=model.begin)
    for word in before.split(1, dim=1):
        scores, weights, states = model.decode(word, encoded, states)
        parts.append(scores)
        assert torch.allclose(weights.sum(-1), torch.ones(2, 1))
    assert torch.allclose(model(source, target), torch.cat(parts, 1), atol=1e-5)


def test_a_beam_of_one_chooses_the_most_likely_word_at_each_step() -> None:
    torch.manual_seed(3)
    config = replace(smoke(), beams=1, coverage_penalty=0.0, length_penalty=0.0)
    model = RecurrentTranslator(config).eval()
    source = torch.tensor([[5, 6, END]])
    (found,) = beam_search(model, source, config)
    encoded, states, word = model.encode(source), [None] * config.layers, model.begin
    for expected in found:
        scores, _, states = model.decode(torch.tensor([[word]]), encoded, states)
        scores[..., END] = -torch.inf
        word = int(scores.argmax())
        assert word == expected


def test_source_words_without_attention_lower_the_score() -> None:
    words = torch.tensor([[True, True, False]])
    whole, half = torch.tensor([[1.0, 2.0, 0.0]]), torch.tensor([[1.0, 0.5, 0.0]])
    assert coverage(whole, words).item() == 0
    assert coverage(half, words).item() == pytest.approx(-0.6931, abs=1e-4)


def test_the_learning_rate_rises_exponentially_and_is_halved_four_times() -> None:
    made = RecurrentTranslation(reference(), Setting(), Ranks(torch.device("cpu")))
    base = reference().opt_base_learning_rate
    steps = (1, 101, 201, 4054, 4055, 4561, 5573, 9000)
    rates = [made.learning_rate(step) / base for step in steps]
    assert rates == pytest.approx([0.01, 0.1, 1, 1, 1 / 2, 1 / 4, 1 / 16, 1 / 16])


def test_subwords_are_joined_to_words_and_sentences(tmp_path: Path) -> None:
    path = tmp_path / VOCABULARY
    path.write_text("Hel@@\nlo\n,\nworld\n.\n")
    pieces = Pieces.read(path, 9)
    ids = pieces.tokens("Hel@@ lo , strange world .")
    assert ids.tolist() == [2, 3, 4, 7, 5, 6]
    assert pieces.text(ids) == "Hello, world."
    with pytest.raises(DataMissing, match="contains 5 pieces; expected at most 4"):
        Pieces.read(path, 8)


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("a well @-@ known ( short ) case .", "a well-known (short) case."),
        ("he said &quot; no &quot; , it &apos;s late", 'he said "no", it\'s late'),
    ],
)
def test_tokens_are_detokenized_with_normal_spacing(tokens: str, text: str) -> None:
    assert detokenized(tokens) == text


def test_files_that_are_missing_or_short_are_reported(tmp_path: Path) -> None:
    (tmp_path / VOCABULARY).write_text("a\nb\n")
    with pytest.raises(DataMissing, match=rf"{TRAINING}\.en"):
        from_files(tmp_path, reference(), DatasetSize(1, 1))
    for language in ("en", "de"):
        (tmp_path / f"{TRAINING}.{language}").write_text("a b\n" + "a " * 76 + "\nb\n")
    (tmp_path / SOURCE).write_text("a\nb\n")
    (tmp_path / REFERENCES).write_text("a\n")
    with pytest.raises(DataMissing, match="contains 2 pairs of at most 75; expected 3"):
        from_files(tmp_path, reference(), DatasetSize(3, 2))
    with pytest.raises(DataMissing, match=r"newstest2014\.de has 1 lines; .* has 2"):
        from_files(tmp_path, reference(), DatasetSize(2, 2))
    (tmp_path / REFERENCES).write_text("a\nb\n")
    training, evaluation, texts = from_files(tmp_path, reference(), DatasetSize(2, 2))
    assert (len(training), len(evaluation), texts) == (2, 2, ["a", "b"])
