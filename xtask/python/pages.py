"""An executed notebook as pages: HTML for a browser, and Markdown for a forge, with the pictures in files next to it.

A Markdown cell may fold Rust code between `<details>` and `</details>`: the answer to an exercise, or a table that is long.
`with_folded_code` gives each such piece a code cell of its own below, so that it runs with the notebook; both pages show its
output in the fold. JupyterLab shows the fold alone.
"""

import base64
import itertools
import re

import jinja2
import nbconvert
import nbformat

FOLDED = "folded"
FENCE = re.compile(r"^```rust\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")
# Forges leave styles and scripts out.
STYLE = re.compile(r' style="[^"]*"|<script.*?</script>', re.DOTALL)
PREFORMATTED = re.compile(r"<pre.*?</pre>", re.DOTALL)
DATA_PICTURE = re.compile(r'src="data:image/png;base64,([^"]+)"')


def folded_code(cell):
    """The pieces of Rust in the fold of a Markdown cell."""
    if cell.cell_type == "markdown" and "<details>" in cell.source:
        return FENCE.findall(cell.source)
    return []


def with_folded_code(notebook):
    """Inserts a code cell for each folded piece of code, below the cell that holds it."""
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        for number, code in enumerate(folded_code(cell)):
            metadata = {"tags": [FOLDED], "jupyter": {"source_hidden": True}}
            below = nbformat.v4.new_code_cell(code, id=f"{cell.id}-{number}", metadata=metadata)
            cells.append(below)
    notebook.cells = cells


# nbconvert's page, with the description of each chart, which is its text output, as the picture's text, and with the output
# of folded code in a fold.
TEMPLATE = """{% extends 'lab/index.html.j2' %}
{% block codecell %}
{% if 'folded' in cell.metadata.get('tags', []) %}
<details><summary>Output</summary>{{ super() }}</details>
{% else %}
{{ super() }}
{% endif %}
{% endblock codecell %}
{% block data_png scoped %}
<div class="jp-RenderedImage jp-OutputArea-output {{ extra_class }}">
<img src="data:image/png;base64,{{ output.data['image/png'] | escape_html }}"
 alt="{{ output.data.get('text/plain', '') | escape_html }}">
</div>
{% endblock data_png %}
"""


def html(notebook, name):
    """The notebook as one file of HTML."""
    exporter = nbconvert.HTMLExporter(
        extra_loaders=[jinja2.DictLoader({"topicbook.html.j2": TEMPLATE})], template_file="topicbook.html.j2"
    )
    # The code is in the fold above.
    without_code = nbconvert.preprocessors.TagRemovePreprocessor(remove_input_tags={FOLDED})
    exporter.register_preprocessor(without_code, enabled=True)
    text, _ = exporter.from_notebook_node(notebook, {"metadata": {"name": name}})
    return text


class Markdown:
    """The notebook as Markdown. `pictures` has the bytes of each picture under its relative path."""

    def __init__(self, notebook, name):
        self.name = name
        self.pictures = {}
        parts = [f"*Written by `cargo xtask notebooks` from [{name}.ipynb](../{name}.ipynb).*"]
        cells = iter(notebook.cells)
        for cell in cells:
            if cell.cell_type == "code":
                parts.append(f"```rust\n{cell.source}\n```" + self.outputs(cell))
            elif folded_code(cell):
                parts.append(FENCE.sub(lambda code: code[0] + self.outputs(next(cells)), links(cell.source)))
            else:
                parts.append(links(cell.source))
        self.text = "\n\n".join(parts) + "\n"

    def outputs(self, cell):
        """The output below a code cell, between two comments that mark it for `cargo xtask test`."""
        # Lines that were printed one after the other are one text.
        together = itertools.groupby(cell.outputs, lambda output: output.get("name") or id(output))
        shown = "\n\n".join(self.output(list(outputs), cell.id) for _, outputs in together)
        return f"\n\n<!-- output -->\n\n{shown}\n\n<!-- end of output -->" if shown else ""

    def output(self, outputs, cell):
        output = outputs[0]
        if output.output_type == "stream":
            return plain("".join(output.text for output in outputs))
        if output.output_type == "error":
            return plain(output.evalue)
        data = output.data
        if "image/png" in data:
            text = re.sub(r"[\[\]\s]+", " ", data.get("text/plain", "")).strip()
            return f"![{text}]({self.picture(data['image/png'], cell)})"
        if "text/markdown" in data:
            return data["text/markdown"]
        # A page inside the page is too long for a forge, which would not run it either.
        if "<iframe" not in data.get("text/html", "<iframe"):
            html = STYLE.sub("", data["text/html"])
            html = DATA_PICTURE.sub(lambda picture: f'src="{self.picture(picture[1], cell)}"', html)
            # A blank line would end the HTML, so that lines of preformatted text are separated by entities.
            html = PREFORMATTED.sub(lambda text: text[0].replace("\n", "&#10;"), html)
            return "<div>" + re.sub(r"\s*\n\s*", " ", html.strip()) + "</div>"
        return plain(data.get("text/plain", ""))

    def picture(self, png, cell):
        path = f"{self.name}_files/{cell}-{len(self.pictures)}.png"
        self.pictures[path] = base64.b64decode(png)
        return path


def plain(text):
    return f"```text\n{text.rstrip()}\n```"


def links(source):
    """Links between notebooks become links between their pages; all other relative links are taken from the folder above."""

    def link(match):
        page = re.sub(r"^(\w+)\.ipynb", r"\1.md", match[1])
        return f"]({page})" if page != match[1] else f"](../{match[1]})"

    return LINK.sub(link, source)
