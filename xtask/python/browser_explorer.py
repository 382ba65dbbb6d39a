"""Tests of the page that `Fit::explore` makes: as a file in Chromium, light and dark, and below a cell in JupyterLab."""

import numpy as np
import scipy.sparse

TOPICS, TERMS, DOCUMENTS = 50, 50_000, 3_000
LARGEST = 5 * 2**20
SECONDS_TO_PAINT = 1.0

# Terms and labels that would end a script, load a picture, hide what follows, or break lines.
HOSTILE = [
    "<script>document.title='hacked'</script>",
    "</script><img src=x onerror=document.title='hacked'>",
    "--> <!-- ]]>",
    "\"'`&amp;</iframe>",
    "\u202eright to left",
    "a\u2028separator and a \x1b[31m",
]

MAKE = """
let counts = Counts::open("explore.npz")?;
let terms = Terms::open("explore_terms.txt")?;
let fit = TopicModel::new(50).solver(Solver::em()).epochs(12).seed(1).terms(terms).quiet().fit(&counts)?;
let fit = fit.name_topics([(1, "second </script> topic")])?;
let labels: Vec<String> = (0..3000).map(|i| format!("<b>label</b> of {i}")).collect();
let texts: Vec<String> = (0..3000).map(|i| "A text with <i>marks</i> & more words. ".repeat(1 + i % 9)).collect();
let explorer = fit.explore().counts(&counts)?.labels(&labels)?.documents(&texts)?.title("Explorer </title> of 50 topics");
explorer.save_html("explore.html")?;
let bytes: Vec<u8> = fit.f().values().iter().flat_map(|value| value.to_le_bytes()).collect();
std::fs::write("explore_f.bin", bytes)?;
"""

CELLS = [
    "use topicbook::prelude::*;",
    MAKE,
    "explorer",
]


def write_counts(folder):
    """Counts of 50 topics over 50,000 terms of Zipf's frequencies, and the terms, the hostile ones among the most frequent."""
    random = np.random.default_rng(1)
    frequencies = 1 / (np.arange(TERMS) + 5.0)
    topics = np.array([np.cumsum(frequencies * random.gamma(0.1, size=TERMS)) for _ in range(TOPICS)])
    topics /= topics[:, -1:]
    rows, columns = [], []
    for document in range(DOCUMENTS):
        main = document % TOPICS
        for topic, tokens in ((main, 250), (random.integers(TOPICS), 150)):
            columns.append(np.searchsorted(topics[topic], random.random(tokens)))
            rows.append(np.full(tokens, document))
    rows, columns = np.concatenate(rows), np.minimum(np.concatenate(columns), TERMS - 1)
    counts = scipy.sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(DOCUMENTS, TERMS))
    counts.sum_duplicates()
    scipy.sparse.save_npz(folder / "explore.npz", counts, compressed=False)
    terms = [f"term{number}" for number in range(TERMS)]
    frequent = np.argsort(-counts.sum(axis=0))
    for number, term in zip(frequent, HOSTILE):
        terms[number] = term
    (folder / "explore_terms.txt").write_text("\n".join(terms) + "\n", newline="\n")


def explorer_below_a_cell(page):
    """The page is made by the kernel and shown in a frame, which follows JupyterLab's theme."""
    write_counts(page.notebook.parent)
    other = page.other("explorer.ipynb", CELLS)
    for number in range(len(CELLS)):
        outputs = other.run(number)
        assert not any(output["output_type"] == "error" for output in outputs), outputs
    assert "text/html" in outputs[0]["data"], outputs
    browser = page.browser
    browser.wait("document.querySelector('.jp-OutputArea-output iframe')")
    sentence = browser.ask("document.querySelector('.jp-OutputArea-output iframe').parentElement.querySelectorAll('p').length")
    assert sentence == 0, "the sentence for notebooks that are not trusted is shown"
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        other.theme(theme)
        with frame(browser, ".jp-OutputArea-output iframe"):
            browser.wait("document.querySelectorAll('#terms tr').length === 30")
            name = theme.split()[-1].lower()
            assert browser.ask("document.documentElement.dataset.theme") == name
            check_contrast(browser, theme)
            # An origin of its own: the page cannot reach the notebook.
            assert browser.ask("origin") == "null"
        browser.ask("document.querySelector('.jp-OutputArea-output iframe').scrollIntoView({block: 'end'})")
        browser.save_picture(page.notebook.parent.parent / f"explorer_cell_{name}.png")
    page.theme("JupyterLab Light")


