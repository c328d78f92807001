"""Writes SQL_REDO and SQL_UNDO for the redo of one table, in the form in which LogMiner shows them.

Statements of one table repeat their columns, so each set of columns is prepared once.
"""

from __future__ import annotations

from dataclasses import dataclass

from standin.logminer.dictionary import ResolvedTable
from standin.logminer.literals import AS_MOST, QUOTING, WHOLE_ROW_UNSUPPORTED, Forms, Literal, Nls, hexraw, literal_of, quoted
from standin.octets import text_of
from standin.redo_file import Op

Values = dict[int, bytes | None]

_LOBS = frozenset({"CLOB", "NCLOB", "BLOB", "LONG", "LONG RAW", "XMLTYPE"})
LOB_OPS = frozenset({Op.LOB_LOCATOR, Op.LOB_WRITE, Op.LOB_TRIM, Op.LOB_ERASE})
XML_OPS = frozenset({Op.XML_BEGIN, Op.XML_WRITE, Op.XML_END, Op.LONG_BEGIN, Op.LONG_WRITE, Op.LONG_END})
_DECLARED = (
    "DECLARE \n loc_c CLOB; \n buf_c VARCHAR2(6174); \n loc_b BLOB; \n buf_b RAW(6174); \n loc_nc NCLOB; \n"
    " buf_nc NVARCHAR2(6174); \nBEGIN\n"
)
_DML = frozenset({Op.INSERT, Op.DELETE, Op.UPDATE})


@dataclass(frozen=True, slots=True)
class Layout:
    """The form of the text: the options NO_SQL_DELIMITER and NO_ROWID_IN_STMT, the NLS settings, how values are written,
    whether a table with an XMLTYPE column has the alias a, and whether a blank follows the table of an INSERT."""

    nls: Nls
    delimiter: str = ";"
    rowid: bool = True
    forms: Forms = AS_MOST
    aliases: bool = False
    blank_in_insert: bool = False


@dataclass(frozen=True, slots=True)
class _Column:
    equals: str
    is_null: str
    literal: Literal
    is_lob: bool
    type: str = ""


@dataclass(frozen=True, slots=True)
class _Shape:
    """One set of columns in segment order; `in_order` if the record has that order too."""

    names: str
    columns: tuple[_Column, ...]
    in_order: bool


