"""DeepSeek-V3: size, attention, balanced experts, multi-token prediction, published weights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402, N812

from podium.reference_runs.benchmarks.deepseekv3_671b.config import (  # noqa: E402
    DeepSeekV3,
    reference,
    smoke,
)
from podium.reference_runs.benchmarks.deepseekv3_671b.model import Decoder  # noqa: E402
from podium.reference_runs.benchmarks.deepseekv3_671b.routing import (  # noqa: E402
    Balanced,
    correct,
    imbalance,
)
from podium.reference_runs.benchmarks.deepseekv3_671b.train import ExpertPretraining  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.modeling.language.corpus import (  # noqa: E402
    LANGUAGE_SEED,
    Language,
    synthetic,
)
from podium.reference_runs.weights.layout import deepseek, source  # noqa: E402

PUBLISHED = 671_026_419_200
"""Parameters of the released weights without multi-token prediction; the report says 671 billion.
The number includes the corrections of 58 layers with 256 experts."""
AHEAD = 11_610_067_968
"""Parameters of multi-token prediction; the release says 11.5 billion plus shared weights."""


def test_the_reference_model_has_the_published_number_of_weights() -> None:
    with torch.device("meta"):
        model = Decoder(reference())
    whole = sum(p.numel() for p in model.parameters())
    ahead = sum(p.numel() for p in model.ahead.parameters())
    corrections = sum(
        each.numel() for name, each in model.blocks.named_buffers() if name.endswith("correction")
    )
    assert whole - ahead + corrections == PUBLISHED
    assert ahead == AHEAD


def test_the_reference_model_has_37_billion_active_parameters() -> None:
    config = reference()
    with torch.device("meta"):
        model = Decoder(config)
    idle = sum(
        each.numel() * (1 - config.active_experts / config.experts)
        for name, each in model.blocks.named_parameters()
        if ".experts." in name
    )
    ahead = sum(p.numel() for p in model.ahead.parameters())
    active = sum(p.numel() for p in model.parameters()) - ahead - idle
    # A token uses one row of the embedding; the report says 37 billion
    active -= model.embedding.weight.numel()
    assert round(active / 1e9) == 37


def small(**changes: Any) -> DeepSeekV3:
    """Return a config with initial weights as large as those of a trained model."""
    return replace(smoke(), initial_deviation=0.3, max_sequence_length=12, **changes)


def decoder(config: DeepSeekV3) -> Decoder:
    torch.manual_seed(1)
    model = Decoder(config)
    for name, norm in model.named_parameters():
        if name.endswith("norm.weight"):
            torch.nn.init.normal_(norm, 1.0, 0.2)
    for mixture in mixtures(model):
        torch.nn.init.normal_(mixture.correction, std=0.2)
    return model


def mixtures(model: torch.nn.Module) -> list[Balanced]:
    return [each for each in model.modules() if isinstance(each, Balanced)]


def test_a_batch_has_scores_and_gives_every_parameter_a_gradient() -> None:
    config = small()
    model = decoder(config)
    tokens = torch.randint(0, config.vocabulary, (64, 13))
    assert model(tokens[:, :-1]).shape == (64, 12, config.vocabulary)
    model(tokens[:, :-1], tokens[:, 1:]).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_scores_do_not_depend_on_later_tokens() -> None:
    model = decoder(small()).eval()
    tokens = torch.randint(0, 128, (1, 12))
    changed = tokens.clone()
    changed[0, 7] = (changed[0, 7] + 1) % 128
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :7], after[:, :7])
    assert not torch.allclose(before[:, 7:], after[:, 7:])


def test_recomputation_gives_the_same_gradients() -> None:
    gradients = []
    for recompute in (False, True):
        model = decoder(small(recompute=recompute))
        tokens = torch.randint(0, 128, (4, 13), generator=torch.Generator().manual_seed(2))
        model(tokens[:, :-1], tokens[:, 1:]).backward()
        correct(model, 0.001)
        corrections = [each.correction for each in mixtures(model)]
        gradients.append([*(p.grad for p in model.parameters()), *corrections])
    assert all(map(torch.equal, *gradients))


# --- experts ---


def test_experts_are_chosen_by_group_with_corrections_and_weighted_without() -> None:
    config = small(experts=6, expert_groups=3, active_groups=1)
    mixture = Balanced(config)
    mixture.correction.copy_(torch.tensor([0.0, 0.0, 0.0, 0.0, 0.3, 0.0]))
    # The first expert is the best; with its correction, the last pair is the best group
    scores = torch.tensor([[[0.9, 0.1, 0.5, 0.6, 0.4, 0.5]]])
    weights, chosen = mixture.route(scores)
    assert sorted(chosen.flatten().tolist()) == [4, 5]
    by_expert = dict(zip(chosen.flatten().tolist(), weights.flatten().tolist(), strict=True))
    assert by_expert == pytest.approx({4: 2.5 * 0.4 / 0.9, 5: 2.5 * 0.5 / 0.9})


def test_the_imbalance_is_computed_for_each_sequence() -> None:
    # The first sequence distributes its tokens evenly; the second sends all to one expert
    turns = torch.tensor([[1.0, 1e-9, 1e-9, 1e-9]]).repeat(4, 1)
    even = torch.stack([row.roll(at) for at, row in enumerate(turns)])
    assert float(imbalance(even[None], 1)) == pytest.approx(1.0)
    assert float(imbalance(turns[None], 1)) == pytest.approx(4.0)
    assert float(imbalance(torch.stack((even, turns)), 1)) == pytest.approx(5.0)


def test_corrections_fall_with_high_load_and_rise_with_low_load() -> None:
    model = decoder(small())
    before = [each.correction.clone() for each in mixtures(model)]
    loads = (torch.tensor([8, 0, 4, 4, 4, 4, 5, 3]), torch.full((8,), 4), torch.arange(8))
    for mixture, load in zip(mixtures(model), loads, strict=True):
        mixture.load = load
    correct(model, 0.01, lambda load: 2 * load)
    moved = [
        ((each.correction - old) / 0.01).round().int().tolist()
        for each, old in zip(mixtures(model), before, strict=True)
    ]
    assert moved == [[-1, 1, 0, 0, 0, 0, -1, 1], [0] * 8, [1] * 4 + [-1] * 4]
    assert all(each.load is None for each in mixtures(model))


def test_loads_are_counted_only_in_training() -> None:
    model = decoder(small())
    tokens = torch.randint(0, 128, (2, 13))
    model.eval()(tokens[:, :-1], tokens[:, 1:])
    assert {each.load for each in mixtures(model)} == {None}
    model.train()(tokens[:, :-1], tokens[:, 1:])
    # Two experts for each token; multi-token prediction has one token fewer in each sequence
    assert [int(each.load.sum()) for each in mixtures(model)] == [48, 48, 44]  # type: ignore[union-attr]


# --- the loss ---


def test_the_training_loss_adds_multi_token_prediction_and_imbalance() -> None:
    tokens = torch.randint(0, 128, (3, 13), generator=torch.Generator().manual_seed(3))
    given, targets = tokens[:, :-1], tokens[:, 1:]

    def loss(**changes: float) -> float:
        model = decoder(small(**changes))
        model.train(bool(changes))
        return float(model(given, targets).detach())

    alone = loss()
    ahead = loss(ahead_weight=1.0, moe_aux_loss_coeff=0.0) - alone
    uneven = loss(ahead_weight=0.0, moe_aux_loss_coeff=1.0) - alone
    both = loss(ahead_weight=0.1, moe_aux_loss_coeff=0.01) - alone
    assert both == pytest.approx(0.1 * ahead + 0.01 * uneven, rel=1e-3)
    # Three mixtures and 36 tokens; the imbalance of even routing is 1
    assert 0.9 * 3 * 36 < uneven < 4 * 3 * 36
    # The loss of the eleven scored tokens of a sequence is scaled to twelve
    model = decoder(small())
    with torch.no_grad():
        stream = model.norm(run_blocks(model, given))
        x = model.ahead(stream[:, :-1], model.embedding(given[:, 1:]))
        x, _ = model.ahead.block(x, model.angles(given)[:-1])
        scores = model.output(model.ahead.norm(x))
    wanted = F.cross_entropy(scores.flatten(0, 1), targets[:, 1:].flatten())
    assert ahead == pytest.approx(float(wanted) * 36, rel=1e-4)


def run_blocks(model: Decoder, tokens: torch.Tensor) -> torch.Tensor:
    x, angles = model.embedding(tokens), model.angles(tokens)
    for block in model.blocks:
        x, _ = block(x, angles)
    return x


def test_multi_token_prediction_sees_the_next_token_and_no_later_one() -> None:
    model = decoder(small(ahead_weight=1.0, moe_aux_loss_coeff=0.0))
    tokens = torch.randint(0, 128, (1, 13))
    scores: list[torch.Tensor] = []
    model.ahead.norm.register_forward_hook(lambda _m, _i, out: scores.append(out.detach()))
    for changed in (tokens, tokens.clone().index_fill_(1, torch.tensor([7]), 5)):
        model(changed[:, :-1], changed[:, 1:])
    first, second = (each.view(11, -1) for each in scores)
    # Position 6 receives the embedding of token 7
    torch.testing.assert_close(first[:6], second[:6])
    assert not torch.allclose(first[6], second[6])


def test_evaluation_is_the_loss_of_the_next_token_only() -> None:
    config = replace(smoke(), eval_samples=4)
    task = ExpertPretraining(config, Setting(), Ranks(torch.device("cpu")))
    task.prepare()
    model = Decoder(config).eval()
    tokens, targets = task.evaluation.__getitems__(range(4))
    with torch.no_grad():
        wanted = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        assert task.evaluate(model) == pytest.approx(float(wanted), rel=1e-5)


# --- the smoke language ---


def test_about_half_of_the_words_have_new_numbers() -> None:
    task = ExpertPretraining(smoke(), Setting(), Ranks(torch.device("cpu")))
    base, then = Language(128, LANGUAGE_SEED), task.language()
    moved = then.class_of != base.class_of
    assert 0.3 < moved.mean() < 0.6  # a word may get the number of a word of its class
    assert sorted(then.class_of) == sorted(base.class_of)
    # The successors are the same words under their new numbers
    assert (then.class_of[then.successors] == base.class_of[base.successors]).all()


def test_the_loss_of_a_bigram_model_stays_above_the_target() -> None:
    task = ExpertPretraining(smoke(), Setting(), Ranks(torch.device("cpu")))
    training, evaluation = synthetic(task.language(), task.config, 1)
    counts = np.full((128, 128), 0.02)
    np.add.at(counts, (training.tokens[:, :-1], training.tokens[:, 1:]), 1)
    chances = counts / counts.sum(1, keepdims=True)
    loss = -np.log(chances[evaluation.tokens[:, :-1], evaluation.tokens[:, 1:]]).mean()
    assert loss > 1.2 * smoke().target


# --- published weights ---


def published(config: DeepSeekV3) -> dict[str, Any]:
    """Return a model's tensors with the names of the release, including its duplicate tensors."""
    model = decoder(config)
    layout = deepseek(config.layers, config.dense_layers, config.experts)
    found: dict[str, Any] = {}
    for name, tensor in model.state_dict().items():
        row = source(layout, name)
        assert row is not None, name
        parts = [tensor]
        if row.experts:
            parts = [*tensor.mT.flatten(0, 1).chunk(len(row.published))]
        found |= dict(zip(row.published, (each.clone() for each in parts), strict=True))
    ahead = f"model.layers.{config.layers}"
    for copy, of in (("embed_tokens", "model.embed_tokens"), ("shared_head.head", "lm_head")):
        found[f"{ahead}.{copy}.weight"] = found[f"{of}.weight"].clone()
    return found


