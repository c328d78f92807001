"""Mutants that no test can kill, and why: they decide the same. By file, then as a mutant is printed."""

from __future__ import annotations

KEPT: dict[str, dict[str, str]] = {}
