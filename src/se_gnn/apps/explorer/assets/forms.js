// Forms and links of a page act at once; without this they work as forms and links do.
import { remember, show } from "./live.js";

const PAUSE = 250; // milliseconds after the last key of a text

export function addressOf(form, button = null) {
  const data = new FormData(form, button);
  for (const field of form.querySelectorAll("[data-usual]")) {
    if (Number(field.value) === Number(field.dataset.usual)) data.delete(field.name);
  }
  const query = new URLSearchParams([...data].filter(([, value]) => value !== ""));
  return `${form.getAttribute("action")}${query.size ? `?${query}` : ""}`;
}

export function makeForms() {
  let waiting = 0;
  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (!form?.matches("[data-form]")) return;
    window.clearTimeout(waiting);
    const typed = event.target.type === "search";
    if (typed) waiting = window.setTimeout(() => show(addressOf(form), { push: true }), PAUSE);
    else if (event.target.type === "range") show(addressOf(form)); // a step of the history when it is let go
  });
  document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (!form?.matches("[data-form]") || event.target.type === "search") return;
    show(addressOf(form), { push: true });
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-form]")) return;
    event.preventDefault();
    show(addressOf(event.target, event.submitter), { push: true });
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-stay]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    // filters of the form follow a link, so all is taken but where only the page of the table turns
    const whole = link.matches("[data-whole], .views a, .empty a");
    show(link.getAttribute("href"), { push: true, whole }); // a link in a picture has no text for its href
  });
  window.addEventListener("popstate", () => show(location.pathname + location.search, { whole: true }));
  remember();
}
