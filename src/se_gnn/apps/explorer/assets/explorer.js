// The explorer: everything on it but the map can be read and used without this.
import { makeExports } from "./exporting.js";
import { makeFoldable } from "./folding.js";
import { makeForms } from "./forms.js";
import { makeMap } from "./map.js";
import { makeMatching } from "./matching.js";

function make(part) {
  for (const block of part.querySelectorAll(".matching")) makeMatching(block);
  for (const table of part.querySelectorAll("table[data-first]")) makeFoldable(table);
  for (const holder of part.querySelectorAll("[data-map]")) makeMap(holder);
}

make(document.getElementById("content"));
document.addEventListener("content", (event) => event.detail.forEach(make));
makeForms();
makeExports();