def explorer_as_a_file(page):
    """Size, time to first paint, hostile texts, contrast."""
    path = page.notebook.parent / "explore.html"
    size = path.stat().st_size
    browser = page.browser
    for scheme in ("light", "dark"):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.send("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": media})
        browser.open(path.as_uri())
        seconds = browser.ask(PAINTED) / 1000
        print(f"    {TOPICS} topics x {TERMS:,} terms, {scheme}: {size / 2**20:.2f} MiB, first paint after {seconds:.2f} s")
        assert size < LARGEST and seconds < SECONDS_TO_PAINT
        assert browser.ask("document.title") == "Explorer </title> of 50 topics"
        loaded = browser.ask("performance.getEntriesByType('resource').map(entry => entry.name)")
        assert loaded == [], loaded
        background = browser.ask("getComputedStyle(document.body).backgroundColor")
        assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 17, 17)"}[scheme], background
        browser.ask("(document.getElementById('help').open = true, 0)")
        check_contrast(browser, scheme)
        browser.ask("(document.getElementById('help').open = false, 0)")
        check_hostile(browser)
        browser.save_picture(page.notebook.parent.parent / f"explorer_{scheme}.png")
    media = {"features": []}
    browser.send("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": media})


# Milliseconds until the page is drawn: its script has run when the page has loaded, and the next frame is painted after that.
PAINTED = """new Promise(resolve => {
    const ask = () => requestAnimationFrame(() => setTimeout(() => {
        const paint = performance.getEntriesByType("paint").find(entry => entry.name === "first-contentful-paint");
        const { loadEventEnd } = performance.getEntriesByType("navigation")[0];
        if (paint && loadEventEnd > 0) resolve(Math.max(paint.startTime, loadEventEnd)); else ask();
    }));
    ask();
})"""


def check_hostile(browser):
    """Hostile terms of the page are texts: of the most frequent terms, each topic has some at lambda 1."""
    shown = browser.ask(
        """(() => {
            const seen = new Set();
            const slider = document.getElementById("lambda");
            slider.value = 1;
            slider.dispatchEvent(new Event("input"));
            for (let topic = 0; topic < 50; topic++) {
                document.querySelectorAll(".term").forEach(term => seen.add(term.textContent));
                document.getElementById("next").click();
            }
            slider.value = 0.6;
            slider.dispatchEvent(new Event("input"));
            return [...seen];
        })()"""
    )
    expected = [term.replace("\x1b", "\\u{1b}") for term in HOSTILE]
    missing = [term for term in expected if term not in shown]
    assert not missing, missing
    assert browser.ask("document.images.length") == 0
    assert browser.ask("document.scripts.length") == 2
    assert browser.ask("document.title") == "Explorer </title> of 50 topics"


def explorer_by_keyboard(page):
    browser = page.browser
    browser.open((page.notebook.parent / "explore.html").as_uri())
    chosen = "document.querySelector('#map [aria-checked=true]')"
    focused = "document.activeElement"
    heading = "document.getElementById('terms-heading').textContent"
    order = "[...document.querySelectorAll('.term')].map(term => term.textContent)"
    # Previous topic, list of topics, next topic, slider, map, terms.
    names = []
    for _ in range(6):
        browser.press("Tab")
        names.append(browser.ask(f"{focused}.id || {focused}.getAttribute('role') || {focused}.className"))
    assert names == ["previous", "topic", "next", "lambda", "radio", "term"], names
    browser.press("ArrowDown")
    assert browser.ask(f"{focused}.textContent === {order}[1]")
    browser.press("Enter")
    assert browser.ask(f"{focused}.getAttribute('aria-pressed')") == "true"
    assert browser.ask("document.getElementById('term-topics').textContent").startswith("Topics of ")
    outline = browser.ask(f"getComputedStyle({focused}).outlineStyle")
    assert outline == "solid", outline
    page.browser.save_picture(page.notebook.parent.parent / "explorer_term.png")
    browser.press("Escape")
    assert browser.ask("document.getElementById('term-topics').textContent") == ""
    browser.press("Tab", shift=True)
    assert browser.ask(f"{focused} === {chosen}")
    browser.press("ArrowRight")
    assert browser.ask(f"{focused} === {chosen}") and "second </script> topic" in browser.ask(heading)
    ring = browser.ask(f"getComputedStyle({focused}.querySelector('.ring')).stroke")
    assert ring != "none", ring
    assert browser.ask(f"{chosen}.getAttribute('aria-label')").startswith("topic 1, second </script> topic, ")
    browser.press("End")
    assert browser.ask(heading).endswith("of topic 49"), browser.ask(heading)
    assert browser.ask("document.getElementById('topic').value") == "49"
    browser.press("Tab", shift=True)
    before = browser.ask(order)
    browser.press("Home")
    assert browser.ask("document.getElementById('lambda-value').textContent") == "0.00"
    assert browser.ask(order) != before
    browser.press("ArrowRight")
    assert browser.ask("document.getElementById('lambda-value').textContent") == "0.01"
    check_names(browser)


