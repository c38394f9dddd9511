"""GPT-OSS: size, windowed attention, experts, scored tokens and initial weights."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402, N812

from podium.reference_runs.benchmarks.gpt_oss_20b.config import GptOss, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.gpt_oss_20b.model import Decoder, windowed  # noqa: E402
from podium.reference_runs.benchmarks.gpt_oss_20b.train import MixturePretraining  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.modeling.experts import Mixture  # noqa: E402
from podium.reference_runs.modeling.language.corpus import UNSCORED, Batch  # noqa: E402

RELEASED = 20_914_757_184
"""Parameters of the released model; its card says 20.9 billion."""


def left_out(config: GptOss, released_vocabulary: int = 201_088) -> int:
    """Count the parameters of the released model that the benchmark's configuration lacks."""
    attention = config.head_width * (config.heads + 2 * config.kv_heads) + config.width
    sinks, router = config.heads, config.experts
    experts = config.experts * (2 * config.ffn_width + config.width)
    words = released_vocabulary - config.vocabulary
    return config.layers * (attention + sinks + router + experts) + 2 * words * config.width


def test_the_reference_model_lacks_words_biases_and_sinks_of_the_release() -> None:
    config = reference()
    with torch.device("meta"):
        model = Decoder(config)
    assert sum(p.numel() for p in model.parameters()) == RELEASED - left_out(config)
    assert RELEASED - left_out(config) == 20_488_415_040


def short(**changes: int) -> GptOss:
    return replace(smoke(), max_sequence_length=70, **changes)


def test_a_batch_has_scores_and_gives_every_parameter_a_gradient() -> None:
    config = short()
    model = Decoder(config)
    tokens = torch.randint(0, config.vocabulary, (3, 70))
    scores = model(tokens)
    assert scores.shape == (3, 70, config.vocabulary)
    F.cross_entropy(scores.flatten(0, 1), tokens.flatten()).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


@pytest.mark.parametrize(("length", "window"), [(1, 4), (4, 4), (23, 4), (64, 16), (9, 100)])
def test_windowed_attention_is_attention_with_a_banded_mask(length: int, window: int) -> None:
    torch.manual_seed(1)
    q, k, v = (
        torch.randn(2, 4, length, 8),
        torch.randn(2, 2, length, 8),
        torch.randn(2, 2, length, 8),
    )
    far = torch.arange(length)[:, None] - torch.arange(length)
    mask = (far >= 0) & (far <= window)
    plain = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    assert torch.allclose(windowed(q, k, v, window), plain, atol=1e-6)


def test_only_a_full_attention_layer_reaches_beyond_the_window() -> None:
    torch.manual_seed(1)
    tokens = torch.randint(0, 128, (1, 70))
    other = tokens.clone()
    other[0, 0] = (other[0, 0] + 1) % 128
    reached = []
    for layers in (1, 2):
        model = Decoder(short(layers=layers, window=8))
        changed = (model(tokens) != model(other))[0].any(-1).nonzero().max()
        reached.append(int(changed))
    assert reached == [8, 69]


def test_grouped_experts_equal_a_loop_over_tokens() -> None:
    torch.manual_seed(1)
    small = short()
    layer = Mixture(small.width, small.ffn_width, small.experts, small.active_experts)
    for weight in (layer.experts.gate_up, layer.experts.down, layer.router.weight):
        torch.nn.init.normal_(weight, std=0.3)
    x = torch.randn(2, 5, 48)
    wanted = torch.zeros_like(x)
    for row, at in ((row, at) for row in range(2) for at in range(5)):
        scores, chosen = (layer.router.weight @ x[row, at]).topk(2)
        for share, expert in zip(scores.softmax(0), chosen.tolist(), strict=True):
            gate, up = (x[row, at] @ layer.experts.gate_up[expert]).chunk(2)
            wanted[row, at] += share * ((F.silu(gate) * up) @ layer.experts.down[expert])
    assert torch.allclose(layer(x), wanted, atol=1e-5)


def test_the_token_after_the_end_of_a_document_is_not_scored() -> None:
    class Counts(torch.nn.Module):
        """A model with a loss of 1 for each scored token."""

        def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            return (targets != UNSCORED).sum().double()

    tokens = torch.tensor([[5, 9, 7, 9], [1, 2, 3, 4]])
    batch = Batch(tokens, tokens + 1)
    for end, scored in ((9, 6), (4, 7), (8, 8), (-1, 8)):
        config = replace(smoke(), end_of_document=end)
        task = MixturePretraining(config, Setting(), Ranks(torch.device("cpu")))
        assert [float(each) for each in task.loss(Counts(), batch)] == [scored, scored]
    assert reference().end_of_document == 128_001


@pytest.mark.parametrize("deviation", [0.008, 0.02])
def test_initial_weights_have_the_configured_deviation(deviation: float) -> None:
    torch.manual_seed(1)
    model = Decoder(replace(smoke(), initial_deviation=deviation, layers=2))
    weights = model.state_dict()
    assert float(weights["embedding.weight"].std()) == pytest.approx(deviation, rel=0.05)
    deep = float(weights["blocks.1.mixture.experts.down"].std())
    assert deep == pytest.approx(deviation / 2, rel=0.05)
    assert reference().initial_deviation == 0.008
