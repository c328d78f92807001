"""A mark that a batch was prepared; the file's place says which, and after which one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BatchPrepared:
    prepared: bool = True
