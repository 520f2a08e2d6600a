// Keys for the buttons, and answers that are sent again, under the same key, until the server has them.
const WAIT = 2000; // milliseconds between two tries
const status = document.getElementById("status");
let sending = false;

async function send(form, button) {
  const fields = new URLSearchParams(new FormData(form));
  if (button.name) fields.set(button.name, button.value);
  for (;;) {
    try {
      const answer = await fetch(form.action, { method: "POST", body: fields, headers: { Accept: "application/json" } });
      if (answer.ok) return "/";
      if (answer.status === 409) return "/?note=elsewhere";
      if (answer.status < 500 && answer.status !== 429) return "/";
    } catch {
      // the server is away
    }
    status.textContent = "Not saved yet: the server does not answer. Trying again …";
    await new Promise((resolve) => setTimeout(resolve, WAIT));
  }
}

for (const form of document.querySelectorAll("form[data-decides]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (sending) return; // a double click
    sending = true;
    status.textContent = "Saving …";
    window.location.replace(await send(form, event.submitter ?? form.querySelector("button")));
  });
}

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLInputElement;
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || typing) return;
  document.querySelector(`button[data-key="${CSS.escape(event.key.toLowerCase())}"]:not(:disabled)`)?.click();
});

window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload(); // an old page from the browser's memory
});
