"""The results, submissions and loose logs below some paths that have changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.inputs.discover import SCALINGS, Package, PathContents, Target
from podium.compliance.judging.inputs.listing import holds

CONFIG = "podium.toml"


class Changes(msgspec.Struct, frozen=True):
    """Files that changed since a ref, and folders that may contain them, as real paths."""

    ref: str
    paths: frozenset[str]

    def near(self, contents: Mapping[Path, PathContents]) -> dict[Path, PathContents]:
        """The contents of paths, without unchanged folders that are almost submissions."""
        return {
            path: replace(
                content,
                nearly=tuple(folder for folder in content.nearly if self._below(folder)),
                linked=tuple(link for link in content.linked if self._below(link)),
            )
            for path, content in contents.items()
        }

    def packages(self, packages: Iterable[Package], targets: Iterable[Target]) -> list[Package]:
        """The changed submissions; if only results changed, the folders of these results."""
        linked_paths: dict[str, set[str]] = {}
        for target in targets:
            # The target of a link is in another place, and changes there
            if target.submission and self._holds(os.path.realpath(target.path)):
                path = os.path.relpath(target.path, target.submission)
                linked_paths.setdefault(target.submission, set()).add(path)
        return [
            part
            for package in packages
            for part in self._parts(package, linked_paths.get(str(package.root), ()))
        ]

    def targets(self, targets: Iterable[Target], packages: Iterable[Package]) -> list[Target]:
        """The files to check of changed submissions or their parts, and changed loose files."""
        scopes: dict[str, list[str]] = {}
        for package in packages:
            scopes.setdefault(str(package.root), []).append(package.scope)
        return [target for target in targets if self._wanted(target, scopes)]

    def _wanted(self, target: Target, scopes: Mapping[str, list[str]]) -> bool:
        if not target.submission:
            return self._holds(os.path.realpath(target.path))
        path = os.path.relpath(target.path, target.submission)
        target_scopes = scopes.get(target.submission, ())
        return any(not scope or holds(scope, path) for scope in target_scopes)

    def _parts(self, package: Package, linked_paths: Iterable[str]) -> Iterator[Package]:
        root = os.path.realpath(package.root)
        if self._holds(root):
            yield package
            return
        changed_paths = {os.path.relpath(path, root) for path in self.paths if holds(root, path)}
        scopes = {_scope(package.root, path) for path in {*changed_paths, *linked_paths}}
        # A file that belongs to no result belongs to the submission, and so does a removed file
        if "" in scopes:
            yield package
            return
        for scope in sorted(scopes):
            if package.scope and not holds(package.scope, scope):
                if holds(scope, package.scope):
                    yield package
                    return
            elif not any(other != scope and holds(other, scope) for other in scopes):
                yield Package(package.root, package.place(scope), scope)

    def _holds(self, path: str) -> bool:
        """Whether a path changed, or a folder that contains it, or a podium.toml above it."""
        ancestor = path
        while True:
            if ancestor in self.paths or os.path.join(ancestor, CONFIG) in self.paths:
                return True
            parent = os.path.dirname(ancestor)
            if parent == ancestor:
                return False
            ancestor = parent

    def _below(self, folder: Path) -> bool:
        root = os.path.realpath(folder)
        return self._holds(root) or any(holds(root, path) for path in self.paths)


def _scope(root: Path, path: str) -> str:
    """The folder of results that a file of a submission belongs to; empty if to all of them."""
    parts = path.split("/")
    if parts[0] == "systems" and len(parts) == 2 and parts[1].endswith(".json"):
        scope = f"results/{parts[1].removesuffix('.json')}"
        return scope if os.path.isdir(root / scope) else ""
    depth = 4 if len(parts) > 2 and parts[2] in SCALINGS else 3
    if parts[0] != "results" or len(parts) <= depth:
        return ""
    scope = "/".join(parts[:depth])
    return scope if os.path.isdir(root / scope) else ""
