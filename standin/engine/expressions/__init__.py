"""SQL expressions and functions, compiled."""
