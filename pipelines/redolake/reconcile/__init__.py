"""Bring the ledger into agreement with the files: what manifests and batch results prove, and what follows for each table and
for the next batch."""
