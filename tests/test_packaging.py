"""The built and installed package: one package, `podium`, that works in any folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.version import VERSION
from tests.architecture.source import PACKAGES
from tests.builders import build
from tests.compliance.trees import usual
from tests.locations import ROOT

PUBLIC = (
    *("check", "score", "mllog", "Logger", "MLLogger", "read_log", "read_system", "rounds"),
    *("ComplianceError", "results", "__version__"),
)


def python(
    interpreter: Path | str, *words: object, cwd: Path, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, without the import path of this process."""
    quiet = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [interpreter, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=quiet,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


# --- the build ------------------------------------------------------------------------------------


def hatch(project: Path, out: Path, *targets: str) -> None:
    words = [word for target in targets for word in ("-t", target)]
    python(sys.executable, "-m", "hatchling", "build", "-d", out, *words, cwd=project)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel of this tree."""
    out = tmp_path_factory.mktemp("built")
    hatch(ROOT, out, "sdist", "wheel")
    return out


def wheel_in(folder: Path) -> Path:
    return folder / f"podium-{VERSION}-py3-none-any.whl"


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_has_one_top_level_package(built: Path) -> None:
    tops = {name.partition("/")[0] for name in contents(wheel_in(built))}
    assert tops == {"podium", f"podium-{VERSION}.dist-info", f"podium-{VERSION}.data"}


def test_the_wheel_has_every_source_file_and_its_data(built: Path) -> None:
    names = set(contents(wheel_in(built)))
    wanted = {
        f"podium/{path.relative_to(ROOT).as_posix()}"
        for part in PACKAGES
        for pattern in ("*.py", "*.json", "*.toml", "*.j2", "*.css", "*.js")
        for path in (ROOT / part).rglob(pattern)
    }
    assert any("/rules/convergence/data/" in name for name in wanted)
    assert any("/rules/clauses/" in name for name in wanted)
    assert any(name.endswith("/page.html.j2") for name in wanted)
    assert {*wanted, "podium/__init__.py", "podium/__main__.py", "podium/py.typed"} <= names


def test_the_wheel_has_no_other_files(built: Path) -> None:
    inside = {name for name in contents(wheel_in(built)) if name.startswith("podium/")}
    endings = {name.rpartition(".")[2] for name in inside}
    assert endings == {"py", "json", "md", "toml", "typed", "j2", "css", "js"}
    assert [name for name in inside if "__pycache__" in name or "/tests/" in name] == []


def test_the_wheel_has_the_manual_page(built: Path) -> None:
    inside = contents(wheel_in(built))
    shared = {name for name in inside if name.startswith(f"podium-{VERSION}.data/")}
    page = f"podium-{VERSION}.data/data/share/man/man1/podium.1"
    assert shared == {page}
    assert inside[page] == (ROOT / "docs" / "podium.1").read_bytes()


def test_the_wheel_declares_the_command(built: Path) -> None:
    text = contents(wheel_in(built))[f"podium-{VERSION}.dist-info/entry_points.txt"].decode()
    assert "podium = podium.compliance.cli.entry:main" in text.splitlines()


DATA_FILTER: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def test_the_source_distribution_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    with tarfile.open(built / f"podium-{VERSION}.tar.gz") as archive:
        assert [member.name for member in archive if member.issym() or member.islnk()] == []
        # Python 3.11.2 in Debian 12 has no filters
        archive.extractall(tmp_path, **DATA_FILTER)
    again = tmp_path / "again"
    hatch(tmp_path / f"podium-{VERSION}", again, "wheel")
    assert contents(wheel_in(again)) == contents(wheel_in(built))


# --- the installation -----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with podium's wheel.

    Its dependencies come from this environment, so that nothing is downloaded.
    """
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False)
    site = home / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    with zipfile.ZipFile(wheel_in(built)) as archive:
        archive.extractall(site)
    ours = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(ours) + "\n")
    interpreter = home / "bin" / "python"
    found = python(interpreter, "-c", "import podium; print(podium.__file__)", cwd=home)
    assert Path(found.stdout.strip()).is_relative_to(site)
    return interpreter


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log without errors."""
    path = tmp_path / "result_0.txt"
    return build("training", "6.1", "closed", "llama31_8b").write(path)


@pytest.fixture(params=["an empty folder", "a folder with packages of these names"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A user's working directory; its packages would shadow installed packages of that name."""
    path = tmp_path / "work"
    path.mkdir()
    if request.param != "an empty folder":
        for part in PACKAGES:
            (path / part).mkdir()
            (path / part / "__init__.py").write_text(f"raise RuntimeError('this is not {part}')\n")
    return path


def test_the_version_is_printed_in_any_folder(installed: Path, folder: Path) -> None:
    done = python(installed, "-m", "podium", "--version", cwd=folder)
    assert VERSION in done.stdout


def test_a_log_is_checked_in_any_folder(installed: Path, folder: Path, log: Path) -> None:
    done = python(installed, "-m", "podium", "check", log, "--round", "6.1", cwd=folder)
    assert "ACCEPTED" in done.stdout


def test_a_dry_log_is_written_in_any_folder(installed: Path, folder: Path) -> None:
    words = ("run", "llama2_70b_lora", "--dry-log", "--output", "dry.txt")
    python(installed, "-m", "podium", *words, cwd=folder)
    assert (folder / "dry.txt").read_text().startswith(":::MLLOG ")


