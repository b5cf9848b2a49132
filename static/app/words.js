// Keeps input ("words") that the server has not accepted yet in this browser, under `assay.words.DRAFT.…`. A draft
// belongs to one person, so nobody else who signs in here sees the input. It is restored whenever its form is shown:
// after a selection, a change of panel, a reload.
//
//   <… data-draft="ID"> or <… data-words-of="ID">   around the forms: the draft's public id; data-work="URL": the page
//                                 that shows a place of the draft
//   <form data-autosave="sent">   a comment, a reason: kept from the first key until the server has it
//   <form data-autosave>          kept while the input is invalid JSON, which is never sent, or was refused
//   <form data-keep="URL">        the form of a review: kept until the server has it, separately for each window. Its
//                                 field `kept` has the version of the form that the page shows, `edits` the page's own
//                                 saves since then. An answer with the header X-Form-Version means that the page shows
//                                 what is stored; one without, that another window has also changed something. A 409 is
//                                 a fragment that asks which version to keep; it goes into #form-conflict
//   <form data-words="stored">    a form that is sent as a whole: kept until the page shows the same input as stored. If
//                                 the server spells what it stores in its own way, the form has a hidden field `sending`,
//                                 which gets a random id; the page shows the id of what was stored in data-stored
//   <form data-words="sent">      a form whose input no page shows: kept until it is sent
//   data-sent-apart               on a field of a data-keep form that only the button next to it sends: kept until then
//   data-not-kept                 on a field that the page sets each time
//   data-invalid                  set by this module on an editor whose JSON is not valid
//   data-unfinished="URL"         set by this module on the draft's element while there is invalid JSON or a refused
//                                 edit: its address
//   [data-drop-words]             a button: discard the input of its form or, outside a form, the named input, or all
//                                 that cannot be saved
//   #placeless                    shows input that cannot be saved and whose place or form is gone, each in a copy of
//                                 <template id="placeless-words">
//
// JSON is expected in a <code-editor data-lang="json">, unless the form's field `as` says text, and in the field `text`
// if `as` says json.

import {isJson} from "./json.js";
import {gettext} from "./translation.js";

const PREFIX = "assay.words.";
const DAYS = 30;
/** How long another window's input is left alone if the window did not report that it closed: it may still be open. */
const OPEN_MINUTES = 10;
/** Hidden fields that do not identify the form. */
const UNIDENTIFYING = new Set(["csrfmiddlewaretoken", "seen", "edit", "at", "panel", "morph", "reshape", "explicit", "was", "kept", "edits", "sending", "active_seconds", "answer_times"]);
const isUnidentifying = (name) => UNIDENTIFYING.has(name) || name.startsWith("waive-key:");
/** Fields that identify the form or the type of its input; they are not typed. */
const UNTYPED = new Set(["op", "anchor", "as"]);
/** Places that can be deleted from a dialogue. */
const DELETABLE = /^\/(tasks|constraints|reference_trajectory)\//;
const KEPT = 'form[data-autosave="sent"], form[data-keep], form[data-words]';
const FORGETS_EMPTY = '[data-autosave="sent"], [data-words="sent"]';

const root = () => document.querySelector("[data-draft], [data-words-of]");
const owner = () => `${PREFIX}${root()?.dataset.draft ?? root()?.dataset.wordsOf}.`;
const hidden = (form) => [...form.elements].filter((field) => field.type === "hidden");
const controls = (form) => [...form.elements].filter((field) => field.name && !["hidden", "submit", "button"].includes(field.type));

const random = () => crypto.getRandomValues(new Uint32Array(3)).reduce((text, part) => text + part.toString(36), "");
const page = random();
export const tab = tabOf();

function tabOf() {
  try {
    return (sessionStorage["assay.tab"] ??= random());
  } catch {
    return page;
  }
}

function keyOf(form) {
  const which = hidden(form).filter(({name}) => !isUnidentifying(name)).map(({name, value}) => [name, value]);
  const key = `${owner()}${new URL(form.action, location.href).pathname}?${new URLSearchParams(which)}`;
  return form.matches("[data-keep]") ? `${key}#${page}` : key;
}

// --- the browser's storage ----------------------------------------------------------------------------------------------

const memory = new Map(); // used if the storage is full or not available, until the page is left

