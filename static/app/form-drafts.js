// Keeps what is typed into a long form that is sent as a whole and carries its own draft, in this browser and for this
// person, until the server has stored it. The next time the form opens, the page asks whether to continue. Then the
// kept input is sent, and the server answers with the form that shows it, including its rows and a newer version.
//
//   <form data-form-draft="fresh" data-draft-leads="PATH">   shows what is stored. Storing it leads to the page PATH
//   <form data-form-draft="unsaved" …>   an answer that shows input that is not stored: kept at once, unless the person
//                                        has reloaded it and typed more before
//   <form data-form-draft="same" …>      an answer that shows no more than what is stored: kept input is dropped
//   <form data-form-draft="passed" …>    carries the input to a further step: nothing is typed in it
//   #draft-question                      the question, hidden; #draft-continue is its form, [data-draft-discard] discards
//
// Each window keeps its own input: a second one overwrites nothing. If the browser can't store it, leaving the page asks.

import {isOnlyInMemory, keys, raw, remove, tab, write} from "./words.js";

const person = document.querySelector('meta[name="person"]')?.content;
const PREFIX = `assay.words.form.${person}.`;

const form = document.querySelector("form[data-form-draft]");
const question = document.getElementById("draft-question");
const path = form ? new URL(form.action, location.href).pathname : "";
const key = `${PREFIX}${path}#${tab}`;
const start = form ? bodyOf() : "";

/** Return the form's input; files can't be kept. */
function bodyOf() {
  const fields = [...new FormData(form)].filter(([name, value]) => typeof value === "string" && name !== "csrfmiddlewaretoken");
  return new URLSearchParams(/** @type {[string, string][]} */ (fields)).toString();
}

function keep() {
  const body = bodyOf();
  if (form.dataset.formDraft === "fresh" && body === start) remove(key);
  else write(key, {body});
}

/** Return the keys of the kept input for this form: this window's first, then the newest. */
function kept() {
  const time = (/** @type {string} */ one) => (one === key ? Infinity : JSON.parse(raw(one)).time);
  return keys(`${PREFIX}${path}#`).sort((one, other) => time(other) - time(one));
}

/** Ask about kept input, if there is any. Until that is answered, the form takes no input that would replace it. */
function ask() {
  const [found] = kept();
  question.hidden = !found;
  form.inert = Boolean(found);
  if (!found) return;
  const {time} = JSON.parse(raw(found));
  /** @type {Intl.DateTimeFormatOptions} */
  const style = {dateStyle: "medium", timeStyle: "short"};
  question.querySelector("time").textContent = new Intl.DateTimeFormat(document.documentElement.lang || "en", style).format(time);
  question.dataset.about = found;
  question.focus();
}

/** The input has not been stored: it was refused, or the request failed and the person came back. */
function unsend() {
  const text = raw(key);
  if (text) write(key, {...JSON.parse(text), sent: undefined});
}

function refuse(event) {
  if (event.target !== form || !form.inert) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  question.focus();
}

function leave({target, defaultPrevented}) {
  if (defaultPrevented) return;
  if (target === form) {
    const text = raw(key);
    if (text) write(key, {...JSON.parse(text), sent: form.dataset.draftLeads});
  } else if (target.id === "draft-continue") {
    const found = question.dataset.about;
    const entry = JSON.parse(raw(found));
    for (const [name, value] of new URLSearchParams(entry.body)) {
      target.append(Object.assign(document.createElement("input"), {type: "hidden", name, value}));
    }
    if (found === key) return;
    write(key, entry);
    remove(found);
  }
}

if (form) {
  unsend();
  const {formDraft} = form.dataset;
  // Reloaded, an answer shows what was sent, and not what has been typed into it since.
  const isReloaded = /** @type {PerformanceNavigationTiming} */ (performance.getEntriesByType("navigation")[0])?.type === "reload";
  const isOlder = formDraft === "unsaved" && isReloaded && raw(key) && JSON.parse(raw(key)).body !== start;
  if (formDraft === "unsaved" && !isOlder) keep();
  if (formDraft === "same" || (formDraft === "fresh" && raw(key) && JSON.parse(raw(key)).body === start)) remove(key);
  if (formDraft === "fresh" || isOlder) ask();
  if (formDraft !== "passed") for (const type of ["input", "change"]) form.addEventListener(type, keep);
  // Enter in a field sends no long form; Ctrl+Enter and the button do.
  form.addEventListener("keydown", (event) => {
    const isPlain = event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.isComposing;
    if (isPlain && event.target.matches("input:not([type=checkbox], [type=radio], [type=submit])")) event.preventDefault();
  });
  // The bar at the foot of the page is outside of the form.
  addEventListener("submit", refuse, true);
  document.addEventListener("submit", leave);
  addEventListener("pageshow", ({persisted}) => persisted && unsend());
  let isSending = false;
  document.addEventListener("submit", ({defaultPrevented}) => (isSending = !defaultPrevented));
  addEventListener("beforeunload", (event) => !isSending && isOnlyInMemory(key) && event.preventDefault());
  question?.querySelector("[data-draft-discard]").addEventListener("click", () => {
    remove(question.dataset.about);
    ask();
    if (!form.inert) form.querySelector("input:not([type=hidden]), textarea, select")?.focus();
  });
} else if (person && document.referrer) {
  // The page that storing leads to, opened from the form.
  const from = `${PREFIX}${new URL(document.referrer).pathname}#${tab}`;
  const text = raw(from);
  if (text && JSON.parse(text).sent === location.pathname) remove(from);
}
