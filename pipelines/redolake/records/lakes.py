"""The file by which a lake is known again: where it is missing, the lake is not mounted, or another one is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LakeMark:
    """Written once into the lake, and once into the landing that expects it there. `token` is random."""

    pipeline: str
    landing: str
    token: str


@dataclass(frozen=True, slots=True)
class LakePlace:
    """A part of each job's spec: `lake` has the mark in `mark`, once the landing's `record` says so. `holds` are the folders of
    the tables with contents."""

    pipeline: str
    lake: str
    mark: str
    landing: str
    record: str
    holds: tuple[str, ...] = ()
