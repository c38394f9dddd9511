"""Translation: sentence pairs, two toy languages, and the task, measured by BLEU."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.engine.task import Loss, Task
from podium.reference_runs.errors import DataMissing
from podium.reference_runs.modeling.beams import END, PAD
from podium.reference_runs.modeling.translation_config import TranslationConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor, nn

T = TypeVar("T", bound=TranslationConfig)

WINDOW = 16
"""Number of batches among which sentences are sorted by length."""
EVALUATION_BATCH = 100
LONGEST_EVALUATED = 150
"""Tokens of a sentence for plans without data; those of newstest2014 have fewer."""
Ids = list["NDArray[np.int32]"]

NOUNS, VERBS, ADJECTIVES, ADVERBS, PREPOSITIONS, ARTICLES, GENDERS = 28, 12, 10, 5, 4, 2, 3
LANGUAGE_SEED = 17


@dataclass(frozen=True)
class Pairs:
    """Sentences in two languages as token ids, and the function that turns ids into text."""

    source: Ids
    target: Ids
    text: Callable[[Iterable[int]], str]

    def __len__(self) -> int:
        return len(self.source)

    def __getitems__(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Pairs by index, each side padded, with END after its last token: (B, S), (B, L)."""
        return padded([self.source[i] for i in indices]), padded([self.target[i] for i in indices])

    def lengths(self) -> NDArray[np.int64]:
        """The longer side of each pair."""
        pairs = zip(self.source, self.target, strict=True)
        return np.array([max(len(source), len(target)) for source, target in pairs])

    def shuffled(self, seed: int) -> Pairs:
        """The same sentences with wrong translations."""
        order = np.random.default_rng(seed).permutation(len(self))
        return Pairs(self.source, [self.target[index] for index in order], self.text)


def padded(sentences: Sequence[NDArray[np.int32]]) -> Tensor:
    """Sentences of different lengths as one array, (B, L)."""
    array = np.full((len(sentences), max(map(len, sentences)) + 1), PAD, np.int64)
    for row, sentence in zip(array, sentences, strict=True):
        row[: len(sentence)] = sentence
        row[len(sentence)] = END
    return torch.from_numpy(array)


