"""Redo rows out of LogMiner: one session per slice, every row checked, cut to the window by its SCN."""

from pipelines.mine.copies import EdgeCut, Reading, mine_whole
from pipelines.mine.mining import SliceMining, mine_slice
from pipelines.mine.rows import REDO_SCHEMA

__all__ = ["REDO_SCHEMA", "EdgeCut", "Reading", "SliceMining", "mine_slice", "mine_whole"]
