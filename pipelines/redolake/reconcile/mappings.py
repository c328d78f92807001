"""The mapping of a table: what pipelines.yml says of its columns, for the columns that a version has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import get_args

from redolake.config import Pipeline
from redolake.config.expressions import OWN_TIME, uses, with_ids
from redolake.config.mapping import MaskSetting, ShapedColumn, mask_for, mask_name, of_column
from redolake.config.tables import TableSettings
from redolake.decode.datatypes import spark_ddl_type
from redolake.errors import RedolakeError, SchemaConflict
from redolake.host.secrets import check_of, find_key, read_key
from redolake.host.user_code import UserCodeFailed, digest_of
from redolake.values.delivery import delivery_of
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.joined_columns import find_joins
from redolake.values.mapping import (
    CLEAR,
    FIRST_ADDED,
    PLAIN_NUMBER,
    Computed,
    Mask,
    RowFilter,
    SecretName,
    TableMapping,
    Transform,
    needs_all_columns,
    source_value,
)
from redolake.values.own_columns import MetadataName
from redolake.values.table import Column, TableVersion, upper_name

CORRECT = "correct pipelines.yml"
PLAIN_KEY = "declare `key: primary`, columns that are NOT NULL, or `key: rowid`"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a table cannot be mapped as pipelines.yml says; `place` names the setting, and where it has columns which one."""

    what: str
    cure: str
    place: tuple[str, ...] = ()


@dataclass(slots=True)
class Resolving:
    """What is being found out about one table's mapping. `known` are the ids of columns that Oracle does not have and the lake
    has, by name; None where the contents are read as a whole."""

    pipeline: Pipeline
    version: TableVersion
    shape: TableSettings
    problems: list[Problem] = field(default_factory=list)
    known: dict[str, int] | None = None

    @property
    def ids(self) -> dict[str, int]:
        return {column.name: column.id for column in self.version.columns}

    def refuse(self, what: str, cure: str = CORRECT, *, place: tuple[str, ...] = ()) -> None:
        self.problems.append(Problem(what, cure, place))

    def added_id(self, name: str, number: int) -> int:
        """Return the id of an added column, which keeps the one that it has; `number` is its place in pipelines.yml."""
        if self.known is None:
            return FIRST_ADDED + number
        return self.known.setdefault(name, max(self.known.values(), default=FIRST_ADDED - 1) + 1)

    def lake_name(self, column: Column) -> str:
        options = self.pipeline.target_options(self.version.table)
        return self.shape.new_names.get(column.name) or options.name(column.name)


def resolve_mapping(
    pipeline: Pipeline, version: TableVersion, has: TableVersion | None = None
) -> tuple[TableMapping | None, tuple[Problem, ...]]:
    """Return the mapping of a table whose contents are read under this version, None for columns as they are; and what
    stands in its way. `has` is the version of contents that stay, whose added columns keep their ids."""
    shape = pipeline.settings(version.table)
    if not is_shaped(shape):
        return None, ()
    known = None if has is None else {one.name: one.id for one in has.mapping.added} if has.mapping is not None else {}
    found = Resolving(pipeline, version, shape, known=known)
    check_names(found)
    transform, made = of_code(found)
    computed = (*in_place(found), *of_added(found), *made)
    masks = [name for name, mask in shape.masks.items() if mask != CLEAR]
    check_distinct(found, computed)
    mapping = TableMapping(
        names=tuple(sorted((found.ids[name], new) for name, new in shape.new_names.items() if name in found.ids)),
        computed=computed,
        where=row_filter(found),
        transform=transform,
        secret=secret_of(found, computed),
        later=tuple(sorted((name, new) for name, new in shape.new_names.items() if name not in found.ids)),
        shaped=tuple(sorted({*masks, *(name for name, one in shape.shaped.items() if one.expression is not None)})),
        order=shape.column_order,
        comments=tuple(
            (found.ids[name], one.comment)
            for name, one in sorted(shape.shaped.items())
            if one.comment is not None and name in found.ids
        ),
    )
    check_mapping(found, mapping)
    return (None if mapping == TableMapping() else mapping), tuple(dict.fromkeys(found.problems))


def is_shaped(shape: TableSettings) -> bool:
    return bool(shape.rename or shape.add or shape.mask or shape.where or shape.shaped or shape.column_order or shape.transform)


