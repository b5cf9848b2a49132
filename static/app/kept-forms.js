// The form of a review or a settlement while the server is away: words.js has what is filled in, and here it is sent again
// by itself, when the connection returns and after 2, 5, 15, 30, 60 … seconds, as autosave.js does with edits. The answer
// brings the counts up to date.
//
// Enter in a field with data-sent-apart presses the button beside it, not the form's first one, which keeps.

import {gettext} from "./translation.js";

const RETRY_SECONDS = [2, 5, 15, 30, 60];
const waiting = new Set(); // forms with something that is not sent yet
let failures = 0;
let timer;

// The request of such a form is marked: what it could not send comes again, so nobody else reports that it failed. What a
// button of the form sends does something more, so app.js tells whoever pressed it.
document.addEventListener("htmx:config:request", ({detail: {ctx}}) => {
  if (ctx.sourceElement?.matches?.("form[data-keep]")) ctx.keptForm = ctx.sourceElement;
});

function wait(form, why) {
  if (!waiting.size) {
    const text = `${why} ${gettext("Your input is kept in this browser. It will be sent when the server is available again.")}`;
    document.dispatchEvent(new CustomEvent("assay:toast", {detail: {tone: "bad", text}}));
  }
  waiting.add(form);
  clearTimeout(timer);
  timer = setTimeout(takeUp, RETRY_SECONDS[Math.min(failures, RETRY_SECONDS.length - 1)] * 1000);
  failures += 1;
}

function takeUp() {
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
  if (ctx.response.status >= 500) return wait(form, gettext("Server error."));
  waiting.delete(form);
  if (waiting.size) return;
  failures = 0;
  clearTimeout(timer);
});

addEventListener("online", takeUp);

document.addEventListener("keydown", (event) => {
  const {key, target, isComposing, ctrlKey, metaKey} = event;
  const field = key === "Enter" && !isComposing && !ctrlKey && !metaKey && target.closest?.("[data-sent-apart]");
  if (!field) return;
  event.preventDefault();
  // A key that is held down presses once.
  if (!event.repeat) field.closest("details").querySelector("button").click();
});
