"""A physical standby and its primary: whether they are a pair, which facts come from which, how far the standby is behind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from redolake.config.limits import Retry
from redolake.errors import Finding, RedolakeError, SnapshotTooEarly, SourceRefused, Transient
from redolake.source.facts import PRIMARY, ROLES, read_active_transactions, require_role
from redolake.source.oracle import APPLIES, Source
from redolake.values.redo import RedoFacts
from redolake.values.scn import Scn

INTERVAL = re.compile(r"\+?(\d+) (\d+):(\d+):(\d+(?:\.\d+)?)")


@contextmanager
def open_partner(source: Source, here: Any, retry: Retry | None = None) -> Iterator[tuple[Source, Sequence[Any]]]:
    """Open the database that `primary` names, in its root, and yield it with its instances. Raise as `check_partner` does."""
    with source.primary(retry) as primary:
        primary.use_container(None)
        instances = primary.query("instances")
        check_partner(here, instances)
        yield primary, instances


def check_partner(here: Any, instances: Sequence[Any]) -> None:
    """Raise SourceRefused, or SnapshotTooEarly where waiting may help, unless the database and the instances of the one that
    `primary` names are a standby and its primary, or the same two after a change of roles."""
    require_role(here.database_role)
    there = instances[0]
    if int(there.dbid) != int(here.dbid):
        raise SourceRefused(
            f"`primary` leads to another database: its DBID is {there.dbid}, that of `connection` {here.dbid}",
            cure="name the connection of this standby's primary as `primary` below `source` in pipelines.yml",
        )
    both = f"`connection` leads to {here.db_unique_name} ({here.database_role}), `primary` to {there.db_unique_name}"
    if here.database_role == PRIMARY:
        if there.database_role == PRIMARY and there.db_unique_name != here.db_unique_name:
            raise SourceRefused(
                f"{both} ({there.database_role}): a failover has left two primaries, whose changes differ",
                cure="let a DBA end the one that is not to go on, or reinstate it as a standby; then begin again",
            )
        return
    if there.database_role != PRIMARY:
        raise SourceRefused(
            f"{both}, which is a {there.database_role}: it does not show what is open on the primary",
            cure="name the connection of the primary itself as `primary`: after a change of roles that of the new one, and no "
            "standby that forwards the redo",
        )
    closed = [f"instance {row.inst_id} is {row.open_mode}" for row in instances if row.open_mode != "READ WRITE"]
    if closed:
        raise SourceRefused(f"{both}, of which {', '.join(closed)}", cure="open the primary (ALTER DATABASE OPEN)")
    check_readable(here, both)
    if any(int(row.resetlogs_scn) != int(here.resetlogs_scn) for row in instances):
        raise SnapshotTooEarly(
            f"{both}, which was opened with RESETLOGS at SCN {there.resetlogs_scn}; the standby has that of SCN "
            f"{here.resetlogs_scn}",
            cure="wait until the standby has followed it, then snapshot again",
        )


def check_readable(here: Any, both: str) -> None:
    """Raise SourceRefused unless a standby is open."""
    if here.open_mode not in ("READ ONLY", APPLIES):
        raise SourceRefused(
            f"{both}; the standby is {here.open_mode}, and its tables cannot be read",
            cure="open it (ALTER DATABASE OPEN READ ONLY), and start redo apply",
        )


def check_shows(primary: Source, container: str | None) -> None:
    """Raise SourceRefused where the primary's V$TRANSACTION has no row of the container, and no error, as in another PDB."""
    if container is None or container in (names := [row.name for row in primary.query("visible_containers")]):
        return
    raise SourceRefused(
        f"`primary` shows no transaction of {container}, only of {', '.join(sorted(names)) or 'the root'}",
        cure="correct the service of its connection; where that leads to the root, run there ALTER USER <its user> SET "
        "CONTAINER_DATA = ALL CONTAINER = CURRENT",
    )


def standby_findings(source: Source, container: str | None, kept_since: Scn) -> Iterator[Finding]:
    """Yield what doctor says of a standby, of its primary, and of the pair after a change of roles. `kept_since` is where the
    redo begins that every thread still has."""
    source.use_container(None)
    here = source.query("database")[0]
    is_primary, name = here.database_role == PRIMARY, f"database {here.db_unique_name}"
    if here.database_role not in ROLES:
        return  # a finding of its own
    if not is_primary:
        yield from ask_lags(source)[1]
    if not source.names_primary:
        if not is_primary:
            what = (
                "is a PHYSICAL STANDBY, and no primary is named: nothing is asked there, and the transactions that are open at "
                f"a snapshot are found in the redo, which is kept since SCN {kept_since}. An older one is not known until it "
                "commits, and then holds the tables that were read before. After a switchover this connection is the "
                "primary's, and shows them all"
            )
            cure = (
                "go on, or name the connection of its primary as `primary` below `source` in pipelines.yml: then all are "
                "known at once. With `on_ddl: {unknown_ddl: resnapshot}` such tables are read again by themselves"
            )
            yield Finding(name, what, cure, "note")
        return
    try:
        with open_partner(source, here) as (primary, instances):
            if not is_primary:
                check_shows(primary, container)
                read_active_transactions(primary)
                primary.query("prepared_transactions")
    except RedolakeError as error:
        severity = "warning" if is_primary or isinstance(error, Transient) else "error"
        yield Finding("primary", f"{error.what}. Only snapshots need it", error.cure, severity)
        return
    other = instances[0].db_unique_name
    if is_primary:
        what = f"is the primary now, and shows its open transactions itself; {other}, which `primary` names, is not asked"
    else:
        what = (
            f"redo, dictionary and rows are read here; open transactions and current SCNs, when a snapshot begins, on {other}, "
            f"whose {len(instances)} instance(s) are open. After a switchover this goes on unchanged"
        )
    yield Finding(name, what, severity="note")


Lags = tuple[dict[str, float], tuple[Finding, ...]]


def read_lags(source: Source, facts: RedoFacts) -> Lags:
    """Return what `ask_lags` does of a standby; nothing of a primary."""
    return ask_lags(source) if facts.is_standby else ({}, ())


def ask_lags(source: Source) -> Lags:
    """Return by name how many seconds a standby is behind, and a note that says so, or why it is not known. Both lags are part
    of the latency, and neither is in the runway."""
    source.use_container(None)
    try:
        rows = source.query("standby_lags")
    except SourceRefused as error:
        return {}, (Finding("lag of the standby", error.what, error.cure, "note"),)
    shown = ", ".join(sorted(f"{row.name} {row.value or 'unknown'}" for row in rows)) or "V$DATAGUARD_STATS has no rows"
    what = f"{shown}: a window waits until its logs have arrived, and a read AS OF its end until they are applied"
    lags = {row.name: seconds for row in rows if (seconds := interval_seconds(row.value)) is not None}
    return lags, (Finding("lag of the standby", what, severity="note"),)


def interval_seconds(text: str | None) -> float | None:
    """Return the seconds of an interval as V$DATAGUARD_STATS writes it, such as `+00 00:01:30`; None where it is not known."""
    found = INTERVAL.fullmatch(text or "")
    if found is None:
        return None
    days, hours, minutes, seconds = map(float, found.groups())
    return days * 86400 + hours * 3600 + minutes * 60 + seconds
