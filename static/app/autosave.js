// Saves drafts while they are edited. The contract between page and server:
//
// THE PAGE
//   <… data-draft="ID" data-seen="7">       the workspace root: the draft's public id and the version the page shows
//   <… data-seen="7">                       a part of it that shows another version, such as an editor that an answer
//                                           did not update: the nearest one counts. Typing gives a form its own
//   <form data-autosave method="post" action="URL" id="f-…"
//         hx-post="URL" hx-trigger="submit" hx-target="#…" hx-swap="outerMorph" data-anchor="/tasks/t1/…">
//                                           one form, one edit: a field (or a few that change together) or a button
//                                           such as add, delete, move, undo. `{% autosave url target %}` writes this.
//     data-autosave="sent"                  only the form's button sends the input: a comment, a reason
//     data-anchor                           the place that the form's fields edit. Later input at the same place
//                                           replaces earlier input that was not sent yet. Omit it on buttons: they are
//                                           never merged. The target needs an id, to be found after a reload.
//   <button data-repeats>                  in such a form: each click of a double click counts
//   <… data-save-state>                     the save status, with [data-save-text], a button [data-save-retry], a link
//                                           [data-save-sign-in], and [data-save-unfinished] on what leads to or
//                                           discards input that cannot be saved
//   <… data-merge tabindex="-1">            the place for the prompt of a conflict
//   <form data-after-saving>                a form (a verdict, a release) that waits until the last edit is saved, and
//                                           has data-waits from then on
//
// THE REQUEST  one POST for each edit, in order, one at a time, with the form's fields and
//   seen   the draft version that the edit is based on
//   edit   a random id of this edit. It may arrive twice if an answer was lost: the server remembers the ids it has
//          applied (or settled by a merge) and answers the second one like the first, without applying it again.
//
// THE ANSWER   with the header `X-Draft-Version`: the version the draft has now
//   204  saved, and the draft itself has not changed (for example the form of a review); needs no header.
//   200  applied (without the header it counts as no answer). The fragment is swapped into the form's target. Other
//        parts (findings, undo button) come with it as <hx-partial hx-target="#…"> or hx-swap-oob.
//   409  the draft is no longer at `seen` (a second tab, another machine). The fragment is a prompt that shows both
//        values; it goes into [data-merge]. Sending stops until a form in it is answered with 2xx (it sends the `edit`
//        id, so that the edit counts as settled), or a [data-discard-edit] button in it drops the edit and reloads.
//   422  refused. The fragment says why (or is the form again, with its errors); it goes to the form's target. The
//        input is kept in this browser until the next edit at that place; other edits continue. Elements marked
//        [data-refusal] are removed when no refused edit is left.
//   403, 404, 410  the claim is gone or the draft closed: sending stops, edits stay in this browser.
//   A redirect to the sign-in page: sending stops until the user returns to this window or presses [data-save-retry].
//   Anything else, or no answer: sent again after 2, 5, 15, 30, 60 … seconds (after 429 and in maintenance: not
//   before Retry-After has passed, however much is edited meanwhile), when the connection returns, and when the user presses [data-save-retry].
//
// Edits that were not accepted are in localStorage under `assay.draft.ID.…` and are sent when the draft is next opened.
// words.js keeps input that must not be sent yet, and that of forms that were not sent. The two use five events:
//   assay:edit-begins  {form, edit}         cancel it to prevent the edit
//   assay:edit-ended   {edit, outdated}     before the answer is shown; `outdated`: a later edit replaces it
//   assay:words-wait   {form, body}         the form was rendered again while an edit of its place is still to be sent
//   assay:words-back   {form}               cancel it if the form's input is newer than the kept input
//   assay:draft-moved  {version, crosses}   an edit of this page made the version; `crosses({op, anchor})` says whether
//                                           another form shows the same place or a part of it

import {crosses, EditQueue, ENDED, isUnanswered, LATER} from "./edit-queue.js";
import {isJson} from "./json.js";
import {gettext, interpolate, ngettext} from "./translation.js";

const PAUSE = 700;

/** The trouble that was announced last, until its end is announced too. */
let announced = "";

