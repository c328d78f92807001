"""Read whole rows again, of a table whose changes LogMiner does not show.

A row that is there AS OF the window's end belongs into the lake as it is. One that is not there was deleted, under the key that
it had AS OF the window's start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from redolake.errors import RedolakeError
from redolake.records.windows import RereadRows
from redolake.source import Source, Wanted, read_again
from redolake.steps.capture.reread.changed_rows import ChangedRows
from redolake.values.ora_codes import OUT_OF_REACH
from redolake.values.scn import Scn


def reread_rows(changed: ChangedRows) -> RereadRows:
    """Read one table's changed rows AS OF the window's end, and the keys that they had at its start and at each snapshot inside
    it: the table's contents are of one of these SCNs. There is no other SCN to read at if undo does not reach these."""
    start, end, keys = int(changed.made.window.scns.start) - 1, int(changed.end), changed.keys()
    if len(keys) < changed.unnamed.num_rows:
        return RereadRows(changed.name, end, None, error="the redo contains neither a ROWID nor a key of a changed row")
    values = [column for column in changed.table.captured if column.name not in changed.key]
    inside = [scn for scn in changed.context.landing.snapshots.scns(changed.table.table) if start < scn < end]
    try:
        after = changed.to_read(values, keys)
        file, count = changed.read(after, changed.end)
        earlier, why = keys_at(changed.oracle, replace(after, columns=(), keys=()), (start, *inside), changed.container)
        frames = [frame for found in earlier.values() for frame in found]
        before = changed.write(frames, before=True)[0] if frames else None
    except RedolakeError as error:
        return RereadRows(changed.name, end, None, error=changed.why_not_read("rows", error))
    asked = len(changed.rowids) + len(keys)
    return RereadRows(changed.name, end, file, count, error=why, before=before, bases=tuple(earlier), asked=asked)


def keys_at(oracle: Source, wanted: Wanted, scns: Sequence[int], container: str | None) -> tuple[dict[int, list[Any]], str]:
    """Return the keys as frames by SCN, without SCNs that the database can no longer show, and why it shows none. Apply needs
    one of them: a table was often altered between the window's start and a snapshot inside it."""
    found: dict[int, list[Any]] = {}
    error = ""
    for scn in scns:
        try:
            found[scn] = list(read_again(oracle, wanted, Scn(scn), container))
        except RedolakeError as refused:
            if refused.ora_code not in OUT_OF_REACH:
                raise
            error = f"keys AS OF SCN {scn}: {refused.what}"
    return found, "" if found else error
