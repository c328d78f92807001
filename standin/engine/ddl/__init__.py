"""DDL, one module for each kind of object or clause, and its redo."""
