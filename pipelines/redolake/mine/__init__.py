"""Mine redo rows with LogMiner: one session per slice, every row checked, cut to the window by its SCN."""

from redolake.mine.copies import EdgeCut, LogSet, mine_from_any_copy
from redolake.mine.mining import SliceMining, mine_slice

__all__ = ["EdgeCut", "LogSet", "SliceMining", "mine_from_any_copy", "mine_slice"]
