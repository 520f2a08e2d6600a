// Long tables show their first rows until asked for all.

// Where tables are cards, which are taller than rows.
export function isNarrow() {
  return window.matchMedia("(max-width: 40rem)").matches;
}

export function makeFoldable(table) {
  const rows = [...table.tBodies[0].rows];
  const count = table.dataset.count ?? rows.length; // a row may stand for several
  const first = Math.ceil(Number(table.dataset.first) / (isNarrow() ? 2 : 1));
  if (rows.length <= first) return;
  for (const row of rows.slice(first)) row.classList.add("later");
  const button = document.createElement("button");
  const fold = (short) => {
    table.classList.toggle("short", short);
    button.textContent = short ? `Show all ${count} ${table.dataset.noun}` : "Show fewer";
    button.setAttribute("aria-expanded", String(!short));
  };
  button.type = "button";
  button.addEventListener("click", () => fold(!table.classList.contains("short")));
  fold(true);
  table.parentElement.after(button);
}
