"""Everything that reads or writes Delta tables: log, commits, schema, DDL, MERGE. `target.py` is what apply asks of it."""
