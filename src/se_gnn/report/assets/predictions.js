// The table of predictions. Columns are arrays with one entry per node, those of names, labels and ids also for closest
// labeled nodes that are not in the table; a view is the nodes that pass the filters, in order; only the rows of one
// page are made.
import { isNarrow } from "./folding.js";
import { grouped, percent } from "./numbers.js";

const UNITS = 10000; // of a share
const ROWS = 25; // of a page
const ROWS_OF_CARDS = 8;
const OUTCOMES = ["not known", "wrong", "right"];

// Filters and order, by what a reader may look for first.
const VIEWS = {
  uncertain: { sort: "probability", down: false },
  mistakes: { sort: "probability", down: true, part: "test", outcome: "wrong" },
  certain: { sort: "probability", down: true },
};

export function makePredictions(section, data) {
  const columns = withComputed(data);
  const keys = sortKeys(columns);
  const body = section.querySelector("tbody");
  const fields = Object.fromEntries([...section.querySelectorAll("[data-field]")].map((f) => [f.dataset.field, f]));
  const [previous, next] = section.querySelectorAll(".pager button");
  const state = { sort: "probability", down: false, page: 0 };
  const size = isNarrow() ? ROWS_OF_CARDS : ROWS;
  let view = [];

  function update() {
    view = ordered(matching(columns, filtersOf(fields)), keys[state.sort], state.down);
    state.page = 0;
    show();
  }

  function show() {
    const from = state.page * size;
    const nodes = view.slice(from, from + size);
    body.replaceChildren(...nodes.map((node) => rowOf(node, columns)));
    section.querySelector(".shown").textContent = view.length
      ? `${grouped(from + 1)}–${grouped(from + nodes.length)} of ${grouped(view.length)} nodes`
      : "No node passes these filters.";
    previous.disabled = state.page === 0;
    next.disabled = from + size >= view.length;
    markOrder(section, state);
  }

  function turn(pages) {
    state.page += pages;
    show();
  }

  function sortBy(name) {
    state.down = state.sort === name ? !state.down : false;
    state.sort = name;
    update();
  }

  function choose(name) {
    for (const field of Object.values(fields)) field.value = field.dataset.idle ?? "";
    for (const [key, value] of Object.entries(VIEWS[name])) {
      if (key in fields) fields[key].value = value;
      else state[key] = value;
    }
    update();
  }

  for (const field of Object.values(fields)) field.addEventListener("input", update);
  for (const button of section.querySelectorAll("[data-sort]")) {
    button.addEventListener("click", () => sortBy(button.dataset.sort));
  }
  for (const button of section.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => choose(button.dataset.view));
  }
  previous.addEventListener("click", () => turn(-1));
  next.addEventListener("click", () => turn(1));
  for (const element of section.querySelectorAll("[data-script]")) element.hidden = false;
  for (const element of section.querySelectorAll("[data-no-script]")) element.hidden = true;
  update();
}

function withComputed(data) {
  const nodes = data.predicted.map((_, node) => node);
  const known = (label) => (label >= 0 ? data.classes[label] : "");
  return {
    ...data,
    nodes,
    explained: new Set(data.explained),
    outcome: nodes.map((node) =>
      data.label[node] < 0 || data.predicted[node] < 0 ? 0 : 1 + Number(data.label[node] === data.predicted[node]),
    ),
    closestLabel: data.closest.map((other) => data.label[other]),
    text: nodes.map((node) =>
      [data.name[node], data.caption?.[node] ?? "", data.classes[data.predicted[node]], known(data.label[node])]
        .join("\n")
        .toLowerCase(),
    ),
  };
}

