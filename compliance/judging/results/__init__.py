"""One result: its runs and values derived from them. Imports logs, systems, power and below."""