const typing = new Map(); // form -> timer of its pause
const begun = new WeakSet(); // forms with input that only their button sends
const shown = {
  chosen: 0, // how often another editor was opened on this page
  before: undefined, // the version that the editor showed before the answer
  current: undefined, // id of the current place in the dialogue before the answer
  staysAt: undefined, // id of the current place in the dialogue, if the open editor stays
};
let asLoaded = document.querySelector("[data-save-text]")?.textContent;

const root = () => document.querySelector("[data-draft]");
const emit = (name, detail) => document.dispatchEvent(new CustomEvent(`assay:${name}`, {detail}));

const queue = new EditQueue({
  draft: () => root()?.dataset.draft,
  storage: () => localStorage,
  isOnline: () => navigator.onLine !== false,
  isUnfinished: () => Boolean(root()?.dataset.unfinished),
  post,
  show,
  forgetRefusals() {
    for (const refusal of document.querySelectorAll("[data-refusal]")) refusal.remove();
  },
  later(act, seconds) {
    const timer = setTimeout(act, seconds * 1000);
    return () => clearTimeout(timer);
  },
});

/** Return the version of the draft that the form's input is based on. */
const seenIn = (form) => Number((form.closest("[data-seen]") ?? root()).dataset.seen);
const placeIn = (form) => ({op: form?.elements?.op?.value, anchor: form?.dataset.anchor});
const isAutosave = (element) => element?.closest?.("form[data-autosave]");
const savesItself = (element) => element?.closest?.('form[data-autosave]:not([data-autosave="sent"])');

/** Whether an edit belongs to this form or, if the form edits a place, to that place. */
function isOf(edit, form) {
  if (form.dataset.anchor !== undefined) return edit.anchor === form.dataset.anchor;
  return edit.anchor === null && edit.op === form.elements.op?.value && edit.of === form.elements.anchor?.value;
}

/** Whether the form was changed after the request whose answer is shown now. */
const isAhead = (form) =>
  typing.has(form) || begun.has(form) || queue.edits.some((edit) => isUnanswered(edit) && isOf(edit, form));

function add({ctx, form}) {
  const body = new URLSearchParams(ctx.request.body);
  for (const name of ["seen", "edit", "csrfmiddlewaretoken"]) body.delete(name);
  const edit = queue.edit({
    seen: seenIn(form),
    anchor: form.dataset.anchor ?? null,
    op: body.get("op"),
    of: body.get("anchor"),
    url: ctx.request.action,
    body: body.toString(),
    target: ctx.target?.id ? `#${CSS.escape(ctx.target.id)}` : null,
    swap: ctx.swap,
    chosen: shown.chosen,
  });
  const ready = document.dispatchEvent(new CustomEvent("assay:edit-begins", {detail: {form, edit}, cancelable: true}));
  if (ready) delete form.dataset.seen;
  queue.add(edit, {ready});
}

/** Send an edit. The handlers below store the outcome in it. */
function post(edit) {
  const target = edit.target ? document.querySelector(edit.target) : null;
  const options = {source: document.body, target: target ?? "#live", swap: target ? edit.swap : "none", edit};
  if (target) options.headers = {"HX-Target": `${target.tagName.toLowerCase()}#${target.id}`};
  return globalThis.htmx.ajax("POST", edit.url, options);
}

function undecided() {
  show("conflict");
  emit("toast", {tone: "bad", text: gettext("Nothing was changed. First choose which version to keep.")});
}

/** Move what shows the previous version to `version`, which `made`, an edit of this page, created (see EditQueue). */
function advance(version, made) {
  const place = root();
  if (!place || version === null) return;
  queue.advance(version, made);
  for (const part of document.querySelectorAll("[data-seen]")) {
    if (Number(part.dataset.seen) === version - 1 && !crosses(made, placeIn(part))) part.dataset.seen = version;
  }
  emit("draft-moved", {version, crosses: (other) => crosses(made, other)});
  place.dataset.seen = version;
}

// --- htmx: requests and answers -----------------------------------------------------------------------------------------------

