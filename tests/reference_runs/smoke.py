"""Smoke runs for tests: train, write a log, and check it with podium and the official checker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from podium.compliance import check
from podium.reference_runs.catalogue import find
from podium.reference_runs.engine.launch import run, run_request
from podium.reference_runs.engine.setting import Setting
from tests.oracle import judge

if TYPE_CHECKING:
    from pathlib import Path

    from podium.reference_runs.engine.loop import Outcome


QUALITIES = ("eval_", "averaged_validation_loss", "aggregated_eval_accuracy")
"""Prefixes of keys that record a quality."""


@dataclass(frozen=True, kw_only=True)
class Smoke:
    """A benchmark at smoke scale in one round and division, with changes to its config."""

    name: str
    round: str
    division: Literal["closed", "open"]
    settings: dict[str, Any]
    seed: int = 1

    def train(self, path: Path) -> Outcome:
        """Train on the CPU and write a new log file."""
        changes = {name: str(value) for name, value in self.settings.items()}
        setting = Setting(seed=self.seed, device="cpu")
        request = run_request(self.name, setting, changes, (self.round, self.division))
        return run(request, path, lambda _: None)

    def errors(self, path: Path) -> dict[str, set[str]]:
        """Return the keys of the errors in a log, by profile and for the official checker.

        A missed target has no key; it is "target" here. A list of initialized tensors that
        differs from that of the reference is "tensors". If the official checker ends without a
        verdict, the key is "verifier-crash", as in the verifier profile.
        """
        usage = find(self.name).usage
        found: dict[str, set[str]] = {}
        for profile in ("policy", "verifier"):
            report = check(str(path), round=self.round, usage=usage, profile=profile)
            errors = [finding for finding in report.findings if finding.severity == "error"]
            found[profile] = {f.key or f.id.rpartition(".")[2] for f in errors}
        if (usage, self.round) != ("hpc", "0.7"):  # this round has no official checker
            verdict = judge(path, usage, self.round)
            if verdict.crash is not None:
                return found | {"incumbent": {"verifier-crash"}}
            failed = tuple(f"Failed checks for {quality}" for quality in QUALITIES)
            missed = {"target" for text in verdict.other if any(each in text for each in failed)}
            missed |= {"tensors" for text in verdict.other if "initialized_tensors" in text}
            assert len(verdict.other) == len(missed)
            found["incumbent"] = set(verdict.keys) | missed
            assert verdict.ok is (found["incumbent"] == set())
        return found
