"""Read large objects of changed rows again AS OF the window's end.

A window answers for the transactions that commit before its end, so the value AS OF its end is the right one for every key
whose last committed change is in it. More rows than needed do no harm: each value is true AS OF that SCN.
"""

from __future__ import annotations

from redolake.errors import RedolakeError
from redolake.records.windows import RereadRows
from redolake.source import read_current_scn
from redolake.steps.capture.reread.changed_rows import ChangedRows
from redolake.values.ora_codes import OUT_OF_REACH


def reread_values(changed: ChangedRows) -> RereadRows:
    """Read one table's rows again AS OF the window's end; at a current SCN where undo no longer reaches that."""
    scn, keys = changed.end, tuple(dict.fromkeys(changed.keys()))
    wanted = changed.to_read(changed.table.large_objects, keys)
    if not changed.rowids and not keys:
        why = "the redo contains neither a ROWID nor a key of the changed rows"
        return RereadRows(changed.name, int(scn), None, error=why)
    for late in (False, True):
        try:
            if late:
                changed.oracle.use_container(changed.container)
                scn = max(scn, read_current_scn(changed.oracle))  # a standby may be behind the window, and then refuses its SCN
            file, count = changed.read(wanted, scn)
        except RedolakeError as error:
            if error.ora_code in OUT_OF_REACH and not late:
                continue
            why = changed.why_not_read("large objects", error)
            return RereadRows(changed.name, int(scn), None, late=late, error=why)
        return RereadRows(changed.name, int(scn), file, count, late)
    raise AssertionError("a late reading returns")