document.addEventListener("htmx:config:request", ({detail: {ctx}}) => {
  if (!ctx.edit) return;
  const body = new URLSearchParams(ctx.edit.body);
  body.set("seen", ctx.edit.seen);
  body.set("edit", ctx.edit.id);
  // The field still shows the older saved text: have it rendered again, or typing would overwrite the new one.
  if (ctx.edit.adopted) body.set("reshape", "1");
  ctx.request.body = body;
  // Leaving the page does not abort an edit that is being sent (browsers allow 64 kB for this).
  ctx.request.keepalive = ctx.edit.body.length < 60_000;
});

document.addEventListener("htmx:before:request", (event) => {
  const {ctx} = event.detail;
  const form = isAutosave(ctx.sourceElement);
  if (ctx.edit || !form || !root() || ctx.request.method !== "POST") return;
  event.preventDefault();
  clearTimeout(typing.get(form));
  typing.delete(form);
  begun.delete(form);
  // Text can wait for the decision. Buttons, above all undo, would all take effect after it, unnoticed.
  if (queue.state === "conflict" && form.dataset.anchor === undefined) return undecided();
  add({ctx, form});
});

document.addEventListener("htmx:after:request", (event) => {
  const {ctx} = event.detail;
  const {status, headers} = ctx.response;
  // A draft that nobody has edited yet is at version 0.
  const header = headers.get("X-Draft-Version");
  const version = header === null ? null : Number(header);
  const {edit} = ctx;
  shown.before = document.querySelector("#inspector")?.dataset.seen;
  shown.current = document.querySelector(CURRENT)?.id;
  if (!edit) {
    if (ctx.request.method !== "GET") advance(version, queue.inConflict[0]);
    else if (header !== null && !ctx.again && root() && version < Number(root().dataset.seen)) return requestAgain(event);
    else if (root() && version > Number(root().dataset.seen)) root().dataset.seen = version;
    const prompt = ctx.sourceElement?.closest?.("[data-merge]");
    if (status < 300 && prompt) decided(version);
    if (status === 409 && prompt) [ctx.target, ctx.swap] = [prompt, "innerHTML"]; // replaces the prompt instead of adding a second one
    return;
  }
  if (status === 409) {
    edit.outcome = "conflict";
    ctx.target = document.querySelector("[data-merge]") ?? document.getElementById("main");
    ctx.swap = "innerHTML";
  } else if (status === 422) {
    edit.outcome = "refused";
  } else if (status === 204 || (status < 300 && version !== null)) {
    edit.outcome = "saved";
    advance(version, edit);
  } else {
    const lost = [401, 403, 404, 410].includes(status) ? "lost" : "offline";
    const inMaintenance = headers.has("Assay-Maintenance");
    edit.outcome = ctx.response.raw.redirected ? "signed-out" : inMaintenance ? "maintenance" : lost;
    if (status === 429 || inMaintenance) edit.retryAfter = Number(headers.get("Retry-After")) || 0;
    // A refusal names its target. A whole page cannot be shown here.
    if (status === 429 || status >= 500 || /^\s*<!doctype html/i.test(ctx.text)) event.preventDefault();
  }
  emit("edit-ended", {edit, outdated: queue.isOutdated(edit)});
});

/** Request an answer again, once, if it was rendered before the last edit was saved and would show the old text. */
function requestAgain(event) {
  const {target, swap, sourceElement, request} = event.detail.ctx;
  event.preventDefault();
  const source = sourceElement.isConnected ? sourceElement : document.body;
  globalThis.htmx.ajax("GET", request.action, {source, target, swap, again: true});
}

/** Handle the answer to the prompt of a conflict: input at that place is now based on `version`, too. */
function decided(version) {
  for (const form of typing.keys()) {
    if (version !== null && queue.inConflict.some((edit) => isOf(edit, form))) form.dataset.seen = version;
  }
  queue.decide(version);
}

// A form with unsent input keeps it when the page around it changes.
globalThis.htmx?.registerExtension("assay-autosave", {
  htmx_before_morph_node(element, {newNode}) {
    // What the user has opened stays open.
    if (element.localName === "details" && element.open) newNode.open = true;
    if (element.matches?.(".fold[aria-expanded=true]")) {
      newNode.ariaExpanded = "true";
      newNode.nextElementSibling?.removeAttribute("hidden");
    }
    if (!element.matches?.("form[data-autosave]")) return true;
    return !(isAhead(element) || "unsent" in element.dataset);
  },
});