def check_names(found: Resolving) -> None:
    """Name the columns that a table's own entry speaks of and that it does not have. A pattern's may be of other tables."""
    own = found.pipeline.table(found.version.table)
    if found.pipeline.is_of_pattern(own):
        return
    known = {**found.ids, **dict.fromkeys(c.name for c in found.version.ignored)}
    for name, one in own.shaped.items():
        if one.expression is not None and found.version.ignores(name):
            what = f"{name} has an expression, and is left out"
            cure = "take its expression out of `columns`, or let it be captured (`exclude_columns`, `include_columns`)"
            found.refuse(what, cure, place=("columns", name))
    for setting, names in (("rename", own.new_names), ("mask", own.masks), ("columns", own.shaped)):
        for name in names:
            if not any(fnmatchcase(one, name) for one in known) if setting == "mask" else name not in known:
                near = next((one for one in known if upper_name(one) == upper_name(name)), None)
                hint = f"write '\"{near}\"'" if near else f"the columns are {', '.join(sorted(found.ids))}"
                found.refuse(f"`{setting}` names {name}, and the table has no such column", hint, place=(setting, name))


def has_mask(masks: Mapping[str, MaskSetting], name: str) -> bool:
    """Return whether pipelines.yml says what the lake has of a column, be it that it stays clear."""
    return mask_name(masks, name) in masks


def masked_columns(pipeline: Pipeline, table: DictionaryTable) -> frozenset[str]:
    """Return the columns whose clear text must reach neither the lake nor an error."""
    masks = pipeline.settings(table.table).masks
    return frozenset(c.name for c in table.columns if masks and mask_for(masks, c.name) is not None)


def in_place(found: Resolving) -> Iterator[Computed]:
    """Yield the columns of Oracle whose values are computed."""
    masks, shaped = found.shape.masks, found.shape.shaped
    for column in found.version.columns:
        own, mask = shaped.get(column.name), mask_for(masks, column.name)
        if own is not None and own.expression is not None:
            if mask is not None:
                what = f"{column.name} has an expression and a mask"
                found.refuse(what, "write the mask or the expression", place=("columns", column.name))
            yield from of_expression(found, column, own)
        elif mask is not None:
            yield from of_mask(found, column, mask)


def of_expression(found: Resolving, column: Column, own: ShapedColumn) -> Iterator[Computed]:
    assert own.expression is not None
    place = ("columns", column.name)
    needs = needs_of(found, f"the expression of {column.name}", own.expression, place)
    if needs is None:
        return
    if column.id in found.version.key:
        key = [found.version.column(i).name for i in found.version.key]
        if not set(needs) <= set(found.version.key):
            found.refuse(f"the expression of {column.name}, which is part of the key, needs other columns than the key's",
                         f"make it of {', '.join(key)} alone, or add a column instead (`add`)", place=place)  # fmt: skip
        if not own.injective:
            found.refuse(
                f"{column.name} is part of the key, and two keys may become one by `{own.expression}`",
                "if no two keys can, say `injective: true` beside it; else add a column instead (`add`)",
                place=place,
            )
    type_ = str(own.type) if own.type is not None else own_type(found, column)
    comment = own.comment or ""
    yield Computed(
        column.id, found.lake_name(column), type_.replace(" ", ""), "expression", needs,
        with_ids(own.expression, found.ids), own.expression, None, comment,
    )  # fmt: skip


def own_type(found: Resolving, column: Column) -> str:
    """Return the type that the column has in the lake by itself."""
    try:
        return spark_ddl_type(column.type, of_column(found.shape.rules, column.name))
    except RedolakeError:
        return "string"  # it has a finding of its own


def of_mask(found: Resolving, column: Column, mask: Mask) -> Iterator[Computed]:
    if column.id in found.version.key and mask != "hash":
        what = f"{column.name} is part of the key, and two keys become one by `mask: {mask}`"
        found.refuse(what, "use `hash` for it", place=("mask", mask_name(found.shape.masks, column.name)))
    type_ = own_type(found, column) if mask == "null" else "string"
    spelling = PLAIN_NUMBER if column.type.name == "NUMBER" and mask in ("hash", "last4") else ""
    yield Computed(column.id, found.lake_name(column), type_, "mask", (column.id,), spelling, mask=mask)


def of_added(found: Resolving) -> Iterator[Computed]:
    """Yield the columns that Oracle does not have."""
    for number, (name, one) in enumerate(found.shape.add.items()):
        needs = needs_of(found, f"the added column {name}", one.expression, ("add", name))
        if needs is not None:
            sql = with_ids(one.expression, found.ids)
            number_in_lake, comment = found.added_id(name, number), one.comment or ""
            yield Computed(number_in_lake, name, one.type, "expression", needs, sql, one.expression, None, comment)


