#!/usr/bin/env bash
# Check results in a user's CI: annotations, a summary in Markdown, reports for other programs.
#
# Environment variables: PODIUM_PATH (default .), PODIUM_ROUND, PODIUM_USAGE, PODIUM_PROFILE;
# PODIUM_FAIL_ON (error, warning or never); PODIUM_FORMAT, the printed format (default github);
# PODIUM_SUMMARY, a file that Markdown is appended to; PODIUM_SARIF and PODIUM_JUNIT, files to write,
# which must be outside of PODIUM_PATH. Exit status: 0 passed, 1 findings that fail, 2 nothing
# to check or bad arguments, 3 an internal error of podium.
set -uo pipefail

path=${PODIUM_PATH:-.}
fail_on=${PODIUM_FAIL_ON:-error}
options=()
[ -z "${PODIUM_ROUND:-}" ] || options+=(--round "$PODIUM_ROUND")
[ -z "${PODIUM_USAGE:-}" ] || options+=(--usage "$PODIUM_USAGE")
[ -z "${PODIUM_PROFILE:-}" ] || options+=(--profile "$PODIUM_PROFILE")
case $fail_on in
  error | never) ;;
  warning) options+=(--strict) ;;
  *)
    echo "fail-on is '$fail_on'; expected error, warning or never" >&2
    exit 2
    ;;
esac

report() { podium check "${options[@]}" --quiet "$@" -- "$path"; }

podium check "${options[@]}" --format "${PODIUM_FORMAT:-github}" -- "$path"
status=$?
# If nothing was checked, there are no reports. The reports repeat the failure
if [ "$status" -le 1 ]; then
  [ -z "${PODIUM_SUMMARY:-}" ] || report --format markdown >> "$PODIUM_SUMMARY" || true
  [ -z "${PODIUM_SARIF:-}" ] || report --format sarif --output "$PODIUM_SARIF" || true
  [ -z "${PODIUM_JUNIT:-}" ] || report --format junit --output "$PODIUM_JUNIT" || true
fi
[ "$fail_on" != never ] || [ "$status" -ne 1 ] || status=0
exit "$status"