// A morph compares markup, and changes only the markup of a ticked box or a chosen option. So the fields' values are
// copied into their markup before it, and back from it afterwards. words.js keeps input that is not saved, and that of a
// review: in those forms the markup is what the server has stored.
const CURRENT = "#chat [aria-current]";
const MARKED = "#inspector :is(input, select, textarea):not(form[data-unsent] *, form[data-keep] *)";

document.addEventListener("htmx:before:swap", ({detail: {ctx, tasks}}) => {
  const editor = document.querySelector("#inspector");
  if (!ctx.edit && ctx.request.method === "GET" && tasks.some(({target}) => target === editor)) shown.chosen += 1;
  // An edit's answer may come late: it does not replace an editor that was opened since.
  shown.staysAt = null;
  if (ctx.edit && ctx.edit.chosen !== shown.chosen && editor && !tasks.some((task) => showsSame(task, editor))) {
    shown.staysAt = shown.current;
    for (let at = tasks.length - 1; at >= 0; at -= 1) if (editor.contains(tasks[at].target)) tasks.splice(at, 1);
  }
  // Input in a form that is rendered again goes back into it as an edit that waits to be sent (see putBack).
  const replaced = tasks.filter(({swapSpec}) => !/Morph$/.test(swapSpec?.style ?? swapSpec));
  for (const form of [...typing.keys()]) if (replaced.some(({target}) => target?.contains?.(form))) send(form);
  for (const field of document.querySelectorAll(MARKED)) {
    if (field.matches("[type=checkbox], [type=radio]")) field.defaultChecked = field.checked;
    else if (field.localName === "select") for (const option of field.options) option.defaultSelected = option.selected;
    else if (field.type !== "hidden" && !isHalfTyped(field)) field.defaultValue = field.value;
  }
});

/** Whether a field's JSON is not valid: it is never sent, so its markup keeps what is saved. */
const isHalfTyped = (field) => Boolean(field.closest('code-editor[data-lang="json"]')) && !isJson(field.value);

/** Make dialogue and tool bar, which the answer rendered for the place of its edit, show the open editor again. */
function stay() {
  const place = shown.staysAt && document.getElementById(shown.staysAt);
  if (!place) return;
  document.querySelector(CURRENT)?.removeAttribute("aria-current");
  place.setAttribute("aria-current", "true");
  const {at, panel} = document.querySelector("#inspector").dataset;
  for (const field of document.querySelectorAll("#toolbar input[name=at]")) field.value = at;
  for (const field of document.querySelectorAll("#toolbar input[name=panel]")) field.value = panel;
}

function showsSame({fragment}, editor) {
  const made = fragment?.querySelector?.("#inspector");
  return made && made.dataset.at === editor.dataset.at && made.dataset.panel === editor.dataset.panel;
}

/** Put unsent edits back into an editor that was rendered again and shows what is saved. */
function putBack() {
  for (const form of document.querySelectorAll('form[data-autosave=""]')) {
    if (typing.has(form) || "unsent" in form.dataset) continue;
    const edit = queue.edits.findLast((other) => isUnanswered(other) && isOf(other, form) && other.op === form.elements.op?.value);
    if (!edit) continue;
    emit("words-wait", {form, body: edit.body});
    form.dataset.seen = edit.seen; // it is still based on the version that was shown then
  }
}

/** Whether a field takes the saved value: nobody types in it, or an edit sent after a reload has replaced its value. */
function shows(field, edit) {
  if (edit?.adopted && !typing.has(field.form)) return true;
  return field !== document.activeElement && !field.closest("code-editor")?.isTypedIn;
}

