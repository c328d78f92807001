"""What to do about a damaged file of the landing, by its kind. tests/integration/test_damaged_files.py tries each."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.values.table import TableId


def mine_again(window: str) -> str:
    return (
        f"`redolake remine {window} --replace` mines the window again where its archived logs are still there, and run again; "
        "else restore the logs or the file first"
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


def restore() -> str:
    return "restore the file from a copy of the landing"


def snapshot_again(table: TableId) -> str:
    return f"run `redolake snapshot {table} --replace`, or restore the file and run `redolake resume {table}`"


def resume_or_snapshot(table: TableId) -> str:
    return f"restore the file from a copy and run `redolake resume {table}`, or run `redolake snapshot {table} --replace`"


def copy_of_link(window: str, link: str) -> str:
    return f"remove windows/{window}/manifest.json and run again: its copy, {link}, takes its place"
