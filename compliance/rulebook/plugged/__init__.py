"""What plug-ins add to the rulebook: their rules, the list of them, the tests of their examples."""
