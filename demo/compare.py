"""`python -m demo.compare PIPELINE FILE`: write `redolake verify`'s result to a file. Exit with 0 even if cells differ."""

from __future__ import annotations

import sys
from pathlib import Path

from redolake import steps
from redolake.config import load_pipeline
from redolake.records.codec import encode


def compare(pipeline: str, file: Path) -> None:
    def report(line: str) -> None:
        sys.stdout.write(f"{line}\n")

    file.write_text(encode(steps.verify_tables(steps.Run(load_pipeline(pipeline), report=report))))


if __name__ == "__main__":
    compare(sys.argv[1], Path(sys.argv[2]))
