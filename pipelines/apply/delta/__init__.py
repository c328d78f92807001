"""Everything that reads or writes Delta tables: log, commits, schema, MERGE, snapshot loads, comparisons."""
