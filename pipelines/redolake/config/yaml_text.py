"""Read YAML that a person wrote: a mistake has its line, and a small text cannot stand for a large one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from redolake.errors import ConfigurationError, Finding, without_breaks

# With anchors, nine lines can stand for a billion values, and each is checked. A file without anchors may have any size.
MOST_NODES, MOST_TIMES = 100_000, 100


BOOL, MERGE = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:merge"


class Loader(yaml.SafeLoader):
    """The safe loader, which says in which line a value is that Python cannot have, such as 2026-99-99. As in YAML 1.2, only
    `true` and `false` are no texts: NO, ON and YES are names of columns."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, OverflowError) as error:
            raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from error


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != BOOL or first in "tTfF"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(text: str, file: str) -> Any:
    """Return the value. Raises ConfigurationError."""
    try:
        loader = Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            check_size(node, file)
            check_keys(node, file)
            check_written(node, file)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        what = f"is not YAML: {without_breaks(error)}"
        raise ConfigurationError([Finding(file, what, "correct the file's syntax")]) from error
    except RecursionError:
        raise ConfigurationError([Finding(file, "is not YAML for settings: it is nested too deep", "correct it")]) from None


def line_of(text: str, place: Sequence[int | str]) -> int | None:
    """Return the line in which a setting stands, or the nearest one above it; None for a text without settings."""
    node = yaml.compose(text, Loader)
    if node is None:
        return None
    line = node.start_mark.line + 1
    for part in place:
        found = part_of(node, part)
        if found is None:
            break
        line, node = found
    return line


def part_of(node: yaml.Node, part: int | str) -> tuple[int, yaml.Node] | None:
    """Return the line of a part of a mapping or list, and its value."""
    if isinstance(node, yaml.MappingNode):
        named = (pair for pair in node.value if str(pair[0].value) == str(part))
        return next(((key.start_mark.line + 1, value) for key, value in named), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        value: yaml.Node = node.value[part]
        return value.start_mark.line + 1, value
    return None


def check_size(root: yaml.Node, file: str) -> None:
    """Raise ConfigurationError if the anchors repeat the file's values too often, or a value contains itself."""
    sizes: dict[int, int | None] = {}  # with what anchors repeat; None while a node is counted

    def size(node: yaml.Node) -> int:
        known = sizes.get(id(node), 0)
        if known is None:
            raise too_large(file, node, "contains itself")
        if not known:
            sizes[id(node)] = None
            known = 1 + sum(map(size, parts(node)))
            sizes[id(node)] = known
            if known > max(MOST_NODES, MOST_TIMES * len(sizes)):
                raise too_large(file, node, f"stands for {known} values, by anchors (`*name`) that repeat other ones")
        return known

    size(root)


def check_keys(root: yaml.Node, file: str) -> None:
    """Raise ConfigurationError for a key that a mapping has twice: YAML forbids it, and only the last would count."""
    seen, nodes = set[int](), [root]
    while nodes:
        node = nodes.pop()
        if id(node) not in seen:
            seen.add(id(node))
            nodes += parts(node)
            check_distinct(node, file)


def check_distinct(node: yaml.Node, file: str) -> None:
    first = dict[tuple[str, str], int]()
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        name, line = (key.tag, str(key.value)), key.start_mark.line + 1
        if name in first and key.tag != MERGE:
            what = f"`{key.value}` is written twice, here and in line {first[name]}"
            raise ConfigurationError([Finding(f"{file}, line {line}", what, "write it once: only one of both would count")])
        first[name] = line


def check_written(node: yaml.Node, file: str, above: str = "") -> None:
    """Raise ConfigurationError for `value:` of `on_error` with nothing after it, which YAML reads as null: there null is a
    policy, and nobody has written it."""
    if isinstance(node, yaml.SequenceNode):
        for part in node.value:
            check_written(part, file)
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if above == "on_error" and key.value == "value" and isinstance(value, yaml.ScalarNode) and not value.value:
            where, what = f"{file}, line {key.start_mark.line + 1}", "`value` of `on_error` has no value"
            raise ConfigurationError([Finding(where, what, "write hold, quarantine or null")])
        check_written(value, file, str(key.value))


def parts(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def too_large(file: str, node: yaml.Node, what: str) -> ConfigurationError:
    line = node.start_mark.line + 1
    return ConfigurationError([Finding(f"{file}, line {line}", f"is not YAML for settings: it {what}", "write the values out")])
