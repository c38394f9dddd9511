"""A program that a clone configures at every possible place, and that notes each start."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from tests.compliance.clones import git

HOOKS = (
    *("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout"),
    *("post-merge", "pre-rebase", "post-rewrite", "pre-push", "reference-transaction"),
    *("post-index-change", "fsmonitor-watchman", "pre-merge-commit", "pre-auto-gc"),
)

PROGRAMS = (
    *("core.fsmonitor", "core.pager", "core.editor", "sequence.editor", "core.sshCommand"),
    *("core.askPass", "core.gitProxy", "core.alternateRefsCommand", "credential.helper"),
    *("credential.https://evil.example.helper", "diff.external", "diff.odd.command"),
    *("diff.odd.textconv", "filter.odd.clean", "filter.odd.smudge", "filter.odd.process"),
    *("filter.half.clean", "filter.half.smudge", "merge.odd.driver", "merge.default"),
    *("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "pager.status"),
    *("submodule.sub.update", "gc.recentObjectsHook", "uploadpack.packObjectsHook"),
    *("hook.odd.command", "lfs.customtransfer.odd.path", "interactive.diffFilter"),
)
"""Keys of a configuration that name a program."""

ATTRIBUTES = """\
Acme/** filter=odd diff=odd merge=odd
Beta/** filter=half diff=odd merge=odd
*.md filter=odd diff=odd merge=odd
"""


@dataclass
class Trap:
    """A program that notes each start with the name of the key that configured it."""

    place: Path

    def __post_init__(self) -> None:
        self.notes = self.place / "started"
        self.program = self.place / "trap"
        self.program.write_text(f'#!/bin/sh\necho "$1" >> {self.notes}\n')
        self.program.chmod(0o755)

    def named(self, name: str) -> str:
        """Return the command for a key. Git appends its arguments after the name."""
        return f"{self.program} {shlex.quote(name)}"

    def sprung(self) -> set[str]:
        """Return the names under which the program was started."""
        return set(self.notes.read_text().split("\n")) - {""} if self.notes.exists() else set()

    def put(self, clone: Path) -> None:
        """Configure the program at every place where a clone can name a program."""
        for name in PROGRAMS:
            git(clone, "config", "--local", name, self.named(name))
        settings = {"hook.odd.event": "pre-commit", "filter.odd.required": "true"}
        settings |= {"protocol.ext.allow": "always", "protocol.allow": "always"}
        settings |= {"submodule.recurse": "true", "push.recurseSubmodules": "on-demand"}
        settings |= {"commit.verbose": "true", "core.hooksPath": str(self.place / "hooks")}
        for name, value in settings.items():
            git(clone, "config", "--local", name, value)
        for folder in (clone / ".git/hooks", self.place / "hooks"):
            folder.mkdir(exist_ok=True)
            for name in HOOKS:
                hook = folder / name
                hook.write_text(f"#!/bin/sh\necho hook-{name} >> {self.notes}\n")
                hook.chmod(0o755)
