"""INSERT, UPDATE, DELETE and MERGE: compiled, constrained, also in parallel and by direct path."""
