"""What `make ui` starts: the asset graph over GraphQL, on loopback alone, and its pages in a real browser.

Pictures go to the folder named by `CLAWGYM_SHOTS`, else to pytest's temporary folder.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lake
from assets.dagster_plots import PLOTS
from clawgym_dag.definitions import build_defs
from clawgym_dag.guarded import guarded_parts
from clawgym_dag.instance import open_instance
from clawgym_dag.jobs import STAGES_OF_JOB
from clawgym_dag.resources import LakeResource, ProfileResource
from clawgym_dag.serve import command
from tests.clawgym_dag import golden
from tests.clawgym_dag.test_sensors import session
from tests.dashboards.test_browser import CHROMIUM, FLAGS, UPGRADE, answered

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

STARTS_WITHIN_S = 180


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake into which a log was ingested through Dagster."""
    folder = tmp_path_factory.mktemp("ui")
    (folder / "a.jsonl").write_text(session("a", 3))
    opened = lake.open(folder / "lake")
    profile = ProfileResource(name="test", overrides=f"logs.paths = [{json.dumps(str(folder / 'a.jsonl'))}]")
    defs = build_defs(overrides={"lake": LakeResource(root=str(opened.root)), "profile": profile})
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with pytest.MonkeyPatch.context() as patch, open_without_home(patch, opened) as instance:
        done = defs.resolve_job_def("ingest_logs").execute_in_process(instance=instance, run_config=quiet)
        assert done.success
    return opened.root


def open_without_home(patch: pytest.MonkeyPatch, opened: lake.Lake) -> Any:
    patch.delenv("DAGSTER_HOME", raising=False)
    return open_instance(opened)


@pytest.fixture(scope="module")
def port(root: Path) -> Iterator[int]:
    """The port on which `make ui` serves the lake; everything it started is gone afterwards."""
    number = free_port()
    env = {**os.environ, "CLAWGYM_LAKE": str(root)}
    env.pop("DAGSTER_HOME", None)
    log = root.parent / "ui.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "clawgym_dag.serve", "--port", str(number)],
            env=env,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + STARTS_WITHIN_S
        while not answers(number):
            assert server.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.5)
        yield number
    finally:
        stop(server)


def answers(number: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{number}/server_info", timeout=5):
            return True
    except OSError:
        return False


def stop(server: subprocess.Popen[bytes]) -> None:
    os.killpg(server.pid, signal.SIGINT)
    try:
        server.wait(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait(timeout=20)
        pytest.fail("Ctrl-C did not end it within a minute")


def ask(number: int, query: str) -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{number}/graphql",
        json.dumps({"query": query}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        found = json.load(answer)
    assert "errors" not in found, found["errors"]
    return found["data"]


def test_graph_over_graphql_is_the_one_reviewed(port: int) -> None:
    """Keys, groups, dependencies and checks as the UI gets them."""
    query = """{ assetNodes { assetKey { path } groupName dependencyKeys { path }
        assetChecksOrError { ... on AssetChecks { checks { name blocking } } } } }"""
    nodes = sorted(ask(port, query)["assetNodes"], key=lambda node: str(node["assetKey"]["path"][0]))
    graph = {
        node["assetKey"]["path"][0]: {
            "group": node["groupName"],
            "reads": sorted(key["path"][0] for key in node["dependencyKeys"]),
            "checks": sorted(check["name"] for check in node["assetChecksOrError"]["checks"]),
        }
        for node in nodes
    }
    assert graph == json.loads(golden.GRAPH.read_text())
    assert all(check["blocking"] for node in nodes for check in node["assetChecksOrError"]["checks"])


def test_jobs_sensor_and_partitions(port: int) -> None:
    query = """{ repositoriesOrError { ... on RepositoryConnection { nodes {
        jobs { name } sensors { name sensorState { status } targets { pipelineName } }
        partitionSets { pipelineName } } } } }"""
    (found,) = ask(port, query)["repositoriesOrError"]["nodes"]
    jobs = {job["name"] for job in found["jobs"] if not job["name"].startswith("__")}
    assert jobs == {*STAGES_OF_JOB, "rebuild_lake"}
    assert found["sensors"] == [
        {"name": "new_logs", "sensorState": {"status": "STOPPED"}, "targets": [{"pipelineName": "ingest_logs"}]}
    ]
    assert {"pipelineName": "collect_batches"} in found["partitionSets"]


def test_materialised_table_has_its_plot_and_row_count(port: int) -> None:
    query = """{ assetNodeOrError(assetKey: {path: ["trajectories"]}) { ... on AssetNode {
        assetMaterializations(limit: 1) { metadataEntries { __typename label
            ... on MarkdownMetadataEntry { mdStr } ... on IntMetadataEntry { intValue } } } } } }"""
    (event,) = ask(port, query)["assetNodeOrError"]["assetMaterializations"]
    entries = {entry["label"]: entry for entry in event["metadataEntries"]}
    assert entries["dagster/row_count"]["intValue"] == 1
    assert PLOTS["trajectories"].title in entries["plot"]["mdStr"]
    assert "█" in entries["plot"]["mdStr"]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="listening sockets are read from /proc")
def test_listens_on_loopback_alone(port: int) -> None:
    listening = []
    for table in ("tcp", "tcp6"):
        lines = Path("/proc/net", table).read_text().splitlines()[1:]
        columns = [line.split() for line in lines]
        listening += [row[1] for row in columns if row[3] == "0A" and int(row[1].split(":")[1], 16) == port]
    assert [address.split(":")[0] for address in listening] == ["0100007F"]


def test_keeps_its_runs_beside_the_lake_and_reports_to_nobody(root: Path, port: int) -> None:
    settings = (root / "dagster" / "dagster.yaml").read_text()
    assert "telemetry:\n  enabled: false" in settings
    assert (root / "dagster" / "history").is_dir()
    assert ask(port, "{ shouldShowNux }") == {"shouldShowNux": False}


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {"Host": "evil.example"}),
        ("/graphql?query=%7Bversion%7D", {}),
        ("/graphql", {**UPGRADE, "Origin": "http://evil.example"}),
    ],
)
def test_a_page_of_elsewhere_starts_nothing(port: int, path: str, headers: dict[str, str]) -> None:
    assert answered(f"http://127.0.0.1:{port}", path, headers) == 403