// Of each column one number per node to sort by; texts are ranked when they are first asked for.
function sortKeys(columns) {
  const ranks = new Map();
  const ranked = (texts) => {
    if (!ranks.has(texts)) ranks.set(texts, rankOf(texts));
    return ranks.get(texts);
  };
  const seen = columns.caption ?? columns.name;
  const byClass = (labels) => labels.map((label) => (label < 0 ? columns.classes.length : ranked(columns.classes)[label]));
  return {
    name: () => ranked(seen),
    predicted: () => byClass(columns.predicted),
    probability: () => columns.probability,
    label: () => byClass(columns.label),
    outcome: () => columns.outcome,
    part: () => columns.part,
    closest: () => columns.closest.map((other) => ranked(seen)[other]),
    closestLabel: () => byClass(columns.closestLabel),
    weight: () => columns.weight,
  };
}

function rankOf(texts) {
  const order = new Intl.Collator("en", { numeric: true }).compare;
  const sorted = texts.map((_, i) => i).sort((a, b) => order(texts[a], texts[b]));
  const ranks = new Array(texts.length);
  sorted.forEach((i, rank) => (ranks[i] = rank));
  return ranks;
}

function filtersOf(fields) {
  const share = (field, idle) => (fields[field].value === "" ? idle : Number(fields[field].value) / 100) * UNITS;
  return {
    words: fields.search.value.toLowerCase().split(/\s+/).filter(Boolean),
    predicted: fields.predicted.value === "" ? null : Number(fields.predicted.value),
    part: fields.part.value,
    outcome: fields.outcome.value,
    least: share("least", 0),
    most: share("most", 1),
  };
}

function matching(columns, wanted) {
  return columns.nodes.filter(
    (node) =>
      (wanted.predicted === null || columns.predicted[node] === wanted.predicted) &&
      (wanted.part === "" || columns.parts[columns.part[node]] === wanted.part) &&
      (wanted.outcome === "" || OUTCOMES[columns.outcome[node]] === wanted.outcome) &&
      columns.probability[node] >= wanted.least &&
      columns.probability[node] <= wanted.most &&
      wanted.words.every((word) => columns.text[node].includes(word)),
  );
}

function ordered(nodes, key, down) {
  const values = key();
  const sign = down ? -1 : 1;
  return nodes.sort((a, b) => sign * (values[a] - values[b])); // equal ones stay in the order of the nodes
}

function markOrder(section, state) {
  for (const button of section.querySelectorAll("[data-sort]")) {
    const head = button.closest("th");
    if (button.dataset.sort === state.sort) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

function rowOf(node, columns) {
  const row = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.append(nameOf(node, columns));
  row.append(
    head,
    cell("predicted", chip(columns.predicted[node], columns, "no answer"), "text"),
    cell("probability", columns.predicted[node] < 0 ? "–" : percent(columns.probability[node] / UNITS)),
    cell("class", chip(columns.label[node], columns), "text"),
    cell("outcome", outcome(columns.outcome[node]), "half"),
    cell("part", columns.parts[columns.part[node]] || "–", "half"),
    cell("closest", nameOf(columns.closest[node], columns), "text"),
    cell("its class", chip(columns.closestLabel[node], columns), "text"),
    cell("its weight", percent(columns.weight[node] / UNITS)),
  );
  return row;
}

function cell(label, content, kind = "") {
  const made = document.createElement("td");
  made.className = kind;
  made.dataset.label = label;
  made.append(content);
  return made;
}

function nameOf(node, columns) {
  const name = element("bdi", "name", columns.caption?.[node] ?? columns.name[node]);
  const shown = columns.explained.has(node) ? document.createElement("a") : document.createElement("span");
  if (columns.explained.has(node)) shown.href = `#node-${columns.id?.[node] ?? node}`;
  shown.append(name);
  if (columns.caption && columns.caption[node] !== columns.name[node]) {
    shown.append(" ", element("bdi", "code", columns.name[node]));
  }
  return shown;
}

function chip(label, columns, without = "not known") {
  if (label < 0) return element("span", "faint", without);
  const made = element("span", `chip c${label}`, "");
  made.append(element("bdi", "", columns.classes[label]));
  return made;
}

function outcome(number) {
  return element("span", ["faint", "wrong", "right"][number], OUTCOMES[number]);
}

function element(tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  made.textContent = text;
  return made;
}
