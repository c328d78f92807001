"""Supplied PL/SQL packages that change tables, their statistics or the database."""
