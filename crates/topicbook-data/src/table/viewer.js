// Adds pages, an order and a search to the tables of a page that have their rows as JSON beside them. Each output has this
// script, so that a table is found that was shown already. Texts come in by `append` alone: none is taken for HTML.
(() => {
  const BACKGROUND = "var(--jp-layout-color0, var(--vscode-editor-background, Canvas))";
  const STYLE = `
[data-topicbook-table] th{position:sticky;top:0;z-index:1;background:${BACKGROUND};box-shadow:inset 0 -1px currentColor}
[data-topicbook-table] :is(button,input){font:inherit;color:inherit;background:none;padding:2px 8px;
border:1px solid color-mix(in srgb,currentColor 45%,transparent);border-radius:3px}
[data-topicbook-table] button{cursor:pointer}
[data-topicbook-table] th button{border-color:transparent;padding:0 2px;white-space:nowrap}
[data-topicbook-table] button:hover{border-color:currentColor}
[data-topicbook-table] button[aria-disabled=true]{opacity:.4;cursor:default}
[data-topicbook-table] :focus-visible{outline:2px solid currentColor;outline-offset:1px}
[data-topicbook-bar]{display:flex;flex-wrap:wrap;gap:4px 8px;align-items:center;margin:4px 0}`;
  const collator = new Intl.Collator("en", { numeric: true });
  const number = (value) => value.toLocaleString("en-US");

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function cell({ align, undivided, cells }, row, longest, query) {
    const text = cells[row] ?? "–";
    const made = element("td", { align, dir: "auto" });
    made.style.textAlign = align;
    if (undivided) made.style.whiteSpace = "nowrap";
    const characters = [...text];
    if (characters.length <= longest) {
      made.append(text);
      return made;
    }
    const beginning = `${characters.slice(0, longest - 1).join("").trimEnd()}…`;
    const [summary, whole] = [element("summary", {}, beginning), element("div", {}, text)];
    summary.style.cursor = "pointer";
    whole.style.whiteSpace = "pre-wrap";
    made.style.minWidth = "30ch";
    const details = element("details", {}, summary, whole);
    // What was searched for is seen.
    details.open = query !== "" && !beginning.toLowerCase().includes(query);
    made.append(details);
    return made;
  }

  // The order of two rows by a column. Missing values come last in both directions.
  const compare = ({ cells, ranks }, direction) => (a, b) => {
    const isMissing = (row) => (ranks ?? cells)[row] === null;
    if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);
    return direction * (ranks ? ranks[a] - ranks[b] : collator.compare(cells[a], cells[b]));
  };

  function show(root) {
    const { page, longest, remark, columns } = JSON.parse(root.querySelector("script").textContent);
    const table = root.querySelector("table");
    const all = columns[0].cells.map((_, row) => row);
    const state = { rows: all, first: 0, query: "", column: null, direction: 1 };
    const status = element("span", { role: "status" });
    const search = element("input", { type: "search", placeholder: "search", "aria-label": "search the rows" });

    const turn = (label, name, first) => {
      const made = element("button", { type: "button", "aria-label": name, title: name }, label);
      const target = () => Math.max(0, Math.min(first(), Math.floor((state.rows.length - 1) / page) * page));
      made.addEventListener("click", () => { state.first = target(); draw(); });
      return { made, target };
    };
    const turns = [
      turn("«", "first page", () => 0),
      turn("‹", "previous page", () => state.first - page),
      turn("›", "next page", () => state.first + page),
      turn("»", "last page", () => Infinity),
    ];

    const heads = columns.map((column) => {
      const mark = element("span", { "aria-hidden": "true" });
      const button = element("button", { type: "button", title: "sort" }, element("bdi", {}, column.name), mark);
      const head = element("th", { scope: "col", align: column.align }, button);
      head.style.textAlign = column.align;
      button.addEventListener("click", () => {
        // Rising, falling, and as the table is.
        const next = state.column !== column ? [column, 1] : state.direction === 1 ? [column, -1] : [null, 1];
        [state.column, state.direction] = next;
        arrange();
      });
      return { column, head, mark };
    });

    function arrange() {
      const contains = (row) => columns.some(({ cells }) => cells[row]?.toLowerCase().includes(state.query));
      state.rows = state.query ? all.filter(contains) : [...all];
      if (state.column) state.rows.sort(compare(state.column, state.direction));
      state.first = 0;
      for (const { column, head, mark } of heads) {
        const isRising = state.direction === 1;
        head.removeAttribute("aria-sort");
        if (column === state.column) head.setAttribute("aria-sort", isRising ? "ascending" : "descending");
        mark.textContent = column !== state.column ? "" : isRising ? " ▲" : " ▼";
      }
      draw();
    }

    function draw() {
      const { rows, first, query } = state;
      const shown = rows.slice(first, first + page);
      table.tBodies[0].replaceChildren(
        ...shown.map((row) => element("tr", {}, ...columns.map((column) => cell(column, row, longest, query)))),
      );
      const range = `rows ${number(first + 1)} to ${number(first + shown.length)} of ${number(rows.length)}`;
      const found = rows.length === 0 ? "no row" : range;
      status.textContent = `${found}${query ? ` with “${query}”` : ""}${remark ? `; ${remark}` : ""}`;
      for (const { made, target } of turns) made.setAttribute("aria-disabled", target() === first);
    }

    search.addEventListener("input", () => {
      state.query = search.value.trim().toLowerCase();
      arrange();
    });
    table.tHead.rows[0].replaceChildren(...heads.map(({ head }) => head));
    const bar = element("div", { "data-topicbook-bar": "" }, search, ...turns.map(({ made }) => made), status);
    root.append(element("style", {}, STYLE), bar);
    arrange();
  }

  for (const root of document.querySelectorAll("[data-topicbook-table='']")) {
    root.dataset.topicbookTable = "shown";
    show(root);
  }
})();
