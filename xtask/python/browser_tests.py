"""Tests JupyterLab in a real browser: notebook 01 from a click on "Run All", and a notebook in which things go wrong, are
stopped and are watched; and the page of `Fit::explore`. Reports like Rust's test harness.

usage: browser_tests.py NOTEBOOK OUTPUT_FOLDER

Screenshots in both themes and the notebook as JupyterLab saved it go to OUTPUT_FOLDER. chromedriver controls Chromium; this
program sends it WebDriver commands over HTTP.
"""

import base64
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import browser_explorer
import nbformat
import requests
from harness import run_tests

# The longest time for one thing, and the time after which nothing is waited for: a browser that hangs must not take CI's hour.
SECONDS = 300
END = time.monotonic() + 900
WIDTH, HEIGHT = 1280, 900
PAGE_BYTES = 2 * 2**20
CHROMIUM = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Keys as WebDriver sends them.
KEYS = {
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Shift": "\ue008",
    "Escape": "\ue00c",
    "End": "\ue010",
    "Home": "\ue011",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
}
# Keeps cells in the page when they are scrolled out of sight, and turns off JupyterLab's questions.
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "docmanager-extension/plugin": {"autosave": False},
}


class Browser:
    """A WebDriver session."""

    def __init__(self, port, profile):
        self.driver = f"http://127.0.0.1:{port}"
        options = {"args": [*CHROMIUM, f"--window-size={WIDTH},{HEIGHT}", f"--user-data-dir={profile}"]}
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options}
        session = self.send("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.driver += f"/session/{session['sessionId']}"
        self.send("POST", "/timeouts", {"script": SECONDS * 1000})
        # Chromium gives a page without a window no focus, and JupyterLab has no current notebook without it.
        self.devtools("Emulation.setFocusEmulationEnabled", {"enabled": True})

    def send(self, method, path, body=None):
        answer = requests.request(method, self.driver + path, json=body, timeout=SECONDS).json()["value"]
        if isinstance(answer, dict) and "error" in answer:
            raise RuntimeError(f"{answer['error']}: {answer['message']}")
        return answer

    def open(self, address):
        self.send("POST", "/url", {"url": address})

    def ask(self, script):
        """The value of a JavaScript expression; waits for a promise."""
        return self.send("POST", "/execute/sync", {"script": f"return {script}", "args": []})

    def wait(self, script):
        deadline = min(time.monotonic() + SECONDS, END)
        while not (value := self.ask(script)):
            assert time.monotonic() < deadline, f"timed out, never true: {script}"
            time.sleep(0.2)
        return value

    def click(self, selector):
        """Clicks at the position of an element, as a person does; JupyterLab ignores clicks by scripts."""
        place = json.dumps(selector)
        self.wait(f"document.querySelector({place})?.checkVisibility()")
        (element,) = self.send("POST", "/element", {"using": "css selector", "value": selector}).values()
        self.send("POST", f"/element/{element}/click", {})

    def press(self, key, shift=False):
        """Presses a key on what has the focus."""
        codes = [KEYS["Shift"]] * shift + [KEYS[key]]
        actions = [{"type": "keyDown", "value": code} for code in codes]
        actions += [{"type": "keyUp", "value": code} for code in reversed(codes)]
        self.send("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def save_picture(self, path):
        path.write_bytes(base64.b64decode(self.send("GET", "/screenshot")))

    def resize(self, height, width=WIDTH):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)

    def devtools(self, command, parameters):
        self.send("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})


class Page:
    """JupyterLab with the notebook open."""

    NOTEBOOK = "jupyterapp.shell.currentWidget"

    def __init__(self, browser, address, notebook):
        self.browser = browser
        self.lab = f"{address}/lab"
        self.notebook = notebook

    def open(self):
        self.browser.open(f"{self.lab}/tree/{self.notebook.name}?reset")
        self.browser.wait("window.jupyterapp?.shell?.currentWidget?.context?.isReady")
        self.browser.wait(f"{self.NOTEBOOK}.sessionContext.session?.kernel?.status === 'idle'")

    def other(self, name, cells):
        """Writes a notebook with these cells next to the first one, and opens it."""
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
            metadata={"kernelspec": {"name": "topicbook", "display_name": "Rust (topicbook)", "language": "rust"}},
        )
        path = self.notebook.with_name(name)
        nbformat.write(notebook, path)
        page = Page(self.browser, self.lab.removesuffix("/lab"), path)
        page.open()
        return page

    def theme(self, name):
        """Selects a theme and waits until the page uses it."""
        self.browser.ask(f"jupyterapp.commands.execute('apputils:change-theme', {{theme: {json.dumps(name)}}})")
        light = json.dumps(str("Light" in name).lower())
        self.browser.wait(f"document.body.dataset.jpThemeLight === {light}")
        time.sleep(1)

    def run_all(self):
        self.browser.click(".lm-MenuBar-item:nth-child(4)")
        self.browser.click("[data-command='runmenu:run-all']")

    def begin(self, number):
        """Starts a cell. It may have run before anybody looks: then its command has ended."""
        self.browser.ask(
            f"({self.NOTEBOOK}.content.activeCellIndex = {number}, window.hasRun = false, "
            "jupyterapp.commands.execute('notebook:run-cell').then(() => { window.hasRun = true }), 0)"
        )
        self.browser.wait(f"window.hasRun || {self.cell(number)}.executionState === 'running'")

    def wait(self, number):
        """Waits until a cell has run."""
        self.browser.wait(f"{self.cell(number)}.executionCount > 0 && {self.cell(number)}.executionState === 'idle'")

    def run(self, number):
        self.begin(number)
        self.wait(number)
        return self.outputs(number)

    def cell(self, number):
        return f"{self.NOTEBOOK}.content.widgets[{number}].model"

    def outputs(self, number):
        return self.browser.ask(f"{self.cell(number)}.outputs.toJSON()")


def run_all_runs_every_cell(page):
    page.open()
    page.run_all()
    last = f"{page.NOTEBOOK}.content.widgets.filter(cell => cell.model.type === 'code').at(-1).model"
    failed = f"{page.NOTEBOOK}.content.widgets.some(cell => cell.node.querySelector(\"{ERRORS}\"))"
    page.browser.wait(f"({last}.executionCount > 0 && {last}.executionState === 'idle') || {failed}")
    wrong = page.browser.ask(f"[...document.querySelectorAll(\"{ERRORS}\")].map(node => node.textContent)")
    assert not wrong, wrong
    counts = page.browser.ask(
        f"{page.NOTEBOOK}.content.widgets.filter(cell => cell.model.type === 'code').map(cell => cell.model.executionCount)"
    )
    assert counts == list(range(counts[0], counts[0] + len(counts))), counts


ERRORS = (
    ".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.error'],"
    ".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']"
)


def saved_notebook_is_small(page):
    page.browser.ask(f"{page.NOTEBOOK}.context.save()")
    size = page.notebook.stat().st_size
    print(f"    {page.notebook.name} with its outputs: {size / 1024:,.0f} KiB")
    assert 100_000 < size < PAGE_BYTES


def light_theme_shows_everything(page):
    shows_everything(page, "JupyterLab Light")


def dark_theme_shows_everything(page):
    shows_everything(page, "JupyterLab Dark")


def shows_everything(page, theme):
    page.theme(theme)
    browser = page.browser
    pictures = browser.ask(
        """[...document.querySelectorAll('.jp-OutputArea-output img')]
        .map(image => [image.complete, image.naturalWidth])"""
    )
    assert len(pictures) >= 4 and all(complete and width > 0 for complete, width in pictures), pictures
    nothing_is_too_wide(browser)
    outer = "document.querySelector('.jp-WindowedPanel-outer')"
    height = browser.ask(f"{outer}.scrollHeight - {outer}.clientHeight + innerHeight")
    try:
        browser.resize(height)
        time.sleep(1)
        browser.ask(f"{outer}.scrollTo(0, 0)")
        time.sleep(1)
        browser.save_picture(page.notebook.parent.parent / f"browser_{theme.split()[-1].lower()}.png")
    finally:
        browser.resize(HEIGHT)


def charts_have_descriptions(page):
    texts = page.browser.ask("[...document.querySelectorAll('.jp-OutputArea-output img')].map(image => image.alt)")
    assert len(texts) >= 4 and all(len(text) > 20 for text in texts), texts


def answers_are_folded_and_links_are_links(page):
    folds = page.browser.ask(
        """[...document.querySelectorAll('.jp-RenderedMarkdown details')]
        .map(fold => [fold.open, fold.querySelector('pre')?.textContent ?? ''])"""
    )
    assert len(folds) >= 2 and all(not opened and "fit" in code for opened, code in folds), folds
    links = page.browser.ask("[...document.querySelectorAll('.jp-RenderedMarkdown a')].map(link => link.textContent)")
    assert "02 Real text" in links, links


def nothing_is_too_wide(browser):
    too_wide = browser.ask(
        """[document.documentElement, document.body,
            ...document.querySelectorAll('.jp-NotebookPanel, .jp-NotebookPanel *')]
        .filter(node => ['auto', 'scroll'].includes(getComputedStyle(node).overflowX) || node === document.documentElement)
        .filter(node => node.clientWidth > 0 && node.scrollWidth > node.clientWidth)
        .map(node => `${node.tagName} ${node.className}: ${node.scrollWidth} > ${node.clientWidth}`)"""
    )
    assert not too_wide, too_wide


COUNTS = "use topicbook::prelude::*;\nlet counts = Synthetic::new(200, 50, 10).seed(1).generate()?.counts();"


def kernel_answers_under_load(page):
    """Two processes keep the cores busy while the kernel starts."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        other = page.other("busy.ipynb", ["1 + 1"])
        (output,) = other.run(0)
        assert output["data"]["text/plain"] == "2", output
    finally:
        for process in busy:
            process.kill()


def run_all_stops_at_an_error(page):
    other = page.other("error.ipynb", [COUNTS, "let wrong = Matrix::new(3, 3, vec![1.0])?;", 'println!("never")'])
    other.run_all()
    other.wait(1)
    time.sleep(2)
    (error,) = other.outputs(1)
    assert error["output_type"] == "error" and "3 × 3" in error["evalue"], error
    assert other.outputs(2) == [] and other.browser.ask(f"{other.cell(2)}.executionCount") is None
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        page.theme(theme)
        ratio = other.browser.ask(CONTRAST)
        print(f"    contrast of errors in {theme}: {ratio:.1f}")
        assert ratio >= 4.5, f"{theme}: {ratio}"
    # A panic and an error of the compiler stop it, too.
    for number, cell in enumerate(['panic!("on purpose")', "no_such_name"]):
        other = page.other(f"error{number}.ipynb", [cell, "1 + 1"])
        other.run_all()
        other.wait(0)
        time.sleep(1)
        assert other.outputs(0)[-1]["output_type"] == "error" and other.outputs(1) == []


# The contrast of the text of an error with its background, by the formula of the WCAG.
CONTRAST = """(() => {
    const channels = colour => colour.match(/[\\d.]+/g).map(Number);
    const light = colour => channels(colour).slice(0, 3).map(part => part / 255)
        .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
    const text = document.querySelector(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr'] pre");
    let behind = text;
    while (behind && (channels(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) behind = behind.parentElement;
    const page = document.body.dataset.jpThemeLight === "true" ? "rgb(255, 255, 255)" : "rgb(17, 17, 17)";
    const [a, b] = [light(getComputedStyle(text).color), light(behind ? getComputedStyle(behind).backgroundColor : page)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
})()"""


def stop_button_keeps_variables_and_the_fit(page):
    fit = "let fit = TopicModel::new(10).epochs(1_000_000).fit(&counts)?;"
    other = page.other("stop.ipynb", [COUNTS, fit, "fit.epochs().len() > 0", "counts.documents()"])
    other.run(0)
    other.begin(1)
    time.sleep(3)
    other.browser.click("[data-command='notebook:interrupt-kernel'], [data-jp-item-name='interrupt'] *")
    other.wait(1)
    assert "stopped" in json.dumps(other.outputs(1)), other.outputs(1)
    assert other.run(2)[0]["data"]["text/plain"] == "true"
    assert other.run(3)[0]["data"]["text/plain"] == "200"


def running_fit_refreshes_its_view(page):
    cells = [COUNTS, "let training = TopicModel::new(10).epochs(1_000_000).spawn(&counts)?;", "training", "training.stop();"]
    other = page.other("live.ipynb", cells)
    other.run(0)
    other.run(1)
    other.run(2)
    seen = []
    for _ in range(3):
        time.sleep(1.5)
        seen.append(other.browser.ask("document.querySelector('.jp-OutputArea-output table').textContent"))
    assert len(set(seen)) == 3, seen
    other.run(3)
    time.sleep(3)
    last = other.browser.ask("document.querySelector('.jp-OutputArea-output table').textContent")
    assert "stopped" in last and "topic shares" in last, last
    page.browser.save_picture(page.notebook.parent.parent / "browser_live.png")
    other.browser.ask(f"{other.NOTEBOOK}.context.save()")
    saved = nbformat.read(other.notebook, as_version=4).cells[2].outputs
    assert len(saved) == 1 and "stopped" in saved[0]["data"]["text/plain"], saved


def tables_and_charts_fit_a_narrow_window(page):
    cells = [COUNTS, "let fit = TopicModel::new(10).epochs(5).fit(&counts)?;", "fit.doc_topics()", "fit.plot_top_terms(5)"]
    other = page.other("narrow.ipynb", cells)
    for number in range(4):
        other.run(number)
    heads = other.browser.ask("[...document.querySelectorAll('.jp-OutputArea-output th')].map(node => node.textContent)")
    assert [f"topic {topic}" for topic in range(10)] == [head for head in heads if head.startswith("topic ")], heads
    other.browser.resize(HEIGHT, 900)
    try:
        time.sleep(1)
        # A wide table scrolls in a box of its own, and code in its editor.
        too_wide = other.browser.ask(
            """[document.documentElement, ...document.querySelectorAll('.jp-OutputArea-output img')]
            .filter(node => node.scrollWidth > node.clientWidth
                || node.getBoundingClientRect().right > innerWidth).length"""
        )
        assert too_wide == 0
        page.browser.save_picture(page.notebook.parent.parent / "browser_narrow.png")
    finally:
        other.browser.resize(HEIGHT)


def tables_have_an_order_pages_and_a_search(page):
    table = 'Table::new().with_column("n", 0..50)?.with_column("</script>", vec!["<b>text</b> ".repeat(9); 50])?'
    other = page.other("table.ipynb", ["use topicbook::prelude::*;", table])
    other.run(0)
    other.run(1)
    root = "document.querySelector('[data-topicbook-table]')"
    numbers = f"[...{root}.querySelectorAll('tbody tr')].map(row => +row.cells[0].textContent)"
    assert other.browser.ask(numbers) == list(range(20))
    other.browser.click("[data-topicbook-table] th button")
    # JupyterLab must leave keys to the table.
    other.browser.press("Enter")
    assert other.browser.ask(numbers) == list(range(49, 29, -1))
    other.browser.click("[data-topicbook-table] [title='last page']")
    assert other.browser.ask(numbers) == list(range(9, -1, -1))
    other.browser.click("[data-topicbook-table] summary")
    assert other.browser.ask(f"{root}.querySelector('details').innerText").count("<b>text</b>") > 9
    search = f"{root}.querySelector('[type=search]')"
    other.browser.ask(f"({search}.value = '4', {search}.dispatchEvent(new Event('input')), 0)")
    status = other.browser.ask(f"{root}.querySelector('[role=status]').textContent")
    assert status == "rows 1 to 14 of 14 with “4”", status
    page.browser.save_picture(page.notebook.parent.parent / "browser_table.png")


def a_slider_and_a_choice_run_their_function_again(page):
    controls = '(("number", 2..=10), ("name", ["first", "second"]))'
    code = f'let made = interact({controls}, |(number, name)| format!("{{name}} of {{number}}")); made'
    other = page.other("controls.ipynb", ["use topicbook::prelude::*;", code, "made.value()"])
    other.run(0)
    other.run(1)
    shown = f"{other.cell(1)}.outputs.toJSON().at(-1).data['text/plain']"
    assert other.browser.ask(shown) == "first of 6"
    other.browser.click(".jupyter-widgets .noUi-handle")
    other.browser.press("ArrowRight")
    other.browser.wait(f"{shown} === 'first of 7'")
    choice = "document.querySelector('.jupyter-widgets select')"
    other.browser.ask(f"({choice}.selectedIndex = 1, {choice}.dispatchEvent(new Event('change', {{bubbles: true}})), 0)")
    other.browser.wait(f"{shown} === 'second of 7'")
    assert other.run(2)[0]["data"]["text/plain"] == '(7, "second")', other.outputs(2)
    page.browser.save_picture(page.notebook.parent.parent / "browser_controls.png")


TESTS = [
    run_all_runs_every_cell,
    saved_notebook_is_small,
    light_theme_shows_everything,
    dark_theme_shows_everything,
    charts_have_descriptions,
    answers_are_folded_and_links_are_links,
    kernel_answers_under_load,
    run_all_stops_at_an_error,
    stop_button_keeps_variables_and_the_fit,
    running_fit_refreshes_its_view,
    tables_and_charts_fit_a_narrow_window,
    tables_have_an_order_pages_and_a_search,
    a_slider_and_a_choice_run_their_function_again,
    *browser_explorer.TESTS,
]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def program(*command, log, answers, **more):
    """Runs a program until the end of the block, which begins when the program answers at an address."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, **more)
        try:
            deadline = time.monotonic() + SECONDS
            while True:
                with contextlib.suppress(requests.ConnectionError):
                    if requests.get(answers, timeout=SECONDS).ok:
                        break
                assert process.poll() is None and time.monotonic() < deadline, log.read_text()
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def opened(source, folder, chromedriver):
    """Starts JupyterLab, chromedriver and Chromium, and yields the page."""
    with contextlib.ExitStack() as stack:
        scratch = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # The notebook gets a folder of its own, because its cells write files.
        served = folder / "browser"
        served.mkdir(parents=True, exist_ok=True)
        notebook = served / source.name
        shutil.copyfile(source, notebook)
        for name, values in SETTINGS.items():
            file = scratch / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values))
        port = free_port()
        lab = f"http://127.0.0.1:{port}"
        places = {"SETTINGS_DIR": scratch / "settings", "WORKSPACES_DIR": scratch / "workspaces"}
        stack.enter_context(
            program(
                str(pathlib.Path(sys.executable).with_name("jupyter-lab")),
                "--no-browser",
                "--allow-root",
                f"--ServerApp.port={port}",
                "--ServerApp.port_retries=0",
                f"--ServerApp.root_dir={served}",
                "--IdentityProvider.token=",
                "--expose-app-in-browser",
                log=scratch / "lab.log",
                answers=f"{lab}/api",
                env=os.environ | {f"JUPYTERLAB_{key}": str(value) for key, value in places.items()},
            )
        )
        port = free_port()
        driver = f"http://127.0.0.1:{port}"
        stack.enter_context(
            program(chromedriver, f"--port={port}", log=scratch / "driver.log", answers=f"{driver}/status")
        )
        browser = Browser(port, scratch / "profile")
        stack.callback(browser.send, "DELETE", "")
        yield Page(browser, lab, notebook)


def main(source, folder):
    chromedriver = shutil.which("chromedriver")
    if not chromedriver or not shutil.which("chromium"):
        print("SKIPPED the tests in a browser: they need chromium and chromedriver")
        return 0
    with opened(pathlib.Path(source), pathlib.Path(folder).absolute(), chromedriver) as page:
        return run_tests("browser", TESTS, page)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
