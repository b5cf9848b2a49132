// Sends the form of a review or a settlement again after the server was unavailable. words.js keeps the input; this
// module sends it when the connection returns and after 2, 5, 15, 30, 60 … seconds, as autosave.js does with edits. The
// answer updates the counts.
//
// Enter in a field with data-sent-apart presses the button next to it, not the form's first button, which saves the
// form.

import {gettext} from "./translation.js";

const RETRY_SECONDS = [2, 5, 15, 30, 60];
const waiting = new Set(); // forms with unsent input
let failures = 0;
let timer;

// Mark the request of such a form: it is sent again, so app.js does not report that it failed. It does report the
// failed request of a button in the form, which is not sent again.
document.addEventListener("htmx:config:request", ({detail: {ctx}}) => {
  if (ctx.sourceElement?.matches?.("form[data-keep]")) ctx.keptForm = ctx.sourceElement;
});

function wait(form, why) {
  if (!waiting.size) {
    const text = `${why} ${gettext("Your input is kept in this browser. It will be sent when the server is available again.")}`;
    document.dispatchEvent(new CustomEvent("assay:toast", {detail: {tone: "bad", text, until: "sent"}}));
  }
  waiting.add(form);
  clearTimeout(timer);
  timer = setTimeout(sendAgain, RETRY_SECONDS[Math.min(failures, RETRY_SECONDS.length - 1)] * 1000);
  failures += 1;
}

function sendAgain() {
  for (const form of waiting) {
    if (!form.isConnected) waiting.delete(form);
    else if (navigator.onLine !== false) form.dispatchEvent(new Event("change", {bubbles: true}));
  }
}

document.addEventListener("htmx:error", ({detail: {ctx, error}}) => {
  const form = (error instanceof TypeError || error?.name === "AbortError") && ctx?.keptForm;
  if (form) wait(form, gettext("No connection to the server."));
});

document.addEventListener("htmx:after:request", ({detail: {ctx}}) => {
  const form = ctx.keptForm;
  if (!form) return;
  if (ctx.response.status === 429) return wait(form, gettext("Too many requests."));
  if (ctx.response.raw.headers.has("Assay-Maintenance")) return wait(form, gettext("Maintenance."));
  if (ctx.response.status >= 500) return wait(form, gettext("Server error."));
  waiting.delete(form);
  if (waiting.size) return;
  if (!failures) return;
  failures = 0;
  clearTimeout(timer);
  document.dispatchEvent(new CustomEvent("assay:over", {detail: {until: "sent"}}));
});

addEventListener("online", sendAgain);

document.addEventListener("keydown", (event) => {
  const {key, target, isComposing, ctrlKey, metaKey} = event;
  const field = key === "Enter" && !isComposing && !ctrlKey && !metaKey && target.closest?.("[data-sent-apart]");
  if (!field) return;
  event.preventDefault();
  // Holding the key down presses the button once.
  if (!event.repeat) field.closest("details").querySelector("button").click();
});
