"""Read the owner of a Delta table from its properties, or from the transactions in its log if it has none yet.

Two captured tables, or two pipelines, that share a folder would each replace the other's rows, and each would find its own
position in the log. No list of folders shows that for certain, because files are edited and copied. The table itself does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from redolake.apply.spark.lake_damage import damage_of_file, log_damage
from redolake.apply.table_log import Damage, TableLog
from redolake.errors import FolderTaken, LakeDamaged
from redolake.values.table import TableId
from redolake.values.target_options import DEFAULT, TargetOptions

PIPELINE, TABLE, SHADOW, ORIGIN, OBJECT, HISTORY = (
    f"redolake.{name}" for name in ("pipeline", "table", "shadow", "origin", "objectId", "history")
)
OTHER_LANDING = "whose landing began at"
# <pipeline>/<OWNER.NAME>/<resetlogs id>, for a shadow with its range, for a history with its epoch, then the load, for filled
# defaults /ddl, for repairs /repair
APP_ID = re.compile(
    r"(?P<pipeline>[^/]+)/(?P<table>.+?)/\d+(?:/shadow/(?P<shadow>[^/]+))?(?:/(?P<history>history)/\d+)?(?:/load/\d+-\w+)?"
    r"(?:/ddl|/repair)?",
    re.DOTALL,
)


# The use of a table: changes are merged into it; it gets first contents; it is rebuilt, whatever is in it.
Use = Literal["merge", "load", "rebuild"]


@dataclass(frozen=True, slots=True)
class Owner:
    """`shadow` is the range of a backfill's shadow. `origin` is where the landing began: two pipelines of one name have
    different ones, and a pipeline keeps its own. Both are empty where they are not known. `object_id` is Oracle's; it changes
    when a table is created again, and distinguishes no owners."""

    pipeline: str
    table: str
    shadow: str = ""
    origin: str = ""
    object_id: int | None = None
    is_history: bool = False

    @classmethod
    def of(cls, app_id: str, origin: str = "", object_id: int | None = None) -> Owner | None:
        """Return the owner that an application id of our commits names; None for another writer's."""
        found = APP_ID.fullmatch(app_id)
        if found is None:
            return None
        shadow, is_history = found["shadow"] or "", found["history"] is not None
        return cls(found["pipeline"], found["table"], shadow, origin, object_id, is_history)

    @property
    def properties(self) -> dict[str, str]:
        known = {PIPELINE: self.pipeline, TABLE: self.table, SHADOW: self.shadow, ORIGIN: self.origin}
        more = {HISTORY: "true"} if self.is_history else {}
        return {**known, OBJECT: "" if self.object_id is None else str(self.object_id), **more}

    def mark_options(self, options: TargetOptions = DEFAULT) -> TargetOptions:
        """Return the options with the owner's properties, which are set with them."""
        mine = tuple((key, value) for key, value in self.properties.items() if value)
        return replace(options, properties=(*options.properties, *mine))

    def is_same(self, other: Owner) -> bool:
        mine, its = ((one.pipeline, one.table, one.shadow, one.is_history) for one in (self, other))
        return mine == its and (self.origin == other.origin or not (self.origin and other.origin))

    def __str__(self) -> str:
        shadow = f", a shadow of SCN {self.shadow}" if self.shadow else ""
        what = "the history of " if self.is_history else ""
        return f"{what}{self.table} of pipeline {self.pipeline}{shadow}"


def recorded_owners(log: TableLog) -> list[Owner]:
    """Return whose the table is by its properties, else all that have written it; none if Redolake has not."""
    have = log.properties()
    if PIPELINE in have and TABLE in have:
        return [Owner(have[PIPELINE], have[TABLE], have.get(SHADOW, ""), have.get(ORIGIN, ""), is_history=HISTORY in have)]
    found = (Owner.of(app_id) for app_id in log.txns())
    return list(dict.fromkeys(owner for owner in found if owner is not None))


def why_taken(log: TableLog, own: Owner, use: Use = "merge") -> str | None:
    """Return why the table is not `own`'s; None if it is, or may become it.

    A table without properties is the owner's whose commits it has. If several have written it, only one that rebuilds it gets
    it. One that Redolake has never written is not loaded, only rebuilt on request; whether it has all changes that a MERGE
    continues is another check.
    """
    owners = recorded_owners(log)
    others = [owner for owner in owners if not owner.is_same(own)]
    if not owners:
        return "the folder has a Delta table that Redolake did not write" if use == "load" else None
    if not others:
        return None
    if len(others) < len(owners):
        return None if use == "rebuild" else f"{' and '.join(map(str, others))} was written to the same folder"
    (first, *_) = others
    if replace(first, origin="", object_id=None) == replace(own, origin="", object_id=None):
        return f"the folder belongs to another pipeline {own.pipeline}, {OTHER_LANDING} {first.origin}"
    return f"the folder belongs to {' and '.join(map(str, others))}"


def check_owner(log: TableLog | None, own: Owner | None, table: TableId, path: str, use: Use = "merge") -> None:
    """Raise FolderTaken where the Delta table is another's."""
    what = None if log is None or own is None else why_taken(log, own, use)
    if what is not None:
        cure = f"{cure_of(what, table)}; then run `redolake snapshot {table} --replace`. Nothing was written"
        raise FolderTaken(what, cure=cure, table=table, path=path)


def cure_of(what: str, table: TableId) -> str:
    if what.endswith("did not write"):
        return f"set `target` of {table} to another folder in pipelines.yml, or move that table away"
    changed = "`landing` was changed, restore it" if OTHER_LANDING in what else "the pipeline was renamed, give it its old name"
    return (
        f"if {changed}. Else set `target` of {table} (or `lake`) to another folder in "
        "pipelines.yml, or remove this folder if nobody needs it"
    )


def table_in(app_id: str) -> str:
    """Return the table that an application id of ours names."""
    owner = Owner.of(app_id)
    return app_id if owner is None else owner.table


def damage_of(app_id: str, copy: str | None = None) -> Damage:
    """Return the error of a damaged log of the table that an application id names, of its shadow, or of the `copy` of it."""
    owner = Owner.of(app_id)
    if owner is None:
        return damage_of_file
    if copy is None and not owner.shadow:
        return partial(log_damage, owner.table)
    thing, again = ("copy", "make the copy") if copy is not None else ("shadow", "run the backfill")
    what, cure = f"the Delta log of the {thing} is damaged", f"remove the folder of the {thing}, and {again} again"
    return lambda path, why: LakeDamaged(f"{what}: {why}", cure=cure, path=path, table=owner.table)
