"""Constraints in DDL texts. Those that change neither columns nor key are supported, a primary key is not.

A constraint that a statement names without its kind may be the primary key: the version says how that is called. Of a table
from the recycle bin it is known only how its name begins.
"""

from __future__ import annotations

from dataclasses import replace

from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl_statement import DdlStatement
from redolake.values.table import TableVersion

OUT_OF_LINE = ("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN")
STATES = (
    "ENABLE", "DISABLE", "VALIDATE", "NOVALIDATE", "RELY", "NORELY", "NOT DEFERRABLE", "DEFERRABLE",
    "INITIALLY IMMEDIATE", "INITIALLY DEFERRED", "PRECHECK", "NOPRECHECK",
)  # fmt: skip


BELIEFS = {"RELY", "NORELY", "VALIDATE"}
AFTER_INDEX = (*STATES, "EXCEPTIONS INTO", "ADD", "MODIFY", "DROP")
OF_INDEX = (
    "LOGGING", "NOLOGGING", "ONLINE", "COMPUTE STATISTICS", "NOCOMPRESS", "COMPRESS ADVANCED LOW", "COMPRESS ADVANCED HIGH",
    "COMPRESS ADVANCED", "NOPARALLEL", "REVERSE", "SORT", "NOSORT", "VISIBLE", "INVISIBLE",
)  # fmt: skip
OF_RECYCLE_BIN = "BIN$"  # as a version's `key_constraint`: the rest of the name is not known
INDEX_FATE = ("CASCADE", "KEEP INDEX", "DROP INDEX", "ONLINE")


def take(statement: DdlStatement, effect: Effect) -> Effect | None:
    """Take a clause that drops, disables, enables, changes or renames a constraint."""
    version = effect.version
    if statement.take("RENAME", "CONSTRAINT"):
        return Effect(_rename(statement, version), effect.steps)
    verb = statement.take_any("DROP", "DISABLE", "ENABLE", "MODIFY")
    if verb is None:
        return None
    if verb in ("DISABLE", "ENABLE"):
        statement.take_any("VALIDATE", "NOVALIDATE")
    if statement.sees("PRIMARY", "KEY"):
        if version.key_kind == "primary" and (verb != "MODIFY" or _changes_checks(statement)):
            _refuse_key(statement)
        statement.take("PRIMARY", "KEY")
    elif statement.take("CONSTRAINT"):
        name = statement.name()
        if verb in ("DROP", "DISABLE") or (verb == "MODIFY" and _disables(statement)):
            _require_no_key(statement, version, name)
    elif statement.take("UNIQUE"):
        statement.names_in_parentheses()
        if verb in ("DROP", "DISABLE"):
            _require_known_index(statement, version, "a unique constraint that may be the declared key was dropped or disabled")
    else:
        return None
    if verb in ("ENABLE", "MODIFY"):
        _take_state(statement)
    while statement.take_any(*INDEX_FATE):
        pass
    return effect


def _disables(statement: DdlStatement) -> bool:
    """Return whether the states that come next contain DISABLE, and stay before them."""
    start = statement.position
    disables = "DISABLE" in _take_state(statement)
    statement.back_to(start)
    return disables


def _changes_checks(statement: DdlStatement) -> bool:
    """Return whether MODIFY PRIMARY KEY does more than say what the optimizer may believe, and stay before it."""
    start = statement.position
    statement.take("PRIMARY", "KEY")
    states = _take_state(statement)
    statement.back_to(start)
    return not states or not states <= BELIEFS


def _require_no_key(statement: DdlStatement, version: TableVersion, name: str) -> None:
    """Raise SchemaConflict if the constraint of that name is, or may be, the key."""
    known = version.key_constraint
    if version.key_kind == "primary" and (known in (None, name) or is_perhaps_of_bin(version, name)):
        may_be = "is" if known == name else "may be"
        raise statement.refuse(f"a constraint that {may_be} the primary key was dropped or disabled", "primary_key")
    _require_known_index(statement, version, "a constraint that may be the declared key was dropped or disabled")


def is_perhaps_of_bin(version: TableVersion, name: str) -> bool:
    """Return whether the key's constraint came out of the recycle bin, and may have this name."""
    return version.key_constraint == OF_RECYCLE_BIN and name.startswith(OF_RECYCLE_BIN)


