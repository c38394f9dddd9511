"""What one call found, as data and models, and how it is printed. Imports files and rules."""
