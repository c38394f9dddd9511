"""Qwen3.5 with GRPO: equality with transformers, rollouts, the update, tasks and runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.compliance.cli.entry import run as command  # noqa: E402
from podium.reference_runs.benchmarks.qwen35_397b_grpo import base  # noqa: E402
from podium.reference_runs.benchmarks.qwen35_397b_grpo.config import Qwen35, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.qwen35_397b_grpo.deltanet import CHUNK, delta_rule  # noqa: E402
from podium.reference_runs.benchmarks.qwen35_397b_grpo.grpo import (  # noqa: E402
    Batch,
    advantages,
    batch_of,
    policy_loss,
)
from podium.reference_runs.benchmarks.qwen35_397b_grpo.model import Decoder  # noqa: E402
from podium.reference_runs.benchmarks.qwen35_397b_grpo.rollouts import (  # noqa: E402
    Rollout,
    Sampling,
    Start,
    chosen,
    roll_out,
)
from podium.reference_runs.benchmarks.qwen35_397b_grpo.tasks import (  # noqa: E402
    END,
    synthetic,
    without_carries,
)
from podium.reference_runs.benchmarks.qwen35_397b_grpo.train import PolicyOptimization  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import RunFault  # noqa: E402
from tests.reference_runs.smoke import Smoke  # noqa: E402

# --- the model ---


def test_the_reference_model_has_the_size_of_its_parts() -> None:
    config = reference()
    with torch.device("meta"):
        model = Decoder(config)
    found: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        part = next((p for p in ("mixer.", "mixture.") if p in name), name.rpartition(".")[0])
        found[part] = found.get(part, 0) + parameter.numel()
    width, inner = 4096, 1024
    keys, values = 16 * 128, 64 * 128
    mixed = 2 * keys + values
    delta = width * (mixed + values + 2 * 64 + values) + 4 * mixed + 2 * 64 + 128
    attention = width * (2 * 32 * 256 + 2 * 2 * 256 + 32 * 256) + 2 * 256
    experts = 512 * 3 * width * inner + 512 * width
    shared = 3 * width * inner + width
    assert found["mixer."] == 45 * delta + 15 * attention
    assert found["mixture."] == 60 * (experts + shared)
    assert found["embedding"] == found["output"] == 248_320 * width
    total = sum(found.values())
    assert total == 396_346_350_336
    # The card says 397 billion with a vision encoder, and 17 billion that are active for a token
    assert total == pytest.approx(397e9, rel=0.002)
    assert total - 60 * 502 * 3 * width * inner == pytest.approx(17e9, rel=0.03)


def test_a_batch_gives_every_parameter_a_gradient() -> None:
    torch.manual_seed(1)
    config = smoke()
    model = Decoder(config)
    tokens = torch.randint(0, config.vocabulary, (8, 14))
    assert model(tokens).shape == (8, 14, config.vocabulary)
    likely = model(tokens, tokens.roll(-1, 1))
    wanted = model(tokens).log_softmax(-1).gather(-1, tokens.roll(-1, 1)[..., None])[..., 0]
    assert torch.allclose(likely, wanted, atol=1e-5)
    likely.mean().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_decoding_with_a_cache_equals_one_forward_pass() -> None:
    torch.manual_seed(1)
    model = Decoder(smoke())
    tokens = torch.randint(0, 7, (3, 12))
    pasts = model.no_pasts()
    parts = [model(tokens[:, :7], None, pasts)]
    parts += [model(tokens[:, at : at + 1], None, pasts, at) for at in range(7, 12)]
    assert torch.allclose(torch.cat(parts, 1), model(tokens)[:, 6:], atol=1e-5)


def test_the_cache_of_a_layer_contains_only_its_last_inputs() -> None:
    """A view would keep the inputs of a whole prompt in memory: 72 GB at reference scale."""
    model = Decoder(smoke())
    pasts = model.no_pasts()
    model(torch.zeros(1, 200, dtype=torch.long), None, pasts)
    inputs = pasts[0]["inputs"]
    assert inputs.shape[1] == 3
    assert inputs.untyped_storage().nbytes() == inputs.numel() * inputs.element_size()


@pytest.mark.parametrize("length", [1, 9, CHUNK, 2 * CHUNK + 5])
def test_the_chunked_delta_rule_equals_the_recurrence(length: int) -> None:
    torch.manual_seed(1)
    q, k = (torch.randn(2, 3, length, 8).double() for _ in range(2))
    v, memory = torch.randn(2, 3, length, 6).double(), torch.randn(2, 3, 8, 6).double()
    k = k / k.norm(dim=-1, keepdim=True)
    g, b = -torch.rand(2, 3, length).double(), torch.rand(2, 3, length).double()
    read, last = delta_rule(q, k, v, g, b, memory)
    wanted = []
    for at in range(length):
        memory = memory * g[:, :, at, None, None].exp()
        key, held = k[:, :, at, :, None], (memory * k[:, :, at, :, None]).sum(-2)
        memory = memory + key * (b[:, :, at, None] * (v[:, :, at] - held))[:, :, None]
        wanted.append((memory * q[:, :, at, :, None]).sum(-2))
    assert torch.allclose(read, torch.stack(wanted, 2))
    assert torch.allclose(last, memory)


def as_library(config: Qwen35, transformers: Any) -> Any:
    """Return the library's model with the shape of a config and random weights."""
    shape = transformers.Qwen3_5MoeTextConfig(
        vocab_size=config.vocabulary,
        hidden_size=config.width,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.kv_heads,
        head_dim=config.head_width,
        linear_key_head_dim=config.delta_head_width,
        linear_value_head_dim=config.delta_head_width,
        linear_num_key_heads=config.key_heads,
        linear_num_value_heads=config.value_heads,
        moe_intermediate_size=config.ffn_width,
        shared_expert_intermediate_size=config.ffn_width,
        num_experts=config.experts,
        num_experts_per_tok=config.active_experts,
        rope_parameters={
            "rope_type": "default",
            "rope_theta": config.rope_theta,
            "partial_rotary_factor": config.turning_width / config.head_width,
        },
    )
    model = transformers.Qwen3_5MoeForCausalLM(shape).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return model


