"""Every key by name, and the key that a misspelled name means."""

from __future__ import annotations

import difflib
import re
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from podium.logging_spec.keys import hpc, hyperparameters, lifecycle, optimizer, submission
from podium.logging_spec.keys.key import Key
from podium.logging_spec.keys.legacy import V05

if TYPE_CHECKING:
    from collections.abc import Mapping

ALL: Final[Mapping[str, Key]] = MappingProxyType(
    {
        key.name: key
        for part in (submission, lifecycle, hyperparameters, optimizer, hpc)
        for key in vars(part).values()
        if isinstance(key, Key)
    }
)
"""Every standard key of 0.6 and later, by name."""

INFORMAL: Final = frozenset(
    """
    attention_dropout base_learning_rate batchnorm_group_stride benchmark checkpoint current_lr
    data_file data_format data_oversampling_factor dataset disable_comm_overlap
    disable_resign_pct dummy enable_gds enable_graph enable_jit enable_mmap enable_nhwc
    enable_odirect eval_games eval_loss ffn_hidden_size filter_amount gating_win_rate
    hidden_dropout hidden_size holdout_pct instance_id layernorm_epsilon learning_rate
    learning_rate_decay_steps learning_rate_warmup_epochs loss lr_abs
    max_predictions_per_seq momentum num_eval_examples num_games num_heads num_layers num_readouts
    num_train_examples number_of_ranks opt_beta1 opt_beta2 opt_gradient_accumulation_steps
    opt_initial_learning_rate opt_matrix_epsilon opt_num_epochs opt_shampoo_start_step opt_step
    parallel_games precision precision_mode resign_threshold run_final s_network s_optimizer
    s_process samples_per_epoch shampoo_opt_base_learning_rate shampoo_opt_end_learning_rate
    shampoo_opt_learning_rate_decay_poly_power shampoo_opt_learning_rate_decay_steps
    shampoo_opt_learning_rate_train_steps shampoo_opt_learning_rate_warmup_epochs shuffle_mode
    stage_batch_size stage_dir_prefix stage_full_data_per_node stage_mode stage_use_direct_io
    stage_verify submission_model synchronous_staging target_accuracy target_accuracy_reached
    throughput tokenizer tracked_stats train_accuracy train_loss value_init_penalty weight_decay
    window_size
    """.split()  # noqa: SIM905 - a list would take a line for each name
)
"""Keys that are frequent in published logs but not in any rule."""


def known(name: str) -> Key | None:
    """Look up the standard key of this exact name."""
    return ALL.get(name)


# Bounded, because names come from logs, which may have any number of them
@lru_cache(maxsize=4096)
def nearest(name: str) -> Key | None:
    """Guess which standard key `name` is a misspelling of.

    None for standard and informal keys, for keys of 0.5, and for names that differ from a standard
    key by a word of the vocabulary: those mean something else.
    """
    # Stripped, because 395 published records have the key `train_loss ` with a trailing blank
    if name in ALL or name in V05 or name.strip() in INFORMAL:
        return None
    normalized = re.sub(r"[\s\-.]+", "_", name.strip().lower())
    key = _spellings().get(normalized.replace("_", ""))
    if key is not None:
        return key
    # The cost of difflib grows with the length, and a log may have any string as a key
    close = (
        difflib.get_close_matches(normalized, ALL, n=5, cutoff=0.85)
        if len(normalized) < 100
        else []
    )
    return next((ALL[candidate] for candidate in close if _misspells(normalized, candidate)), None)


@cache
def _spellings() -> Mapping[str, Key]:
    """Names and former names, without underscores."""
    return {
        # A former name that is now the name of another key, as opt_weight_decay, means that key
        spelling.replace("_", ""): key
        for key in ALL.values()
        for spelling in (*(name for name in key.formerly if name not in ALL), key.name)
    }


@cache
def _words() -> frozenset[str]:
    return frozenset(word for name in (*ALL, *INFORMAL, *V05) for word in name.split("_"))


def _misspells(name: str, standard: str) -> bool:
    words, standard_words = name.split("_"), standard.split("_")
    if len(words) != len(standard_words):
        return False
    return all(
        word == standard_word or _misspells_word(word, standard_word)
        for word, standard_word in zip(words, standard_words, strict=True)
    )


def _misspells_word(word: str, standard: str) -> bool:
    if f"{word}s" == standard or f"{standard}s" == word:
        return True
    # A word of the vocabulary means itself: two keys may differ by just one word
    if word in _words():
        return False
    return difflib.SequenceMatcher(None, word, standard).ratio() >= 0.7
