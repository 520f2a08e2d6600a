// All nodes on a canvas. Points are written into the pixels of one picture, so that 100,000 of them move fluidly.
import { show } from "./live.js";
import { grouped, percent } from "./numbers.js";

const NEAR = 9; // pixels: how near to a point a pointer has to be
const LEAST_DRAG = 5; // pixels: less is a click
const CLOSEST = 400; // times the whole map

export async function makeMap(holder) {
  const said = holder.querySelector(".map-state");
  const canvas = holder.querySelector("canvas");
  let data;
  try {
    const answer = await fetch(holder.dataset.map);
    data = await answer.json();
    if (!answer.ok) throw new Error(data.detail);
  } catch (error) {
    said.textContent = `The map could not be loaded: ${error.message}. Reload the page to try again.`;
    return;
  }
  const points = { x: Float32Array.from(data.x, (v) => v / data.steps), y: Float32Array.from(data.y, (v) => v / data.steps) };
  const colors = data.colors.map(pixel);
  const view = { x: 0.5, y: 0.5, zoom: 1 };
  const names = new Map();
  let region = holder.dataset.region?.split(" ").map(Number) ?? null;
  let drag = null;
  let frame = 0;
  said.textContent = idle();

  function idle() {
    const part = data.node.length < data.total ? `${grouped(data.node.length)} of ${grouped(data.total)}` : grouped(data.total);
    return `${part} nodes.`;
  }

  // From the map (0 to 1, upward) to the canvas and back; each axis fills its room: what they measure has no unit.
  const across = (x) => ((x - view.x) * view.zoom + 0.5) * canvas.width;
  const down = (y) => ((view.y - y) * view.zoom + 0.5) * canvas.height;
  const mapX = (px) => (px / canvas.width - 0.5) / view.zoom + view.x;
  const mapY = (py) => view.y - (py / canvas.height - 0.5) / view.zoom;
  const dots = () => window.devicePixelRatio || 1;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return { px: (event.clientX - box.left) * dots(), py: (event.clientY - box.top) * dots() };
  };

  function draw() {
    frame = 0;
    const context = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const paper = pixel(style.getPropertyValue("--paper").trim());
    const ink = pixel(style.getPropertyValue("--ink").trim());
    const { width, height } = canvas;
    const picture = context.createImageData(width, height);
    const pixels = new Uint32Array(picture.data.buffer).fill(paper);
    const size = Math.max(1, Math.round((data.node.length > 20000 ? 1 : data.node.length > 3000 ? 1.5 : 2.5) * dots() * Math.min(2, Math.sqrt(view.zoom))));
    for (let i = 0; i < data.node.length; i++) {
      const [px, py] = [Math.round(across(points.x[i])), Math.round(down(points.y[i]))];
      if (px < -9 || py < -9 || px > width + 9 || py > height + 9) continue;
      if (data.labeled[i]) square(pixels, width, height, px, py, size + Math.ceil(dots()), ink);
      square(pixels, width, height, px, py, size, colors[data.predicted[i]]);
    }
    context.putImageData(picture, 0, 0);
    const shown = drag?.region ?? region;
    if (shown) {
      const [left, bottom, right, top] = shown;
      context.lineWidth = 2 * dots();
      context.strokeStyle = style.getPropertyValue("--accent").trim();
      context.fillStyle = `rgb(${style.getPropertyValue("--accent-rgb").trim()} / 0.12)`;
      const box = [across(left), down(top), across(right) - across(left), down(bottom) - down(top)];
      context.fillRect(...box);
      context.strokeRect(...box);
    }
  }

  const redraw = () => (frame ||= requestAnimationFrame(draw));

  function fit() {
    const box = canvas.getBoundingClientRect();
    canvas.width = Math.round(box.width * dots());
    canvas.height = Math.round(box.height * dots());
    redraw();
  }

  function zoom(factor, px = canvas.width / 2, py = canvas.height / 2) {
    const [x, y] = [mapX(px), mapY(py)];
    view.zoom = Math.min(CLOSEST, Math.max(1, view.zoom * factor));
    view.x = x - (px / canvas.width - 0.5) / view.zoom;
    view.y = y + (py / canvas.height - 0.5) / view.zoom;
    if (view.zoom === 1) Object.assign(view, { x: 0.5, y: 0.5 });
    redraw();
  }

  function choose(chosen) {
    region = chosen.map((value) => Math.min(1, Math.max(0, value)));
    redraw();
    const [left, bottom, right, top] = region.map((value) => value.toFixed(4));
    show(`/map?${new URLSearchParams({ left, bottom, right, top })}`, { push: true });
  }

  const seen = () => [mapX(0), mapY(canvas.height), mapX(canvas.width), mapY(0)];

  function nearest(px, py) {
    let best = -1;
    let least = (NEAR * dots()) ** 2;
    for (let i = 0; i < data.node.length; i++) {
      const distance = (across(points.x[i]) - px) ** 2 + (down(points.y[i]) - py) ** 2;
      if (distance <= least) [best, least] = [i, distance];
    }
    return best;
  }

  async function tell(point) {
    canvas.style.cursor = point < 0 ? "crosshair" : "pointer";
    if (point < 0) {
      said.textContent = idle();
      return;
    }
    const node = data.node[point];
    if (!names.has(node)) {
      const answer = await fetch(`/v1/nodes/%23${node}`);
      if (!answer.ok) return;
      const row = await answer.json();
      names.set(node, `${row.caption}: ${answerOf(row)}${data.labeled[point] ? ", labeled" : ""}`);
    }
    if (point === pointed) said.textContent = names.get(node);
  }

  let pointed = -1;
  let resting = 0;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    drag = { ...place(event), region: null };
  });
  canvas.addEventListener("pointermove", (event) => {
    const { px, py } = place(event);
    if (drag) {
      if (Math.hypot(px - drag.px, py - drag.py) < LEAST_DRAG * dots() && !drag.region) return;
      const xs = [mapX(px), mapX(drag.px)].sort((a, b) => a - b);
      const ys = [mapY(py), mapY(drag.py)].sort((a, b) => a - b);
      drag.region = [xs[0], ys[0], xs[1], ys[1]];
      redraw();
      return;
    }
    pointed = nearest(px, py);
    window.clearTimeout(resting);
    resting = window.setTimeout(() => tell(pointed), 60);
  });
  canvas.addEventListener("pointerup", (event) => {
    const { px, py } = place(event);
    const done = drag;
    drag = null;
    if (done?.region) choose(done.region);
    else if (nearest(px, py) >= 0) location.assign(`/nodes/%23${data.node[nearest(px, py)]}`);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { px, py } = place(event);
    zoom(event.deltaY < 0 ? 1.25 : 0.8, px, py);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = 0.1 / view.zoom;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (moves[event.key]) {
      view.x += moves[event.key][0];
      view.y += moves[event.key][1];
      redraw();
    } else if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (event.key === "Enter") choose(seen());
    else return;
    event.preventDefault();
  });
  for (const button of holder.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => zoom({ in: 1.5, out: 1 / 1.5, whole: 1 / CLOSEST }[button.dataset.zoom]));
  }
  holder.querySelector("[data-select]").addEventListener("click", () => choose(seen()));
  document.addEventListener("content", function follow() {
    if (!holder.isConnected) return document.removeEventListener("content", follow);
    const address = new URLSearchParams(location.search);
    if (!document.querySelector("[data-url]").dataset.url.includes("left=") && !address.has("left")) region = null;
    return redraw();
  });
  new ResizeObserver(fit).observe(canvas);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  holder.dataset.ready = "";
  fit();
}

// What the model says of a node: a class, a number or, if links are predicted, how many it has.
function answerOf(row) {
  if (row.answered === false) return "no answer";
  if (row.links !== null) return `${grouped(row.links)} ${row.links === 1 ? "link" : "links"}`;
  if (row.probability === null) return `predicted ${Number(row.predicted.toPrecision(4))}`;
  return `predicted ${row.predicted} (${percent(row.probability)})`;
}

// A color as the four bytes of a pixel, lowest first as canvases have them.
function pixel(color) {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

function square(pixels, width, height, x, y, half, color) {
  const [left, right] = [Math.max(0, x - half), Math.min(width, x + half)];
  if (left >= right) return;
  for (let row = Math.max(0, y - half); row < Math.min(height, y + half); row++) {
    pixels.fill(color, row * width + left, row * width + right);
  }
}
