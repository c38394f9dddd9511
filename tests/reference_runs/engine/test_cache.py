"""The cache of generated weights is optional: a run works without it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.engine.cache import kept_weights  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import RunFault  # noqa: E402


def drawn() -> dict[str, torch.Tensor]:
    return {"weight": torch.randn(3)}


def test_weights_are_generated_once(tmp_path: Path) -> None:
    setting = Setting(cache=tmp_path / "cache")
    first, again = (kept_weights(setting, "base", ("a",), drawn) for _ in range(2))
    assert torch.equal(first["weight"], again["weight"])
    assert len([*(tmp_path / "cache").iterdir()]) == 1


@pytest.mark.parametrize("links", [True, False])
def test_concurrent_processes_get_the_same_weights(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Llama 2 with LoRA and Llama 3.1 405B share a base, which two runs may generate at once."""
    setting = Setting(cache=tmp_path)
    first, second = {"weight": torch.ones(3)}, {"weight": torch.zeros(3)}

    def draw_while_another_does() -> dict[str, torch.Tensor]:
        assert kept_weights(setting, "base", ("a",), lambda: first) is not None
        return second

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    drawn_last = kept_weights(setting, "base", ("a",), draw_while_another_does)
    later = kept_weights(setting, "base", ("a",), drawn)
    assert torch.equal(drawn_last["weight"], later["weight"])
    assert torch.equal(later["weight"], (first if links else second)["weight"])
    assert len([*tmp_path.iterdir()]) == 1


def no_links(*_: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


def test_weights_are_generated_but_not_kept_without_a_usable_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    before = torch.get_rng_state()
    assert kept_weights(Setting(), "base", ("a",), drawn)["weight"].shape == (3,)
    assert torch.equal(torch.get_rng_state(), before)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_requested_cache_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunFault, match=r"--cache: .*file is not a folder that podium can write to"):
        kept_weights(Setting(cache=tmp_path / "file"), "base", ("a",), drawn)