def of_code(found: Resolving) -> tuple[Transform | None, tuple[Computed, ...]]:
    """Return the users' function, and the columns that it makes: those of Oracle that have such a name, and new ones."""
    settings = found.shape.transform
    if settings is None:
        return None, ()
    try:
        digest = digest_of(settings.function)
    except UserCodeFailed as error:
        found.refuse(str(error), "install it where tasks and Spark's workers run", place=("transform",))
        return None, ()
    apart = delivery_of(found.version).apart
    inputs = tuple((column.id, column.name) for column in found.version.columns if column.id not in apart)
    own = {found.lake_name(column): column for column in found.version.columns}
    if key := [name for name in settings.columns if name in own and own[name].id in found.version.key]:
        found.refuse(
            f"`transform` returns {', '.join(key)}, which is part of the key",
            "let it return another column",
            place=("transform",),
        )
    first, needs = len(found.shape.add), tuple(column_id for column_id, _ in inputs)
    ids = {name: own[name].id if name in own else found.added_id(name, first + n) for n, name in enumerate(settings.columns)}
    made = tuple(
        Computed(ids[name], name, type_, "transform", needs, text=settings.function) for name, type_ in settings.columns.items()
    )
    return Transform(settings.function, digest, inputs), made


def check_distinct(found: Resolving, computed: Sequence[Computed]) -> None:
    twice = [one.name for one in computed if [other.id for other in computed].count(one.id) > 1]
    if twice:
        found.refuse(f"{', '.join(dict.fromkeys(twice))} is computed twice, by `transform` and by a mask or an expression")


def row_filter(found: Resolving) -> RowFilter | None:
    text = found.shape.where
    if text is None:
        return None
    needs = needs_of(found, "`where`", text, ("where",))
    return None if needs is None else RowFilter(with_ids(text, found.ids), needs, text)


