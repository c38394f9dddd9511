"""Commands load only the modules that they need."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from podium.compliance.tools.bundling.bundle import bundle
from tests.architecture.source import modules, top
from tests.compliance.trees import usual
from tests.locations import ROOT
from tests.rounds import training_from

# --- loaded modules ---

HEAVY = (
    *("torch", "scipy", "numpy", "pandas", "jsonschema", "git", "rich", "pydantic", "zstandard"),
    *("matplotlib", "multiprocessing.pool", "gzip", "hypothesis", "mlperf_logging"),
)


def loaded(code: str) -> set[str]:
    """The modules that are loaded after a new process has run some code."""
    code = f"import sys; {code}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def test_a_loaded_module_is_detected() -> None:
    assert {"rich", "json"} <= loaded("import rich, json; print('text')")


@pytest.mark.parametrize(
    "code",
    [
        "import podium.compliance.cli.entry",
        "import podium",
        "import podium.logging_spec.reader.read",
        "import podium.rules",
    ],
)
def test_an_import_loads_no_heavy_module(code: str) -> None:
    assert loaded(code) & set(HEAVY) == set()


def test_the_help_is_shown_without_loading_the_rules() -> None:
    code = "import podium.compliance.cli.entry; podium.compliance.cli.entry.run(['--help'])"
    names = loaded(code)
    assert names & set(HEAVY) == set()
    assert not {
        name for name in names if name.startswith(("podium.rules.training", "podium.rules.hpc"))
    }


@pytest.fixture(params=["a log", "a package"])
def checking(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Code that checks a log or a complete package."""
    path = tmp_path
    if request.param == "a log":
        (tmp_path / "result_0.txt").write_text(":::MLLOG {}\n")
    else:
        path = usual(tmp_path).root
    words = ["check", str(path), "--round", "5.1", "--output", str(tmp_path.parent / "out.json")]
    return f"from podium.compliance.cli.entry import run; run({[*words, '--format', 'json']!r})"


def test_a_check_loads_nothing_that_it_does_not_need(checking: str) -> None:
    assert loaded(checking) & {*HEAVY, "statistics", "tomllib"} == set()


def test_unpacking_without_a_receipt_does_not_load_pydantic(tmp_path: Path) -> None:
    (tmp_path / "Acme").mkdir()
    bundle(tmp_path / "Acme", tmp_path / "a.tar.gz")
    words = ["unpack", str(tmp_path / "a.tar.gz"), "--output", str(tmp_path / "out"), "--quiet"]
    names = loaded(f"from podium.compliance.cli.entry import run; run({words!r})")
    assert (tmp_path / "out/Acme").is_dir()
    assert "pydantic" not in names


def test_modules_that_a_check_loads_define_no_dataclass(checking: str) -> None:
    """A dataclass adds about 1 ms to every start, a msgspec.Struct 0.03 ms."""
    places = {name.removeprefix("podium.").replace(".", "/") for name in loaded(checking)}
    made = {
        f"{module.name} {node.name}"
        for module in modules()
        if module.name.removesuffix(".py").removesuffix("/__init__") in places
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
        and any("dataclass" in ast.unparse(each) for each in node.decorator_list)
    }
    assert made == set()


def test_training_rules_do_not_load_hpc_rules() -> None:
    code = "from podium.rules.catalogue import find_round; find_round('training', '5.1')"
    assert not {name for name in loaded(code) if name.startswith("podium.rules.hpc")}


def test_a_round_does_not_load_unrelated_rounds() -> None:
    code = "from podium.rules.catalogue import find_round; find_round('training', '5.1')"
    others = ("0.5", *training_from("5.1")[1:])
    modules = {f"podium.rules.training.v{name.replace('.', '_')}" for name in others}
    assert not loaded(code) & modules


def test_logging_spec_loads_no_other_package_of_podium() -> None:
    parts = ("reader.read", "reader.record", "keys", "mllog")
    wanted = "; ".join(f"import podium.logging_spec.{part}" for part in parts)
    assert not {name for name in loaded(wanted) if top(name) in ("rules", "compliance", "typer")}