def check_names(browser):
    """What a screen reader is told: every control has a name."""
    tree = browser.send("POST", "/goog/cdp/execute", {"cmd": "Accessibility.getFullAXTree", "params": {}})["nodes"]
    named = {}
    for node in tree:
        named.setdefault(node.get("role", {}).get("value"), []).append(node.get("name", {}).get("value", ""))
    for role, number in {"radio": TOPICS, "radiogroup": 1, "slider": 1, "combobox": 1, "table": 1, "rowheader": 30}.items():
        assert len(named.get(role, [])) == number and all(named[role]), (role, named.get(role))
    assert len(named["button"]) >= 32 and all(named["button"]), named["button"]


def explorer_order_is_that_of_all_terms(page):
    """At each position of the slider the page has the terms that a sort of all 50,000 terms puts first."""
    folder = page.notebook.parent
    f = np.fromfile(folder / "explore_f.bin", np.float32).reshape(TOPICS, TERMS).astype(np.float64)
    totals = scipy.sparse.load_npz(folder / "explore.npz").sum(axis=0).astype(np.float64)
    terms = (folder / "explore_terms.txt").read_text().replace("\x1b", "\\u{1b}").split("\n")
    column = {term: number for number, term in enumerate(terms)}
    browser = page.browser
    browser.open((folder / "explore.html").as_uri())
    with np.errstate(divide="ignore", invalid="ignore"):
        for topic in (0, 7, 49):
            for step in (0, 1, 33, 60, 100):
                relevance = np.log(f[topic]) - (1 - step / 100) * np.log(totals / totals.sum())
                relevance[(f[topic] == 0) | (totals == 0)] = -np.inf
                expected = np.sort(relevance)[::-1][:30]
                shown = browser.ask(
                    f"relevantTerms({topic}, {step} / 100).map(row => [data.terms[row.term], row.relevance])"
                )
                found = [value for _, value in shown]
                assert len(found) == 30 and np.allclose(found, expected, rtol=0, atol=1e-9), (topic, step)
                assert np.allclose([relevance[column[term]] for term, _ in shown], found, rtol=0, atol=1e-9)


class frame:
    """Commands inside a frame of the page."""

    def __init__(self, browser, selector):
        self.browser, self.selector = browser, selector

    def __enter__(self):
        found = self.browser.send("POST", "/element", {"using": "css selector", "value": self.selector})
        self.browser.send("POST", "/frame", {"id": found})

    def __exit__(self, *_):
        self.browser.send("POST", "/frame", {"id": None})


def check_contrast(browser, what):
    """Every visible text has the contrast of WCAG 2.2 with its background, and the outlines of controls three to one."""
    low = browser.ask(LOW_CONTRAST)
    assert low == [], (what, low)


LOW_CONTRAST = """(() => {
    const channels = colour => colour.match(/[\\d.]+/g).map(Number);
    const light = colour => channels(colour).slice(0, 3).map(part => part / 255)
        .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
    const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    const behind = node => {
        while (node && (channels(getComputedStyle(node).backgroundColor)[3] ?? 1) === 0) node = node.parentElement;
        return node ? getComputedStyle(node).backgroundColor : "rgb(255, 255, 255)";
    };
    const low = [];
    let seen = 0;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode.parentElement;
        if (!walker.currentNode.textContent.trim() || !node.checkVisibility() || ["SCRIPT", "TITLE"].includes(node.tagName.toUpperCase())) continue;
        const style = getComputedStyle(node);
        // Labels of the map have a rim in the colour of the page.
        const isLabel = node instanceof SVGElement;
        const found = ratio(isLabel ? style.fill : style.color, isLabel ? style.stroke : behind(node));
        seen++;
        if (found < 4.5) low.push([node.outerHTML.slice(0, 80), found]);
    }
    for (const node of document.querySelectorAll("button:not(.term), select")) {
        const found = ratio(getComputedStyle(node).borderTopColor, behind(node.parentElement));
        if (found < 3) low.push([node.outerHTML.slice(0, 80), found]);
    }
    for (const node of document.querySelectorAll("#map circle:not(.ring)")) {
        const found = ratio(getComputedStyle(node).stroke, behind(document.querySelector("#map svg")));
        if (found < 3) low.push([node.outerHTML.slice(0, 80), found]);
    }
    return seen > 50 ? low : ["too few texts", seen];
})()"""

TESTS = [
    explorer_below_a_cell,
    explorer_as_a_file,
    explorer_by_keyboard,
    explorer_order_is_that_of_all_terms,
]
