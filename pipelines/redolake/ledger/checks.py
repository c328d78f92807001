"""Which version the ledger's tables have, whether they are whole, and the errors of a ledger that cannot be used as it is."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, Engine, inspect, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from redolake.errors import FormatTooNew, LedgerDamaged, LedgerOutdated, rebuild_cure, without_breaks
from redolake.ledger import tables as t

# A ledger from before the first release, with a number and without a version. Its tables are those of the first migration.
UNVERSIONED, FIRST = "0000", "0001"

Parts = Mapping[str, frozenset[str]]  # columns and indexes by table


def version_of(connection: Connection) -> str | None:
    """Return the version of the ledger's tables; None where there are none. Raises LedgerDamaged where they have lost it.

    Tables are looked for before the version: a process that creates the ledger at this moment commits both at once, and each
    statement sees what is committed when it begins (PostgreSQL's READ COMMITTED)."""
    has_tables = any(connection.dialect.has_table(connection, table.name) for table in t.metadata.sorted_tables)
    versions = _values(connection, t.version.c.version_num)
    if len(versions) == 1:
        return str(versions[0])
    if not versions and _values(connection, t.format_version.c.version) == [t.UNVERSIONED_FORMAT]:
        return UNVERSIONED
    if has_tables:
        raise lost_version(connection.engine)
    return None


def _values(connection: Connection, column: object) -> list[object]:
    there = connection.dialect.has_table(connection, column.table.name)  # type: ignore[attr-defined]
    return list(connection.execute(select(column)).scalars()) if there else []  # type: ignore[call-overload]


def check_not_newer(found: str, engine: Engine) -> None:
    if found > t.VERSION:
        raise FormatTooNew(
            f"the ledger has version {found}, this Redolake knows {t.VERSION}",
            cure="use a newer Redolake",
            ledger=url_text(engine),
        )


def check_version(found: str, engine: Engine) -> None:
    """Raise FormatTooNew or LedgerOutdated unless the tables are those of this Redolake."""
    check_not_newer(found, engine)
    if found != t.VERSION and (found, t.VERSION) != (UNVERSIONED, FIRST):
        raise LedgerOutdated(
            f"the ledger has version {found}, this Redolake needs {t.VERSION}",
            cure="run `redolake migrate`, or the next run, which does it too; first stop what an older Redolake runs",
            ledger=url_text(engine),
        )


def check_own_version(connection: Connection) -> None:
    """Raise unless the tables still have the version of this Redolake. PostgreSQL keeps it until the transaction ends."""
    found = connection.execute(select(t.version.c.version_num).with_for_update(read=True)).scalars().all()
    if len(found) != 1:
        raise lost_version(connection.engine)
    check_version(found[0], connection.engine)


def check_whole(connection: Connection, expected: Parts) -> None:
    """Raise LedgerDamaged if a table, a column or an index is missing: an empty one would be another ledger."""
    found = parts_of(connection, expected)
    for table, parts in expected.items():
        if table not in found:
            raise damage_error(connection.engine, f"the ledger has no table {table}")
        if missing := sorted(parts - found[table]):
            raise damage_error(connection.engine, f"the ledger's table {table} has no {', '.join(missing)}")


def parts_of(connection: Connection, tables: Mapping[str, object]) -> Parts:
    """Return what the database has of these tables."""
    found, names = inspect(connection), list(tables)
    indexes = found.get_multi_indexes(filter_names=names)
    return {
        str(name): frozenset(
            [f"column {column['name']}" for column in columns] + [f"index {index['name']}" for index in indexes[schema, name]]
        )
        for (schema, name), columns in found.get_multi_columns(filter_names=names).items()
    }


def own_parts() -> Parts:
    """Return what this Redolake needs."""
    return {
        table.name: frozenset(
            [f"column {column.name}" for column in table.columns] + [f"index {index.name}" for index in table.indexes]
        )
        for table in t.metadata.sorted_tables
    }


def damage_error(engine: Engine, what: str) -> LedgerDamaged:
    """Return the error of a ledger that must be rebuilt."""
    if engine.dialect.name == "sqlite":
        file = engine.url.database
        away = f"move {file} away, with {file}-wal and {file}-shm"
    else:
        away = f"drop its tables ({', '.join(t.metadata.tables)})"
    return LedgerDamaged(what, cure=rebuild_cure(away), ledger=url_text(engine))


def lost_version(engine: Engine) -> LedgerDamaged:
    return damage_error(engine, f"the ledger has lost its version: there is not one row in {t.version.name}")


def url_text(engine: Engine) -> str:
    return shown_url(engine.url)


def shown_url(url: URL) -> str:
    """Return the URL as messages may show it. Its query may have passwords too, also under names that libpq does not know."""
    return url.set(query={}).render_as_string(hide_password=True)


def driver_text(engine: Engine, error: DBAPIError) -> str:
    """Return what the database's driver says, without the passwords of the URL: it quotes values that it does not take."""
    text = str(error.orig)
    given = (value for name, value in engine.url.query.items() if "pass" in name.lower())
    for value in (engine.url.password, *given):
        text = text.replace(str(value), "***") if value else text
    return without_breaks(text)