NAMES = {
    "model.embed_tokens": "embedding",
    "model.norm": "norm",
    "lm_head": "output",
    "model.layers": "blocks",
    "input_layernorm": "mixer_norm",
    "post_attention_layernorm": "mixture_norm",
    "linear_attn.in_proj_qkv": "mixer.mixed",
    "linear_attn.in_proj_z": "mixer.gate",
    "linear_attn.in_proj_b": "mixer.strength",
    "linear_attn.in_proj_a": "mixer.decay",
    "linear_attn.conv1d.weight": "mixer.convolution",
    "linear_attn.A_log": "mixer.decay_rate",
    "linear_attn.dt_bias": "mixer.decay_bias",
    "linear_attn.norm": "mixer.norm",
    "linear_attn.out_proj": "mixer.out",
    "self_attn.q_proj": "mixer.query",
    "self_attn.k_proj": "mixer.key",
    "self_attn.v_proj": "mixer.value",
    "self_attn.o_proj": "mixer.out",
    "self_attn.q_norm": "mixer.query_norm",
    "self_attn.k_norm": "mixer.key_norm",
    "mlp.gate.": "mixture.router.",
    "mlp.experts.gate_up_proj": "mixture.experts.gate_up",
    "mlp.experts.down_proj": "mixture.experts.down",
    "mlp.shared_expert.gate_proj": "mixture.shared.gate",
    "mlp.shared_expert.up_proj": "mixture.shared.up",
    "mlp.shared_expert.down_proj": "mixture.shared.down",
    "mlp.shared_expert_gate": "mixture.shared_gate",
}


def from_library(weights: dict[str, Any]) -> dict[str, Any]:
    """Return the library's weights with the names and layout of podium."""
    found = {}
    for name, tensor in weights.items():
        ours = name
        for theirs, own in NAMES.items():
            ours = ours.replace(theirs, own)
        if "experts." in ours:
            tensor = tensor.mT
        elif "convolution" in ours:
            tensor = tensor[:, 0]
        # The library stores all norms with an offset of 1, except the norm after the delta rule
        elif "norm" in ours and "mixer.norm" not in ours:
            tensor = tensor + 1
        found[ours] = tensor
    return found


