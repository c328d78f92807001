"""The dashboard and the alerts name only what `redolake metrics` prints, and Prometheus itself accepts them."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, get_args
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
import yaml

from redolake.cli.metrics_server import metrics_server
from redolake.cockpit.metrics import HELP
from redolake.cockpit.values import TONES, State
from redolake.errors import LedgerUnavailable

DOCKER = Path(__file__).parents[3] / "docker"
RULES = DOCKER / "prometheus" / "redolake-alerts.yml"
METRIC = re.compile(r"\bredolake_\w+")
STATE = re.compile(r'redolake_health\{[^}]*state="([^"]+)"')


def alerts() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    return list(json.loads((DOCKER / "grafana" / "dashboards" / "redolake.json").read_text())["panels"])


def expressions() -> Iterator[str]:
    yield from (alert["expr"] for alert in alerts())
    yield from (target["expr"] for panel in panels() for target in panel["targets"])


def test_each_metric_and_state_that_they_name_exists() -> None:
    named = {name for expression in expressions() for name in METRIC.findall(expression)}
    states = {state for expression in expressions() for state in STATE.findall(expression)}

    assert named <= set(HELP)
    assert states <= set(get_args(State))


def test_the_dashboard_shows_every_metric_but_the_applied_scn() -> None:
    shown = {name for panel in panels() for target in panel["targets"] for name in METRIC.findall(target["expr"])}

    assert set(HELP) - shown == {"redolake_applied_scn"}


def test_the_dashboard_gives_each_state_the_colour_of_the_page() -> None:
    """Grafana shows a 1 in green, also that of `stopped`."""
    colours = {"good": "green", "notice": "orange", "bad": "red", "quiet": "text"}
    health = next(panel for panel in panels() if panel["title"] == "Health")["fieldConfig"]["overrides"]

    found = {
        state: [
            one["properties"][0]["value"]["fixedColor"]
            for one in health
            if re.search(one["matcher"]["options"][1:-1], f"shop: {state}")
        ]
        for state in TONES
    }

    assert found == {state: [colours[tone]] for state, tone in TONES.items()}


def test_no_alert_compares_a_number_of_hours_that_the_pipeline_itself_has_a_threshold_for() -> None:
    """`redolake_runway_hours < 12` paged for twelve hours after every start, and ignored `runway` of pipelines.yml."""
    assert [alert["alert"] for alert in alerts() if "redolake_runway_hours" in alert["expr"]] == []


def test_no_two_panels_overlap_and_each_fits_the_grid() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        own = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not own & cells, panel["title"]
        assert at["x"] + at["w"] <= 24, panel["title"]
        cells |= own


def test_each_alert_says_what_to_do() -> None:
    for alert in alerts():
        assert alert["labels"]["severity"] in ("page", "ticket")
        assert {"summary", "description"} == set(alert["annotations"])
        for page in re.findall(r"docs/\S+\.md", alert["annotations"]["description"]):
            assert (DOCKER.parent / page).exists(), page


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize("command", [["check", "rules", "redolake-alerts.yml"], ["check", "config", "prometheus.yml"]])
def test_prometheus_accepts_the_files(command: list[str]) -> None:
    done = subprocess.run(["promtool", *command], cwd=RULES.parent, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_is_answered_over_http() -> None:
    answers = iter(["redolake_health 1\n", LedgerUnavailable("the database is away", cure="start it")])

    def text() -> str:
        answer = next(answers)
        if isinstance(answer, str):
            return answer
        raise answer

    with metrics_server("127.0.0.1", 0, text) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/metrics"
        try:
            with urlopen(url, timeout=10) as found:
                assert (found.read(), found.headers["Content-Type"][:10]) == (b"redolake_health 1\n", "text/plain")
            for path, status in (("", 503), ("/else", 404)):
                with pytest.raises(HTTPError) as refused:
                    urlopen(url.removesuffix("/metrics") + path if path else url, timeout=10)
                with refused.value as answer:
                    assert answer.code == status
        finally:
            server.shutdown()


def test_the_metrics_server_has_no_more_threads_than_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redolake.cli.metrics_server.MOST_REQUESTS", 2)
    with metrics_server("127.0.0.1", 0, lambda: "x 1\n") as server, ExitStack() as kept:
        port = int(server.server_address[1])
        idle = [kept.enter_context(socket.create_connection(("127.0.0.1", port), 10)) for _ in range(5)]
        for _ in idle:
            server.handle_request()
        assert [one.recv(1) for one in idle[2:]] == [b""] * 3, "they are closed at once"
        for one in idle[:2]:
            one.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        answers = [one.makefile("rb").read() for one in idle[:2]]
    assert all(answer.endswith(b"x 1\n") for answer in answers)


def test_a_client_whose_bytes_come_one_by_one_does_not_keep_a_place_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redolake.cli.metrics_server.MOST_REQUESTS", 1)
    monkeypatch.setattr("redolake.cli.metrics_server.LONGEST_SECONDS", 0.3)
    with metrics_server("127.0.0.1", 0, lambda: "x 1\n") as server, ExitStack() as kept:
        address = ("127.0.0.1", int(server.server_address[1]))
        slow = kept.enter_context(socket.create_connection(address, 0.02))
        server.handle_request()
        ends, is_open = time.monotonic() + 20, True
        while is_open and time.monotonic() < ends:
            try:
                slow.sendall(b"G")
                is_open = slow.recv(1) != b""
            except TimeoutError:
                continue
            except OSError:
                is_open = False
        assert not is_open
        answer = b""
        while not answer and time.monotonic() < ends:  # its thread may still be ending
            with socket.create_connection(address, 10) as one:
                one.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                server.handle_request()
                with suppress(OSError):
                    answer = one.makefile("rb").read()
        assert answer.endswith(b"x 1\n")
