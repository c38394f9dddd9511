"""Smoke runs as tests want them: trained into a file, then judged by podium and the incumbent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from compliance import check
from reference_runs.catalogue import find, task_of
from reference_runs.setting import Setting
from tests.oracle import judge

if TYPE_CHECKING:
    from pathlib import Path

    from reference_runs.loop import Outcome


@dataclass(frozen=True, kw_only=True)
class Smoke:
    """A benchmark at smoke scale in one round and division, with changes to its config."""

    name: str
    round: str
    division: Literal["closed", "open"]
    settings: dict[str, Any]
    seed: int = 1

    def train(self, path: Path) -> Outcome:
        """Train on one thread of the processor and log into a new file."""
        import torch

        from logging_spec import Logger
        from reference_runs.loop import train
        from reference_runs.ranks import Ranks

        benchmark = find(self.name)
        changes = {name: str(value) for name, value in self.settings.items()}
        config = benchmark.smoke().with_settings(changes)
        setting = Setting(
            seed=self.seed,
            division=self.division,
            round=self.round,
            usage=benchmark.usage,
            device="cpu",
        )
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with Logger(str(path), rank=0) as log:
                task = task_of(self.name)(config, setting, Ranks(torch.device("cpu")))
                return train(task, log)
        finally:
            torch.set_num_threads(threads)

    def errors(self, path: Path) -> dict[str, set[str]]:
        """Keys of the errors that podium finds in a log, by profile, and the incumbent's.

        A target that was not reached has no key; it is "target" here, and a list of initialised
        tensors that is not the reference's is "tensors".
        """
        usage = find(self.name).usage
        found: dict[str, set[str]] = {}
        for profile in ("policy", "verifier"):
            report = check(str(path), round=self.round, usage=usage, profile=profile)
            errors = [finding for finding in report.findings if finding.severity == "error"]
            found[profile] = {f.key or f.id.rpartition(".")[2] for f in errors}
        if (usage, self.round) != ("hpc", "0.7"):  # which has no official verifier
            verdict = judge(path, usage, self.round)
            assert verdict.crash is None
            missed = {"target" for text in verdict.other if "Failed checks for eval_" in text}
            missed |= {"tensors" for text in verdict.other if "initialized_tensors" in text}
            assert len(verdict.other) == len(missed)
            found["incumbent"] = set(verdict.keys) | missed
            assert verdict.ok is (found["incumbent"] == set())
        return found