document.addEventListener(
  "htmx:after:swap",
  ({detail: {ctx}}) => {
    stay();
    for (const field of document.querySelectorAll(MARKED)) {
      if (field.form && isAhead(field.form)) continue; // an answer is shown in several steps: the user may have typed in between
      if (field.matches("[type=checkbox], [type=radio]")) field.checked = field.defaultChecked;
      else if (field.localName === "select") field.selectedIndex = Math.max(0, [...field.options].findIndex((one) => one.defaultSelected));
      else if (field.type === "hidden" || field.value === field.defaultValue) continue;
      else if (shows(field, ctx.edit)) field.value = field.defaultValue;
      else if (ctx.edit && ctx.edit.anchor === field.form.dataset.anchor && ctx.edit.op === placeIn(field.form).op) continue; // saved in another spelling
      else if (shown.before) field.form.dataset.seen ??= shown.before; // the input stays based on the version that was shown
    }
  },
  true, // before words.js restores input
);

document.addEventListener("htmx:after:swap", putBack);

document.addEventListener("assay:words-back", (event) => {
  if (savesItself(event.detail.form) && isAhead(event.detail.form)) event.preventDefault();
});

// --- typing ----------------------------------------------------------------------------------------------------------------------

function send(form) {
  clearTimeout(typing.get(form));
  typing.delete(form);
  if (root()) add({ctx: requestOf(form), form});
}

/** Return what htmx would send. The form may have been swapped out while the user typed; it still has the input. */
function requestOf(form) {
  return {
    request: {body: new URLSearchParams(/** @type {any} */ (new FormData(form))), action: form.action},
    target: document.querySelector(form.getAttribute("hx-target")),
    swap: form.getAttribute("hx-swap"),
  };
}

function sendAll() {
  for (const form of [...typing.keys()]) send(form);
}

document.addEventListener("input", ({target}) => {
  const form = savesItself(target);
  if (!form && target.name && isAutosave(target)) begun.add(isAutosave(target));
  if (!form || !target.name) return;
  clearTimeout(typing.get(form));
  if (root()) form.dataset.seen ??= seenIn(form);
  typing.set(form, setTimeout(() => send(form), PAUSE));
  queue.expect();
});

document.addEventListener("change", ({target}) => {
  const form = savesItself(target);
  if (form && target.name && (typing.has(form) || !target.matches("input, textarea"))) send(form);
});

