"""ALTER TABLE .. ADD: columns, with defaults, virtual and identity columns, and constraints that are no primary key.

Where Oracle computes the values of older rows (SYSDATE, a sequence, an identity column), they are read again by policy. Keys
and encryption are not supported. Only the place in the segment matters where pipelines.yml leaves a column out.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from redolake.errors import SchemaConflict
from redolake.records.batches.spec import ColumnChange
from redolake.schema.constant import read_default
from redolake.schema.ddl.constraint import starts_out_of_line, take_inline, take_out_of_line
from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl.encryption import take_encryption
from redolake.schema.ddl.large_object_storage import take_storage
from redolake.schema.ddl.segment import check_readable, with_guard
from redolake.schema.ddl_statement import DdlStatement
from redolake.schema.declared_type import read_type
from redolake.values.datatypes import LARGE_TYPES
from redolake.values.scn import Scn
from redolake.values.table import Column, ColumnChoice, IgnoredColumn, LeftOut, OracleType

STORAGE = ("LOB", "VARRAY", "NESTED TABLE", "COLUMN", "XMLTYPE COLUMN", "XMLTYPE", "OPAQUE TYPE")  # before the column's name
UNKNOWN_TYPE = OracleType("")
AFTER_DEFAULT = (
    ",", ")", "ADD", "MODIFY", "DROP", "NOT NULL", "NULL", "CONSTRAINT", "CHECK", "UNIQUE", "PRIMARY", "REFERENCES",
    "ANNOTATIONS", "ENCRYPT", "VISIBLE", "INVISIBLE", "ENABLE", "DISABLE",
)  # fmt: skip
STATISTICS = ("VIRTUAL BY USER FOR STATISTICS", "VIRTUAL BY SYSTEM FOR STATISTICS", "VIRTUAL FOR STATISTICS")
NOT_A_COLUMN = ("SUPPLEMENTAL", "PARTITION", "SUBPARTITION", "OVERFLOW", "PERIOD", "CLUSTERING")


@dataclass(frozen=True, slots=True)
class Added:
    """A column as the statement declares it. `type` is None for a virtual one, and for one left out whose type is not known.
    `computed`: only Oracle knows its values in older rows."""

    name: str
    type: OracleType | None
    nullable: bool = True
    default: str | None = None
    left_out: LeftOut | None = None
    computed: bool = False


def take(statement: DdlStatement, effect: Effect) -> Effect | None:
    """Take one ADD clause with its columns and constraints."""
    if not statement.take("ADD") or any(statement.sees(word) for word in NOT_A_COLUMN):
        return None
    added = _items(statement, effect.version.choice)
    _take_storage(statement, has_left_out=any(column.left_out for column in added))
    for column in added:
        effect = _leave_out(statement, effect, column) if column.left_out else _add(statement, effect, column)
    return effect


def _take_storage(statement: DdlStatement, *, has_left_out: bool) -> None:
    """Take how the added columns are stored: anything where some are left out."""
    while has_left_out and statement.take_any(*STORAGE):
        statement.skip_parentheses() if statement.sees("(") else statement.skip()
        statement.skip_item()
    while take_storage(statement):
        pass


def _items(statement: DdlStatement, choice: ColumnChoice) -> list[Added]:
    if not statement.take("("):
        if starts_out_of_line(statement):
            take_out_of_line(statement)
            return []
        statement.take("COLUMN")
        return [_column(statement, choice)]
    added = []
    while True:
        if starts_out_of_line(statement):
            take_out_of_line(statement)
        else:
            added.append(_column(statement, choice))
        if not statement.take(","):
            statement.need(")")
            return added


def _column(statement: DdlStatement, choice: ColumnChoice) -> Added:
    name = statement.name()
    if _is_virtual(statement):
        return _virtual(statement, name)
    left_out = _take_left_out(statement, name, choice)
    if left_out is not None:
        return left_out
    type_ = read_type(statement)
    take_collation(statement)
    statement.take_any("VISIBLE", "INVISIBLE")
    if _is_virtual(statement):
        return _virtual(statement, name)
    default, nullable, computed = None, True, False
    if statement.sees("GENERATED"):
        _take_identity(statement, name)
        nullable, computed = False, True
    elif statement.take("DEFAULT"):
        nullable = not _take_on_null(statement)
        computed = _is_computed(statement, name, type_)
        default = None if computed else read_default(statement, name, type_)
    take_encryption(statement)
    while (not_null := take_inline(statement)) is not None:
        nullable = nullable and not not_null
    if statement.take("ANNOTATIONS"):
        statement.skip_parentheses()
    _require_end(statement)
    return Added(name, type_, nullable, default, computed=computed)


def take_collation(statement: DdlStatement) -> None:
    """Take COLLATE c: how values are compared, not what they are."""
    if statement.take("COLLATE"):
        statement.name()


def _take_on_null(statement: DdlStatement) -> bool:
    """Take ON NULL [FOR INSERT ONLY | FOR INSERT AND UPDATE], which makes the column NOT NULL."""
    if not statement.take("ON", "NULL"):
        return False
    if statement.take("FOR", "INSERT") and not statement.take("ONLY"):
        statement.need("AND", "UPDATE")
    return True


def _take_identity(statement: DdlStatement, name: str) -> None:
    """Take GENERATED [ALWAYS | BY DEFAULT [ON NULL]] AS IDENTITY [(options)]."""
    statement.need("GENERATED")
    if not statement.take("ALWAYS"):
        statement.need("BY", "DEFAULT")
        _take_on_null(statement)
    statement.need("AS", "IDENTITY")
    if statement.sees("("):
        statement.skip_parentheses()
    _require_policy(statement, f"ADD of identity column {name}: only Oracle knows the numbers of the older rows")


def _is_computed(statement: DdlStatement, name: str, type_: OracleType) -> bool:
    """Take a default that is no constant of the type, and return whether there is one."""
    start = statement.position
    with suppress(SchemaConflict):
        read_default(statement, name, type_)
        if _ends_item(statement):
            statement.back_to(start)
            return False
    statement.back_to(start)
    _skip_expression(statement)
    _require_policy(statement, f"DEFAULT of {name} is not a supported constant for {type_}")
    return True


def _skip_expression(statement: DdlStatement) -> None:
    while not _ends_item(statement):
        statement.skip_parentheses() if statement.sees("(") else statement.skip()


def _require_policy(statement: DdlStatement, why: str) -> None:
    policy = statement.policies.computed_default
    if policy != "follow":
        raise statement.refuse(f"{why}, and `on_ddl: computed_default` is `{policy}`", "computed_default")


def _ends_item(statement: DdlStatement) -> bool:
    """Return whether an expression ends here: at the next column, clause or constraint."""
    return statement.done or any(statement.sees(*words.split()) for words in AFTER_DEFAULT)


def _take_left_out(statement: DdlStatement, name: str, choice: ColumnChoice) -> Added | None:
    """Take a column that is left out, and return it; None for any other."""
    start, type_ = statement.position, None
    with suppress(SchemaConflict):  # any type may be left out
        type_ = read_type(statement)
    if choice.excludes(name):
        kind: LeftOut = "excluded"
    elif choice.leaves_out(type_ or UNKNOWN_TYPE) and (type_ is None or statement.refused(name, type_)):
        kind = "unsupported"
    else:
        statement.back_to(start)
        return None
    words = []
    while not (statement.done or statement.sees(",") or statement.sees(")") or statement.sees("ADD")):
        words += [word for word in ("DEFAULT", "NOT NULL") if statement.sees(*word.split())]
        statement.skip_parentheses() if statement.sees("(") else statement.skip()
    # Oracle adds a guard for it as for any other column with a default.
    return Added(name, type_, "NOT NULL" not in words, "" if "DEFAULT" in words else None, kind)


def _is_virtual(statement: DdlStatement) -> bool:
    return statement.sees("AS", "(") or statement.sees("GENERATED", "ALWAYS", "AS", "(")


def _virtual(statement: DdlStatement, name: str) -> Added:
    """Take [GENERATED ALWAYS] AS (expression) [VIRTUAL [BY USER FOR STATISTICS]]."""
    statement.take("GENERATED", "ALWAYS")
    statement.need("AS")
    statement.skip_parentheses()
    statement.take_any(*STATISTICS, "VIRTUAL")
    statement.take_any("VISIBLE", "INVISIBLE")
    while take_inline(statement) is not None:
        pass
    _require_end(statement)
    return Added(name, None)


def _require_end(statement: DdlStatement) -> None:
    if not (statement.done or any(statement.sees(mark) for mark in (",", ")", "ADD", "MODIFY", "DROP", "LOB"))):
        raise statement.not_understood()


def _add(statement: DdlStatement, effect: Effect, added: Added) -> Effect:
    before = effect.version
    if before.named(added.name) is not None:
        raise statement.refuse(f"DDL adds column {added.name}, which the version of SCN {before.from_scn} already has")
    if added.type is None:
        virtual = IgnoredColumn(0, "virtual", added.name)
        return Effect(replace(before, ignored=(*before.ignored, virtual)), effect.steps)
    if statement.refused(added.name, added.type):
        raise statement.refuse(f"DDL adds column {added.name} of type {added.type}, which is not supported")
    if added.computed:
        check_readable(statement, before, f"DEFAULT of {added.name}")
        if added.type.name in LARGE_TYPES:
            raise statement.refuse(
                f"DEFAULT of {added.name}: older rows got large objects, which no redo shows", "computed_default"
            )
    has_default = added.computed or added.default is not None
    before = with_guard(statement, before, added.name, optimized=added.nullable and has_default)
    # A row may show a computed default without storing it. A constant one is known from the target.
    column = Column(
        before.next_column_id, added.name, added.type, before.next_segment_id, added.nullable, has_default=added.computed
    )
    after = replace(before, columns=(*before.columns, column), next_column_id=before.next_column_id + 1)
    scn = Scn(statement.row.scn)
    steps = (
        ColumnChange(scn, "add_column", column, added.default),
        *((ColumnChange(scn, "fill_column", column),) if added.computed else ()),
    )
    return Effect(after, (*effect.steps, *steps))


def _leave_out(statement: DdlStatement, effect: Effect, added: Added) -> Effect:
    """Return the version with the columns of the segment that store a column which is left out."""
    before, kind = effect.version, added.left_out
    assert kind is not None
    if before.named(added.name) is not None or added.name in before.left_out:
        raise statement.refuse(f"DDL adds column {added.name}, which the version of SCN {before.from_scn} already has")
    if added.type is not None:
        before = with_guard(statement, before, added.name, optimized=added.nullable and added.default is not None)
        column = IgnoredColumn(before.next_segment_id, kind, added.name, added.type.name)
        return Effect(replace(before, ignored=(*before.ignored, column)), effect.steps)
    # An object or XMLTYPE column is stored in hidden columns, which only the dictionary shows.
    dictionary = statement.dictionary_after()
    own = () if dictionary is None else dictionary.without({added.name: kind}).ignored
    found = sorted((c for c in own if added.name in (c.name, c.part_of)), key=lambda c: c.segment_id)
    numbers = [c.segment_id for c in found if c.segment_id]
    if not numbers or numbers != list(range(before.next_segment_id, before.next_segment_id + len(numbers))):
        raise statement.refuse(f"ADD of {added.name}: the dictionary does not show which columns of the segment store it")
    return Effect(replace(before, ignored=(*before.ignored, *found)), effect.steps)
