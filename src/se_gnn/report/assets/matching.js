// Lights matched edges together: by pointer, by touch, and by the arrow keys.
// A block holds pictures and a table. Elements that stand for the same edge of the explained node share an id in
// data-m: its row has that one alone, an edge of a neighbor the ids of all that are matched with it.

const REACH = 14; // pixels: how near to an edge a pointer has to be
const MOST_TOLD = 2; // edges described in words at a time

export function makeMatching(block) {
  const told = block.querySelector(".told");
  if (!told) return;
  const linked = [...block.querySelectorAll("[data-m]")].map((element) => ({ element, ids: idsOf(element) }));
  const rows = [...block.querySelectorAll("tr[data-m]")];
  let pinned = false;
  told.textContent = told.dataset.idle;

  // `column`: the neighbor whose picture is pointed at, from 0; -1 for the node's own picture and for the table.
  function light(ids, column = -1) {
    block.classList.toggle("active", ids.size > 0);
    for (const one of linked) one.element.classList.toggle("lit", one.ids.some((id) => ids.has(id)));
    tell(told, rows.filter((row) => ids.has(row.dataset.m)), column);
  }

  const clear = () => {
    pinned = false;
    light(new Set());
  };
  const lightElement = (element, column = -1) => light(new Set(element ? idsOf(element) : []), column);

  [...block.querySelectorAll("svg.local-graph")].forEach((svg, place) => {
    const edges = [...svg.querySelectorAll(".edge[data-m]")];
    if (!edges.length) return;
    const lightEdge = (edge) => lightElement(edge, place - 1);
    svg.addEventListener("pointermove", (event) => {
      if (event.pointerType === "mouse" && !pinned) lightEdge(nearestEdge(edges, event));
    });
    svg.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && !pinned) clear();
    });
    svg.addEventListener("click", (event) => {
      const edge = nearestEdge(edges, event);
      pinned = edge !== null;
      lightEdge(edge);
    });
    svg.setAttribute("tabindex", "0");
    makeWalkable(svg, edges, lightEdge, clear);
  });

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

// What the table says of these edges, match by match: the one place where the numbers stand.
function tell(told, rows, column) {
  told.textContent = rows.length ? "" : told.dataset.idle;
  for (const row of rows.slice(0, MOST_TOLD)) {
    const line = document.createElement("span");
    line.className = "told-edge";
    line.append(...copies(...row.querySelector("th").childNodes), " ");
    line.append(labeled("importance", row.querySelector(".importance"), column < 0));
    [...row.querySelectorAll("td.match")].forEach((cell, place) => {
      line.append(labeled(`${cell.dataset.label}:`, cell, place === column));
    });
    told.append(line);
  }
  if (rows.length > MOST_TOLD) told.append(`and ${rows.length - MOST_TOLD} more edges, marked in the table`);
}

function labeled(text, cell, here) {
  const piece = document.createElement(here ? "b" : "span");
  piece.className = "told-match";
  piece.append(`${text} `, ...copies(...cell.childNodes));
  return piece;
}

function copies(...nodes) {
  return nodes.map((node) => node.cloneNode(true));
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
    for (const line of edge.querySelectorAll("polyline")) {
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
  const corners = [...line.points].map((corner) => corner.matrixTransform(matrix));
  return Math.min(...corners.slice(1).map((end, i) => distanceToPart(corners[i], end, x, y)));
}

function distanceToPart(start, end, x, y) {
  const along = { x: end.x - start.x, y: end.y - start.y };
  const squared = along.x ** 2 + along.y ** 2 || 1;
  const share = Math.min(1, Math.max(0, ((x - start.x) * along.x + (y - start.y) * along.y) / squared));
  return Math.hypot(x - start.x - share * along.x, y - start.y - share * along.y);
}

function idsOf(element) {
  return element.dataset.m.split(" ");
}
