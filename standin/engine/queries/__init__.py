"""SELECT: relations, access paths, plans; what they do not do goes to DuckDB."""
