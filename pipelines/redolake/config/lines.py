"""The lines of pipelines.yml in which texts stand, for findings that come from beyond the file's own checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from redolake.config.mapping import column_name
from redolake.config.yaml_text import Loader, part_of
from redolake.values.table import TableId

EXPRESSION = "expression"


def line_of_setting(file: Path, pipeline: str, table: TableId, match: str | None, place: Sequence[str]) -> int | None:
    """Return the line of a setting, or of one of its columns, in a table's entry, else of its pattern, else of the pipeline;
    None where none of them has it."""
    node = settings_of(file, pipeline)
    tables = None if node is None else part_of(node, "tables")
    entries = tables[1].value if tables is not None and isinstance(tables[1], yaml.SequenceNode) else []
    named = sorted(
        (entry for entry in entries if is_of(entry, table, match)), key=lambda entry: part_of(entry, "match") is not None
    )
    found = (line_below(one, place) for one in (*named, node) if one is not None)
    return next((line for line in found if line is not None), None)


def is_of(entry: yaml.Node, table: TableId, match: str | None) -> bool:
    """Tell whether an entry of `tables` is the table's own, or the pattern that matches it."""
    own, pattern = part_of(entry, "table"), part_of(entry, "match")
    if pattern is not None:
        return match is not None and pattern[1].value == match
    node = entry if own is None else own[1]
    try:
        return isinstance(node, yaml.ScalarNode) and TableId.parse(node.value) == table
    except ValueError:
        return False


def line_below(node: yaml.Node, place: Sequence[str]) -> int | None:
    """Return the line of the innermost part of `place`; a column may be written in any case. None without the setting, or
    with the setting and without the column."""
    line = None
    for part in place:
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        found = [(key, value) for key, value in pairs if part in (key.value, column_name(str(key.value)))]
        if not found:
            is_short = part == EXPRESSION and isinstance(node, yaml.ScalarNode)  # an added column may be its expression alone
            return line if is_short else None
        line, node = found[0][0].start_mark.line + 1, found[0][1]
    return line


def settings_of(file: Path, pipeline: str) -> yaml.Node | None:
    """Return a pipeline's settings; None where the file cannot be read or has none of them."""
    try:
        node = yaml.compose(file.read_text(), Loader)
    except (OSError, yaml.YAMLError):
        return None
    for part in ("pipelines", pipeline):
        found = None if node is None else part_of(node, part)
        node = None if found is None else found[1]
    return node
