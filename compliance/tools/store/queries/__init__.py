"""SQL queries on a store, isolated from the disk, with answers as text, CSV, JSON or Parquet."""
