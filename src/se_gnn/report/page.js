// Lights matched edges together: by pointer, by touch, and by the arrow keys. The page can be read without it.
"use strict";

const REACH = 14; // pixels: how near to an edge a pointer has to be
const ROWS_AT_FIRST = 8;
const NAMED = 1; // edges of a picture that are told in words

for (const block of document.querySelectorAll(".matching")) makeMatching(block);
for (const table of document.querySelectorAll("table.relations")) makeFoldable(table);
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});

function makeMatching(block) {
  const told = block.querySelector(".told");
  if (!told) return;
  told.textContent = told.dataset.idle;
  const linked = [...block.querySelectorAll("[data-m]")].map((element) => ({ element, ids: idsOf(element) }));
  let pinned = false;

  function light(ids) {
    block.classList.toggle("active", ids.size > 0);
    for (const one of linked) {
      one.element.classList.toggle("lit", one.ids.some((id) => ids.has(id)));
    }
    tell(ids.size > 0);
  }

  function tell(any) {
    told.textContent = any ? "" : told.dataset.idle;
    if (!any) return;
    for (const figure of block.querySelectorAll("figure")) {
      const titles = [...figure.querySelectorAll(".edge.lit > title")].map((title) => title.textContent);
      if (!titles.length) continue;
      const line = document.createElement("span");
      const name = document.createElement("b");
      const bdi = document.createElement("bdi");
      bdi.textContent = figure.querySelector(".name").textContent;
      name.append(bdi);
      const more = titles.length > NAMED ? `; and ${titles.length - NAMED} more` : "";
      line.append(name, ` ${titles.slice(0, NAMED).join("; ")}${more}`);
      told.append(line, " ");
    }
  }

  const clear = () => {
    pinned = false;
    light(new Set());
  };
  const lightElement = (element) => light(new Set(element ? idsOf(element) : []));

  for (const svg of block.querySelectorAll("svg.local-graph")) {
    const edges = [...svg.querySelectorAll(".edge[data-m]")];
    if (!edges.length) continue;
    svg.addEventListener("pointermove", (event) => {
      if (event.pointerType === "mouse" && !pinned) lightElement(nearestEdge(edges, event));
    });
    svg.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && !pinned) clear();
    });
    svg.addEventListener("click", (event) => {
      const edge = nearestEdge(edges, event);
      pinned = edge !== null;
      lightElement(edge);
    });
    svg.setAttribute("tabindex", "0");
    makeWalkable(svg, edges, lightElement, clear);
  }

  const rows = [...block.querySelectorAll("tr[data-m]")];
  for (const row of rows) {
    row.addEventListener("pointerenter", () => pinned || lightElement(row));
    row.addEventListener("pointerleave", () => pinned || clear());
    row.addEventListener("click", () => {
      pinned = !pinned;
      lightElement(row);
    });
  }
  const table = block.querySelector(".scroll");
  makeWalkable(table, rows, lightElement, clear, ["ArrowDown"], ["ArrowUp"]);
}

// One stop of the tab key; inside, keys move from item to item.
function makeWalkable(
  holder,
  items,
  lightElement,
  clear,
  forward = ["ArrowRight", "ArrowDown"],
  backward = ["ArrowLeft", "ArrowUp"],
) {
  let at = -1;
  holder.addEventListener("keydown", (event) => {
    const shown = items.filter((item) => item.getClientRects().length);
    if (event.key === "Escape") {
      at = -1;
      clear();
    } else if (forward.includes(event.key)) {
      at = (at + 1) % shown.length;
    } else if (backward.includes(event.key)) {
      at = (Math.max(at, 0) - 1 + shown.length) % shown.length;
    } else {
      return;
    }
    event.preventDefault();
    if (at >= 0) lightElement(shown[at]);
  });
  holder.addEventListener("blur", () => {
    if (at >= 0) clear();
    at = -1;
  });
}

// The edge that is nearest to a pointer, or null where none is near.
function nearestEdge(edges, event) {
  let nearest = null;
  let least = REACH;
  for (const edge of edges) {
    for (const line of edge.querySelectorAll("line")) {
      const distance = distanceTo(line, event.clientX, event.clientY);
      if (distance < least) {
        least = distance;
        nearest = edge;
      }
    }
  }
  return nearest;
}

function distanceTo(line, x, y) {
  const matrix = line.getScreenCTM();
  const start = new DOMPoint(line.x1.baseVal.value, line.y1.baseVal.value).matrixTransform(matrix);
  const end = new DOMPoint(line.x2.baseVal.value, line.y2.baseVal.value).matrixTransform(matrix);
  const along = { x: end.x - start.x, y: end.y - start.y };
  const squared = along.x ** 2 + along.y ** 2 || 1;
  const share = Math.min(1, Math.max(0, ((x - start.x) * along.x + (y - start.y) * along.y) / squared));
  return Math.hypot(x - start.x - share * along.x, y - start.y - share * along.y);
}

// Long tables show their first rows until asked for all.
function makeFoldable(table) {
  const count = table.tBodies[0].rows.length;
  if (count <= ROWS_AT_FIRST) return;
  const button = document.createElement("button");
  const fold = (short) => {
    table.classList.toggle("short", short);
    button.textContent = short ? `Show all ${count} relations` : "Show fewer";
    button.setAttribute("aria-expanded", String(!short));
  };
  button.type = "button";
  button.addEventListener("click", () => fold(!table.classList.contains("short")));
  fold(true);
  table.parentElement.after(button);
}

function idsOf(element) {
  return element.dataset.m.split(" ");
}
