"""One result: its runs, and what follows from them. Imports logs, systems, power and below."""