def test_only_the_command_of_the_ui_is_replaced() -> None:
    asked = ["python", "-m", "dagster_webserver", "--port", "1"]
    assert guarded_parts(asked) == ["python", "-m", "clawgym_dag.guarded", "webserver", "--port", "1"]
    assert guarded_parts(["python", "-m", "dagster._daemon", "run"]) == ["python", "-m", "dagster._daemon", "run"]


def test_port_in_use_is_one_line(root: Path, port: int) -> None:
    env = {**os.environ, "CLAWGYM_LAKE": str(root)}
    second = subprocess.run(
        [sys.executable, "-m", "clawgym_dag.serve", "--port", str(port)],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert second.returncode == 3
    assert second.stdout == ""
    (line,) = second.stderr.splitlines()
    assert line.startswith(f"clawgym: port {port} cannot be used (")
    assert line.endswith(f"take another: make ui PORT_UI={port + 1}")


def test_command_names_the_loopback_address() -> None:
    asked = command(4000)
    assert asked[asked.index("-h") + 1] == "127.0.0.1"


@pytest.fixture
def page(port: int) -> Iterator[tuple[Page, list[str]]]:
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        tab = browser.new_page(viewport={"width": 1600, "height": 1000})
        tab.set_default_timeout(120_000)
        tab.on("request", lambda request: asked.append(request.url))
        yield tab, asked
        browser.close()


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: apt-get install chromium, or set CLAWGYM_CHROMIUM")
def test_pages_in_a_browser(page: tuple[Page, list[str]], port: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The graph with every group, a table's plot, the sensor; nothing fetched from elsewhere."""
    tab, asked = page
    shots = Path(os.environ.get("CLAWGYM_SHOTS") or tmp_path_factory.mktemp("shots"))
    at = f"http://127.0.0.1:{port}"

    tab.goto(f"{at}/asset-groups")
    for group in sorted({node["group"] for node in json.loads(golden.GRAPH.read_text()).values()}):
        tab.get_by_text(group, exact=True).first.wait_for()
    tab.wait_for_timeout(1500)
    tab.screenshot(path=shots / "dagster_graph.png")

    tab.goto(f"{at}/assets/trajectories")
    plot = tab.get_by_text(PLOTS["trajectories"].title).first
    plot.wait_for()
    plot.scroll_into_view_if_needed()
    tab.wait_for_timeout(1500)
    tab.screenshot(path=shots / "dagster_table.png")

    tab.goto(f"{at}/locations/clawgym_dag/sensors/new_logs")
    tab.get_by_text("ingest_logs").first.wait_for()
    tab.screenshot(path=shots / "dagster_sensor.png")
    assert [url for url in asked if not url.startswith((at, f"ws://127.0.0.1:{port}", "data:", "blob:"))] == []
