"""Try a function of users' code on a sample, in a process of its own: such a function may hang, or end the process. As a module
that is run, it reads a task from its input and writes the answer."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from redolake.host.user_code import UserCodeFailed, call

SECONDS = 20.0
ANSWER = "redolake: "  # begins the line after all that the function prints
MODULE = "redolake.host.try_user_code"


def try_function(
    function: str, digest: str, sample: pa.RecordBatch, columns: Mapping[str, pa.DataType], seconds: float = SECONDS
) -> str | None:
    """Return why a function cannot be used, None where nothing speaks against it."""
    task = {"function": function, "digest": digest, "sample": encode_batch(sample), "columns": encode_batch(empty(columns))}
    try:
        done = subprocess.run(
            [sys.executable, "-m", MODULE], input=json.dumps(task), capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{function} has not ended after {seconds:g} seconds, for {sample.num_rows} rows"
    last = done.stdout.splitlines()[-1:]
    if done.returncode or not last or not last[0].startswith(ANSWER):
        return f"{function} has ended the process, with {done.returncode}"
    answer: str | None = json.loads(last[0].removeprefix(ANSWER))
    return answer


def empty(columns: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], pa.schema(list(columns.items())))


def encode_batch(batch: pa.RecordBatch) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def decode_batch(text: str) -> pa.RecordBatch:
    table = pa.ipc.open_stream(base64.b64decode(text)).read_all()
    return (table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)])[0]


def answer(task: Mapping[str, Any]) -> str | None:
    """Call the function twice, for each half of the sample, and for its rows backwards: each row must get the same values."""
    function, digest, sample = task["function"], task["digest"], decode_batch(task["sample"])
    columns = {field.name: field.type for field in decode_batch(task["columns"]).schema}
    half = sample.num_rows // 2
    backwards = sample.take(pa.array(range(sample.num_rows - 1, -1, -1), pa.int64()))
    parts = (sample, sample.slice(0, half), sample.slice(half), backwards)
    try:
        first, again = ([rows_as_text(call(function, digest, part, columns)) for part in parts] for _ in range(2))
    except UserCodeFailed as error:
        return str(error)
    if first != again:
        return f"{function} returns other values when it is called again for the same rows"
    whole, former, latter, turned = first
    if whole != former + latter or whole != turned[::-1]:
        return f"{function} returns other values for a row when other rows are with it, or in another order"
    return None


def rows_as_text(columns: list[pa.Array]) -> list[str]:
    """Return the rows as text, in which NaN equals NaN."""
    return [repr(row) for row in zip(*(column.to_pylist() for column in columns), strict=True)]


def main() -> int:
    task = json.loads(sys.stdin.read())
    found = answer(task)
    sys.stdout.write(f"\n{ANSWER}{json.dumps(found)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
