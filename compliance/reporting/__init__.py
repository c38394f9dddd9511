"""The report of one call, as data and models, and its formats. Imports files and rules."""
