"""MiniGo: network size, search, reproducible games, stored networks and logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.compliance import check  # noqa: E402
from podium.reference_runs.benchmarks.minigo.board import Goban  # noqa: E402
from podium.reference_runs.benchmarks.minigo.config import reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.minigo.data import SYMMETRIES, Window, load_network, turned  # noqa: E402
from podium.reference_runs.benchmarks.minigo.games import (  # noqa: E402  # noqa: E402
    PLANES,
    Player,
    Territory,
    match,
    planes,
    self_play,
)
from podium.reference_runs.benchmarks.minigo.grid import BLACK  # noqa: E402
from podium.reference_runs.benchmarks.minigo.model import DualNet  # noqa: E402
from podium.reference_runs.benchmarks.minigo.search import Forest, Search  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402
from podium.rules.training.shared.tensors import tensor_names  # noqa: E402
from tests.oracle import judge  # noqa: E402
from tests.reference_runs.smoke import Smoke  # noqa: E402

DERIVED = 736_671
"""Parameters of the 19x19 network, counted from its layers:

13 planes to 64 filters and twelve times 64 to 64, all 3x3 (449,856); 13 norms (1664);
heads of 2 and of 1 filter (192); 722 to 362 moves (261,726); 361 to 64 to 1 (23,233).
"""


def test_the_reference_network_has_the_size_of_its_layers() -> None:
    with torch.device("meta"):
        model = DualNet(reference())
    assert sum(p.numel() for p in model.parameters()) == DERIVED


def test_the_reference_network_has_the_tensors_that_the_rules_name() -> None:
    assert reference().weights("1.1") == tensor_names("minigo")
    with torch.device("meta"):
        model = DualNet(reference())
    names, trained = model.names(), dict(model.named_parameters())
    ours = {names[ours] for ours in (*trained, "global_step")}
    assert ours == set(tensor_names("minigo"))


def test_the_network_returns_scores_and_an_outcome_for_each_position() -> None:
    model = DualNet(smoke())
    scores, value = model(torch.rand(7, PLANES, 5, 5))
    assert scores.shape == (7, 26)
    assert value.shape == (7,)
    assert value.abs().max() <= 1
    (scores.square().mean() + value.square().mean()).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_input_planes_show_stones_turn_liberties_and_captures() -> None:
    goban = Goban(5)
    at = goban.setup("OX... ..... ..... ..... ..X..", BLACK)
    seen = planes(goban, at)[0]
    assert np.argwhere(seen[0]).tolist() == [[0, 1], [4, 2]]
    assert np.argwhere(seen[1]).tolist() == [[0, 0]]
    assert seen[8].all()
    assert np.argwhere(seen[9]).tolist() == [[0, 0]]
    assert np.argwhere(seen[10]).tolist() == [[0, 1]]
    assert np.argwhere(seen[11]).tolist() == [[4, 2]]
    assert np.argwhere(seen[12]).tolist() == [[1, 0]]


# --- the search ---


def grown(diagram: str, readouts: int, **settings: Any) -> np.ndarray:
    goban = Goban(5)
    at = goban.setup(diagram, BLACK)
    forest = Forest(goban, Search(readouts, komi=0.5, **settings), at, at.hashes[:, None])
    forest.grow(Territory(goban, komi=0.5))
    return forest.visits[0]


@pytest.mark.parametrize("virtual_losses", [1, 4])
def test_every_readout_is_a_visit_of_a_legal_move(virtual_losses: int) -> None:
    visits = grown("OX... X.... ..... ..... .....", 50, virtual_losses=virtual_losses)
    assert visits.sum() == 50
    assert visits[0] == 0  # a stone is there


def test_the_search_captures_a_group_that_decides_the_game() -> None:
    visits = grown("XXXX. OOOO. XXXXX ..OX. .O.X.", 200)
    assert visits.argmax() == 9


def test_the_search_passes_to_end_a_won_game() -> None:
    goban = Goban(5)
    at = goban.setup("X.XXX XXXXX XXXXX XXXXX XXX.X", BLACK)
    at = replace(at, passes=np.array([1], dtype=np.int8))
    forest = Forest(goban, Search(64, komi=24.5), at, at.hashes[:, None])
    forest.grow(Territory(goban, komi=24.5))
    assert forest.visits[0].argmax() == goban.points


@pytest.mark.long
def test_more_readouts_win_more_games() -> None:
    goban, config = Goban(5), smoke()
    judge = Territory(goban, config.komi)
    strong, weak = (Player(Search(n, 2, komi=config.komi), judge) for n in (32, 4))
    seeds = [[1, game] for game in range(16)]
    assert match(goban, config, (strong, weak), seeds) >= 11
    assert match(goban, config, (weak, strong), seeds) <= 5


# --- self-play games and their window ---


def games(seeds: list[list[int]], **changes: Any) -> Any:
    config = replace(smoke(), num_readouts=6, virtual_losses=2, **changes)
    goban = Goban(5)
    player = Player(Search(6, 2, komi=config.komi), Territory(goban, config.komi))
    return self_play(goban, config, player, seeds)


def rows(examples: Any) -> set[bytes]:
    return {
        bits.tobytes() + policy.tobytes() + outcome.tobytes()
        for bits, policy, outcome in zip(
            examples.planes, examples.policy, examples.outcome, strict=True
        )
    }


def test_games_depend_on_their_seeds_and_not_on_parallel_games() -> None:
    seeds = [[1, 0, 1, game] for game in range(6)]
    together = games(seeds)
    assert rows(together) == rows(games(seeds[:2])) | rows(games(seeds[2:]))
    assert rows(together) != rows(games([[2, *seed[1:]] for seed in seeds]))


def test_a_hopeless_game_is_resigned_unless_resignation_is_disabled() -> None:
    seeds = [[1, game] for game in range(8)]
    whole = games(seeds)
    early = {"resign_thresholds": (-0.5, -0.5)}
    assert len(games(seeds, **early).outcome) < len(whole.outcome)
    # The threshold of a game is drawn between the two
    some = len(games(seeds, resign_thresholds=(-0.9, -0.5)).outcome)
    assert len(games(seeds, **early).outcome) <= some <= len(whole.outcome)
    on = games(seeds, **early, disable_resign_pct=1.0)
    assert len(on.outcome) == len(whole.outcome)


def test_a_share_of_the_positions_is_kept() -> None:
    seeds = [[1, game] for game in range(8)]
    whole, part = games(seeds), games(seeds, filter_amount=0.3)
    assert 0.15 < len(part.outcome) / len(whole.outcome) < 0.45


def test_moves_of_a_fast_search_are_played_but_not_trained_on() -> None:
    seeds = [[1, game] for game in range(8)]
    whole = games(seeds)
    part = games(seeds, fast_play_share=0.75, fast_play_readouts=2)
    assert 0.1 < len(part.outcome) / len(whole.outcome) < 0.45
    assert len(games(seeds, fast_play_share=1.0, fast_play_readouts=2).outcome) == 0
    # These games do not depend on parallel games either
    alone = games(seeds[:3], fast_play_share=0.75, fast_play_readouts=2)
    assert rows(alone) <= rows(part)


def test_target_pruning_keeps_the_best_move_and_removes_other_visits() -> None:
    goban = Goban(5)
    at = goban.setup("XXXX. OOOO. XXXXX ..OX. .O.X.", BLACK)
    forest = Forest(goban, Search(200, komi=0.5), at, at.hashes[:, None])
    noise = np.zeros((1, goban.moves))
    noise[0, [14, 15, 16]] = 1.0  # three moves that only noise supports
    forest.grow(Territory(goban, komi=0.5), noise)
    visits, pruned = forest.visits[0], forest.pruned_visits()[0]
    assert visits.argmax() == pruned.argmax() == 9
    assert pruned[9] == visits[9]
    assert (pruned <= visits).all()
    assert pruned.sum() < visits.sum()
    seeds = [[1, game] for game in range(2)]
    plain, cut = games(seeds), games(seeds, target_pruning=True)
    assert np.array_equal(plain.planes, cut.planes)  # the same games are played
    assert (cut.policy > 0).sum() < (plain.policy > 0).sum()
    assert np.allclose(cut.policy.astype(float).sum(1), 1, atol=1e-2)


def test_noise_has_the_configured_share_of_the_priors() -> None:
    goban = Goban(5)
    at = goban.start(1)
    noise = np.zeros((1, goban.moves))
    noise[0, 7] = 1.0
    for mix in (0.0, 0.3):
        forest = Forest(goban, Search(1, komi=0.5, noise_mix=mix), at, at.hashes[:, None])
        forest.grow(Territory(goban, komi=0.5), noise)
        assert forest.prior[0, 7] == pytest.approx((1 - mix) / goban.moves + mix)
    settings = reference()
    assert (settings.noise_mix, settings.match_readouts, settings.opponent_readouts) == (
        *(0.3, 100, 100),
    )


def test_eight_symmetries_transform_targets_with_the_board() -> None:
    board = np.arange(9).reshape(1, 3, 3)
    assert len({turned(board, turn).tobytes() for turn in range(SYMMETRIES)}) == 8
    window = Window(smoke())
    window.add(games([[1, game] for game in range(4)]), np.random.default_rng(1))
    seen, policy, outcome = window.__getitems__(range(len(window)))
    taken = seen[:, :2].sum(1).flatten(1).bool()  # a move onto a stone is illegal
    assert (policy[:, :-1][taken] == 0).all()
    assert torch.allclose(policy.sum(1), torch.ones(len(policy)), atol=1e-2)
    assert set(outcome.tolist()) == {1.0, -1.0}


def test_the_window_drops_old_generations() -> None:
    window = Window(replace(smoke(), window_size=2))
    part = games([[1, 0]])
    for _ in range(5):
        window.add(part, np.random.default_rng(1))
    assert len(window) == 2 * len(part.outcome)


# --- the benchmark's networks ---


def stored(model: DualNet, path: Path, **changes: Any) -> None:
    """Write a network in the layout of TensorFlow."""
    tensors, points = {}, model.moves.out_features - 1
    for ours, theirs in model.names().items():
        tensor = model.state_dict()[ours]
        if tensor.dim() == 4:
            tensor = tensor.permute(2, 3, 1, 0)
        elif tensor.dim() == 2:
            if tensor.shape[1] % points == 0:
                tensor = tensor.unflatten(1, (-1, points)).transpose(1, 2).flatten(1)
            tensor = tensor.T
        tensors[theirs] = tensor.numpy()
    np.savez(path, **{**tensors, **changes})


def test_a_stored_network_is_read_back(tmp_path: Path) -> None:
    model, other = DualNet(smoke()).eval(), DualNet(smoke()).eval()
    stored(model, tmp_path / "target.npz")
    load_network(other, tmp_path / "target.npz")
    inputs = torch.rand(3, PLANES, 5, 5)
    for ours, theirs in zip(model(inputs), other(inputs), strict=True):
        assert torch.equal(ours, theirs)


def test_missing_and_wrong_networks_are_reported(tmp_path: Path) -> None:
    model = DualNet(smoke())
    with pytest.raises(DataMissing, match=r"target\.npz cannot be read"):
        load_network(model, tmp_path / "target.npz")
    np.savez(tmp_path / "target.npz", global_step=np.zeros(()))
    with pytest.raises(DataMissing, match="has no tensor"):
        load_network(model, tmp_path / "target.npz")
    stored(model, tmp_path / "target.npz", **{"dense_2/bias": np.zeros(3)})
    with pytest.raises(DataMissing, match=r"dense_2/bias has shape \(3,\)"):
        load_network(model, tmp_path / "target.npz")


# --- logs ---

QUICK = {
    "min_selfplay_games_per_generation": 4,
    "parallel_games": 4,
    "num_readouts": 4,
    "opponent_readouts": 4,
    "match_readouts": 4,
    "gating_games": 4,
    "eval_samples": 8,
    "train_samples": 64,
    "global_batch_size": 32,
    "last_step": 4,
    "max_moves": 10,
    "target": 0.0,
}
"""Settings for two generations; the target is 0 because they learn nothing."""

PINNED = {"min_selfplay_games_per_generation", "actual_selfplay_games_per_generation"}
"""The closed division requires 8192 games in each generation; smoke scale plays fewer."""


@pytest.mark.parametrize("round_name", ["0.7", "1.0", "2.0", "2.1"])
def test_a_closed_log_has_errors_only_for_the_number_of_games(
    round_name: str, tmp_path: Path
) -> None:
    smoke = Smoke(name="minigo", round=round_name, division="closed", settings=QUICK)
    smoke.train(tmp_path / "result_0.txt")
    found = smoke.errors(tmp_path / "result_0.txt")
    for who in ("policy", "verifier", "incumbent"):
        assert found[who] - {"target"} == PINNED


def test_a_log_of_round_1_1_also_has_an_error_for_its_tensors(tmp_path: Path) -> None:
    smoke = Smoke(name="minigo", round="1.1", division="closed", settings=QUICK)
    path = tmp_path / "result_0.txt"
    smoke.train(path)
    report = check(str(path), round="1.1", usage="training", profile="verifier")
    found = {f.key or f.id.rpartition(".")[2] for f in report.findings if f.severity == "error"}
    assert found - {"target"} == PINNED | {"tensors"}
    verdict = judge(path, "training", "1.1")
    assert verdict.keys == PINNED
    assert any("tensor" in text for text in verdict.other)
