"""Airflow hides every secret that it knows in every log, also where its letters are part of a path."""

from pathlib import Path

import pytest

from demo import services
from demo.services import FILES, Services

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]

FOLDERS = ("dags", "demo", "docker", "pipelines", "plugins", "sql", "standin")


def paths():
    """Return the paths that stack frames and messages contain."""
    own = [file.relative_to(FILES) for folder in FOLDERS for file in (FILES / folder).rglob("*.*")]
    landed = [Path("landing/shop/windows/1-100-200/manifest.json"), Path("lake/shop/order_lines/_delta_log")]
    return sorted(str(path) for path in [*own, *landed] if "__pycache__" not in path.parts)


def redacted(texts, environment):
    """Return the texts as logs of a task show them that has used every connection of the environment."""
    from airflow.sdk import Connection
    from airflow.sdk._shared.secrets_masker import SecretsMasker

    masker = SecretsMasker()
    for name, value in environment.items():
        if name.startswith("AIRFLOW_CONN_"):
            connection = Connection.from_uri(value, conn_id=name.removeprefix("AIRFLOW_CONN_").lower())
            masker.add_mask(connection.password)
            masker.add_mask(connection.extra_dejson)
    return [str(masker.redact(text)) for text in texts]


def test_the_passwords_of_the_demo_are_no_part_of_a_path(tmp_path, monkeypatch):
    environment = Services(tmp_path, 1521, 15002, 8080).airflow_environment()

    assert redacted(paths(), environment) == paths()


def test_an_ordinary_word_would_hide_parts_of_paths(tmp_path, monkeypatch):
    monkeypatch.setattr(services, "PASSWORD", "oracle")
    environment = Services(tmp_path, 1521, 15002, 8080).airflow_environment()

    assert "pipelines/redolake/source/***.py" in redacted(paths(), environment)


def test_the_first_day_makes_passwords_that_are_no_words():
    steps = (FILES / "docs" / "first-day.md").read_text()

    named = [line.partition("=")[0] for line in (FILES / ".env.example").read_text().splitlines() if "=" in line]
    assert "A$(openssl rand -hex 8)" in steps
    passwords, others = loops_of(steps)
    assert set(named) == {*(f"{name}_PASSWORD" for name in passwords), *others}


def loops_of(steps):
    """Return the words of the loop that writes the passwords, and of the one that writes other secrets."""
    loops = [line for line in steps.splitlines() if line.startswith("for name in ")]
    return [loop.removeprefix("for name in ").partition(";")[0].split() for loop in loops]
