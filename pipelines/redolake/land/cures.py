"""Return the cure for a damaged file of the landing, by its kind. tests/integration/test_damaged_files.py tries each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from redolake.errors import in_shell
from redolake.land import layout
from redolake.values.table import TableId


def mine_again(window: str) -> str:
    return (
        f"`redolake remine {window} --replace --execute` mines the window again where its archived logs are still there, and "
        "run again; else restore the logs or the file first"
    )


def run_again() -> str:
    return (
        "run again: the batch that carried the rows is then applied once more from its windows, without changing anything twice"
    )


def carried_again() -> str:
    return "let `redolake run` apply the next window, which finds the rows in their windows again; then try again"


def apply_again(manifest: str) -> str:
    return f"remove {manifest} and run again: the batch is applied once more, without changing anything twice"


def apply_all_again(manifests: Sequence[str]) -> str:
    """Return the cure of rows that several batches have carried, newest first."""
    return apply_again(", then ".join(manifests))


def copy_of_handover() -> str:
    return f"remove {layout.HANDOVER} and run again: its copy, {layout.HANDOVER_COPY}, takes its place"


def copy_of_pruned() -> str:
    return f"remove {layout.PRUNED} and run again: its copy, {layout.PRUNED_COPY}, takes its place"


def begin_again(mark: str = "its file in _redolake/") -> str:
    """Return the cure of a landing that is lost for good."""
    return (
        f"name another database for `ledger`, move what is left of the landing away, remove {mark} and the folders of its "
        "tables from the lake, and run `redolake snapshot`, which reads all tables again"
    )


def load_again(manifest: str, tables: Iterable[TableId]) -> str:
    """Return the cure of a load; `tables` is empty where no file says which it loaded."""
    names = " ".join(in_shell(str(table)) for table in tables)
    what = f"`redolake snapshot {names or 'TABLES'} --replace`" + ("" if names else " with those that it loaded")
    return f"restore the file, or remove {manifest} and run {what}"


def drop_again(file: str, *, is_known: bool) -> str:
    """Return the cure of a dropped transaction's file; the ledger may know the drop."""
    again = "it is written again from the ledger" if is_known else "then drop the transaction again, if it is still open"
    return f"restore the file from a copy of the landing, or remove {file} and run again: {again}"


def approve_again(file: str) -> str:
    return (
        f"restore the file from a copy of the landing, or remove {file} and run again: a table that needs the approval is held "
        "once more, and is approved again"
    )


def match_again(file: str) -> str:
    return f"remove {file} and run again: the patterns are matched again, from the list before it"


def found_again(file: str) -> str:
    return f"remove {file} and run again, which finds the same once more"


def read_dictionary_again(file: str) -> str:
    return (
        f"remove {file}: the plan of the next window writes it again, where the tables are as they were. If it stays missing, "
        f"{restore()}"
    )


def restore() -> str:
    return "restore the file from a copy of the landing"


def snapshot_again(table: TableId) -> str:
    return f"run `redolake snapshot {table} --replace`, or restore the file and run `redolake resume {table}`"


def copy_of_link(window: str, link: str) -> str:
    return f"remove windows/{window}/manifest.json and run again: its copy, {link}, takes its place"
