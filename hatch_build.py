"""The README and the links in the distribution's metadata. A link needs the repository's address, which only a release knows.

REDOLAKE_REPOSITORY is that address, e.g. https://github.com/OWNER/NAME; `make release` passes it on. Without it the README is
taken as it is, and there are no links. A wheel that is built from a source distribution has the metadata of that.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "REDOLAKE_REPOSITORY"
RELATIVE_LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?![a-z]+:|#)([^)\s]+\))")


class CustomMetadataHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme` and `urls`."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository, tag = os.environ.get(VARIABLE, "").rstrip("/"), f"v{metadata['version']}"
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_absolute_links(text, repository, tag) if repository else text,
        }
        metadata["urls"] = links(repository, tag) if repository else {}


def links(repository: str, tag: str) -> dict[str, str]:
    return {
        "Documentation": f"{repository}/blob/{tag}/docs/README.md",
        "Source": repository,
        "Changelog": f"{repository}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def with_absolute_links(text: str, repository: str, tag: str) -> str:
    """Return the text with each relative link as one into the repository: an index shows it without the other files."""

    def absolute(match: re.Match[str]) -> str:
        image, label, target = match.groups()
        return f"{image}{label}{repository}/{'raw' if image else 'blob'}/{tag}/{target}"

    return RELATIVE_LINK.sub(absolute, text)
