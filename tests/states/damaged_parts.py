"""One small table whose files are damaged, and what the commands do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from redolake import steps
from redolake.context import Run
from redolake.steps.run import capture
from tests.fixtures.shop import Shop, open_shop
from tests.references.source_comparison import compare_with_source


class Parts:
    """One small table, and what the commands do with it."""

    def __init__(self, shop: Shop, pipeline: Any, spark: Any) -> None:
        self.shop, self.pipeline, self.spark = shop, pipeline, spark
        self.landing = Path(pipeline.landing, pipeline.name)

    def land(self, *statements: str) -> Path:
        """Land a window with the statements; return its folder."""
        self.shop.run_sql(*statements)
        self.shop.switch_logs()
        found = capture(Run(self.pipeline, self.shop.params)).plan
        assert found.window is not None
        return self.landing / "windows" / found.window

    def run(self) -> Any:
        return steps.run_pipeline(self.pipeline, until_caught_up=True, source=self.shop.params, spark=self.spark)

    def remine(self, folder: Path, **more: Any) -> Any:
        return steps.remine_window(Run(self.pipeline, self.shop.params), folder.name, **more)

    def error(self) -> dict[str, Any]:
        """Return the error that holds the table."""
        with Run(self.pipeline) as context:
            (entry,) = context.ledger.tables("held")
            return dict(entry.error or {})

    def is_equal(self) -> bool:
        (compared,) = compare_with_source(self.pipeline, self.shop.params).tables
        return bool(compared.equal)


def redo_of(folder: Path) -> Path:
    """Return the larger file of the window's redo."""
    return max(folder.glob("redo-*.parquet"), key=lambda file: file.stat().st_size)


def flip(file: Path, at: int | None = None) -> None:
    body = bytearray(file.read_bytes())
    body[len(body) // 2 if at is None else at] ^= 4
    file.write_bytes(body)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


DAMAGES: dict[str, Callable[[Path], None]] = {"a changed bit": flip, "cut short": cut, "gone": Path.unlink}


@contextmanager
def open_parts(folder: Path, spark: Any) -> Iterator[Parts]:
    """Start a stand-in with the table, and take its snapshot."""
    with open_shop(folder) as shop:
        shop.run_sql(
            "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))",
            "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            "INSERT INTO parts VALUES (1, 'first')",
        )
        made = Parts(shop, shop.pipeline(tables=["SHOP.PARTS"]), spark)
        steps.take_snapshot(made.pipeline, source=shop.params, spark=spark)
        yield made
