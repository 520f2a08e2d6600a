// A page changes in place: the same address is asked for, and what is marked as live is taken from the answer.
// Every state is an address, so back, forward and shared links need nothing else.

let asked = 0;
let running = null;

// Shows what is at an address. `push`: it becomes a step of the browser's history. `whole`: all of the content.
export async function show(address, { push = false, whole = false } = {}) {
  const turn = ++asked;
  running?.abort();
  const stop = (running = new AbortController());
  busy(true);
  let page;
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, signal: stop.signal });
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (answer.redirected && new URL(answer.url).pathname === "/sign-in") return location.assign(answer.url);
    if (answer.ok && answer.headers.get("X-Model") !== document.getElementById("trouble").dataset.model) {
      return location.assign(address); // another model is served now: nothing of the old page may stay
    }
    if (!answer.ok) throw new Error(page.querySelector(".lede")?.textContent ?? `status ${answer.status}`);
  } catch (error) {
    if (turn !== asked || error.name === "AbortError") return undefined;
    busy(false);
    trouble(error, () => show(address, { push, whole }));
    return undefined;
  }
  if (turn !== asked) return undefined; // a later one is on its way
  trouble(null);
  const fresh = page.getElementById("content");
  const content = document.getElementById("content");
  if (whole || !sameParts(content, fresh)) {
    content.replaceChildren(...fresh.childNodes);
    document.dispatchEvent(new CustomEvent("content", { detail: [content] }));
  } else {
    document.dispatchEvent(new CustomEvent("content", { detail: takeParts(content, fresh) }));
  }
  document.title = page.title;
  busy(false);
  if (push) remember();
  return undefined;
}

// Makes the address of what is seen a step of the history, unless it is the last one already.
export function remember() {
  const here = document.querySelector("[data-url]")?.dataset.url;
  if (here && here !== location.pathname + location.search) history.pushState(null, "", here);
}

function sameParts(content, fresh) {
  const ids = (root) => [...root.querySelectorAll("[data-live]")].map((part) => part.id).join(" ");
  return ids(content) !== "" && ids(content) === ids(fresh);
}

function takeParts(content, fresh) {
  const taken = [];
  for (const part of content.querySelectorAll("[data-live]")) {
    const now = fresh.querySelector(`[data-live]#${CSS.escape(part.id)}`);
    const held = focusOf(part);
    part.replaceChildren(...now.childNodes);
    restore(part, held);
    taken.push(part);
  }
  const [before, after] = [content, fresh].map((root) => root.querySelector("[data-url]"));
  if (before && after) before.dataset.url = after.dataset.url;
  return taken;
}

// What had the focus, by what it does, so that a keyboard stays where it was.
function focusOf(part) {
  const at = document.activeElement;
  return at && part.contains(at) && at !== part ? { name: at.name, value: at.value, href: at.getAttribute("href"), label: at.ariaLabel } : null;
}

function restore(part, held) {
  if (!held) return;
  const same = (one) => (held.label ? one.ariaLabel === held.label : held.href ? one.getAttribute("href") === held.href : one.name === held.name && one.value === held.value);
  const found = [...part.querySelectorAll("a, button, input, select, [tabindex]")].find(same);
  (found ?? document.getElementById("content")).focus({ preventScroll: true });
}

function busy(on) {
  for (const part of document.querySelectorAll("[data-live]")) part.setAttribute("aria-busy", String(on));
}

function trouble(error, again) {
  const place = document.getElementById("trouble");
  place.hidden = error === null;
  if (error === null) return;
  const lost = error instanceof TypeError; // what fetch throws without a connection
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Try again";
  button.addEventListener("click", again);
  place.replaceChildren(lost ? "The server cannot be reached." : error.message, button);
}