class Languages:
    """Two toy languages, each with a grammar, and a dictionary between them.

    The first has the order: article (adjective) noun verb article (adjective) noun (preposition
    article (adjective) noun) (adverb). The second has the adverb first, adjectives after their
    nouns, the object after the prepositional phrase, the verb last; its articles agree with the
    gender of the following noun. No word-by-word model can translate that.
    """

    def __init__(self) -> None:
        counts = (NOUNS, VERBS, ADJECTIVES, ADVERBS, PREPOSITIONS, ARTICLES)
        starts = np.cumsum([END + 1, *counts])
        self.nouns, self.verbs, self.adjectives, self.adverbs, self.prepositions = starts[:5]
        self.articles, self.second = starts[5], starts[6]
        rng = np.random.default_rng(LANGUAGE_SEED)
        self.gender = rng.integers(0, GENDERS, NOUNS)
        size = self.second - self.nouns + ARTICLES * (GENDERS - 1)
        self.names = rng.permutation(size) + self.second
        self.size = int(self.second + size)

    def pairs(self, count: int, rng: np.random.Generator) -> tuple[Ids, Ids]:
        """Draw `count` sentences and their translations."""
        phrases = [self._phrase(count, rng) for _ in range(3)]
        verb = self.verbs + rng.integers(0, VERBS, count)
        adverb = self._kept_at_random(0.5, self.adverbs + rng.integers(0, ADVERBS, count), rng)
        preposition = self.prepositions + rng.integers(0, PREPOSITIONS, count)
        without = rng.random(count) < 0.6
        preposition[without] = PAD
        phrases[2][:, without] = PAD
        source = (*phrases[0], verb, *phrases[1], preposition, *phrases[2], adverb)
        first, second, third = (self._translated_phrase(phrase) for phrase in phrases)
        words = (self._translated(word) for word in (adverb, preposition, verb))
        adverb, preposition, verb = words
        target = (adverb, *first, preposition, *third, *second, verb)
        return _without_gaps(source), _without_gaps(target)

    def _phrase(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Article, adjective or nothing, noun: (3, count)."""
        adjective = self.adjectives + rng.integers(0, ADJECTIVES, count)
        article = self.articles + rng.integers(0, ARTICLES, count)
        noun = self.nouns + rng.integers(0, NOUNS, count)
        return np.stack((article, self._kept_at_random(0.5, adjective, rng), noun))

    def _translated_phrase(self, phrase: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """A phrase of the second language: article by gender, noun, adjective."""
        article, adjective, noun = phrase
        there = noun != PAD
        gender = self.gender[np.where(there, noun - self.nouns, 0)]
        form = article - self.articles + ARTICLES * gender
        forms = self.names[np.where(there, self.articles - self.nouns + form, 0)]
        return np.where(there, forms, PAD), self._translated(noun), self._translated(adjective)

    def _translated(self, word: NDArray[np.int64]) -> NDArray[np.int64]:
        """Words of the second language; absent words stay absent."""
        there = word != PAD
        return np.where(there, self.names[np.where(there, word - self.nouns, 0)], PAD)

    def _kept_at_random(
        self, share: float, words: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        return np.where(rng.random(len(words)) < share, words, PAD)


def _without_gaps(words: Sequence[NDArray[np.int64]]) -> Ids:
    rows = np.stack(words, axis=1).astype(np.int32)
    return [row[row != PAD] for row in rows]


def synthetic(vocabulary: int, counts: tuple[int, int], seed: int) -> tuple[Pairs, Pairs]:
    """Training pairs by seed, and the evaluation pairs, which are the same for every seed."""
    languages = Languages()
    if languages.size > vocabulary:
        raise DataMissing(f"vocabulary is {vocabulary}; the toy languages need {languages.size}")
    training = languages.pairs(counts[0], np.random.default_rng([seed, 0x5E0]))
    evaluation = languages.pairs(counts[1], np.random.default_rng(LANGUAGE_SEED))
    return Pairs(*training, _as_tokens), Pairs(*evaluation, _as_tokens)


def _as_tokens(ids: Iterable[int]) -> str:
    return " ".join(f"w{word}" for word in ids)


def read_sides(folder: Path, part: str) -> tuple[list[str], list[str]]:
    """The lines of both languages, in equal number; raises DataMissing."""
    first, second = (folder / f"{part}.{language}" for language in LANGUAGES)
    source, target = read_lines(first), read_lines(second)
    if len(source) != len(target):
        raise DataMissing(f"{second} has {len(target)} lines; {first.name} has {len(source)}")
    return source, target


LANGUAGES = ("en", "de")


def read_lines(path: Path) -> list[str]:
    """A file's lines; raises DataMissing."""
    try:
        # Only a line feed ends a line: other Unicode separators occur within sentences
        with path.open(encoding="utf-8", newline="\n") as stream:
            text = stream.read()
    except (OSError, UnicodeError) as error:
        raise DataMissing(f"{path} cannot be read: {error}") from None
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []


class Translation(Task[T]):
    """Translation of sentences; the quality is the corpus BLEU of a beam search."""

    plans_evaluation: ClassVar[bool] = True
    training: Pairs
    evaluation: Pairs
    references: list[str]
    tokenization: str | None = None
    """Tokenizer of sacrebleu; None for its default."""

    @abstractmethod
    def translate(self, model: nn.Module, source_BS: Tensor) -> list[list[int]]:
        """The best translation of each sentence as token ids."""

    def generated_data(self) -> tuple[Pairs, Pairs, list[str]]:
        """Pairs of the toy languages."""
        config, seed = self.config, self.setting.seed
        counts = config.train_samples, config.eval_samples
        training, evaluation = synthetic(config.vocabulary, counts, seed)
        references = [evaluation.text(ids) for ids in evaluation.target]
        if config.shuffled_labels:
            training = training.shuffled(seed)
        return training, evaluation, references

    def use(self, data: tuple[Pairs, Pairs, list[str]]) -> None:
        """Set the pairs for training and evaluation, and the references of the latter."""
        self.training, self.evaluation, self.references = data
        self.lengths = self.training.lengths()

    def order(self, epoch: int) -> Sequence[int]:
        """Batches of sentences of similar length in random order, to minimize padding."""
        size = self.config.global_batch_size
        rng = np.random.default_rng([self.setting.seed, epoch])
        order = rng.permutation(len(self.training))
        windows = np.array_split(order, max(1, len(order) // (size * WINDOW)))
        sorted_by_length = np.concatenate([part[self.lengths[part].argsort()] for part in windows])
        whole = len(order) // size * size
        batches = sorted_by_length[:whole].reshape(-1, size)
        mixed: Sequence[int] = rng.permutation(batches).flatten()  # type: ignore[assignment]
        return mixed

    def largest_batch(self) -> tuple[Tensor, Tensor]:
        """Pairs of the maximum length: others are padded to the longest of their batch."""
        shape = self.micro_batch_size, self.config.max_sequence_length + 1
        return torch.full(shape, END), torch.full(shape, END)

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Loss:
        """Cross-entropy with label smoothing, summed over target tokens and END."""
        source_BS, target_BL = (side.to(self.device, non_blocking=True) for side in batch)
        scores_BLV = model(source_BS, target_BL)
        total = F.cross_entropy(
            scores_BLV.flatten(0, 1).float(),
            target_BL.flatten(),
            ignore_index=PAD,
            label_smoothing=self.config.label_smoothing,
            reduction="sum",
        )
        return Loss(total, (target_BL != PAD).sum())

    def evaluate_largest(self, model: nn.Module, batch: Any) -> None:
        """A beam search for the longest sentences, up to the maximum length of translations."""
        known: Pairs | None = getattr(self, "evaluation", None)
        longest = max(map(len, known.source)) if known else LONGEST_EVALUATED
        count = self.largest_evaluation_batch(EVALUATION_BATCH)
        self.translate(model, torch.full((count, longest + 1), END, device=self.device))

    def evaluate(self, model: nn.Module) -> float:
        """Case-insensitive BLEU of all translations, as a fraction."""
        from sacrebleu import corpus_bleu

        # A batch takes as many steps as its longest sentence
        by_length = self.evaluation.lengths().argsort().tolist()
        translated: list[tuple[int, str]] = []
        for indices in self.ranks.batches_of(by_length, EVALUATION_BATCH):
            source_BS = self.evaluation.__getitems__(indices)[0].to(self.device)
            translations = self.translate(model, source_BS)
            texts = (self.evaluation.text(ids) for ids in translations)
            translated += zip(indices, texts, strict=True)
        everything = dict(pair for part in self.ranks.gather(translated) for pair in part)
        hypotheses = [everything[index] for index in range(len(self.evaluation))]
        bleu = corpus_bleu(
            hypotheses, [self.references], lowercase=True, tokenize=self.tokenization
        )
        return float(bleu.score / 100)
