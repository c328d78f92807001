"""Oracle's types and values: stored, compared, written as text and read from it."""
