"""Input from outside is decoded only by functions that enforce limits."""

from __future__ import annotations

import ast

from tests.architecture.source import Module, modules

DECODERS = ("json.loads", "json.load", "tomllib.loads", "tomllib.load", "msgspec.json.decode")

BEHIND_THE_LIMITS = {
    "logging_spec/limits.py": "the limits themselves",
    "logging_spec/reader/recovery.py": "asks the limits, and keeps what the verifier reads beyond",
    "logging_spec/reader/broken_json.py": "likewise",
    "logging_spec/reader/dialects.py": "likewise",
    "compliance/tools/drift/installed.py": "what a process of the project's own answers",
    "compliance/tools/drift/official.py": "what the project asks in a process of its own",
    "compliance/rulebook/rates.py": "the project's own data",
    "rules/clauses/__init__.py": "the project's own data",
    "rules/convergence/data.py": "the points that come with the project",
    "rules/published_keys.py": "the project's own data",
    "rules/training/shared/tensors.py": "the project's own data",
}


def calls(module: Module) -> set[str]:
    """The decoders that a module uses, such as `json.loads`."""
    return {
        text
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and (text := ast.unparse(node)) in DECODERS
    }


def test_only_the_listed_modules_use_a_decoder() -> None:
    found = {
        module.name for module in modules() if module.package != "reference_runs" and calls(module)
    }
    assert found == set(BEHIND_THE_LIMITS)
