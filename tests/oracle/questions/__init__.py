"""Questions of docs/verified-on.md that a database answers by itself: statements of the scratch schema, and what is then seen.

A question is named by its beginning on that page. `accepted` matches the answers under which Redolake is right; another one
fails the test of the question. What a database does not accept, for instance because it is an older release, is "not tried".
"""

from tests.oracle.questions import connections, objects, redo, sessions, tables, values, views
from tests.oracle.questions.question import NOT_TRIED, QUESTIONS, Question

__all__ = ["NOT_TRIED", "QUESTIONS", "Question", "connections", "objects", "redo", "sessions", "tables", "values", "views"]
