"""A released version's state as it is kept here: landing, lake and ledger of a small pipeline, and the life of its database.

Paths begin with ROOT in the kept files, and with the test's folder in a copy. The JSON files of the landing contain a hash of
themselves, which a copy computes again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from redolake.config import Pipeline
from redolake.land import layout
from redolake.ledger import tables as t
from redolake.ledger.base import WRITING
from redolake.records.codec import CHECK, check_of
from tests.contract.newer import engine, forget
from tests.fixtures.shop import Shop
from tests.released.life import Said

HERE = Path(__file__).parent
ROOT = "/redolake-released"
PLACES = ("landing", "lake")
SETTINGS: dict[str, Any] = {
    "tables": ["SHOP.*", {"table": "SHOP.EVENTS", "key": "append"}],
    "large_objects": "reread",
    "lease_wait_minutes": 0,
}


def releases() -> list[str]:
    return sorted(path.name for path in HERE.iterdir() if path.name[0].isdigit())


def pipeline_in(shop: Shop, url: str = "") -> Pipeline:
    return shop.pipeline(**SETTINGS, ledger={"url": url or f"sqlite:///{shop.folder}/ledger.db"})


def copy_files(source: Path, target: Path, old: str, new: str) -> None:
    """Copy landing and lake, with the paths of another root in them."""
    for file in sorted(path for place in PLACES for path in (source / place).rglob("*") if path.is_file()):
        relative = str(file.relative_to(source))
        mark, moved_mark = (f"landing/shop/{layout.lake_record(f'{root}/lake')}" for root in (old, new))
        made = target / (moved_mark if relative == mark else relative)
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_bytes(with_root(file.read_bytes(), old, new))


def with_root(body: bytes, old: str, new: str) -> bytes:
    """Return a file's contents with other paths, and the hash of its JSON computed again."""
    if old.encode() not in body:
        return body
    text = body.decode().replace(old, new)
    if f'"{CHECK}"' not in text:
        return text.encode()
    was, record = json.loads(body), json.loads(text)
    assert was.pop(CHECK) == check_of(was)
    del record[CHECK]
    return (json.dumps({**record, CHECK: check_of(record)}, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def keep_ledger(url: str, folder: Path, old: str) -> None:
    """Keep a ledger's rows as JSON. Times and JSON bodies are texts, as SQLite has them."""
    tables = MetaData()
    with engine(url) as opened, opened.connect() as connection:
        tables.reflect(connection)
        found = {name: connection.execute(text(f"SELECT * FROM {name} ORDER BY 1")) for name in tables.tables}
        rows = {name: [dict(row._mapping) for row in result] for name, result in found.items()}
    body = json.dumps(rows, indent=1, sort_keys=True, ensure_ascii=False).replace(old, ROOT)
    (folder / "ledger.json").write_text(body + "\n")


def keep_structure(folder: Path) -> None:
    """Keep the statements that make this version's tables, for each kind of database."""
    for kind in (sqlite, postgresql):
        dialect = kind.dialect()
        made = [CreateTable(table) for table in t.metadata.sorted_tables]
        made += [CreateIndex(index) for table in t.metadata.sorted_tables for index in sorted(table.indexes, key=str)]
        statements = [str(one.compile(dialect=dialect)).strip() for one in made]
        (folder / f"ledger.{kind.__name__.rpartition('.')[2]}.sql").write_text(";\n\n".join(statements) + ";\n")


def put_ledger(release: str, url: str, root: str) -> None:
    """Make a ledger as that release has left it."""
    kept = HERE / release
    rows = json.loads((kept / "ledger.json").read_text().replace(ROOT, root))
    with engine(url) as opened, opened.execution_options(**{WRITING: True}).begin() as connection:
        statements = (kept / f"ledger.{opened.dialect.name}.sql").read_text().split(";\n")
        for statement in filter(str.strip, statements):
            connection.exec_driver_sql(statement)
        for name, found in rows.items():
            for row in found:
                columns = ", ".join(f'"{column}"' for column in row)
                values = ", ".join(f":{column}" for column in row)
                connection.execute(text(f"INSERT INTO {name} ({columns}) VALUES ({values})"), row)
    forget()


def said(release: str) -> list[Said]:
    return [Said(**one) for one in json.loads((HERE / release / "source.json").read_text())]