def needs_of(found: Resolving, whose: str, text: str, place: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return the ids of the columns that an expression is made of; None, and a problem, if the table lacks one."""
    names = dict.fromkeys(name for name, _, _ in uses(text))
    absent = [name for name in names if name not in found.ids]
    if absent:
        left_out = [name for name in absent if found.version.ignores(name)]
        why = "is not captured" if left_out else "does not exist"
        known = ", ".join(sorted(found.ids))
        cure = f"the columns are {known}; one in lower case is written in backticks"
        if {name.lower() for name in absent} & {*get_args(MetadataName)}:
            cure = f"{OWN_TIME}: Redolake writes it beside Oracle's columns, and no expression has it"
        found.refuse(f"{whose} needs {', '.join(absent)}, which {why}", cure, place=place)
        return None
    return tuple(sorted(found.ids[name] for name in names))


def secret_of(found: Resolving, computed: Sequence[Computed]) -> SecretName | None:
    if not any(one.mask == "hash" for one in computed):
        return None
    given = found.shape.mask_key
    if given is None:
        cure = "set `mask_key: {connection: ..}` or `mask_key: {variable: ..}`"
        found.refuse("a `hash` mask has no key", cure, place=("mask",))
        return None
    return SecretName(given.connection, given.variable)


def check_mapping(found: Resolving, mapping: TableMapping) -> None:
    """Refuse what this table's way into the lake cannot do."""
    version, delivery = found.version, delivery_of(found.version)
    apart = delivery.apart
    own = {source_value(column_id) for column_id in mapping.needs}
    if taken := [column.name for column in version.columns if column.name.lower() in own]:
        what = f"a column is called {', '.join(taken)}, as Redolake calls the values that expressions and masks are made of"
        found.refuse(what, "leave it out (`exclude_columns`), or rename it in Oracle")
    for one in mapping.computed:
        if names := [version.column(i).name for i in one.needs if i in apart]:
            what = f"{one} needs {', '.join(names)}, whose values are not in the rows of the redo"
            found.refuse(what, "leave the large object out (`exclude_columns`), or take it out of the mapping")
    if apart and (key := [str(one) for one in mapping.computed if one.id in version.key]):
        what = f"{', '.join(key)} is part of the key by which the redo names the row of a large object"
        found.refuse(what, "leave the large objects out (`exclude_columns`), or the key as it is")
    if delivery.null_keys and (mapping.computed or mapping.where):
        found.refuse(
            "a key that may be NULL needs all columns as they are in Oracle, and pipelines.yml computes some", PLAIN_KEY
        )
    if mapping.where and not delivery.in_redo:
        what = "`where` needs whole rows in the redo, and those of this table are read again or have large objects"
        found.refuse(what, "leave such columns out (`exclude_columns`), or do without `where`", place=("where",))
    unknown = [name for name in mapping.order if name not in lake_names(found, mapping)]
    if unknown and not found.pipeline.is_of_pattern(found.pipeline.table(version.table)):
        what = f"`column_order` names {', '.join(unknown)}, which the table does not have in the lake"
        found.refuse(what, place=("column_order",))


def lake_names(found: Resolving, mapping: TableMapping) -> tuple[str, ...]:
    return (*(found.lake_name(column) for column in found.version.columns), *(one.name for one in mapping.added))


def with_mapping(
    pipeline: Pipeline, version: TableVersion, has: TableVersion | None = None, *, has_key: bool = True
) -> TableVersion:
    """Return the version with which a table's contents are read, and its mapping; `has` is that of contents that stay. Raises
    SchemaConflict if there can be none, and with `has_key` ConfigurationError where the key of its masks is not here."""
    mapping, problems = resolve_mapping(pipeline, version, has)
    if problems:
        cure = f"{problems[0].cure}; then run `redolake snapshot {version.table} --replace`"
        raise SchemaConflict(problems[0].what, cure=cure, table=version.table)
    if has_key and mapping is not None and mapping.secret is not None:
        mapping = replace(mapping, secret=replace(mapping.secret, check=check_of(read_key(mapping.secret))))
    return replace(version, mapping=mapping)


def mapping_conflict(pipeline: Pipeline, first: TableVersion) -> SchemaConflict | None:
    """Return a conflict if pipelines.yml maps the table in another way than its contents were read; `first` is the version that
    they were read with."""
    wanted, problems = resolve_mapping(pipeline, first, first)
    what = problems[0].what if problems else difference(first.mapping, wanted)
    if what is None:
        return None
    joins = find_joins(first, replace(first, mapping=wanted), pipeline.target_options(first.table))
    can_fill = joins.all and not problems
    fill = (
        f"`redolake fill-columns {first.table} --execute --reason TEXT` reads these columns alone, where it can; "
        if can_fill
        else ""
    )
    again = f"`redolake snapshot {first.table} --replace` reads it again as pipelines.yml says now"
    return SchemaConflict(
        f"pipelines.yml maps the table in another way than it was read: {what}",
        cure=f"{fill}{again}; or restore the old settings, and `redolake resume {first.table}`"
        f"{clear_text_left(first.mapping, wanted)}",
        table=first.table,
    )


def clear_text_left(was: TableMapping | None, wanted: TableMapping | None) -> str:
    """Return what is to be done about the clear text of columns that get a mask only now; empty where there is none."""
    old, new = (frozenset[int]() if one is None else one.masked for one in (was, wanted))
    if not new - old:
        return ""
    return (
        ". Older versions of the Delta table, its history and the landing keep the clear text that they have: "
        "docs/how-to/mask-columns.md#a-mask-that-comes-later says how to remove it"
    )


def difference(was: TableMapping | None, wanted: TableMapping | None) -> str | None:
    """Return what differs of two mappings, as far as rows written by one are not those of the other."""
    old, new = (TableMapping() if one is None else one.rows for one in (was, wanted))
    if old.secret is not None and new.secret is not None:
        key = find_key(new.secret)
        check = old.secret.check if key is None or not old.secret.check else check_of(key)
        new = replace(new, secret=replace(new.secret, check=check))
        if old.secret.check != check:
            return "the key of its `hash` masks is another one"
    if old == new:
        return None
    return ", ".join(differing_parts(old, new, was, wanted))


def differing_parts(
    old: TableMapping, new: TableMapping, was: TableMapping | None, wanted: TableMapping | None
) -> Iterator[str]:
    if (old.names, old.later) != (new.names, new.later):
        yield "`rename`"
    before, after = ({one.id: one for one in side.computed} for side in (old, new))
    shown = {one.id: str(one) for side in (was, wanted) if side is not None for one in side.computed}
    yield from (shown[i] for i in sorted({*before, *after}) if before.get(i) != after.get(i))
    if old.where != new.where:
        yield "`where`"
    if old.transform != new.transform:
        yield "`transform`"
    if old.secret != new.secret:
        yield "`mask_key`"
    if old.shaped != new.shaped:
        yield "the columns that have a mask or an expression"


def logging_problem(mapping: TableMapping | None, version: TableVersion) -> str | None:
    """Return why all columns must be logged; None where the key's are enough."""
    whose = needs_all_columns(mapping, version.key)
    return f"{', '.join(whose)} needs columns that the redo of an UPDATE may lack" if whose else None
