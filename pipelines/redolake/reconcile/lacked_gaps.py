"""Which declared gaps the contents of a table lack at an older SCN: those that were closed later, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from redolake.context import Run
from redolake.reconcile.batches import loads_until, position_loaded
from redolake.reconcile.contents import Contents
from redolake.records.closed import ClosedTable
from redolake.records.gaps import DeclaredGap
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId

Load = tuple[TableId, ChainPosition, int]  # the table, the position that was loaded, and the version of the Delta table


def gaps_lacked_at(context: Run, bases: Mapping[TableId, Contents], at: ChainPosition) -> dict[TableId, list[DeclaredGap]]:
    """Return by table the declared gaps from before the SCN whose changes its version of `bases` lacks."""
    gaps = [gap for gap in context.landing.gaps.all() if gap.last_position <= at]
    closings = [(gap, context.landing.closings.of(gap.name)) for gap in gaps]
    tasks = loads_until(context, at.scn) if closings else ()
    loads = [(task.table, position_loaded(task), version) for _, task, version in tasks if not task.joins]
    found = {
        table: [gap for gap, closed in closings if lacks(gap, closed, table, base.version, loads)]
        for table, base in bases.items()
    }
    return {table: gaps for table, gaps in found.items() if gaps}


def lacks(gap: DeclaredGap, closed: Iterable[ClosedTable], table: TableId, version: int, loads: Iterable[Load]) -> bool:
    """Return whether a version of the table's Delta table lacks the gap: the table was captured then, and until the version was
    neither read again nor closed."""
    read_again = any(of == table and at >= gap.last_position and loaded <= version for of, at, loaded in loads)
    is_closed = any(one.table == str(table) and max(one.delta_versions, default=0) <= version for one in closed)
    return str(table) in gap.tables and not read_again and not is_closed