def test_the_package_named_rules_works_next_to_podium(
    installed: Path, tmp_path: Path, log: Path
) -> None:
    code = f"""
import rules, podium, podium.rules
assert rules is not podium.rules
rules.add_rule("may enter", rules.always_true)
print(rules.test_rule("may enter"), podium.check({str(log)!r}, round="6.1").verdict)
print(len(podium.rules.rounds) == len(podium.rounds))
"""
    done = python(installed, "-c", code, cwd=tmp_path)
    assert done.stdout.split() == ["True", "accepted", "True"]


def test_every_public_name_can_be_imported(installed: Path, tmp_path: Path) -> None:
    code = f"from podium import {', '.join(PUBLIC)}; import podium; print(*podium.__all__)"
    done = python(installed, "-c", code, cwd=tmp_path)
    assert set(done.stdout.split()) == set(PUBLIC)


@pytest.mark.long
def test_torchrun_starts_podium_as_a_module(installed: Path, folder: Path) -> None:
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    words = ("-m", "podium", "run", "rgat", "--seed", "1", "--output", "logs", "-q")
    python(installed, *launcher, *words, cwd=folder)
    text = (folder / "logs" / "result_0.txt").read_text()
    assert text.count('"key": "run_stop"') == 1


CALLER = """\
from podium import check
report = check("logs", round="6.1")
reveal_type(report.verdict)
"""


@pytest.mark.long
def test_a_type_checker_reads_the_installed_types(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    words = ("--strict", "--config-file=", "--cache-dir", tmp_path / "cache", "caller.py")
    done = python(installed, "-m", "mypy", *words, cwd=tmp_path)
    shown = re.search(r'Revealed type is "(.*)"', done.stdout)
    assert shown is not None
    assert "Any" not in shown[1]


# --- calls from the top folder of the repository --------------------------------------------------


@pytest.fixture(params=["check a log", "check a submission", "score", "run"])
def words(request: pytest.FixtureRequest, tmp_path: Path, log: Path) -> list[str]:
    """The arguments of a command."""
    report = ["--format", "json", "--output", str(tmp_path / "report.json")]
    if request.param == "check a log":
        return ["check", str(log), "--round", "6.1", *report]
    if request.param == "run":
        return ["run", "rgat", "--dry-log", "--output", str(tmp_path / "dry.txt")]
    tree = str(usual(tmp_path / "tree").root)
    command = request.param.split()[0]
    return [command, tree, "--round", "5.1", *report]


def imported(*arguments: str) -> list[str]:
    """Every module that a call from the top folder of the repository imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "podium", *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]


def test_no_top_folder_is_imported_under_its_own_name(words: list[str]) -> None:
    names = imported(*words)
    assert "podium.compliance.cli.entry" in names
    assert [name for name in names if name.partition(".")[0] in PACKAGES] == []


def test_the_top_folder_is_not_on_the_path_of_an_editable_install() -> None:
    code = "import json, sys; print(json.dumps(sys.path))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT / "docs",
        # The user may have set PYTHONPATH
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    assert str(ROOT) not in json.loads(done.stdout)


# --- the example plug-in --------------------------------------------------------------------------

PLUGIN = ROOT / "docs" / "examples" / "plugin"


@pytest.fixture(scope="session")
def plugged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example plug-in of the documentation, installed from its wheel."""
    out, target = tmp_path_factory.mktemp("plugin"), tmp_path_factory.mktemp("target")
    hatch(PLUGIN, out, "wheel")
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def with_plugin(installed: Path, plugged: Path, cwd: Path, *words: object, status: int = 0) -> str:
    """The output of the installed podium with the plug-in on the path."""
    code = (
        f"import sys; sys.path.append({str(plugged)!r}); "
        "from podium.compliance.cli.entry import run; "
        f"sys.exit(run({[*map(str, words)]!r}))"
    )
    return python(installed, "-c", code, cwd=cwd, status=status).stdout


def test_the_example_plugin_works_when_installed(
    installed: Path, plugged: Path, tmp_path: Path
) -> None:
    listed = json.loads(with_plugin(installed, plugged, tmp_path, "plugins", "--format", "json"))
    (plugin,) = listed["plugins"]
    assert (plugin["name"], plugin["distribution"], plugin["version"], plugin["state"]) == (
        "handbook",
        "podium-handbook",
        "1.0",
        "loaded",
    )
    tried = with_plugin(installed, plugged, tmp_path, "rules", "test", "handbook")
    assert "1 of 1 rules pass" in tried
    good = build("training", "6.1", "closed", "llama31_8b")
    path = good.shift("init_start", -31).write(tmp_path / "result_0.txt")
    words = ("check", path, "--round", "6.1", "--format", "json", "--only-selected")
    words = (*words, "--select", "handbook.*")
    report = json.loads(with_plugin(installed, plugged, tmp_path, *words))
    assert [each["id"] for each in report["findings"]] == ["handbook.init.slow"]
    assert report["plugins"][0]["findings"] == 1


@pytest.mark.long
def test_the_example_plugin_passes_its_own_tests(plugged: Path, tmp_path: Path) -> None:
    code = f"import sys; sys.path.append({str(plugged)!r}); import pytest; sys.exit(pytest.main())"
    words = f"pytest.main(['-q', '-p', 'no:cacheprovider', {str(PLUGIN / 'tests')!r}])"
    python(sys.executable, "-c", code.replace("pytest.main()", words), cwd=tmp_path)
