"""Ask the database which SCN belongs to a time. It remembers that for at least 120 hours, to some 3 seconds."""

from __future__ import annotations

from datetime import datetime, timedelta

from redolake.errors import RedolakeError
from redolake.source.oracle import Source
from redolake.values.ora_codes import NOT_REMEMBERED


def read_scn_at(source: Source, at: datetime, ahead: timedelta) -> tuple[int, datetime] | None:
    """Return the SCN of a time, None where the database does not know it any more. `ahead` is the clock of the database's host
    minus UTC: both functions take and return times of that clock, without a zone. They need no grant."""
    source.use_container(None)
    host_time = at.replace(tzinfo=None) + ahead
    try:
        scn = int(source.query("scn_of_time", host_time=host_time)[0].scn)
        known: datetime = source.query("time_of_scn", scn=scn)[0].scn_at
    except RedolakeError as error:
        if error.ora_code not in NOT_REMEMBERED:
            raise
        return None
    return scn, (known - ahead).replace(tzinfo=at.tzinfo)
