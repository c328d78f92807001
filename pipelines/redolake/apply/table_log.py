"""What a table of the lake says of itself, read without Spark, and the names under which we commit to it.

`lake_tables.read_log` reads it. Each commit of ours is known by an application id, `<pipeline>/<OWNER.NAME>/<resetlogs id>` and
the load whose contents it continues, and by a number: the last SCN that is complete, which is the table's position.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from redolake.errors import LakeDamaged
from redolake.values.table import TableId

# The part of an application id that names the load whose contents a commit continues. Tables of 0.1.0 have none before their
# next load.
LOAD = re.compile(r"/load/(?P<number>\d+)-(?P<token>\w+)(?=(?:/ddl|/repair)?$)")
REPAIRS = "/repair"  # the end of the application ids of commits that repair rows: they leave the position as it is

HISTORY_BEGINS = "history_begins"  # in the metadata of a commit that cuts a history: the SCN from which it goes on
COLUMN_ID = "redolake.column_id"  # in the metadata of a column: our id of it
KEY_PLACE = "redolake.key"  # 1 for the first column of the key

Damage = Callable[[str, str], LakeDamaged]  # the error of a damaged log, by the file and what is wrong with it


class TableLog(Protocol):
    """One reading of the table. Each method raises the Damage that it was read with for a file that cannot be read."""

    @property
    def version(self) -> int:
        """The table's own number of its last commit."""

    def position(self, app_id: str, version: int | None = None) -> int | None:
        """Return the position of the contents, now or at a version. None where no commit of that application id says it any
        more, and where the version is not there any more, or not yet."""

    def load(self, app_id: str, version: int | None = None) -> str:
        """Return what names the load of the contents, now or at a version; empty where there is none, as for `position`."""

    def txns(self) -> Mapping[str, int]:
        """Return the last number of each application id that the log still knows."""

    def properties(self) -> Mapping[str, str]: ...

    def fields(self) -> Sequence[Mapping[str, Any]]:
        """Return the columns, each with `name`, `type` and `metadata`, where COLUMN_ID is."""

    def files(self) -> Sequence[str]:
        """Return the paths of the data files, below the table's folder where they are not whole paths, the oldest first."""

    def table_bytes(self) -> int | None:
        """Return the size of the files; None where the log does not say it."""

    def newest_metadata(self) -> Mapping[str, Any]:
        """Return what the newest commit says of itself, if that is ours; empty for any other one."""

    def note_with(self, *names: str) -> Mapping[str, Any]:
        """Return what our newest commit that has all these names says of itself; empty where none that is kept has."""

    def foreign_writes(self, own: str) -> Sequence[tuple[int, str]]:
        """Return version and operation of the commits of others that changed rows and that we have not seen, the oldest first.
        Our application ids begin with `own`."""

    def last_version_with(self, contents_of: int, own: str = "") -> int:
        """Return the newest version that still has the contents which we left in that one: repairs and what others have changed
        since count, our next commit of changes ends it."""


def app_id_of(pipeline: str, table: TableId, resetlogs_id: int) -> str:
    """Return how the application ids of a table begin. Spark would replace ${..} in a setting's value."""
    return f"{pipeline}/{table}/{resetlogs_id}".replace("${", "$%7B")


def load_id(app_id: str, replaced: int | None, token: str) -> str:
    """Return the application id of a load that replaces this version of the table, and of all commits that continue it."""
    return f"{app_id}/load/{0 if replaced is None else replaced + 1}-{token}"


def base_of(app_id: str) -> str:
    """Return how all application ids of a table begin, in any incarnation of the database."""
    return f"{app_id.rpartition('/')[0]}/"


def load_in(app_id: str) -> str:
    """Return the part of an application id that names its load, which is empty where there is none."""
    found = LOAD.search(app_id)
    return "" if found is None else found[0]


def load_number(load: str) -> int:
    found = LOAD.fullmatch(load)
    return -1 if found is None else int(found["number"])


def token_in(app_id: str) -> str | None:
    found = LOAD.search(app_id)
    return None if found is None else found["token"]


@dataclass(frozen=True, slots=True)
class VersionToRead:
    """Version `version` of the table at `path`, complete to `complete_to`, with `position` in its log. `copy` is the folder of
    a copy of it. `quarantine` is the table's, and `copied_quarantine` that of the copy."""

    table: TableId
    path: str
    version: int
    app_id: str
    complete_to: int
    position: int | None = None
    copy: str | None = None
    quarantine: str | None = None
    copied_quarantine: str | None = None
