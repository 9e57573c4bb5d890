"""The pages in a real browser: what is on them, that they fetch nothing from elsewhere, and pictures to look at.

Pictures go to the folder named by `CLAWGYM_SHOTS`, else to pytest's temporary folder.
"""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lake import Lake

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = next(
    (str(path) for path in map(Path, ("/usr/bin/chromium", "/usr/bin/chromium-browser")) if path.exists()),
    os.environ.get("CLAWGYM_CHROMIUM", ""),
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
"""Headers that ask for a WebSocket."""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: apt-get install chromium, or set CLAWGYM_CHROMIUM"),
]


@pytest.fixture(scope="module")
def address(mini: Lake) -> Iterator[str]:
    """The pages of the small lake, served as a user serves them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "dashboards", "--port", str(port), "--lake", str(mini.root)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(240):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1):
                    break
            except OSError:
                assert server.poll() is None, "the server ended before it served"
                time.sleep(0.25)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=20)


def test_a_page_of_elsewhere_does_not_get_at_the_pages(address: str) -> None:
    elsewhere = {"Host": "evil.example"}, {"Origin": "http://evil.example"}
    for path, more in (("/", {}), ("/_stcore/health", {}), ("/_stcore/stream", UPGRADE)):
        for headers in elsewhere:
            assert answered(address, path, {**more, **headers}) == 403
    assert answered(address, "/_stcore/stream", {**UPGRADE, "Origin": address}) == 101


def answered(address: str, path: str, headers: dict[str, str]) -> int:
    """The status of an answer; unlike urllib this keeps `Connection: Upgrade`."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=20)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.fixture(scope="module")
def fetched() -> list[str]:
    """Every address a page asked for."""
    return []


