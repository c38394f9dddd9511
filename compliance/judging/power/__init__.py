"""Power logs of one result: their names, readings and energies. Imports inputs and below."""
