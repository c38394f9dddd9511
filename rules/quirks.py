"""Differences between the official programs and the policy when they read a package.

Most differences between the two profiles are severities, which each rule declares. The others are
listed here, one field each. Code asks for a quirk by its name, never for the profile.
"""

from __future__ import annotations

import msgspec

from podium.rules.finding import Profile


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """The behavior of one profile; every field is False for the policy.

    `ignores_policy`: rules that only the policy or podium states do not apply.
    `skips_unknown_folders`: a result in a folder with an unknown name is not checked.
    `blames_power_logs`: a run with a wrong power folder counts as a run that fails.
    `drops_power_faults`: the faults of such a run are dropped if it has no others.
    `drops_refused_runs`: a run whose log violates rules ranks as the slowest. `counts_all_runs`:
    every run counts, without a median window or a first N to converge. `compares_spelling`: the
    division is compared literally. `names_by_logs`: the logs, not the folder, name the benchmark of
    the reference points. `tests_instances`: throughput instances are tested for convergence.
    `crashes_on_logs`: a log that crashes the official reader leaves the result unchecked.
    `computes_factors`: scores are scaled by the reference points in every round.
    `sums_power_files`: energy is the sum of the official summary, whatever the file names.
    `only_division_read`: before 1.0 only the division of a description is read. `stops_at_syntax`:
    a description with a syntax error is not read at all. `counts_seed_records`: several records of
    one seed count as several seeds. `reads_last_flag`: bypass flags are read like in the official
    programs. `links_from_root`: links are resolved from the folder in which the checker starts.
    """

    ignores_policy: bool = False
    skips_unknown_folders: bool = False
    blames_power_logs: bool = False
    drops_power_faults: bool = False
    drops_refused_runs: bool = False
    counts_all_runs: bool = False
    compares_spelling: bool = False
    names_by_logs: bool = False
    tests_instances: bool = False
    crashes_on_logs: bool = False
    computes_factors: bool = False
    sums_power_files: bool = False
    only_division_read: bool = False
    stops_at_syntax: bool = False
    counts_seed_records: bool = False
    reads_last_flag: bool = False
    links_from_root: bool = False


QUIRKS = {
    Profile.POLICY: Quirks(),
    Profile.VERIFIER: Quirks(**dict.fromkeys(Quirks.__struct_fields__, True)),
}
"""The quirks that apply in each profile."""
