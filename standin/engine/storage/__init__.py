"""Rows in segments, their versions, and who has locked them."""
