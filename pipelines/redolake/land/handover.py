"""The file with the start of the first window, and its copy: neither can be found again from anything else."""

from __future__ import annotations

from redolake.errors import LandingDamaged
from redolake.host import crash
from redolake.land import layout
from redolake.land.cures import begin_again, copy_of_handover, restore
from redolake.land.files import Files
from redolake.records.handover import FirstPosition

LOST = f"{restore()}; if there is none, {begin_again()}"


class HandoverFiles:
    def __init__(self, files: Files) -> None:
        self._files = files

    @crash.writer
    def start(self) -> FirstPosition | None:
        """Return the start of the first window; None before the first snapshot. A file that is gone comes back from its copy.
        Raises LandingDamaged for a damaged one, and where both are gone and windows have landed."""
        found = self._files.read_record(FirstPosition, layout.HANDOVER, copy_of_handover())
        if found is not None:
            return found
        copy = self._files.read_record(FirstPosition, layout.HANDOVER_COPY, LOST)
        if copy is not None:
            self._files.create_record(layout.HANDOVER, copy)
        elif self._files.names(layout.CHAIN) or self._files.names(layout.WINDOWS):
            raise LandingDamaged("the file is gone", cure=LOST, path=self._files.path_text(layout.HANDOVER))
        return copy

    @crash.writer
    def copy_start(self) -> None:
        """Write the copy, where it is not there yet."""
        start = self.start()
        if start is not None and not self._files.exists(layout.HANDOVER_COPY):
            self._files.create_record(layout.HANDOVER_COPY, start)