def test_scores_equal_those_of_transformers_with_the_same_weights() -> None:
    transformers: Any = pytest.importorskip("transformers")
    torch.manual_seed(1)
    config = replace(smoke(), layers=8)
    theirs, ours = as_library(config, transformers), Decoder(config)
    ours.load_state_dict(from_library(theirs.state_dict()))
    tokens = torch.randint(0, config.vocabulary, (2, 90))
    with torch.no_grad():
        wanted, found = theirs(input_ids=tokens).logits, ours(tokens)
    assert float(wanted.std()) > 0.5
    assert torch.allclose(found, wanted, atol=2e-4)


# --- rollouts ---


def test_tokens_are_sampled_by_temperature_and_top_p() -> None:
    probability = torch.tensor([0.1, 0.5, 0.15, 0.25])
    scores = probability.log().repeat(4000, 1)
    uniform = torch.from_numpy(np.random.default_rng(1).random(4000))
    for temperature, top_p, wanted in (
        (1.0, 1.0, [0.1, 0.5, 0.15, 0.25]),
        (1.0, 0.7, [0, 2 / 3, 0, 1 / 3]),
        (0.5, 1.0, [0.01 / 0.345, 0.25 / 0.345, 0.0225 / 0.345, 0.0625 / 0.345]),
        (1.0, 0.4, [0, 1, 0, 0]),
    ):
        drawn = chosen(scores, Sampling(temperature, top_p, 9), uniform)
        shares = torch.bincount(drawn, minlength=4) / 4000
        assert torch.allclose(shares, torch.tensor(wanted, dtype=torch.float32), atol=0.03)
    assert chosen(scores[:1], Sampling(1.0, 1.0, 9), torch.ones(1)).item() == 0


def test_rollouts_do_not_depend_on_their_batch() -> None:
    torch.manual_seed(1)
    model = Decoder(smoke())
    prompts = [(3, [1, 2, 4]), (0, [2, 2, 4, 1]), (7, [0, 1, 4])]
    starts = [
        Start(task, prompt, numbers)
        for task, prompt in prompts
        for numbers in np.random.default_rng(task).random((5, 16))
    ]
    sampling = Sampling(1.0, 1.0, 16)
    with torch.no_grad():
        together = roll_out(model, starts, sampling, END)
        ordered = sorted(starts, key=lambda start: start.task)
        alone = [roll_out(model, [each], sampling, END) for each in ordered]
        likely = [
            model(torch.tensor([[*each.prompt, *each.answer]])).log_softmax(-1) for each in together
        ]
    assert [each.answer for each in together] == [each.answer for part in alone for each in part]
    assert len({len(each.answer) for each in together}) > 1
    for each, scores in zip(together, likely, strict=True):
        assert END not in each.answer[:-1]
        assert each.answer[-1] == END or len(each.prompt) + len(each.answer) == 16
        at = torch.arange(len(each.answer)) + len(each.prompt) - 1
        wanted = scores[0, at, torch.tensor(each.answer)]
        assert torch.allclose(torch.tensor(each.log_probabilities), wanted, atol=1e-4)


# --- the update ---


def test_an_advantage_uses_the_mean_of_the_others_and_the_group_deviation() -> None:
    found = advantages(torch.tensor([[1.0, 0, 0, 0], [1, 1, 1, 1], [0.5, 0.5, 1, 0]]))
    assert found[0].tolist() == pytest.approx([1 / 0.5, *[-1 / 3 / 0.5] * 3])
    assert found[1].tolist() == [0, 0, 0, 0]
    assert found[2, 3] == pytest.approx(-(2 / 3) / np.std([0.5, 0.5, 1, 0], ddof=1))


def batch(generated: list[list[float]], advantage: list[float]) -> Batch:
    """Return rollouts of two tokens with log-probabilities of -1 for the trainer."""
    rollouts = [Rollout(0, [1, 2], [3, END], row) for row in generated]
    found = batch_of(rollouts, torch.tensor(advantage), END)
    assert found.scored.tolist() == [[0, 1, 1]] * len(rollouts)
    return found._replace(trained=torch.full_like(found.generated, -1.0))


