"""What the dictionary said when a window was planned, written once beside the landing: `baselines/<resetlogs id>-<scn>.json`.

SCNs are those of the incarnation that was read, for a RESETLOGS may have set them back. Older files do not tell it: they count
while nothing of a second incarnation is landed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from pipelines.context import Workplace
from pipelines.formats import check_format, made
from pipelines.land.breaks import place_name
from pipelines.table import DictionaryColumn, DictionaryTable, OracleType, TableId, UniqueIndex

FOLDER = "baselines"
FORMAT = 3  # 3: clusters, external tables, NOLOGGING; 2: the incarnation, defaults of columns, unique indexes


def write_reading(work: Workplace, resetlogs_id: int, scn: int, dictionary: Mapping[TableId, DictionaryTable]) -> None:
    """Two plans at one SCN read the same dictionary: the first one's file stays."""
    tables = [dictionary_to_json(table) for table in dictionary.values()]
    body = {"format": FORMAT, "resetlogs_id": resetlogs_id, "scn": scn, "tables": tables}
    file = f"{FOLDER}/{place_name(resetlogs_id, scn)}.json"
    if work.landing.read_json(file) is None:
        work.landing.write_json_once(file, body)


def readings(work: Workplace, resetlogs_id: int, start: int, end: int | None = None) -> Iterator[list[DictionaryTable]]:
    """Those read at an SCN in [start, end) of the incarnation, the newest first; without an end, also in later ones."""
    found, names = [], work.landing.names(FOLDER)
    older = {name for name in names if "-" not in name}
    if older and not is_only_one(work):
        names = [name for name in names if name not in older]
    for name in names:
        incarnation, _, scn = name.removesuffix(".json").rpartition("-")
        place = int(incarnation or resetlogs_id), int(scn)
        if (resetlogs_id, start) <= place and (end is None or place < (resetlogs_id, end)):
            found.append((place, name))
    for _, name in sorted(found, reverse=True):
        file = f"{FOLDER}/{name}"
        body = work.landing.read_json(file) or {}
        check_format(body, FORMAT, file)
        yield [dictionary_from_json(table, file) for table in body["tables"]]


def is_only_one(work: Workplace) -> bool:
    """Whether all that is landed is of one incarnation."""
    return len({name.partition("-")[0] for name in work.landing.names("windows")}) < 2


def dictionary_to_json(table: DictionaryTable) -> dict[str, Any]:
    return {**asdict(table), "log_groups": sorted(table.log_groups)}


def dictionary_from_json(body: dict[str, Any], file: str) -> DictionaryTable:
    """Raises FormatTooNew."""
    columns = tuple(made(DictionaryColumn, {**c, "type": made(OracleType, c["type"], file)}, file) for c in body["columns"])
    read = {"table": made(TableId, body["table"], file), "columns": columns, "key": tuple(body["key"])}
    read["unique"] = tuple(made(UniqueIndex, {**i, "columns": tuple(i["columns"])}, file) for i in body.get("unique", ()))
    return made(DictionaryTable, {**body, **read, "log_groups": frozenset(body["log_groups"])}, file)