export function raw(key) {
  try {
    return localStorage.getItem(key) ?? memory.get(key) ?? null;
  } catch {
    return memory.get(key) ?? null;
  }
}

export function write(key, entry) {
  const text = JSON.stringify({...entry, time: Date.now()});
  try {
    localStorage.setItem(key, text);
    memory.delete(key);
  } catch {
    memory.set(key, text);
  }
  mark();
}

/** Whether the browser's storage did not take it, so that it is lost when the page is left. */
export const isOnlyInMemory = (key) => memory.has(key);

export function remove(key) {
  memory.delete(key);
  try {
    localStorage.removeItem(key);
  } catch {
    // See memory.
  }
  mark();
}

export function keys(prefix) {
  try {
    return [...new Set([...Object.keys(localStorage), ...memory.keys()])].filter((key) => key.startsWith(prefix));
  } catch {
    return [...memory.keys()].filter((key) => key.startsWith(prefix));
  }
}

/** @type {() => [string, any][]} */
const entries = () => keys(owner()).map((key) => [key, JSON.parse(raw(key))]);
/** Return the input that cannot be saved: {why: "json" or "refused"}. */
const stuck = () => entries().filter(([, {why}]) => ["json", "refused"].includes(why));

function mark() {
  const place = root();
  if (!place) return;
  const gone = placeless();
  showPlaceless(gone);
  const [first] = stuck().sort(([one], [other]) => Number(gone.has(one)) - Number(gone.has(other)));
  if (first) place.dataset.unfinished = gone.has(first[0]) ? "#placeless" : `${place.dataset.work ?? ""}?at=${encodeURIComponent(first[1].at ?? "")}`;
  else delete place.dataset.unfinished;
}

/** Return the input that cannot be saved and whose place in the dialogue, or its form, is gone: key -> entry. */
function placeless() {
  const links = [...document.querySelectorAll('#chat a[href*="at="]')];
  const places = new Set(links.map(({href}) => new URL(href).searchParams.get("at")));
  const {at: open, panel} = document.getElementById("inspector")?.dataset ?? {};
  const forms = new Set([...document.querySelectorAll("#inspector form[data-autosave]")].map(keyOf));
  const isGone = ([key, {at, why}]) =>
    (DELETABLE.test(at) && !places.has(at)) || (why === "json" && panel === "edit" && at === open && !forms.has(key));
  return new Map(links.length ? stuck().filter(isGone) : []);
}

function showPlaceless(gone) {
  const holder = document.getElementById("placeless");
  if (!holder) return;
  for (const shown of [...holder.children]) if (!gone.has(shown.dataset.words)) shown.remove();
  for (const [key, {body}] of gone) {
    if ([...holder.children].some((shown) => shown.dataset.words === key)) continue;
    const typed = [...new URLSearchParams(body)].filter(([name, value]) => value && !UNTYPED.has(name) && !isUnidentifying(name));
    const lines = typed.map(([name, value]) => `${name.replace(/^.*:\/?/, "")}: ${value}`);
    const text = typed.length === 1 ? typed[0][1] : lines.join("\n");
    const notice = document.getElementById("placeless-words").content.firstElementChild.cloneNode(true);
    notice.dataset.words = key;
    notice.querySelector("textarea").value = text;
    notice.querySelector("[data-copy-text]").dataset.copyText = text;
    notice.querySelector("[data-drop-words]").dataset.dropWords = key;
    holder.append(notice);
  }
}

// --- keep and restore forms -----------------------------------------------------------------------------------------------

function keep(form, why) {
  if (!root()) return;
  const fields = controls(form).filter((field) => !("notKept" in field.dataset));
  const texts = fields.filter((field) => field.matches("textarea, input:not([type=radio], [type=checkbox])"));
  if (!texts.length) return;
  if (form.matches(FORGETS_EMPTY) && texts.every(({value}) => !value.trim())) return remove(keyOf(form));
  const {seen} = form.closest("[data-seen]")?.dataset ?? {};
  const place = {op: form.elements.op?.value, anchor: form.dataset.anchor, ...versionOf(form)};
  write(keyOf(form), {body: bodyOf(fields), why, seen, ...place, at: document.getElementById("inspector")?.dataset.at});
}

