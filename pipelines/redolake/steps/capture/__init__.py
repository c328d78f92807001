"""Redo into the landing: plan a sealed window, mine or receive it, read again what redo lacks, land it."""
