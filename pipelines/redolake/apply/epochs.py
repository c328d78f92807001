"""The epochs of a history (values/history.py), by the commits that its log knows.

A history's commits are under `<pipeline>/<table>/<resetlogs>/history/<epoch>` and the table's load, at the last SCN of the
commits that they have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from redolake.apply.table_log import Damage, TableLog, base_of, load_in
from redolake.errors import LakeDamaged, TableSetBack
from redolake.records.batches.manifest import HistoryFact
from redolake.values.history import Reached
from redolake.values.table import TableId

EPOCH = re.compile(r"/history/(\d+)")
BEGAN = ("epoch_since", "epoch_because")  # in the user metadata of each commit


@dataclass(frozen=True, slots=True)
class Epoch:
    number: int
    reached: Reached


def newest_epoch(log: TableLog | None) -> Epoch | None:
    """Return the history's newest epoch and how far it is; None for a table without one."""
    txns = {} if log is None else log.txns()
    numbers = {app: int(found[1]) for app in txns if (found := EPOCH.search(app))}
    if not numbers:
        return None
    newest = max(numbers.values())
    of_epoch = {app: txns[app] for app, number in numbers.items() if number == newest}
    return Epoch(newest, position_of_load(of_epoch, next(iter(loads_in(of_epoch)), "")))


def of_table(log: TableLog | None, base_id: str) -> Reached:
    """Return how far a table is."""
    own = base_of(base_id)
    txns = {} if log is None else {app: number for app, number in log.txns().items() if app.startswith(own)}
    return position_of_load(txns, "" if log is None else log.load(base_id))


def position_of_load(txns: Mapping[str, int], load: str) -> Reached:
    """Return how far the commits of a load are, whatever the incarnation of the database."""
    position, beside = None, dict[str, int]()
    for app, number in txns.items():
        name = after_load(app, load)
        if name == "":
            position = number if position is None else max(position, number)
        elif name is not None:
            beside[name] = max(number, beside.get(name, number))
    return Reached(load, position, beside)


def loads_in(txns: Mapping[str, int]) -> set[str]:
    return {load for app in txns if (load := load_in(app))}


def after_load(app_id: str, load: str) -> str | None:
    """Return what an application id has after the load, such as `/repair`; None for one of another load."""
    found = re.fullmatch(rf".+?/\d+(?:/history/\d+)?{re.escape(load)}(/[a-z]+)?", app_id, re.DOTALL)
    return None if found is None else found[1] or ""


def state_of(log: TableLog | None) -> HistoryFact | None:
    """Return how far a history is; None where it has not begun."""
    epoch = newest_epoch(log)
    if epoch is None or log is None:
        return None
    noted = log.note_with(*BEGAN)
    since, why = noted.get("epoch_since"), str(noted.get("epoch_because", ""))
    return HistoryFact(epoch.number, epoch.reached.position, since, why, log.table_bytes())


def check_reached(log: TableLog | None, at_least: int, table: TableId, path: str) -> None:
    """Raise TableSetBack for the history at `path` unless it has commits up to an SCN."""
    epoch = newest_epoch(log)
    position = -1 if epoch is None or epoch.reached.position is None else epoch.reached.position
    if position < at_least:
        what = "is gone" if epoch is None else f"holds commits up to SCN {position}: it is an older copy"
        what = f"the history of the table, which held commits up to SCN {at_least}, {what}"
        raise TableSetBack(what, cure=cure_of(table, path), table=table, path=path)


def damage_in(table: object, path: str) -> Damage:
    """Return the error of a file of the log of the history at `path`."""
    what = "the Delta log of the history is damaged"
    return lambda file, why: LakeDamaged(f"{what}: {why}", cure=cure_of(table, path), path=file, table=table)


def cure_of(table: object, path: str) -> str:
    """Return what mends the history at `path`, if it is gone or cannot be read."""
    return (
        f"put {path} back from a copy. Without a copy, move away what is left of it, and run `redolake history rebuild {table} "
        f"--execute --yes --reason WHY`. If a batch has held the table, run `redolake resume {table}` then; or let the history "
        f"begin again with the rows of now: `redolake resume {table} --new-history --reason WHY`"
    )