/** Return the version that a review's form is based on. */
function versionOf({elements: {kept, edits}}) {
  return kept ? {kept: kept.value, edits: edits.value, tab} : {};
}

/** Take over the input of a review's form that this tab, or a closed one, left. */
function inherit(form) {
  const key = keyOf(form);
  if (raw(key) !== null) return;
  const left = keys(key.slice(0, -page.length)).map((other) => [other, JSON.parse(raw(other))]);
  const mine = left.filter(([, entry]) => entry.tab === tab);
  const gone = left.filter(([, {gone, time}]) => gone || time < Date.now() - OPEN_MINUTES * 60_000);
  const [newest] = (mine.length ? mine : gone).sort(([, one], [, other]) => other.time - one.time);
  if (!newest) return;
  write(key, {...newest[1], gone: undefined, tab});
  remove(newest[0]);
}

function leave() {
  for (const form of document.querySelectorAll("form[data-keep]")) {
    const text = root() && raw(keyOf(form));
    if (text) write(keyOf(form), {...JSON.parse(text), gone: true});
  }
}

addEventListener("pagehide", leave);
document.addEventListener("assay:item-comes", leave);

/** Return the values of the fields, or with `rendered` those that the server rendered. */
function bodyOf(fields, rendered = false) {
  const body = new URLSearchParams();
  for (const field of fields) {
    const ticks = ["radio", "checkbox"].includes(field.type);
    const chosen = field.localName === "select" ? [...field.options].find((one) => one.defaultSelected) ?? field.options[0] : null;
    if (ticks && !(rendered ? field.defaultChecked : field.checked)) continue;
    body.append(field.name, !rendered || ticks ? field.value : chosen ? chosen.value : field.defaultValue);
  }
  return body.toString();
}

/** Forget input that the page shows as stored. A page with errors shows the input too, but it is not stored. */
function forgetStored() {
  if (!root() || document.querySelector(".error-summary")) return;
  for (const form of document.querySelectorAll('form[data-words="stored"]')) {
    const text = raw(keyOf(form));
    if (text === null) continue;
    const {body, sending} = JSON.parse(text);
    if (body === bodyOf(controls(form), true) || (sending && sending === form.dataset.stored)) remove(keyOf(form));
  }
}

/**
 * Restore kept input into the forms of the page. (A review's form gets it once: see takeUp.)
 * @param {Iterable<any>} forms
 */
