"""Before and during a run: preflight, guard, watch. Imports rulebook and below."""
