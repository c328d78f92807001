"""Where things lie below `<landing>/<pipeline>/`. Fixed width, so that listing order is SCN order.

windows/<resetlogs id>-<start>-<end>/redo-<token>-<slice>.parquet, manifest.json
chain/<resetlogs id>-<start>.json                       the window or break that has the place
breaks/<resetlogs id>-<start>.json
torn/<place of the break>/<window>.json                 the transactions under way across its end, as known by the window's end
snapshots/<OWNER.NAME>/<scn>/part-<token>-<chunk>.parquet, snapshot.json
batches/...
"""

from __future__ import annotations

from urllib.parse import quote

from pipelines.redo import Window
from pipelines.scn import ChainPosition
from pipelines.table import TableId

WINDOWS, CHAIN, BREAKS, TORN, SNAPSHOTS = "windows", "chain", "breaks", "torn", "snapshots"


def window_folder(window: Window) -> str:
    return f"{WINDOWS}/{window.name}"


def manifest_file(window_name: str) -> str:
    return f"{WINDOWS}/{window_name}/manifest.json"


def chain_file(place: str) -> str:
    """One name per place in the chain: whoever creates it has the place."""
    return f"{CHAIN}/{place}.json"


def break_file(place: str) -> str:
    return f"{BREAKS}/{place}.json"


def torn_folder(place: str) -> str:
    return f"{TORN}/{place}"


def torn_file(place: str, window_name: str) -> str:
    return f"{torn_folder(place)}/{window_name}.json"


def ends_after(window_name: str, position: ChainPosition) -> bool:
    """Return whether a window ends after a position."""
    resetlogs_id, _, end = window_name.split("-")
    return ChainPosition(int(resetlogs_id), int(end)) > position


def redo_file(token: str, number: int) -> str:
    return f"redo-{token}-{number:05d}.parquet"


def snapshot_folder(table: TableId, scn: int) -> str:
    """Quoted like a URL where a name has characters that paths do not take."""
    return f"{SNAPSHOTS}/{quote(table.owner, safe='$# ')}.{quote(table.name, safe='$# ')}/{scn:020d}"


def snapshot_file(token: str, chunk: int) -> str:
    return f"part-{token}-{chunk:05d}.parquet"