@pytest.fixture(scope="module")
def page(fetched: list[str]) -> Iterator[Page]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        tab = browser.new_page(viewport={"width": 1440, "height": 1000})
        tab.set_default_timeout(30_000)
        tab.on("request", lambda request: fetched.append(request.url))
        tab.on("dialog", lambda dialog: pytest.fail(f"a script of somebody else ran: {dialog.message}"))
        yield tab
        browser.close()


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("CLAWGYM_SHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def visit(page: Page, url: str, title: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.goto(url)
    page.get_by_role("heading", name=title, exact=True).first.wait_for()
    settle(page)


def settle(page: Page) -> None:
    """Wait until the script has run and drawn."""
    page.wait_for_selector("[data-testid='stApp'][data-test-script-state='notRunning']")
    page.wait_for_timeout(400)


def shoot(page: Page, path: Path) -> None:
    """A picture of the whole page, which scrolls inside."""
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": 1440, "height": min(int(height) + 40, 6000)})
    page.wait_for_timeout(900)
    page.screenshot(path=path)
    assert path.stat().st_size > 10_000


def sees(page: Page, *words: str) -> None:
    """Wait until the page holds all these texts (a page is drawn piece by piece); fails with what it holds instead."""
    main = "document.querySelector('[data-testid=stMain]').innerText"
    try:
        page.wait_for_function(f"words => words.every(w => {main}.includes(w))", arg=list(words))
    except Exception:
        shown = page.locator("[data-testid='stMain']").inner_text()
        assert [word for word in words if word not in shown] == [], shown


def sees_cells(page: Page, *wanted: str) -> None:
    """The same for cells in view of any table (the grid is a canvas; its accessible twin is read)."""
    cells = "[...document.querySelectorAll('[role=gridcell]')].map(e => e.textContent)"
    try:
        page.wait_for_function(f"wanted => wanted.every(w => {cells}.some(c => c.startsWith(w)))", arg=list(wanted))
    except Exception:
        shown = page.locator("[role='gridcell']").all_text_contents()
        assert [word for word in wanted if not any(cell.startswith(word) for cell in shown)] == [], shown


def test_overview(page: Page, address: str, mini: Lake, shots: Path) -> None:
    visit(page, address, "ClawGym lakehouse")
    for label, n in mini.sql("select label, n from funnel").fetchall():
        sees(page, f"{label[:1].upper()}{label[1:]}\n\n{n:,}")
    row = mini.sql("select count(*), avg(turns) from sft_examples").fetchone()
    assert row is not None
    sees_cells(page, str(row[0]), f"{row[1]:.2f} (")
    page.locator("[data-testid='stVegaLiteChart'] :is(canvas, svg)").nth(13).wait_for(state="attached")
    shoot(page, shots / "overview.png")


def test_trajectory_list_opens_a_run_by_a_click(page: Page, address: str, mini: Lake, shots: Path) -> None:
    visit(page, f"{address}/trajectories", "Trajectories")
    row = mini.sql("select count(*) from trajectories").fetchone()
    assert row is not None
    sees(page, f"of n = {row[0]} trajectories")
    shoot(page, shots / "trajectories.png")
    page.locator("[data-testid='stDataFrame'] canvas").first.click(position={"x": 16, "y": 52}, force=True)
    page.wait_for_url("**/trajectories?id=*")
    sees(page, "All trajectories", "Tool calls\n\n")


def test_a_run_and_its_panels(page: Page, address: str, mini: Lake, shots: Path) -> None:
    row = mini.sql(
        "select trajectory_id, tool_calls, turns from trajectories where session_id = 'session-000003-0'"
    ).fetchone()
    assert row is not None
    visit(page, f"{address}/trajectories?id={row[0]}", "Trajectories")
    sees(page, f"Tool calls\n\n{row[1]}", f"Turns\n\n{row[2]}")
    sees(page, "<script>alert('x')</script> **not bold** [click](http://example.invalid/)")
    assert page.locator("a[href*='example.invalid'], img[src*='example.invalid']").count() == 0
    shoot(page, shots / "run_messages.png")
    for name, words in (
        ("Files", "1 modified"),
        ("Verdict", "Checks (n = 6)"),
        ("Cleaning", "Raw records (n ="),
        ("Model calls", f"n = {row[2]} calls"),
        ("Origins", "clawgym explain"),
    ):
        page.set_viewport_size({"width": 1440, "height": 1000})
        page.get_by_role("radio", name=name).or_(page.get_by_role("button", name=name, exact=True)).first.click()
        page.get_by_text(words).first.wait_for()
        settle(page)
        shoot(page, shots / f"run_{name.lower().replace(' ', '_')}.png")


def test_tasks_and_one_task(page: Page, address: str, mini: Lake, shots: Path) -> None:
    visit(page, f"{address}/tasks", "Tasks")
    row = mini.sql("select count(*) from tasks").fetchone()
    assert row is not None
    sees(page, f"n = {row[0]} task versions")
    shoot(page, shots / "tasks.png")
    visit(page, f"{address}/tasks?id=release_notes-s0000", "Tasks")
    sees(page, "Keep the records whose status is open")
    shoot(page, shots / "task.png")
    page.get_by_text("Audit", exact=True).first.click()
    page.get_by_text("n = 11 probes").wait_for()
    shoot(page, shots / "task_audit.png")
    page.get_by_text("Verifier", exact=True).first.click()
    page.get_by_text("def grade(").first.wait_for()
    shoot(page, shots / "task_verifier.png")


def test_bench(page: Page, address: str, mini: Lake, shots: Path) -> None:
    visit(page, f"{address}/bench", "Bench")
    row = mini.sql(
        "select printf('%.3f (%.3f to %.3f)', mean, low, high) from bench_scores"
        " where scope = 'suite' and policy = 'scripted:strong@1'"
    ).fetchone()
    assert row is not None
    sees_cells(page, row[0])
    sees(page, "scripted teacher: checks the harness, not a model")
    sees(page, "Two runs compared")
    shoot(page, shots / "bench.png")


def test_sql(page: Page, address: str, mini: Lake, shots: Path) -> None:
    visit(page, f"{address}/query", "SQL")
    box = page.get_by_role("textbox", name="Query")
    box.fill("select policy, count(*) as attempts_of_it from attempts group by policy order by policy")
    page.get_by_role("button", name="Run").click()
    page.get_by_text("n = 3 rows").wait_for()
    settle(page)
    for policy, n in mini.sql("select policy, count(*) from attempts group by policy").fetchall():
        sees_cells(page, policy, str(n))
    shoot(page, shots / "sql.png")


def test_nothing_was_fetched_from_elsewhere(page: Page, address: str, fetched: list[str]) -> None:
    visit(page, address, "ClawGym lakehouse")
    ours = (address, address.replace("http:", "ws:"), "data:", "blob:", "about:")
    assert fetched
    assert [url for url in fetched if not url.startswith(ours)] == []
