// What is seen of the local graphs as one picture: SVG, or PNG made from it.

const SIZE = 480; // of one local graph
const CAPTION = 40;
const SVG = "http://www.w3.org/2000/svg";

export function makeExports() {
  document.addEventListener("click", async (event) => {
    const kind = event.target.closest("[data-export]")?.dataset.export;
    if (kind) {
      const name = document.querySelector("[data-name]").dataset.name;
      const picture = pictureOf([...document.querySelectorAll(".pictures figure")]);
      const svg = new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" });
      save(kind === "svg" ? svg : await rastered(svg, picture), `${name}.${kind}`);
    }
    if (event.target.closest("[data-copy]")) {
      await navigator.clipboard?.writeText(location.href);
      event.target.textContent = "Copied";
    }
  });
}

// The figures side by side with their captions; colors are attributes, so that it needs no style.
export function pictureOf(figures) {
  const whole = document.createElementNS(SVG, "svg");
  const [width, height] = [figures.length * SIZE, SIZE + CAPTION];
  for (const [name, value] of Object.entries({ xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` })) whole.setAttribute(name, value);
  whole.append(element("rect", { width, height, fill: "white" }));
  figures.forEach((figure, place) => {
    const text = element("text", { x: place * SIZE + SIZE / 2, y: 26, "text-anchor": "middle", "font-family": "sans-serif", "font-size": 16, fill: "#222222" });
    text.textContent = figure.querySelector("figcaption > span").firstElementChild.textContent.trim();
    const graph = figure.querySelector("svg").cloneNode(true);
    for (const [name, value] of Object.entries({ x: place * SIZE, y: CAPTION, width: SIZE, height: SIZE, "font-family": "sans-serif" })) graph.setAttribute(name, value);
    for (const link of graph.querySelectorAll("a")) link.replaceWith(...link.childNodes);
    whole.append(text, graph);
  });
  return whole;
}

async function rastered(svg, picture) {
  const url = URL.createObjectURL(svg);
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * Number(picture.getAttribute("width"));
    canvas.height = 2 * Number(picture.getAttribute("height"));
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function element(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