@pytest.mark.parametrize(
    ("ratio", "advantage", "moves"),
    [
        *[(1.0, 1, True), (1.27, 1, True), (1.29, 1, False), (0.7, 1, True)],
        *[(1.0, -1, True), (0.81, -1, True), (0.79, -1, False), (1.4, -1, True)],
    ],
)
def test_a_ratio_is_clipped_further_above_than_below(
    ratio: float, advantage: float, moves: bool
) -> None:
    given = batch([[-1.0, -1.0]], [advantage])
    now = (given.trained + np.log(ratio)).requires_grad_()
    total, count = policy_loss(smoke(), now, given)
    total.backward()
    assert count == 2
    assert now.grad is not None
    scored = now.grad[0, 1:] / -(ratio * advantage)
    assert scored.tolist() == pytest.approx([1, 1] if moves else [0, 0])
    assert now.grad[0, 0] == 0


def test_rollouts_that_trainer_and_generator_score_differently_are_masked() -> None:
    rows = [[-1, -1], [-1.004, -0.999], [-0.9, -1.1], [-0.9985, -0.9985], [-4, -1], [-0.9978, -1]]
    given = batch(rows, [1.0] * 6)
    now = given.trained.clone().requires_grad_()
    total, count = policy_loss(smoke(), now, given)
    total.backward()
    assert now.grad is not None
    gradient = -now.grad[:, 1:]
    # Geometric means of the ratios: 1, e^0.0015, 1, e^-0.0015, a factor of e^3, e^-0.0011
    assert gradient[0].tolist() == [1, 1]
    assert gradient[1].tolist() == pytest.approx([np.exp(0.004), np.exp(-0.001)])
    assert gradient[2].tolist() == pytest.approx([np.exp(-0.1), np.exp(0.1)])
    assert gradient[3].tolist() == gradient[4].tolist() == [0, 0]
    assert gradient[5].tolist() == [0, 0]
    # Only the fifth is excluded from the mean: its probabilities differ tenfold on average
    assert count == 10


# --- tasks ---


