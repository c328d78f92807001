"""A notifier that appends a text to a file, which tests name in pipelines.yml. Every process of Airflow can import it."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk import BaseNotifier


class FileNotifier(BaseNotifier):
    template_fields = ("text",)

    def __init__(self, file: str, text: str) -> None:
        super().__init__()
        self.file, self.text = file, text

    def notify(self, context: object) -> None:
        with Path(self.file).open("a") as file:
            print(self.text, file=file)
