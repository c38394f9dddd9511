"""The rules on the places of files, which a scan of a submission's folders reports."""

from __future__ import annotations

from podium.rules.citations import OWN
from podium.rules.consequences import Follows
from podium.rules.finding import Severity
from podium.rules.fixed.edits import RESULT, link, rename, write
from podium.rules.fixed.fixed_rule import both, note, own, policy

STRUCTURE = "submission rules, Directory structure"

MISPLACED = policy(
    "tree.misplaced",
    Severity.ERROR,
    says="every log is in the folder of a benchmark; in HPC the folder is in strong or weak",
    why="a log in any other place does not belong to a result",
    message="{what} {where}",
    help="move {pronoun} to {target}",
    cites=STRUCTURE,
    varies="a warning for logs where no result of the system lacks runs, and for folders next to "
    "strong and weak that contain no folder; if they contain one, both policy and verifier "
    "reject it, because the official verifier crashes on it",
    bad=(rename(f"{RESULT}/result_2.txt", "results/ex_n8/result_2.txt"),),
)
# The official verifier only warns of such a folder, skips it, and accepts the package
UNKNOWN_BENCHMARK = policy(
    "tree.unknown-benchmark",
    Severity.ERROR,
    says="the folders in a system's folder have names of the round's benchmarks",
    why="logs in any other folder do not belong to a result; the official verifier skips it",
    message="{name} is not a benchmark of {round}",
    help="{advice}",
    cites=STRUCTURE,
    varies="a warning where the folder contains no log",
    bad=(rename(RESULT, "results/ex_n8/llama31_405B"),),
)
UNKNOWN_FILE = policy(
    "tree.unknown-file",
    says="the folders of results contain only logs",
    why="a log with another name is not counted, and other files are not checked",
    message="{name} does not belong in a folder of results",
    help="remove it, move it to benchmarks, or rename a log to result_<i>.txt",
    cites=STRUCTURE,
    bad=(write("results/ex_n8/notes.txt"),),
    good=(write("results/ex_n8/README.txt"),),
    follows=(Follows("repo.leading-dot"),),
    reads_content=False,
)
MISNAMED_LOG = policy(
    "tree.misnamed-log",
    Severity.ERROR,
    says="a file with the records of a run is named result_<i>.txt",
    why="a log with another name is not counted, so the result lacks that run",
    message="{name} has the records of a run, but is not named result_<i>.txt{more}",
    help="{how}",
    cites=STRUCTURE,
    varies="a warning where no run is missing: in a result with enough runs, and for loose logs",
    bad=(rename(f"{RESULT}/result_2.txt", f"{RESULT}/results_2.txt"),),
    follows=(Follows("repo.leading-dot"),),
    reads_content=False,
)
UNKNOWN_FOLDER = note(
    "tree.unknown-folder",
    says="a submission has the folders systems, benchmarks and results, and optionally code and "
    "documentation",
    why="reviewers do not look into other folders",
    message="{name} is not a folder of a submission",
    help="{advice}a submission has {folders}: move it to one of them, or remove it",
    cites=STRUCTURE,
    bad=(write("measurements/notes.md"),),
    good=(write("documentation/notes.md"),),
    follows=(Follows("tree.misplaced"),),
)
LINKED_FOLDER = both(
    "tree.linked-folder",
    says="folders of results are folders, or links to other folders of the submission",
    why="a link that points outside the submission, is circular or points to another link is not "
    "followed, so nothing in it is checked",
    message="{name} is a link to a folder{problem}",
    help="replace the link with the folder itself, or pass the folder as a separate PATH",
    cites=STRUCTURE,
    varies="a warning of the policy where the link is followed, because not every copy of a tree "
    "keeps links, and for links next to submissions",
    bad=(link("results/other", ".."),),
    good=(write("results/README.md", "see ex_n8\n"),),
)
UNREADABLE = own(
    "tree.unreadable",
    Severity.ERROR,
    Severity.ERROR,
    says="every folder of a submission can be read",
    why="a folder that cannot be read cannot be checked, and is not accepted",
    message="the folder cannot be read ({reason}), so nothing in it is checked",
    help="make it readable",
    cites=f"{OWN}, Files",
    bad="a system's folder of results has no permission to be listed",
    good="everyone has the permission to list it",
)
