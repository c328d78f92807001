"""The pipeline on disk as fixtures."""

from __future__ import annotations

from tests.unit.reconcile.pipeline_on_disk import context, on_disk

__all__ = ["context", "on_disk"]
