"""Reference trainers that emit valid logs; torch is used here and nowhere else."""
