"""The types that a name means, a user's or one of MDSYS, and the calls of their constructors in a statement."""

from __future__ import annotations

from sqlglot import exp

from standin.engine.expressions.functions import FUNCTIONS
from standin.engine.sessions.session import EngineSession
from standin.engine.text.parse import identifier
from standin.model import SqlType

_NUMBER = SqlType("NUMBER")
_POINT = SqlType("SDO_POINT_TYPE", 67, owner="MDSYS", kind="OBJECT", parts=(("X", _NUMBER), ("Y", _NUMBER), ("Z", _NUMBER)))
_ELEMENTS = SqlType("SDO_ELEM_INFO_ARRAY", 3000, owner="MDSYS", kind="VARRAY", parts=(("", _NUMBER),), limit=1048576)
_ORDINATES = SqlType("SDO_ORDINATE_ARRAY", 3000, owner="MDSYS", kind="VARRAY", parts=(("", _NUMBER),), limit=1048576)
_GEOMETRY = SqlType(
    "SDO_GEOMETRY",
    1,
    owner="MDSYS",
    kind="OBJECT",
    parts=(
        ("SDO_GTYPE", _NUMBER),
        ("SDO_SRID", _NUMBER),
        ("SDO_POINT", _POINT),
        ("SDO_ELEM_INFO", _ELEMENTS),
        ("SDO_ORDINATES", _ORDINATES),
    ),
)
SPATIAL = {kind.name: kind for kind in (_POINT, _ELEMENTS, _ORDINATES, _GEOMETRY)}


def found_type(session: EngineSession, owner: str | None, name: str) -> SqlType | None:
    known = session.database.state.objects.get((session.container, owner or session.schema, name))
    if known is not None and known.structure is not None:
        return known.structure
    return SPATIAL.get(name) if owner in (None, "MDSYS") else None


def with_constructors(session: EngineSession, tree: exp.Expression) -> exp.Expression:
    """Return the statement's tree with each call of a constructor marked with its type."""
    calls = [node for node in tree.find_all(exp.Anonymous) if str(node.this).upper() not in FUNCTIONS]
    if not any(_constructed(session, node) for node in calls):
        return tree
    tree = tree.copy()  # the next one who parses the text gets the tree too
    for node in list(tree.find_all(exp.Anonymous)):
        kind = _constructed(session, node)
        if kind is not None:
            node.meta["constructs"] = kind
            if isinstance(node.parent, exp.Dot):  # OWNER.TYPE(..)
                node.parent.replace(node)
    return tree


def _constructed(session: EngineSession, node: exp.Anonymous) -> SqlType | None:
    owner = identifier(node.parent.this) if isinstance(node.parent, exp.Dot) and node.parent.expression is node else None
    name = str(node.this)
    return found_type(session, owner, name if node.args.get("quoted") else name.upper())