document.addEventListener(
  "submit",
  async (event) => {
    const form = event.target;
    if (form.matches("[data-autosave]")) {
      for (const other of [...typing.keys()]) if (other !== form) send(other);
      return;
    }
    sendAll();
    // What opens a part of the page only waits: input that can't be saved yet stays in this browser.
    const unfinished = form.method === "get" ? "" : root()?.dataset.unfinished;
    if (!form.matches("[data-after-saving]") || !(queue.edits.length || unfinished)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const {submitter} = event;
    form.dataset.waits = "";
    if (await allSaved(form)) return sendForm(form, submitter);
    delete form.dataset.waits;
    const text = form.dataset.keep
      ? gettext("Some changes to this dialogue aren’t saved yet, so nothing was sent. Open its editor to save them.")
      : gettext("Your last changes aren’t saved yet, so nothing was sent. The save status shows why.");
    emit("toast", {tone: "bad", text, leads: root()?.dataset.unfinished, until: "saved"});
  },
  true,
);

/** Submit a form. The answers to the edits it waited for may have replaced it. */
function sendForm(form, submitter) {
  const shown = form.isConnected ? form : document.getElementById(form.id);
  const same = (button) => button.type === "submit" && button.name === submitter?.name && button.className === submitter?.className;
  if (shown) shown.requestSubmit(form.isConnected ? submitter : [...shown.elements].find(same));
}

function allSaved(form) {
  return new Promise((resolve) => {
    const look = () => {
      const stuck = ["conflict", "refused", "unfinished", ...LATER, ...ENDED].includes(queue.state);
      if (queue.edits.length && !stuck) return;
      document.removeEventListener("assay:save-state", look);
      resolve(!queue.edits.length && (form.method === "get" || !root()?.dataset.unfinished));
    };
    document.addEventListener("assay:save-state", look);
    look();
  });
}

// --- the save status ------------------------------------------------------------------------------------------------------------------

function statusText(state) {
  const count = queue.edits.length;
  const clock = new Intl.DateTimeFormat(document.documentElement.lang || "en", {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
  const text = {
    saved: queue.savedAt ? gettext("Saved %(time)s") : asLoaded ?? "",
    saving: gettext("Saving…"),
    offline: ngettext("Offline – %(count)s change kept in this browser", "Offline – %(count)s changes kept in this browser", count),
    maintenance: ngettext("Maintenance – %(count)s change kept in this browser", "Maintenance – %(count)s changes kept in this browser", count),
    conflict: gettext("Conflict – choose which version to keep"),
    refused: gettext("Not saved – see the message next to the field"),
    unfinished: gettext("Not saved – invalid JSON"),
    "signed-out": ngettext("Signed out – %(count)s change kept in this browser", "Signed out – %(count)s changes kept in this browser", count),
    lost: ngettext("Not saved – %(count)s change kept in this browser", "Not saved – %(count)s changes kept in this browser", count),
  }[state];
  return interpolate(text, {count, time: clock.format(queue.savedAt)});
}

function show(next) {
  const text = statusText(next);
  for (const place of document.querySelectorAll("[data-save-state]")) {
    place.dataset.state = next;
    (place.querySelector("[data-save-text]") ?? place).textContent = text;
    const button = place.querySelector("[data-save-retry]");
    if (button) button.hidden = ![...LATER, ...ENDED].includes(next);
    const link = place.querySelector("[data-save-sign-in]");
    if (link) link.hidden = next !== "signed-out";
    const {unfinished} = root()?.dataset ?? {};
    for (const way of place.querySelectorAll("[data-save-unfinished]")) way.hidden = !unfinished || !["unfinished", "refused"].includes(next);
    place.querySelector("a[data-save-unfinished]")?.setAttribute("href", unfinished ?? "");
  }
  const trouble = ["saved", "saving"].includes(next) ? "" : text;
  // Each retry is “saving” for a moment: neither a new trouble nor the end of one.
  if (next !== "saving" && trouble !== announced) {
    emit("announce", {text});
    announced = trouble;
  }
  emit("save-state", {state: next});
  const prompt = next === "conflict" && document.querySelector("[data-merge]");
  if (prompt) emit("question", {at: prompt});
}

// --- events from outside ----------------------------------------------------------------------------------------------------------------

addEventListener("online", () => queue.retry({reset: true}));

document.addEventListener("visibilitychange", () => {
  if (document.hidden) sendAll();
  else if ([...LATER, "signed-out"].includes(queue.state)) queue.retry();
});

// A double click counts as one click, except on buttons that are pressed repeatedly.
document.addEventListener(
  "click",
  (event) => {
    const button = event.detail > 1 && event.target.closest?.("form[data-autosave] button");
    if (button && !button.matches("[data-repeats], [data-held]")) event.preventDefault();
  },
  true,
);

document.addEventListener("click", (event) => {
  if (event.target.closest?.("[data-save-retry]")) queue.retry();
  if (event.target.closest?.("[data-discard-edit]")) {
    queue.dropConflict();
    location.reload();
  }
});

document.addEventListener("assay:words-dropped", ({detail: {keys}}) => queue.dropRefused(keys));

addEventListener("beforeunload", (event) => {
  sendAll();
  // An edit that is being sent arrives even if the page closes; any other would be left behind in this browser.
  if (queue.edits.some((edit) => edit !== queue.current)) event.preventDefault();
});

// Going back shows the page as it was loaded, with an old version: load it again.
const stale = root() && performance.getEntriesByType("navigation")[0]?.type === "back_forward";
if (stale) location.reload();
else begin();

/** Send what was left when the draft was last open. */
function begin() {
  queue.begin();
  putBack();
  if (queue.edits.length) {
    // htmx starts when the document is ready.
    if (document.readyState === "complete") queue.run();
    else addEventListener("load", () => queue.run(), {once: true});
  } else if (root()?.dataset.unfinished) {
    queue.settle();
  }
}

document.addEventListener("assay:item-comes", sendAll);
document.addEventListener("assay:item", () => {
  asLoaded = document.querySelector("[data-save-text]")?.textContent;
  announced = "";
  begin();
});
