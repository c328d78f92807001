"""SQL and DDL as text: tokens, sqlglot's trees, the clauses of definitions."""
