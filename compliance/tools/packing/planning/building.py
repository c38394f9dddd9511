"""Build the plan of a tree from a configuration: inspect every source, check every log once."""

from __future__ import annotations

from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.layout import is_log
from podium.compliance.judging.inputs.round_selection import RoundRequest
from podium.compliance.judging.inputs.submission_folders import is_submission
from podium.compliance.judging.waivers.waivers import WAIVERS_FILE
from podium.compliance.tools.packing.planning.config import CONFIG_FILE, CodeConfig, PackConfig
from podium.compliance.tools.packing.planning.plan import Plan, pass_over, put_file, put_folder
from podium.compliance.tools.packing.planning.results import take_results
from podium.compliance.tools.packing.planning.sources import expand, in_folder, shown_path
from podium.compliance.tools.packing.receipt import RECEIPT_FILE, SUMMARY_FILE
from podium.rules.model.round import Round

OWN_FILES = (CONFIG_FILE, RECEIPT_FILE, SUMMARY_FILE)
"""Files of podium at the root of a tree; they are not submitted."""


def make_plan(config: PackConfig, rules: Round, base: Path, jobs: int = 1) -> Plan:
    """The plan of the tree of a configuration; paths are relative to `base`."""
    plan = Plan(config, rules, base)
    _Builder(plan, jobs).build()
    return plan


class _Builder:
    def __init__(self, plan: Plan, jobs: int) -> None:
        self.plan, self.jobs = plan, jobs
        self.config, self.base = plan.config, plan.base
        self.request = RoundRequest(plan.rules.usage, plan.rules.name)

    def build(self) -> None:
        config, plan = self.config, self.plan
        self._systems()
        take_results(plan, self.jobs)
        for code in config.code:
            self._code(code)
        for path, source in config.documents.items():
            self._document(path, source)
        if config.waivers:
            put_file(self.plan, WAIVERS_FILE, config.waivers, "waivers")
        for tree in self._trees():
            self._merge(tree)
        self._described()
        self._unnamed()
        plan.check_paths()
        if not plan.entries:
            plan.miss(".", "nothing to pack: the sources contain no files")

    # --- single files ---

    def _systems(self) -> None:
        systems = self.config.systems
        if isinstance(systems, dict):
            for name, path in systems.items():
                put_file(self.plan, f"systems/{name}.json", path, "description")
            return
        for pattern in systems:
            paths = expand([pattern], self.base)
            if not paths:
                self.plan.lack("systems", f"no description matches {pattern}")
            for path in paths:
                put_file(self.plan, f"systems/{Path(path).stem}.json", path, "description")

    def _described(self) -> None:
        """Note which results have no description, and which benchmarks no code."""
        entries = self.plan.entries
        parts = [path.split("/") for path in entries if path.startswith("results/")]
        # results/SYSTEM/BENCHMARK/FILE at least: a file above that is not in a result
        for system in sorted({part[1] for part in parts if len(part) > 3}):
            if f"systems/{system}.json" not in entries:
                self.plan.miss(f"systems/{system}.json", "this system has no description")
        code = {path.split("/")[1] for path in entries if path.startswith("benchmarks/")}
        for benchmark in sorted({result.benchmark for result in self.config.results} - code):
            self.plan.miss(f"benchmarks/{benchmark}", "this benchmark has no code")

    def _unnamed(self) -> None:
        """Note a README next to podium.toml that a tree of named results leaves out."""
        name, plan = "README.md", self.plan
        is_in_tree = (self.base / "systems").is_dir() and (self.base / name).is_file()
        if self.config.results and is_in_tree and name not in plan.entries:
            plan.leave_out(name, "podium.toml does not name it: add it to documents")

    def _document(self, path: str, source: str) -> None:
        if path.startswith("results/") and is_log(path.rpartition("/")[2]):
            raise UsageFault(f"documents: {path} is a log; list it under [[results]]")
        full = self.base / source
        if full.is_dir():
            put_folder(self.plan, path, full, ())
        else:
            put_file(self.plan, path, source, "document")

    # --- folders ---

    def _code(self, code: CodeConfig) -> None:
        if not code.into and not code.benchmark:
            raise UsageFault(f"code: {code.folder} has neither benchmark nor into; add one of them")
        full = self.base / code.folder
        if not full.is_dir():
            self.plan.lack(code.path, f"code: {code.folder} is not a folder")
            return
        put_folder(self.plan, code.path, full, code.exclude)

    # --- other trees ---

    def _trees(self) -> list[Path]:
        config = self.config
        # A podium.toml in a tree made by hand: the tree itself is the source
        if not config.merge and not config.results and is_submission(self.base, self.request):
            return [self.base]
        trees = []
        for path in config.merge:
            full = self.base / path
            inner = full / config.submitter
            # `podium pack` writes the tree into the submitter's folder
            if not is_submission(full, self.request) and inner.is_dir():
                full = inner
            if not full.is_dir():
                raise UsageFault(f"merge: {path} is not a folder")
            trees.append(full)
        return trees

    def _merge(self, tree: Path) -> None:
        display_path = shown_path(tree, self.base)
        exclude: tuple[str, ...] = OWN_FILES
        target = (self.base / self.config.into).resolve()
        # The tree may contain the folder for packed trees, which is not packed again
        if tree.resolve() in target.parents:
            exclude = (*OWN_FILES, target.relative_to(tree.resolve()).parts[0])
        name = "this folder" if tree == self.base else display_path
        self.plan.remark(".", f"with all files of {name}")
        for file in in_folder(tree, self.base):
            if file.below.split("/")[0] in exclude:
                if file.source is not None and file.below in OWN_FILES:
                    self.plan.leave_out(
                        file.source.display_path, "a file of podium, not part of a submission"
                    )
            elif file.source is None:
                pass_over(self.plan, "", display_path, file)
            else:
                self.plan.add(file.below, file.source)
