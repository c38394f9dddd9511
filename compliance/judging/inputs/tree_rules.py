"""Where the files of a submission lie: the rules that a scan of its folders reports."""

from __future__ import annotations

from podium.rules.citations import OWN
from podium.rules.consequences import Follows
from podium.rules.finding import Severity
from podium.rules.fixed.edits import RESULT, link, rename, write
from podium.rules.fixed.fixed_rule import both, note, own, policy

STRUCTURE = "submission rules, Directory structure"

MISPLACED = policy(
    "tree.misplaced",
    says="every log lies in the folder of a benchmark, and HPC's below strong or weak",
    why="a log that lies elsewhere belongs to no result",
    message="{what} lies outside {where}",
    help="move it to {target}",
    cites=STRUCTURE,
    varies="an error that both texts state for folders beside strong and weak that hold folders, "
    "on which the official verifier crashes",
    bad=(rename(f"{RESULT}/result_2.txt", "results/ex_n8/result_2.txt"),),
)
# The official verifier only warns of such a folder, skips it, and accepts the package
UNKNOWN_BENCHMARK = policy(
    "tree.unknown-benchmark",
    Severity.ERROR,
    says="the folders below a system are called after the round's benchmarks",
    why="logs in any other folder belong to no result; the official verifier skips it",
    message="{name} is not a benchmark of {round}",
    help="{advice}",
    cites=STRUCTURE,
    varies="a warning where the folder holds no log",
    bad=(rename(RESULT, "results/ex_n8/llama31_405B"),),
)
UNKNOWN_FILE = policy(
    "tree.unknown-file",
    says="among the results lie logs, and nothing else",
    why="a log under another name is not counted, and other files are not looked at",
    message="{name} does not belong among the logs of results",
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
    says="a file that holds the records of a run is named result_<i>.txt",
    why="a log under another name is not counted: the result lacks that run",
    message="{name} holds the records of a run, but is not named result_<i>.txt{more}",
    help="{how}",
    cites=STRUCTURE,
    varies="a warning where no run is missing: of a result that has its runs, and of loose logs",
    bad=(rename(f"{RESULT}/result_2.txt", f"{RESULT}/results_2.txt"),),
    follows=(Follows("repo.leading-dot"),),
    reads_content=False,
)
UNKNOWN_FOLDER = note(
    "tree.unknown-folder",
    says="a submission has systems, benchmarks and results, and perhaps code and documentation",
    why="reviewers look for nothing in other folders",
    message="{name} is none of the folders of a submission",
    help="a submission has {folders}: move it to one of them, or remove it",
    cites=STRUCTURE,
    bad=(write("measurements/notes.md"),),
    good=(write("documentation/notes.md"),),
)
LINKED_FOLDER = both(
    "tree.linked-folder",
    says="folders of results are folders, or links to other folders of the submission",
    why="a link that leads out of the submission, in a circle or to another link is not followed, "
    "so nothing in it is judged",
    message="{name} is a link to a folder{problem}",
    help="put the folder itself in the link's place, or name the folder as a PATH of its own",
    cites=STRUCTURE,
    varies="a warning of the policy where the link is followed, as not every copy of a tree keeps "
    "it, and beside submissions",
    bad=(link("results/other", ".."),),
    good=(write("results/README.md", "see ex_n8\n"),),
)
UNREADABLE = own(
    "tree.unreadable",
    Severity.ERROR,
    Severity.ERROR,
    says="every folder of a submission can be read",
    why="what cannot be read cannot be judged, and is not accepted",
    message="the folder cannot be read ({reason}), so nothing in it is judged",
    help="make it readable",
    cites=f"{OWN}, Files",
    bad="a system's folder of results may not be listed",
    good="everybody may list it",
)