def test_training_starts_from_published_weights(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.torch")
    config = small()
    theirs = published(config)
    library.save_file(theirs, tmp_path / "model.safetensors")
    setting = Setting(weights=tmp_path, division="open")
    ours = ExpertPretraining(config, setting, Ranks(torch.device("cpu"))).build().state_dict()
    assert all(torch.equal(ours[name], each) for name, each in decoder(config).state_dict().items())
    experts = ours["blocks.1.mixture.experts.gate_up"]
    gate = theirs["model.layers.1.mlp.experts.5.gate_proj.weight"]
    assert torch.equal(experts[5, :, : gate.shape[0]], gate.T)


def test_the_model_gives_the_same_scores_as_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = small()
    theirs = transformers.DeepseekV3ForCausalLM(
        transformers.DeepseekV3Config(
            vocab_size=config.vocabulary,
            hidden_size=config.width,
            intermediate_size=config.ffn_width,
            moe_intermediate_size=config.expert_width,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.heads,
            n_shared_experts=1,
            n_routed_experts=config.experts,
            routed_scaling_factor=config.routed_scale,
            kv_lora_rank=config.kv_rank,
            q_lora_rank=config.query_rank,
            qk_rope_head_dim=config.rope_width,
            v_head_dim=config.value_width,
            qk_nope_head_dim=config.nope_width,
            n_group=config.expert_groups,
            topk_group=config.active_groups,
            num_experts_per_tok=config.active_experts,
            first_k_dense_replace=config.dense_layers,
            max_position_embeddings=163_840,
            rms_norm_eps=1e-6,
            rope_parameters={
                "rope_type": "yarn",
                "rope_theta": 10_000.0,
                "factor": 40.0,
                "beta_fast": 32.0,
                "beta_slow": 1.0,
                "mscale": 1.0,
                "mscale_all_dim": 1.0,
                "original_max_position_embeddings": 4096,
            },
        )
    ).eval()
    ahead = f"model.layers.{config.layers}."
    tensors = {n: each for n, each in published(config).items() if not n.startswith(ahead)}
    folder = tmp_path / "model"
    theirs.save_pretrained(folder)
    pytest.importorskip("safetensors.torch").save_file(
        tensors, folder / "model.safetensors", metadata={"format": "pt"}
    )
    assert json.loads((folder / "config.json").read_text())["n_routed_experts"] == config.experts
    theirs = transformers.DeepseekV3ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokens = torch.randint(0, 128, (2, 600))
    with torch.no_grad():
        ours = decoder(config).eval()(tokens)
        torch.testing.assert_close(ours, theirs(tokens).logits, rtol=1e-4, atol=1e-4)


def test_the_decay_steps_of_the_learning_rate_include_the_warmup() -> None:
    task = ExpertPretraining(reference(), Setting(), Ranks(torch.device("cpu")))
    config = task.config
    assert task.learning_rate(4) == pytest.approx(config.opt_base_learning_rate)
    assert task.learning_rate(11_995) > config.opt_end_learning_rate
    assert task.learning_rate(11_996) == pytest.approx(config.opt_end_learning_rate)
