// The report: everything on it can be read without this.
import { makeFoldable } from "./folding.js";
import { makeMatching } from "./matching.js";
import { makePredictions } from "./predictions.js";
import { openForPrint, openOnLinks } from "./sections.js";

for (const block of document.querySelectorAll(".matching")) makeMatching(block);
for (const table of document.querySelectorAll("table[data-first]")) makeFoldable(table);
makePredictions(
  document.getElementById("predictions"),
  JSON.parse(document.getElementById("predictions-data").textContent),
);
openForPrint();
openOnLinks();
