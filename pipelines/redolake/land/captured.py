"""The tables that patterns have matched: each list is a file with the next number, and the newest counts."""

from __future__ import annotations

from redolake.host import crash
from redolake.land import layout
from redolake.land.cures import match_again, restore
from redolake.land.files import Files
from redolake.records.captured import CapturedTables


class CapturedLists:
    def __init__(self, files: Files) -> None:
        self._files = files

    def newest(self) -> tuple[int, CapturedTables | None]:
        """Return the newest list with its number; 0 and None before the first."""
        names = self._files.names(layout.CAPTURED)
        if not names:
            return 0, None
        number = int(names[-1].removesuffix(".json"))
        file = layout.captured_file(number)
        return number, self._files.read_record(CapturedTables, file, match_again(file) if len(names) > 1 else restore())

    @crash.writer
    def write_captured(self, number: int, made: CapturedTables) -> bool:
        """Write the list after `number`. Return False if another process has written one there first."""
        return self._files.create_record(layout.captured_file(number + 1), made)
