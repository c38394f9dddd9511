"""What a page of podium may load and run: its own style and its own script, and nothing else."""

from __future__ import annotations

import base64
import hashlib

FOLDER_POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; base-uri 'none'; "
    "form-action 'none'"
)
"""The policy of pages that lie in one folder with their style, scripts and pictures."""


def page_policy(style: str, script: str = "") -> str:
    """The Content-Security-Policy of a page with these texts between its tags.

    They are allowed by their hashes: what a log could smuggle in, in spite of all escaping, would
    not run, nor fetch, send or restyle anything.
    """
    own = f"script-src {_hash(script)}; " if script else ""
    return f"default-src 'none'; style-src {_hash(style)}; {own}base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
