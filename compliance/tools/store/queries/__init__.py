"""SQL over a store, behind locks; what it answers, as text, CSV, JSON or Parquet."""
