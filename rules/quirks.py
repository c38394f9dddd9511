"""Where the official programs differ from the policy when they read a package.

Most differences between the two profiles are weights, which each rule declares. The rest are listed
here, one field each. A judge asks for the quirk by its name, and never for the profile.
"""

from __future__ import annotations

import msgspec

from podium.rules.finding import Profile


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """What one of the two texts does; every field is False for the policy.

    `ignores_policy`: no rule that only the policy or podium states applies.
    `skips_unknown_folders`: a result in a folder of an unknown name is not judged.
    `blames_power_logs`: a run with a wrong power folder counts as a run that fails.
    `drops_power_faults`: the faults of such a run are dropped with it where nothing else is wrong.
    `drops_refused_runs`: a run whose log breaks rules ranks as the slowest.
    `counts_all_runs`: every run counts; there is no median window, and no first N to converge.
    `compares_spelling`: the division is compared as it is spelled.
    `names_by_logs`: the logs, not the folder, name the benchmark of the reference points.
    `tests_instances`: throughput instances are tested for convergence.
    `crashes_on_logs`: a log that the official reader crashes on leaves a result unjudged.
    `computes_factors`: scores are scaled by the reference points in every round.
    `sums_power_files`: energy is what the official summary adds up, whatever the files are called.
    `only_division_read`: before 1.0 only the division of a description is read.
    `stops_at_syntax`: a description with a fault of syntax is not read at all.
    `counts_seed_records`: several records of one seed count as several seeds.
    `reads_last_flag`: bypass flags are read as the official programs read them.
    `links_from_root`: links are followed from the folder that the checker is started in.
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


POLICY_QUIRKS = Quirks()
OFFICIAL_QUIRKS = Quirks(**dict.fromkeys(Quirks.__struct_fields__, True))


def quirks_of(profile: Profile) -> Quirks:
    """The quirks that apply in a profile."""
    return OFFICIAL_QUIRKS if profile is Profile.VERIFIER else POLICY_QUIRKS
