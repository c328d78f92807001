"""Which tables a person means: by names in any case, or patterns. A name that means none says why, and which ones are near."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from redolake.config.tables import is_match
from redolake.context import Run
from redolake.errors import ConfigurationError, Finding
from redolake.values.table import TableId
from redolake.values.table_pattern import TablePattern

LISTED = 8


def named_tables(context: Run, names: Sequence[str] | None, *, past: bool = False) -> list[TableId]:
    """Return the tables that are meant, each once; all of the pipeline's where nothing is named. With `past` a table may be
    named that was captured once. Raises ConfigurationError with each name that means none, or several without a pattern."""
    known = [table.id for table in context.pipeline.tables]
    if not names:
        return known
    if past:
        known = list(dict.fromkeys((*known, *(entry.table for entry in context.ledger.tables()))))
    meant = {name: meant_by(name, known) for name in names}
    wrong = [why_none(context, name, known) for name, found in meant.items() if not found]
    wrong += [several(name, found) for name, found in meant.items() if len(found) > 1 and not is_match(name)]
    if wrong:
        raise ConfigurationError(wrong)
    return list(dict.fromkeys(table for found in meant.values() for table in found))


def named_table(context: Run, name: str, *, past: bool = False) -> TableId:
    """Return the one table that is meant. Raises ConfigurationError as `named_tables` does, and for a pattern of several."""
    first, *more = named_tables(context, [name], past=past)
    if more:
        raise ConfigurationError([several(name, [first, *more])])
    return first


def meant_by(name: str, known: Sequence[TableId]) -> list[TableId]:
    """Return the tables that a pattern matches, else the one of this name, else those whose name differs in its case alone. A
    name in quotes is spelled as the dictionary spells it."""
    try:
        if is_match(name):
            pattern = TablePattern.parse(name)
            return [table for table in known if pattern.matches(table)]
        table = TableId.parse(name)
    except ValueError:
        return []
    if table in known:
        return [table]
    return [] if '"' in name else [one for one in known if plain(one) == plain(table)]


def plain(table: TableId) -> str:
    return f"{table.owner}.{table.name}".casefold()


def several(name: str, found: Sequence[TableId]) -> Finding:
    listed = ", ".join(map(str, found[:LISTED]))
    return Finding(name, f"means {len(found)} tables", f"name one as the dictionary spells it: {listed}")


def why_none(context: Run, name: str, known: Sequence[TableId]) -> Finding:
    """Return why a name means no table, and what to do."""
    try:
        table = None if is_match(name) else TableId.parse(name)
    except ValueError:
        table = None
    near = near_names(name, known)
    if table is not None and (why := why_not_captured(context, table, near)) is not None:
        return Finding(name, *why)
    what = "is no table of the pipeline" if not is_match(name) else "matches no table of the pipeline"
    if near:
        return Finding(name, what, did_you_mean(near))
    listed = ", ".join(map(str, known[:LISTED]))
    more = f" and {len(known) - LISTED} more, which `redolake tables` lists" if len(known) > LISTED else ""
    return Finding(name, what, f"one of: {listed}{more}" if known else "`redolake run`, whose plan finds what patterns match")


def did_you_mean(near: Sequence[str]) -> str:
    return f"did you mean {' or '.join(near)}?" if near else ""


def why_not_captured(context: Run, table: TableId, near: Sequence[str]) -> tuple[str, str] | None:
    """Return why a table is not captured that the configuration or a record knows, with the cure; None for an unknown one."""
    pipeline, none = context.pipeline, "is no table of the pipeline"
    stays = "; its Delta table stays as it is" if context.ledger.table(table) is not None else ""
    for match in pipeline.matches:
        if match.excludes and match.pattern.matches(table):
            return f"{none}: `{match.match}` excludes it{stays}", "take that out of `tables`, or leave it"
    if stays:
        return f"{none} any more: it was removed from `tables`{stays}", "add it to `tables` again, or leave it"
    if pipeline.match_of(table) is None:
        return None
    _, recorded = context.landing.captured.newest()
    if recorded is not None and (reason := recorded.left_out.get(str(table))) is not None:
        return f"{none}: it matches a pattern and is left out, as it {reason}", "`redolake doctor` says more"
    if recorded is not None and str(table) in recorded.announced:
        return f"{none} yet: it matches a pattern and is new", "`redolake status` says how it is captured"
    return (
        f"{none}: a pattern matches it, and no plan has found it",
        f"{did_you_mean(near)} if Oracle has it, `redolake run`".strip(),
    )


def near_names(name: str, known: Sequence[TableId]) -> list[str]:
    """Return up to three tables whose names begin so, or are near. Of an owner that has tables, their names alone count: what
    all of them begin with says nothing."""
    wanted = name.replace('"', "").casefold()
    owner, _, of_owner = wanted.partition(".")
    texts: dict[str, str] = {}
    if mine := [table for table in known if table.owner.casefold() == owner]:
        wanted = of_owner
    for table in mine or known:
        texts.setdefault(table.name.casefold(), str(table))
        if not mine:
            texts.setdefault(plain(table), str(table))
    begin = [text for text in texts if wanted and text.startswith(wanted)]
    near = difflib.get_close_matches(wanted, texts, n=3, cutoff=0.75)
    return list(dict.fromkeys(texts[one] for one in (*begin, *near)))[:3]