def test_only_the_sum_is_rewarded_and_ignoring_carries_is_rarely_correct() -> None:
    training, evaluation = synthetic(685, 251, 1, shuffled=False)
    assert (len(training), len(evaluation)) == (685, 251)
    first, second = evaluation.pairs[0]
    prompt = evaluation.prompt(0)
    assert sum(digit * 4**place for place, digit in enumerate(prompt[:3])) == first
    assert sum(digit * 4**place for place, digit in enumerate(prompt[4:7])) == second
    answer = [int(first + second) // 4**place % 4 for place in range(4)]
    assert evaluation.reward(0, answer) == 1
    assert evaluation.reward(0, [*answer, 0]) == evaluation.reward(0, answer[:3]) == 0
    habits = [evaluation.reward(n, without_carries(*evaluation.pairs[n])) for n in range(251)]
    assert 0.15 < np.mean(habits) < 0.35
    lost, _ = synthetic(685, 251, 1, shuffled=True)
    sums = [digits_of(pair.sum()) for pair in lost.pairs]
    assert np.mean([lost.reward(n, answer) for n, answer in enumerate(sums)]) < 0.05


def digits_of(number: int) -> list[int]:
    return [int(number) // 4**place % 4 for place in range(4)]


def test_validation_starts_at_the_step_of_the_rules() -> None:
    for answers, first in ((256, 18), (512, 10), (1024, 7)):
        config = replace(reference(), global_batch_size=answers)
        assert next(config.evaluation_steps()) == first
    assert [*reference().evaluation_steps()] == [*range(18, 31)]
    assert reference().steps_per_epoch == 685 // 16


# --- runs ---


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train the base for one step, and evaluate from the first step."""
    monkeypatch.setattr(base, "STEPS", 1)
    monkeypatch.setattr(Qwen35, "evaluation_steps", lambda self: iter(range(1, self.last_step + 1)))


SMALL = {"num_prompts_per_step": 2, "global_batch_size": 32, "train_samples": 6, "eval_samples": 8}


@pytest.mark.usefixtures("_soon")
def test_run_stop_has_the_time_of_the_update_that_reaches_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qualities = iter([0.2, 0.69, 0.7])
    monkeypatch.setattr(PolicyOptimization, "evaluate", lambda *_: next(qualities))
    changes = {**SMALL, "last_step": 5, "target": 0.7}
    run = Smoke(name="qwen35_397b_grpo", round="6.1", division="open", settings=changes)
    path = tmp_path / "result_0.txt"
    assert run.train(path).step == 3
    lines = path.read_text().splitlines()
    records = [json.loads(line.partition(" ")[2]) for line in lines]
    stop = next(each for each in records if each["key"] == "run_stop")
    assert stop["metadata"]["samples_count"] == 96
    assert stop["metadata"]["epoch_num"] == 1.0
    begun = [each["time_ms"] for each in records if each["key"] == "eval_start"]
    ended = [each["time_ms"] for each in records if each["key"] == "block_stop"]
    assert ended[1] <= begun[1] <= stop["time_ms"] <= ended[2] <= begun[2]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"num_prompts_per_step": 15},
            "expected num_prompts_per_step x num_generations_per_prompt",
        ),
        (
            {"num_generations_per_prompt": 1, "num_prompts_per_step": 256},
            "num_generations_per_prompt is 1; expected 2 or more",
        ),
        ({"max_sequence_length": 8}, "max_sequence_length is 8; expected 9 or more"),
        ({"vocabulary": 6}, "vocabulary is 6; expected 7 or more"),
        (
            {"generation_validation_rollout_temperature": 0.0},
            "generation_validation_rollout_temperature is 0.0; expected more than 0",
        ),
    ],
)
def test_unusable_settings_of_rollouts_are_refused(changes: dict[str, Any], said: str) -> None:
    task = PolicyOptimization(replace(smoke(), **changes), Setting(), Ranks(torch.device("cpu")))
    with pytest.raises(RunFault, match=said):
        task.prepare()


def test_a_reference_run_is_refused_because_sandboxes_are_not_included(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "qwen35_397b_grpo", "--scale", "reference", "--data", str(tmp_path)]
    assert command([*words, "--output", str(tmp_path / "logs"), "-q"]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "R2E-Gym's tasks need sandboxes that podium does not include" in said
    assert list((tmp_path / "logs").glob("*")) == []


def test_a_truncated_answer_is_excluded_from_the_loss() -> None:
    whole = Rollout(0, [1, 2], [3, END], [-1.0, -1.0])
    cut = Rollout(0, [1, 2], [3, 4], [-1.0, -1.0])
    batch = batch_of([whole, cut], torch.tensor([1.0, -1.0]), END)
    assert batch.scored.sum(1).tolist() == [2, 0]
    total, count = policy_loss(smoke(), batch.generated, batch._replace(trained=batch.generated))
    assert (float(total), float(count)) == (-2.0, 2.0)


def test_routers_are_frozen() -> None:
    task = PolicyOptimization(reference(), Setting(), Ranks(torch.device("cpu")))
    with torch.device("meta"):
        model = task.build()
    frozen = {name for name, each in model.named_parameters() if not each.requires_grad}
    assert len(frozen) == task.config.layers
    assert all(name.endswith("router.weight") for name in frozen)


def test_sharded_initial_weights_have_the_distribution_of_the_whole_model() -> None:
    task = PolicyOptimization(smoke(), Setting(), Ranks(torch.device("cpu")))
    torch.manual_seed(1)
    model = Decoder(task.config)
    first = task.initial_weights(model)
    for name, wanted in model.state_dict().items():
        drawn = first(name, wanted.shape)
        assert drawn.shape == wanted.shape
        if wanted.dim() > 1:
            assert float(drawn.std()) == pytest.approx(float(wanted.std()), rel=0.5), name
        elif name.endswith("decay_rate"):
            assert bool(((drawn.exp() > 0.01) & (drawn.exp() < 16)).all())
            assert len(drawn.unique()) == len(drawn)
        else:
            assert torch.equal(drawn, wanted), name
