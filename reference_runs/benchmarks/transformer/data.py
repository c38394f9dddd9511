"""WMT17's sentences as sub-words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.reference_runs.benchmarks.transformer.subwords import Subwords
from podium.reference_runs.errors import DataMissing
from podium.reference_runs.modeling.translation import Pairs, read_sides

if TYPE_CHECKING:
    from pathlib import Path

    from podium.reference_runs.benchmarks.transformer.config import Transformer
    from podium.reference_runs.engine.samples import DatasetSize


def from_files(
    folder: Path, config: Transformer, expected: DatasetSize
) -> tuple[Pairs, Pairs, list[str]]:
    """WMT17's pairs for training, newstest2014 for evaluation, with its reference translations.

    Raises DataMissing if a file is missing or has an unexpected number of sentences.
    """
    path, longest = folder / "vocabulary.txt", config.max_sequence_length
    subwords = Subwords.read(path)
    if len(subwords.pieces) > config.vocabulary:
        raise DataMissing(
            f"{path} contains {len(subwords.pieces)} sub-words; expected {config.vocabulary}"
        )
    source, target = ([*map(subwords.ids, side)] for side in read_sides(folder, "train"))
    kept = [
        pair
        for pair in zip(source, target, strict=True)
        if min(map(len, pair)) > 0 and max(map(len, pair)) < longest
    ]
    where = f"{folder / 'train'}.en and .de"
    expected.check_training(where, len(kept), f"pairs below {longest} sub-words")
    tests = read_sides(folder, "newstest2014")
    expected.check_evaluation(f"{folder / 'newstest2014'}.en", len(tests[0]), "lines")
    training = Pairs([pair[0] for pair in kept], [pair[1] for pair in kept], subwords.text)
    first, second = ([*map(subwords.ids, lines)] for lines in tests)
    return training, Pairs(first, second, subwords.text), tests[1]