function restore(forms = document.querySelectorAll("form[data-autosave], form[data-words]")) {
  if (!root()) return;
  for (const form of forms) {
    const text = raw(keyOf(form));
    if (text === null) continue;
    // autosave.js cancels this if the text in the form is newer.
    if (!document.dispatchEvent(new CustomEvent("assay:words-back", {detail: {form}, cancelable: true}))) continue;
    const {body, why, seen, kept, edits} = JSON.parse(text);
    fill(form, new URLSearchParams(body));
    if (kept !== undefined) [form.elements.kept.value, form.elements.edits.value] = [kept, edits];
    if (why && seen !== undefined) form.dataset.seen = seen; // it is still based on the version that was shown then
    if (why || form.dataset.words === "stored") showUnsaved(form, why || "words");
    for (let at = form.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
    const edit = form.closest(".comment-edit");
    if (edit && !edit.matches(":popover-open, .open")) edit.showPopover();
  }
}

function fill(form, body) {
  form.dispatchEvent(new CustomEvent("assay:rows-wanted", {bubbles: true, detail: {body}}));
  const left = new Map([...new Set(body.keys())].map((name) => [name, body.getAll(name)]));
  for (const field of controls(form)) {
    const values = left.get(field.name);
    if ("notKept" in field.dataset) continue;
    if (["radio", "checkbox"].includes(field.type)) field.checked = values?.includes(field.value) ?? false;
    else if (values?.length) {
      const value = values.shift();
      if (field.value !== value) field.value = value;
      if (value && "sentApart" in field.dataset) field.closest("details").open = true;
    }
    field.closest("code-editor")?.refresh?.();
  }
}

/** Show at the form that its input is not saved, with a button to discard it. */
function showUnsaved(form, why) {
  if ("unsent" in form.dataset) return;
  form.dataset.unsent = why;
  if (why === "json") for (const field of unfinished(form)) field.closest("code-editor")?.toggleAttribute("data-invalid", true);
  const note = document.createElement("p");
  note.className = why === "json" ? "field-error" : "hint"; // a refusal has its reason next to the field
  const drop = document.createElement("button");
  drop.type = "button";
  drop.className = "small";
  drop.dataset.dropWords = "";
  drop.textContent = gettext("Discard change");
  note.append(why === "json" ? gettext("Not saved: invalid JSON.") : gettext("Not saved."), " ", drop);
  form.append(note);
}

function hideUnsaved(form) {
  delete form.dataset.unsent;
  for (const editor of form.querySelectorAll("[data-invalid]")) editor.removeAttribute("data-invalid");
  form.querySelector("[data-drop-words]")?.parentElement.remove();
}

document.addEventListener("input", ({target}) => {
  const form = target.name && target.closest?.(`${KEPT}, form[data-unsent]`);
  if (form) keep(form, form.dataset.unsent ?? "");
});

document.addEventListener("submit", ({target}) => {
  if (target.dataset.words === "sent" && !target.hasAttribute("hx-post")) remove(keyOf(target));
  const {sending} = target.dataset.words === "stored" ? target.elements : {};
  const text = sending && raw(keyOf(target));
  if (!text) return;
  sending.value = random();
  write(keyOf(target), {...JSON.parse(text), sending: sending.value});
});

document.addEventListener("click", ({target}) => {
  const button = target.closest?.("[data-drop-words]");
  if (!button) return;
  const form = button.closest("form");
  const named = button.dataset.dropWords;
  const dropped = form ? [keyOf(form)] : named ? [named] : stuck().map(([key]) => key);
  for (const one of document.querySelectorAll("form[data-unsent]")) {
    if (!dropped.includes(keyOf(one))) continue;
    hideUnsaved(one);
    delete one.dataset.seen;
    one.reset();
  }
  dropped.forEach(remove);
  document.dispatchEvent(new CustomEvent("assay:words-dropped", {detail: {keys: dropped}}));
});

// --- edits (autosave.js) ----------------------------------------------------------------------------------------------------

/** Return the fields of a form whose JSON is not valid. */
function unfinished(form) {
  const as = form.elements.as?.value;
  if (as === "text") return [];
  const fields = as === "json" ? [form.elements.text] : form.querySelectorAll('code-editor[data-lang="json"] textarea');
  return [...fields].filter(({value}) => !isJson(value));
}

const sentRest = new WeakMap(); // a form with invalid JSON -> what was last sent of its other fields

/** Return the body of an edit with the saved values of the fields that are not valid; null if nothing else has changed. */
function restOf(form, invalid, body) {
  const parts = new Set(invalid.map((field) => field.closest(".field") ?? form));
  const held = controls(form).filter((field) => [...parts].some((part) => part.contains(field)));
  const others = controls(form).filter((field) => !held.includes(field));
  const now = bodyOf(others);
  const saved = bodyOf(others, true);
  if (invalid.some(({defaultValue}) => !isJson(defaultValue)) || now === (sentRest.get(form) ?? saved)) return null;
  sentRest.set(form, now);
  const rest = new URLSearchParams(body);
  for (const {name} of held) rest.delete(name);
  for (const [name, value] of new URLSearchParams(bodyOf(held, true))) rest.append(name, value);
  return rest.toString();
}

document.addEventListener("assay:edit-begins", (event) => {
  const {form, edit} = event.detail;
  const invalid = unfinished(form);
  if (invalid.length) {
    keep(form, "json");
    hideUnsaved(form);
    showUnsaved(form, "json");
    // The other fields of the form are saved.
    const rest = restOf(form, invalid, edit.body);
    if (rest === null) event.preventDefault();
    else edit.body = rest;
    return;
  }
  sentRest.delete(form);
  edit.words = keyOf(form);
  if (form.dataset.autosave === "sent") edit.kept = raw(edit.words);
  else {
    remove(edit.words);
    hideUnsaved(form);
  }
});

function placeOf({body}) {
  const sent = new URLSearchParams(body);
  return sent.get("at") ?? sent.get("anchor");
}

document.addEventListener("assay:edit-ended", ({detail: {edit, outdated}}) => {
  if (!edit.words) return;
  const words = raw(edit.words);
  if (edit.outcome === "saved" && edit.kept && words === edit.kept) remove(edit.words);
  // It was accepted when it was sent again after a reload.
  if (edit.outcome === "saved" && words !== null && JSON.parse(words).body === edit.body) remove(edit.words);
  // The answer may contain the form again, with its errors: the input is restored into it after the swap.
  if (edit.outcome === "refused" && edit.anchor !== null && words === null && !outdated) {
    write(edit.words, {body: edit.body, why: "refused", seen: edit.seen, op: edit.op, anchor: edit.anchor, at: placeOf(edit)});
  }
});

document.addEventListener("assay:words-wait", ({detail: {form, body}}) => fill(form, new URLSearchParams(body)));

// Only this page's own edit changed the draft: kept input that was based on the version before is now based on this
// one.
document.addEventListener("assay:draft-moved", ({detail: {version, crosses}}) => {
  for (const [key, entry] of stuck()) if (Number(entry.seen) === version - 1 && !crosses(entry)) write(key, {...entry, seen: version});
});

// --- the form of a review, and others whose answer confirms the input ---------------------------------------------------

const ANSWERED = 'form[data-keep], form[data-words="sent"]';
const sent = new WeakMap(); // a request -> the input it sent
const keeping = ({sourceElement}) => sourceElement?.closest?.("form[data-keep]");

document.addEventListener("htmx:config:request", ({detail: {ctx}}) => {
  const form = ctx.request.method === "POST" && keeping(ctx);
  if (!form) return;
  const {edits} = form.elements;
  edits.value = `${edits.value} ${random()}`.trim();
  ctx.request.body.set("edits", edits.value);
  // If the page is left before the answer, the next one must know the save as its own.
  const text = raw(keyOf(form));
  if (text) write(keyOf(form), {...JSON.parse(text), edits: edits.value});
});

// A comment that is not sent would be out of reach after the review.
document.addEventListener(
  "submit",
  (event) => {
    const {target, submitter} = event;
    if (!target.matches("#verdict, #settle") || submitter?.hasAttribute("formaction")) return;
    const start = owner().length;
    const found = entries().find(([key]) => key.slice(start).includes("/comment/"));
    if (!found) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const {work} = root().dataset;
    const leads = work ? `${work}?at=${encodeURIComponent(found[1].at ?? "")}&panel=comments` : "";
    const text = gettext("You have written a comment that isn’t sent, so nothing was submitted. Send the comment, or delete its text.");
    const leadsTo = gettext("Go to the comment");
    document.dispatchEvent(new CustomEvent("assay:toast", {detail: {tone: "bad", text, leads, leadsTo, until: "saved"}}));
  },
  true,
);

// A settlement concerns the saved draft: unsaved changes in the editor would be lost. (In the workspace, a review waits
// for them: see autosave.js.)
document.addEventListener(
  "submit",
  (event) => {
    const draft = event.target.matches("form[data-keep]") && root()?.dataset.wordsOf;
    if (!draft || !(keys(`assay.draft.${draft}.`).length || stuck().length)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const text = gettext("Some changes to this dialogue aren’t saved yet, so nothing was sent. Open its editor to save them.");
    document.dispatchEvent(new CustomEvent("assay:toast", {detail: {tone: "bad", text}}));
  },
  true,
);

/** Clear the note about an earlier save: it would seem to be about this one, which failed. */
function clearSaveNote() {
  document.getElementById("settle-note")?.replaceChildren();
}

document.addEventListener("htmx:error", ({detail: {ctx}}) => {
  if (ctx && keeping(ctx)) clearSaveNote();
});

const asked = new WeakMap(); // a review's form -> the input that its open question is about

document.addEventListener("htmx:before:request", (event) => {
  const {ctx} = event.detail;
  const form = ctx.sourceElement?.closest?.(ANSWERED);
  if (!form) return;
  // Leaving the field would ask the same again, and the answer would replace the buttons while they are clicked.
  const body = bodyOf(controls(form));
  const again = form === ctx.sourceElement && form.querySelector("#form-conflict > *") && asked.get(form) === body;
  if (again) event.preventDefault();
  else sent.set(ctx, {body, words: raw(keyOf(form))});
});

document.addEventListener("mousedown", (event) => {
  // A click does not leave the field either: the button sends the latest input.
  if (event.target.closest?.("#form-conflict :is(a, button)")) event.preventDefault();
});

document.addEventListener("htmx:after:request", ({detail: {ctx}}) => {
  const form = ctx.sourceElement?.closest?.(ANSWERED);
  if (!form || ctx.request.method !== "POST" || ctx.response.raw.redirected) return;
  const question = form.querySelector("#form-conflict");
  if (ctx.response.status === 409 && question && !/^\s*<!doctype html/i.test(ctx.text)) {
    asked.set(form, sent.get(ctx).body);
    if (!question.firstElementChild) {
      const text = gettext("The same place was changed in another window. Choose below which version to keep.");
      document.dispatchEvent(new CustomEvent("assay:toast", {detail: {tone: "warn", text}}));
    }
    ctx.target = question;
    ctx.swap = "innerHTML";
  }
  if (ctx.response.status >= 300) return void clearSaveNote();
  const version = ctx.response.headers.get("X-Form-Version");
  const left = version !== null && [...form.elements].some((field) => "sentApart" in field.dataset && field.value.trim());
  if (!left && raw(keyOf(form)) === sent.get(ctx).words) remove(keyOf(form));
  if (!keeping(ctx)) return;
  question.replaceChildren();
  if (version === null) return void showStored(form);
  form.elements.kept.value = version;
  form.elements.edits.value = "";
  if (left) keep(form, "");
});

/** Show the stored form, after another window has changed it too: it includes the changes of both. */
async function showStored(form) {
  const {id} = form;
  const seen = form.elements.seen?.value;
  // The form's own page: the address may show another part of the workspace.
  const page = form.getAttribute("action") || location.href;
  await globalThis.htmx.ajax("GET", page, {source: document.body, target: form, select: `#${id}`, swap: "outerHTML"});
  const moved = document.getElementById(id)?.elements.seen?.value !== seen;
  const text = moved
    ? gettext("This form and the draft were also changed in another window. This page now shows the saved versions.")
    : gettext("This form was also changed in another window. This page now shows the saved version.");
  document.dispatchEvent(new CustomEvent("assay:toast", {detail: {text}}));
}

document.addEventListener("htmx:after:swap", ({detail: {ctx}}) => {
  if (ctx.target?.id !== "form-conflict" || !ctx.target.firstElementChild) return;
  document.dispatchEvent(new CustomEvent("assay:question", {detail: {at: ctx.target}}));
});

// Input that the server may not have is sent again as soon as htmx handles the form.
const takenUp = new WeakSet();

function takeUp(form) {
  if (!form.matches("form[data-keep]") || !root() || takenUp.has(form)) return;
  takenUp.add(form);
  inherit(form);
  if (raw(keyOf(form)) === null) return;
  restore([form]);
  form.dispatchEvent(new Event("change", {bubbles: true}));
}

document.addEventListener("htmx:after:init", ({target}) => takeUp(target));
// htmx may have started before this module was loaded; by this event it has in any case (app.js).
document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("form[data-keep]").forEach(takeUp));

// --- the page ----------------------------------------------------------------------------------------------------------------------

document.addEventListener("htmx:after:swap", () => {
  mark();
  restore();
});
for (const key of keys(PREFIX)) {
  if (JSON.parse(raw(key)).time < Date.now() - DAYS * 86_400_000) remove(key);
}
forgetStored();
mark();
restore();

document.addEventListener("assay:item", forgetStored);

// “Go to change” leads to what could not be saved, “Go to the comment” to one that was not sent.
const asks = new URLSearchParams(location.search);
if (asks.has("at")) {
  const unsent = document.querySelector("#inspector form[data-unsent]");
  const invalid = unsent?.querySelector("code-editor[data-invalid] :is(.cm-content, textarea)");
  const texts = [...document.querySelectorAll('#inspector form[data-autosave="sent"] textarea[name=text]')];
  const comment = asks.get("panel") === "comments" ? texts.find(({value, defaultValue}) => value !== defaultValue) : null;
  if (comment?.closest("details")) comment.closest("details").open = true;
  (invalid ?? unsent?.querySelector(".cm-content, textarea, input:not([type=hidden])") ?? comment)?.focus();
}