def _require_known_index(statement: DdlStatement, version: TableVersion, why: str) -> None:
    """Raise SchemaConflict for a declared key whose index has no known OBJECT_ID: no reading could show that it is another."""
    if version.key_kind == "columns" and version.key_index is None:
        raise statement.refuse(why, "primary_key")


def _rename(statement: DdlStatement, version: TableVersion) -> TableVersion:
    name = statement.name()
    statement.need("TO")
    new = statement.name()
    if is_perhaps_of_bin(version, name):
        return replace(version, key_constraint=None)
    return replace(version, key_constraint=new) if version.key_constraint == name else version


def starts_out_of_line(statement: DdlStatement) -> bool:
    return any(statement.sees(word) for word in OUT_OF_LINE)


def take_out_of_line(statement: DdlStatement) -> None:
    """Take one constraint of the table, e.g. CONSTRAINT c CHECK (a > 0)."""
    if statement.take("CONSTRAINT"):
        statement.name()
    if statement.take("CHECK"):
        statement.skip_parentheses()
    elif statement.take("UNIQUE"):
        statement.names_in_parentheses()
    elif statement.take("FOREIGN", "KEY"):
        statement.names_in_parentheses()
        statement.need("REFERENCES")
        _take_reference(statement)
    elif statement.rowid_key and statement.take("PRIMARY", "KEY"):  # the key stays ROWID, as when a primary key is dropped
        statement.names_in_parentheses()
    else:
        _refuse_key(statement)
    _take_state(statement)


def take_inline(statement: DdlStatement) -> bool | None:
    """Take one constraint after a column: True for NOT NULL, False for another, None if there is none."""
    start = statement.position
    named = statement.take("CONSTRAINT")
    if named:
        statement.name()
    not_null = statement.take("NOT", "NULL") or (statement.rowid_key and statement.take("PRIMARY", "KEY"))
    if not not_null:
        if statement.take("CHECK"):
            statement.skip_parentheses()
        elif statement.take("REFERENCES"):
            _take_reference(statement)
        elif not statement.take_any("UNIQUE", "NULL"):
            if named or statement.sees("PRIMARY"):
                _refuse_key(statement)
            statement.back_to(start)
            return None
    _take_state(statement)
    return not_null


def _refuse_key(statement: DdlStatement) -> None:
    if statement.sees("PRIMARY", "KEY"):
        raise statement.refuse("DDL that changes the primary key is not supported", "primary_key")
    raise statement.not_understood()


def _take_reference(statement: DdlStatement) -> None:
    statement.qualified_name()
    if statement.sees("("):
        statement.names_in_parentheses()
    if statement.take("ON", "DELETE") and not statement.take_any("CASCADE", "SET NULL"):
        raise statement.not_understood()


def _take_state(statement: DdlStatement) -> set[str]:
    """Take the states of a constraint and return them."""
    found = set[str]()
    while (state := statement.take_any(*STATES)) or _take_exceptions(statement) or _take_index(statement):
        found |= {state} if state else set()
    return found


def _take_exceptions(statement: DdlStatement) -> bool:
    if not statement.take("EXCEPTIONS", "INTO"):
        return False
    statement.qualified_name()
    return True


def _take_index(statement: DdlStatement) -> bool:
    """Take USING INDEX with the index's name, its CREATE INDEX in parentheses, or its attributes."""
    if not statement.take("USING", "INDEX"):
        return False
    if statement.sees("("):
        statement.skip_parentheses()
    elif not _take_index_attribute(statement):
        if statement.sees_name() and not any(statement.sees(*words.split()) for words in AFTER_INDEX):
            statement.qualified_name()
        return True
    while _take_index_attribute(statement):
        pass
    return True


def _take_index_attribute(statement: DdlStatement) -> bool:
    if statement.take("TABLESPACE"):
        statement.name()
    elif statement.take_any("PCTFREE", "INITRANS", "MAXTRANS"):
        statement.whole_number()
    elif statement.take("STORAGE"):
        statement.skip_parentheses()
    elif statement.take_any("PARALLEL", "COMPRESS"):
        statement.number()
    elif statement.take_any("LOCAL", "GLOBAL"):
        if statement.sees("("):
            statement.skip_parentheses()
    else:
        return bool(statement.take_any(*OF_INDEX))
    return True
