"""Write the reference pages and set-up scripts that must not drift from the code.

`python docs/generate.py` writes them; `python docs/generate.py --check` fails if a page is not current.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "pipelines"), str(HERE.parent)]

from docs.pages import (  # noqa: E402
    assumptions,
    cli,
    configuration,
    errors,
    ora_codes,
    readers,
    setup_scripts,
    type_values,
    types_and_ddl,
    verified_on,
)

PAGES = {
    "development/assumptions.md": assumptions.page,
    "reference/cli.md": cli.page,
    "reference/configuration.md": configuration.page,
    "reference/errors.md": errors.page,
    "reference/ora-codes.md": ora_codes.page,
    "reference/readers.md": readers.page,
    "reference/type-values.md": type_values.page,
    "reference/types-and-ddl.md": types_and_ddl.page,
    "verified-on.md": verified_on.page,
    "../docker/oracle/redolake.sql": setup_scripts.container_script,
    **{f"../sql/setup/{flavour}.sql": partial(setup_scripts.script, flavour) for flavour in setup_scripts.FLAVOURS},
}


def main() -> int:
    stale = [name for name, page in PAGES.items() if not (HERE / name).exists() or (HERE / name).read_text() != page()]
    if "--check" not in sys.argv:
        for name in stale:
            (HERE / name).write_text(PAGES[name]())
        return 0
    if stale:
        sys.stderr.write(f"stale: {', '.join(stale)}; run python docs/generate.py\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