class TableText:
    """Writes the statements of one table under one version of its definition."""

    def __init__(self, table: ResolvedTable, layout: Layout) -> None:
        self.table = table
        self._layout = layout
        self._target = f'"{table.owner}"."{table.name}"'
        has_alias = layout.aliases and any(kind.name == "XMLTYPE" for _, kind in table.columns.values())
        self._alias, self._prefix = (" a", "a.") if has_alias else ("", "")
        self._columns: dict[int, _Column] = {}
        self._names: dict[int, str] = {}
        self._shapes: dict[tuple[int, ...], _Shape] = {}
        self.is_unsupported = table.is_unsupported or any(
            kind.name in WHOLE_ROW_UNSUPPORTED for _, kind in table.columns.values()
        )

    def redo(
        self, op: int, before: Values, after: Values, row_id: str, *, rollback: bool, position: str = "", bare: bool = False
    ) -> str | None:
        end = self._layout.delimiter
        if op == Op.INSERT:
            return self._insert(after) + end
        if op == Op.DELETE:
            if rollback:
                # The undo of an INSERT names its row by ROWID alone, even with NO_ROWID_IN_STMT.
                if self.table.is_iot:
                    return f"delete from {self._target}{self._alias}{self._where(before, row_id)}{end}"
                return f"delete from {self._target}{self._alias} where {self._prefix}ROWID = '{row_id}'{end}"
            return f"delete from {self._target}{self._alias}{self._where(before, row_id)}{end}"
        if op == Op.UPDATE:
            return f"update {self._target}{self._alias} set {self._set(after)}{self._where(before, row_id)}{end}"
        if op == Op.SELECT_FOR_UPDATE:
            return f"select * from {self._target}{self._alias}{self._where(before, row_id)} for update{end}"
        if op in LOB_OPS:
            return self._lob_change(op, before, after, position, bare)
        if op in XML_OPS:
            return self._document(op, before, after, position)
        raise ValueError(f"no statement for operation {op}")

    def _lob_change(self, op: int, before: Values, after: Values, position: str, bare: bool) -> str:
        """Return the PL/SQL that changes one LOB of a row: a block of its own, or (`bare`) what follows the locator's row."""
        (number,) = after
        piece, column = after[number] or b"", self._column(number)
        letter = {"BLOB": "b", "NCLOB": "nc"}.get(column.type, "c")
        buffer, locator = f"buf_{letter}", f"loc_{letter}"
        where = self._where(before, "", prefix="")
        chosen = f' select "{self._names[number]}" into {locator} from {self._target}{where} for update;\n'
        write = f"dbms_lob.write({locator}, {position}, {buffer});"
        done = {
            Op.LOB_LOCATOR: "",
            Op.LOB_WRITE: f" {buffer} := {column.literal(piece)}; \n  {write}",
            Op.LOB_TRIM: f" dbms_lob.trim({locator}, {position});",
            Op.LOB_ERASE: f" dbms_lob.erase({locator}, {position});",
        }[Op(op)]
        if bare:
            return _DECLARED + chosen if op == Op.LOB_LOCATOR else done
        return f"{_DECLARED}{chosen}{done}\nEND;\n"

    def _document(self, op: int, before: Values, after: Values, shown: str) -> str | None:
        """Return the text of a row of a document. `shown` is how LogMiner shows a piece, or the document's pieces."""
        if op in (Op.XML_END, Op.LONG_END):
            return None
        ((number, piece),) = after.items()
        column, name = self._column(number), self._names[number]
        if op == Op.LONG_BEGIN:
            where = self._where(before, "", prefix="a.")
            statement = f'update {self._target} a set a."{name}" = :{name}{where}'.replace("'", "''")
            return f"DECLARE \n Stmt varchar2(4000); \nBEGIN\n Stmt := '{statement}';\n"
        if op == Op.LONG_WRITE:
            text = hexraw(piece or b"") if column.type == "RAW" else quoted(text_of(piece or b""))
            return f" buf_c := {text}; \n"
        if op == Op.XML_BEGIN and shown == "text":
            where = self._where(before, "", prefix="a.")
            return f'update {self._target} a set a."{name}" = XMLType(:1) {where}{self._layout.delimiter}'
        if op == Op.XML_BEGIN:
            return f'XML DOC BEGIN:  select "{name}" from {self._target}{self._where(before, "", prefix="")}'
        if piece is None:
            return "XML_REDO := NULL"
        if shown == "text":
            return piece.decode()
        if shown == "bytes":  # without the last quote
            return f"XML_REDO := HEXTORAW('{piece.hex()}):{len(piece)}"
        return f"XML_REDO := {QUOTING[self._layout.forms.quotes](piece.decode())}\n amount: {len(piece.decode())}"

    def undo(self, op: int, before: Values, after: Values, row_id: str, *, rollback: bool) -> str | None:
        """Return SQL_UNDO; None (NULL) for rows of a rollback and for operations other than DML."""
        end = self._layout.delimiter
        if rollback or op not in _DML:
            return None
        if op == Op.INSERT:
            return f"delete from {self._target}{self._alias}{self._where(after, row_id)}{end}"
        if op == Op.DELETE:
            return self._insert(before) + end
        old = {number: before.get(number) for number in after}
        return f"update {self._target}{self._alias} set {self._set(old)}{self._where({**before, **after}, row_id)}{end}"

    def _insert(self, values: Values) -> str:
        shape, items = self._shaped(values)
        row = ",".join(["NULL" if v is None else c.literal(v) for c, v in zip(shape.columns, items, strict=True)])
        blank = " " if self._layout.blank_in_insert else ""
        return f"insert into {self._target}{blank}({shape.names}) values ({row})"

    def _set(self, values: Values) -> str:
        shape, items = self._shaped(values)
        prefix = self._prefix
        parts = [prefix + c.equals + ("NULL" if v is None else c.literal(v)) for c, v in zip(shape.columns, items, strict=True)]
        return ", ".join(parts)

    def _where(self, values: Values, row_id: str, *, prefix: str | None = None) -> str:
        shape, items = self._shaped(values)
        prefix = self._prefix if prefix is None else prefix
        parts = [
            prefix + (c.is_null if v is None else c.equals + c.literal(v))
            for c, v in zip(shape.columns, items, strict=True)
            if not c.is_lob  # no supplemental log group contains LOBs
        ]
        if self._layout.rowid and row_id and not self.table.is_iot:
            parts.append(f"{prefix}ROWID = '{row_id}'")
        return " where " + " and ".join(parts) if parts else ""

    def _shaped(self, values: Values) -> tuple[_Shape, list[bytes | None]]:
        if self.table.omitted:
            values = {number: value for number, value in values.items() if number not in self.table.omitted}
        numbers = tuple(values)
        shape = self._shapes.get(numbers)
        if shape is None:
            ordered = sorted(numbers)
            columns = tuple(self._column(n) for n in ordered)
            names = ",".join(f'"{self._names[n]}"' for n in ordered)
            shape = self._shapes[numbers] = _Shape(names, columns, tuple(ordered) == numbers)
        return shape, list(values.values()) if shape.in_order else [values[n] for n in sorted(numbers)]

    def _column(self, number: int) -> _Column:
        if number not in self._columns:
            if number in self.table.columns:
                name, kind = self.table.columns[number]
                literal, is_lob = literal_of(kind, self._layout.nls, self._layout.forms), kind.name in _LOBS
            else:
                name, literal, is_lob = f"COL {number}", hexraw, False
            self._names[number] = name
            type_ = self.table.columns[number][1].name if number in self.table.columns else ""
            self._columns[number] = _Column(f'"{name}" = ', f'"{name}" IS NULL', literal, is_lob, type_)
        return self._columns[number]
