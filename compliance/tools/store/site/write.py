"""Writing a site into a new folder, as a whole or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from podium.compliance.files.atomic import draft_folder, refuse_occupied
from podium.compliance.judging.options import Progress
from podium.compliance.tools.store.queries.connection import connect
from podium.compliance.tools.store.site.analysed import KINDS
from podium.compliance.tools.store.site.findings import Tally
from podium.compliance.tools.store.site.material import Material, read_material, read_round
from podium.compliance.tools.store.site.pages import Pages
from podium.compliance.tools.store.site.row import Row
from podium.compliance.tools.store.site.sources import source_of


class Written(NamedTuple):
    """The number of pages, and the bytes of all files."""

    pages: int
    bytes: int


class _Folder:
    """Writes files, and counts them."""

    def __init__(self, root: Path) -> None:
        self.root, self.pages, self.bytes = root, 0, 0

    def write(self, files: Iterable[tuple[str, str]]) -> None:
        for name, text in files:
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            # Half a surrogate pair, from a name that is not UTF-8, is written as a question mark
            data = text.encode("utf-8", "replace")
            path.write_bytes(data)
            self.bytes += len(data)
            self.pages += name.endswith(".html")


def write_site(
    store: Path,
    folder: Path,
    source: str | None = None,
    *,
    charts: bool = True,
    progress: Progress | None = None,
) -> Written:
    """Write the pages of a store into a new folder; `source` as in `source_of`.

    Raises UsageFault if the store does not exist, if `source` is not valid for links, or if the
    folder exists and is not empty or cannot be created.
    """
    refuse_occupied(folder)
    source_text = source_of(source, folder)
    connection = connect(store)
    material = read_material(store, connection)
    analyses = [(kind, kind.make(material.analysed)) for kind in KINDS]
    pages = Pages(material, source_text, analyses)
    counts: Tally = Counter()
    written_count = 0
    with draft_folder(folder) as draft:
        out = _Folder(draft)
        for (suite, name), rows in _by_round(material).items():
            details = read_round(connection, suite, name, [row["result"] for row in rows])
            out.write(pages.results(rows, details))
            counts += details.counts
            written_count += len(rows)
            if progress is not None:
                progress(written_count, len(material.results))
        out.write(pages.assets())
        out.write(pages.fixed())
        out.write(pages.benchmarks())
        out.write(pages.submitters(counts))
        out.write(pages.systems())
        out.write(pages.analysis(kind, analysis, charts=charts) for kind, analysis in analyses)
    return Written(out.pages, out.bytes)


def _by_round(material: Material) -> dict[tuple[str, str], list[Row]]:
    """The results of each suite and round; rounds without results can have findings."""
    by_round: dict[tuple[str, str], list[Row]] = {
        (entry.suite, entry.round): [] for entry in material.rounds
    }
    for row in material.results:
        by_round.setdefault((row["suite"], row["round"]), []).append(row)
    return by_round
