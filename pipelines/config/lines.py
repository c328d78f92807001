"""The lines of pipelines.yml in which texts stand, for findings that come from beyond the file's own checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from pipelines.config.yaml_text import Loader, part_of


def lines_of_texts(file: Path, pipeline: str) -> Mapping[str, int]:
    """Return the first line of each text in a pipeline's settings; nothing where the file cannot be read."""
    try:
        node = yaml.compose(file.read_text(), Loader)
    except (OSError, yaml.YAMLError):
        return {}
    for part in ("pipelines", pipeline):
        found = None if node is None else part_of(node, part)
        node = None if found is None else found[1]
    lines: dict[str, int] = {}
    for text, line in () if node is None else texts_in(node):
        lines.setdefault(text, line)
    return lines


def texts_in(node: yaml.Node) -> Iterator[tuple[str, int]]:
    """Yield the values below a node, with their lines, in the file's order."""
    if isinstance(node, yaml.ScalarNode):
        yield str(node.value), node.start_mark.line + 1
    for part in node.value if isinstance(node, (yaml.MappingNode, yaml.SequenceNode)) else ():
        yield from texts_in(part[1] if isinstance(part, tuple) else part)
