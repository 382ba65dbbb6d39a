"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const state = { topic: 0, lambda: 0.6, term: null };
const byId = (id) => document.getElementById(id);

// Texts come in by `textContent` and attributes alone, so that none is taken for HTML.
function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function svg(name, properties = {}) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  return made;
}

// A text of the corpus, whose direction of writing does not affect what stands next to it.
const text = (content) => element("bdi", {}, content);
const shortened = (content, longest) => (content.length > longest ? `${content.slice(0, longest - 1)}…` : content);
const counted = (number, noun) => `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
const percent = (share) =>
  share.toLocaleString("en-US", { style: "percent", minimumFractionDigits: share < 0.1 ? 1 : 0, maximumFractionDigits: share < 0.1 ? 1 : 0 });
// Tokens, or tokens in a thousand.
const frequency = (value) =>
  value.toLocaleString("en-US", value < 10 ? { minimumSignificantDigits: 2, maximumSignificantDigits: 2 } : { maximumFractionDigits: 0 });
const tokens = data.counted ? data.total : 1000;
const ofWhat = data.counted ? "of all tokens" : "of a document on average";
const colour = (topic) => `var(--topic-${topic})`;

function topicName(topic) {
  const { name } = data.topics[topic];
  return name === null ? `topic ${topic}` : `topic ${topic}, ${name}`;
}

// The most relevant terms of a topic. `relevant_terms` in terms.rs computes the same, to choose the terms of the page.
function relevantTerms(topic, lambda) {
  const { terms, probabilities } = data.topics[topic];
  const rows = terms.map((term, at) => {
    const probability = Math.fround(probabilities[at]);
    const marginal = Math.log(data.frequencies[term] / data.total);
    return { term, probability, relevance: Math.log(probability) - (1 - lambda) * marginal };
  });
  rows.sort((a, b) => b.relevance - a.relevance || b.probability - a.probability || a.term - b.term);
  return rows.slice(0, data.terms_shown);
}

const firstTerms = data.topics.map((_, topic) =>
  relevantTerms(topic, state.lambda).slice(0, 3).map((row) => data.terms[row.term]).join(", "));

// ---- Map ----

const WIDTH = 380, HEIGHT = 330;
const SCALE_HEIGHT = 22; // of the bar below the circles

// Moves labels that lie on each other up and down, each by at most its height.
function moveApart(places) {
  const height = data.topics.length > 20 ? 9 : 11;
  const start = places.map(({ y }) => y);
  for (let round = 0; round < 20; round++) {
    places.forEach((a, first) => places.slice(0, first).forEach((b, second) => {
      const overlap = height - Math.abs(a.y - b.y);
      if (overlap <= 0 || Math.abs(a.x - b.x) >= a.half + b.half) return;
      const shift = (a.y < b.y ? -1 : 1) * overlap / 4;
      a.y = Math.min(Math.max(a.y + shift, start[first] - height), start[first] + height);
      b.y = Math.min(Math.max(b.y - shift, start[second] - height), start[second] + height);
    }));
  }
}

const map = (() => {
  // All circles together have a fifth of the picture.
  const radius = (share) => Math.max(5, Math.sqrt((share * 0.2 * WIDTH * HEIGHT) / Math.PI));
  const margin = Math.max(...data.topics.map((topic) => radius(topic.share))) + 12;
  const range = (values) => [Math.min(...values), Math.max(...values)];
  const [left, right] = range(data.topics.map((topic) => topic.x));
  const [low, high] = range(data.topics.map((topic) => topic.y));
  // The same scale in both directions: distances have a meaning.
  const scale = Math.min(
    (WIDTH - 2 * margin) / (right - left || 1e-9), (HEIGHT - SCALE_HEIGHT - 2 * margin) / (high - low || 1e-9), 1e4);
  const picture = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "radiogroup", "aria-label": "Map of topics: choose a topic with the arrow keys",
  });
  const groups = data.topics.map((topic, number) => {
    const at = {
      cx: WIDTH / 2 + scale * (topic.x - (left + right) / 2),
      cy: (HEIGHT - SCALE_HEIGHT) / 2 - scale * (topic.y - (low + high) / 2),
    };
    const group = svg("g", {
      role: "radio",
      "aria-label": `${topicName(number)}, ${percent(topic.share)} ${ofWhat}: ${firstTerms[number]}`,
    });
    const circle = svg("circle", { ...at, fill: colour(number), stroke: colour(number) });
    const ring = svg("circle", { ...at, class: "ring" });
    const label = svg("text");
    label.textContent = topic.name !== null && data.topics.length <= 20 ? `${number} ${shortened(topic.name, 18)}` : number;
    // Half of its width, about; long names stay inside the picture.
    const half = 3.7 * label.textContent.length;
    const place = { x: Math.min(Math.max(at.cx, half), WIDTH - half), y: at.cy, half };
    const tip = svg("title");
    tip.textContent = `${topicName(number)}\n${percent(topic.share)} ${ofWhat}\n${firstTerms[number]}`;
    group.append(circle, ring, tip);
    group.addEventListener("click", () => choose(number));
    return { group, circle, ring, label, place };
  });
  moveApart(groups.map(({ place }) => place));
  for (const { label, place } of groups) {
    label.setAttribute("x", place.x);
    label.setAttribute("y", place.y);
  }
  // Small circles lie on top of large ones, and labels on top of circles.
  const order = data.topics.map((_, number) => number).sort((a, b) => data.topics[b].share - data.topics[a].share);
  const labels = svg("g", { "aria-hidden": "true", class: data.topics.length > 20 ? "labels many" : "labels" });
  labels.append(...groups.map(({ label }) => label));
  picture.append(...order.map((number) => groups[number].group), labels);
  if (right > left) {
    const length = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005].find((length) => scale * length < WIDTH / 3) ?? 0.002;
    const y = HEIGHT - 12;
    picture.append(svg("path", { class: "scale", fill: "none", d: `M12 ${y - 4}v8M12 ${y}h${scale * length}m0 -4v8` }));
    const label = svg("text", { class: "scale-text", x: 18 + scale * length, y });
    label.textContent = `distance ${length}`;
    picture.append(label);
  }
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const end = { Home: 0, End: data.topics.length - 1 }[event.key];
    if (step === undefined && end === undefined) return;
    event.preventDefault();
    choose(end ?? state.topic + step);
    groups[state.topic].group.focus();
  });
  byId("map").append(picture);
  return { groups, radius };
})();

function showMap() {
  const shares = data.topics.map((topic) => topic.share);
  if (state.term !== null) {
    shares.fill(0);
    for (const [topic, share] of topicsOf(state.term)) shares[topic] = share;
  }
  map.groups.forEach(({ group, circle, ring, label }, topic) => {
    const isChosen = topic === state.topic;
    label.classList.toggle("chosen", isChosen);
    label.classList.toggle("absent", shares[topic] === 0 && !isChosen);
    if (isChosen) label.parentNode.append(label); // above the others
    group.setAttribute("aria-checked", isChosen);
    group.setAttribute("tabindex", isChosen ? 0 : -1);
    circle.setAttribute("r", map.radius(shares[topic]));
    ring.setAttribute("r", map.radius(shares[topic]) + 5);
  });
  byId("map-note").replaceChildren(
    state.term !== null ? "Areas are shares of the tokens of "
      : data.counted ? "Areas are shares of all tokens" : "Areas are mean proportions in the documents",
    ...(state.term === null ? [] : [text(data.terms[state.term])]),
    data.topics.length > 3 ? `; the plane shows ${percent(data.map_shown)} of the squared distances.` : ".");
}

// ---- Terms ----

function topicsOf(term) {
  const list = data.term_topics[term];
  return list.flatMap((topic, at) => (at % 2 === 0 ? [[topic, list[at + 1] / 1000]] : []));
}

function showTerms() {
  const { share } = data.topics[state.topic];
  const rows = relevantTerms(state.topic, state.lambda).map((row) => ({
    ...row, here: tokens * share * row.probability, all: (tokens * data.frequencies[row.term]) / data.total,
  }));
  const largest = Math.max(...rows.map((row) => Math.max(row.here, row.all)));
  const width = (value) => `width:${((100 * value) / largest).toFixed(2)}%`;
  byId("terms").replaceChildren(...rows.map((row) => {
    const button = element("button", { type: "button", class: "term" }, text(data.terms[row.term]));
    button.title = data.terms[row.term];
    button.dataset.term = row.term;
    const bar = element("span", { class: "bar" },
      element("span", { class: "all", style: width(row.all) }),
      element("span", { class: "here", style: `${width(row.here)};background:${colour(state.topic)}` }));
    return element("tr", {},
      element("th", { scope: "row" }, button),
      element("td", { "aria-hidden": "true" }, bar),
      element("td", { class: "number" }, frequency(row.here)),
      element("td", { class: "number" }, frequency(row.all)));
  }));
  byId("terms-heading").replaceChildren(
    `${rows.length === 1 ? "Term" : `${rows.length} terms`} of `, text(topicName(state.topic)));
  const key = (style) => element("span", { class: "key", style });
  byId("terms-head").replaceChildren(element("tr", {},
    element("th", { scope: "col" }, "term"),
    element("td", { "aria-hidden": "true" }, data.counted ? "tokens" : "in 1,000 tokens"),
    element("th", { scope: "col", class: "number" }, key(`background:${colour(state.topic)}`), "topic"),
    element("th", { scope: "col", class: "number" }, key("border:1px solid var(--soft-ink)"), "all")));
  showPressed();
  const buttons = termButtons();
  tabStop(buttons.find((button) => Number(button.dataset.term) === state.term) ?? buttons[0]);
}

const termButtons = () => [...document.querySelectorAll(".term")];

function showPressed() {
  for (const button of termButtons()) button.setAttribute("aria-pressed", Number(button.dataset.term) === state.term);
}

// Tab stops at one term; the arrow keys go to the others.
function tabStop(chosen) {
  for (const button of termButtons()) button.tabIndex = button === chosen ? 0 : -1;
}

function showTermTopics() {
  const box = byId("term-topics");
  if (state.term === null) return box.replaceChildren();
  const parts = topicsOf(state.term).slice(0, 8)
    .flatMap(([topic, share], at) => [at > 0 ? " · " : "", text(topicName(topic)), `\u00a0${percent(share)}`]);
  const close = element("button", { type: "button" }, "Show all tokens");
  close.addEventListener("click", () => select(null));
  box.replaceChildren(element("p", {}, "Topics of ", element("b", {}, text(data.terms[state.term])), ": ", ...parts), close);
}

// ---- Documents ----

function showDocuments() {
  const { documents, proportions } = data.topics[state.topic];
  byId("documents-heading").replaceChildren("Documents with the most of ", text(topicName(state.topic)));
  byId("documents").replaceChildren(...documents.map((number, at) => {
    const { label, text: content } = data.documents[number];
    const item = element("li", {}, element("b", {}, percent(proportions[at])), ` · document ${number}`);
    if (label) item.append(" · ", text(label));
    if (content && content.length > 160) {
      const beginning = content.slice(0, 150).replace(/\s+\S*$/, "");
      item.append(element("details", {}, element("summary", {}, text(`${beginning} …`)), element("p", { dir: "auto" }, content)));
    } else if (content) {
      item.append(element("p", { class: "text", dir: "auto" }, content));
    }
    return item;
  }));
}

// ---- Events ----

function choose(topic) {
  state.topic = (topic + data.topics.length) % data.topics.length;
  byId("topic").value = state.topic;
  showMap();
  showTerms();
  showDocuments();
}

function select(term) {
  state.term = term;
  showMap();
  showPressed();
  showTermTopics();
}

function showLambda() {
  const slider = byId("lambda");
  state.lambda = Number(slider.value);
  byId("lambda-value").textContent = state.lambda.toFixed(2);
  showTerms();
}

const announce = (message) => { byId("status").textContent = message; };

byId("lambda").step = 1 / data.steps;
byId("lambda").value = state.lambda;
byId("lambda").addEventListener("input", showLambda);
byId("lambda").addEventListener("change", () =>
  announce(`first terms: ${relevantTerms(state.topic, state.lambda).slice(0, 5).map((row) => data.terms[row.term]).join(", ")}`));
byId("topic").append(...data.topics.map((_, topic) => {
  const option = element("option", { value: topic, dir: "auto" });
  option.textContent = `${topicName(topic)}: ${firstTerms[topic]}`;
  return option;
}));
byId("topic").addEventListener("change", (event) => choose(Number(event.target.value)));
byId("previous").addEventListener("click", () => { choose(state.topic - 1); announce(topicName(state.topic)); });
byId("next").addEventListener("click", () => { choose(state.topic + 1); announce(topicName(state.topic)); });
byId("terms").addEventListener("click", (event) => {
  const button = event.target.closest(".term");
  if (button === null) return;
  const term = Number(button.dataset.term);
  select(term === state.term ? null : term);
});
byId("terms").addEventListener("focusin", (event) => tabStop(event.target));
byId("terms").addEventListener("keydown", (event) => {
  const buttons = termButtons();
  const at = buttons.indexOf(event.target);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  buttons[Math.min(Math.max(to, 0), buttons.length - 1)].focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.term !== null) select(null);
});

byId("summary").textContent = [
  counted(data.topics.length, "topic"), counted(data.all_documents, "document"), counted(data.all_terms, "term"),
  ...(data.counted ? [counted(data.total, "token")] : []),
].join(" · ");
byId("about-bars").textContent = data.counted
  ? "Filled bars: the tokens of a term that the model assigns to the topic. Outlines: all its tokens in the counts."
  : "Filled bars: how many of 1,000 tokens are this term from this topic. Outlines: from any topic. Every document weighs alike, "
    + "because the page was made without the counts.";
showLambda();
choose(0);

// Inside a notebook the page is in a frame, and the notebook says which theme it has.
addEventListener("message", (event) => {
  if (event.source === parent && ["light", "dark"].includes(event.data?.theme)) {
    document.documentElement.dataset.theme = event.data.theme;
  }
});
if (parent !== window) parent.postMessage("theme?", "*");
