// Folded sections: a link opens what it leads to, and paper has everything open.

export function openOnLinks() {
  const follow = () => openTo(location.hash.slice(1));
  window.addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) follow(); // no hashchange: it was followed before
  });
  follow();
}

// Opens the element with this id, the sections around it, and the one that it is the frame of.
export function openTo(id) {
  const target = id && document.getElementById(id);
  if (!target) return;
  const inside = target.querySelector(":scope > details");
  if (inside) inside.open = true;
  for (let at = target; at; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true;
  }
  target.scrollIntoView();
}

export function openForPrint() {
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    opened = [];
  });
}
