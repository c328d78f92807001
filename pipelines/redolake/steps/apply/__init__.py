"""Landed windows into Delta: prepare a batch, record its result, release held tables."""
