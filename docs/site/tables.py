"""The reference of the tables of a store, from their declarations."""

from __future__ import annotations

from podium.compliance.tools.store.queries.described import described

HEAD = """# Tables of a store

`podium results build` writes these tables, and `podium results query` reads them.
`podium results schema` prints this page.

"""


def page() -> str:
    """A section for each table and view, with its columns."""
    return HEAD + described().replace("### ", "## ")
