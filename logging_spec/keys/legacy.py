"""The keys of round 0.5, which has few names in common with later rounds."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from podium.logging_spec.keys.key import Key

if TYPE_CHECKING:
    from collections.abc import Mapping

V05_PREFIXES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "eval_hp_": "construction of the evaluation set",
        "eval_": "evaluation and its outcome",
        "input_": "reading and augmentation of training samples",
        "model_hp_": "a layer or size of the model",
        "opt_": "the optimizer",
        "preproc_": "preparation of the data, before the timed part",
        "run_": "phases of the whole run",
        "train_": "phases of training",
    }
)
"""Subjects of the groups of 0.5 keys, longest prefix first."""

_key05 = partial(Key, since="0.5", until="0.5")
_hyper05 = partial(_key05, role="hyperparameter")

V05: Final[Mapping[str, Key]] = MappingProxyType(
    {
        key.name: key
        for key in (
            _key05("run_clear_caches", "none", "caches cleared", role="point"),
            _key05("run_set_random_seed", "any", "random seed set", role="point"),
            _key05("seed", "int", "random seed of the run", role="point"),
            _key05("run_start", "none", "timed part begins", role="interval_start"),
            # Its success is true, "true", false or absent in published logs
            _key05("run_stop", "object", "timed part ends, with success", role="interval_end"),
            _key05("run_final", "none", "program ends", role="point"),
            _key05("train_loop", "none", "training begins", role="interval_start"),
            _key05("train_epoch", "int", "epoch begins", unit="epochs", role="interval_start"),
            _key05("eval_start", "any", "evaluation begins", role="interval_start"),
            _key05("eval_stop", "any", "evaluation ends", role="interval_end"),
            _key05("eval_accuracy", "object", "epoch and quality reached", role="point"),
            _key05("eval_iteration_accuracy", "object", "step and quality reached", role="point"),
            _key05("eval_target", "any", "target quality", role="point"),
            _key05("eval_size", "any", "samples evaluated", unit="samples", role="statistic"),
            _hyper05("eval_offset", "int", "first evaluated epoch", unit="epochs"),
            _hyper05("eval_hp_num_users", "int", "users evaluated"),
            _hyper05("eval_hp_num_neg", "int", "negatives per evaluated user"),
            _hyper05("preproc_num_train_examples", "int", "training samples", unit="samples"),
            _hyper05("preproc_num_eval_examples", "int", "evaluation samples", unit="samples"),
            _hyper05("preproc_hp_min_ratings", "int", "minimum ratings of a user"),
            _hyper05("preproc_hp_num_eval", "int", "negatives drawn per user"),
            _hyper05("preproc_hp_sample_eval_replacement", "any", "negatives may repeat"),
            _hyper05("input_batch_size", "int", "batch size", unit="samples"),
            _hyper05("input_order", "any", "samples are shuffled"),
            _hyper05("input_size", "any", "samples read, or side of an image"),
            _hyper05("input_resize", "list", "size after resizing", unit="pixels"),
            _hyper05("input_resize_aspect_preserving", "object", "resize that keeps proportions"),
            _hyper05("input_central_crop", "list", "size of the central crop", unit="pixels"),
            _hyper05("input_distorted_crop", "bool", "crops are distorted"),
            _hyper05("input_distorted_crop_max_attempts", "int", "crop attempts"),
            _hyper05("input_crop_uses_bboxes", "bool", "crops follow boxes"),
            _hyper05("input_mean_subtraction", "list", "channel means subtracted"),
            _hyper05("input_random_flip", "any", "images are flipped at random"),
            _hyper05("input_hp_num_neg", "int", "negatives per training sample"),
            _hyper05("input_hp_sample_train_replacement", "any", "training negatives may repeat"),
            _key05("input_step_train_neg_gen", "none", "training negatives drawn", role="point"),
            _key05("input_step_eval_neg_gen", "none", "evaluation negatives drawn", role="point"),
            _hyper05("model_l2_regularization", "float", "weight of the L2 penalty"),
            _hyper05("model_hp_loss_fn", "any", "loss function"),
            _hyper05("model_hp_initial_shape", "any", "shape of the input"),
            _hyper05("model_hp_initial_max_pool", "any", "first pooling layer"),
            _hyper05("model_hp_begin_block", "any", "residual block begins"),
            _hyper05("model_hp_end_block", "any", "residual block ends"),
            _hyper05("model_hp_block_type", "str", "kind of residual block"),
            _hyper05("model_hp_projection_shortcut", "any", "projection on a shortcut"),
            # The misspelling occurs in the logs
            _hyper05("model_hp_shorcut_add", "any", "shortcut is added"),
            _hyper05("model_hp_resnet_topology", "any", "shapes around a block"),
            _hyper05("model_hp_conv2d_fixed_padding", "any", "convolution layer"),
            _hyper05("model_hp_batch_norm", "any", "batch normalization layer"),
            _hyper05("model_hp_relu", "any", "rectifier layer"),
            _hyper05("model_hp_dense", "any", "dense layer"),
            _hyper05("model_hp_final_shape", "any", "shape of the output"),
            _hyper05("model_hp_mf_dim", "int", "width of the factorization part"),
            _hyper05("model_hp_mlp_layer_sizes", "any", "widths of the perceptron part"),
            _hyper05("opt_name", "str", "optimizer"),
            _hyper05("opt_lr", "any", "learning rate"),
            _hyper05("opt_learning_rate", "any", "learning rate of a step or epoch"),
            _hyper05("opt_momentum", "float", "momentum"),
            _hyper05("create_optim_method", "object", "optimizer with its settings"),
        )
    }
)
"""The known keys of 0.5 logs, by name; other names with a known prefix are also valid."""
