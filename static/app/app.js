// What every page needs. The modules of this folder meet in the document, through these events on `document`:
//
//   assay:toast     {text, tone}   show a notice (tone: good, info, warn, bad)
//   assay:announce  {text}         say something to a screen reader only
//   assay:question  {at}           show a question that came up, and focus it unless somebody is typing
//
// Markup this module gives life to:
//
//   data-dialog="id"           click opens that <dialog> as a modal; data-close inside it closes it
//   data-dismiss               click removes the notice around it
//   data-copy="#id"            click copies that element's text (or value); data-copy-text="…" copies the text itself
//   data-confirm="Question?"   on a form or its button: ask before submitting
//   data-escape-to="selector"  Escape inside it gives the focus to that element
//   data-autofocus             focused once, when it comes in with a swap; a form's summary of errors also with its page
//   <time data-local datetime> shown in the reader's own time zone
//   data-keep="URL"            on a form that htmx saves after a pause: what was typed last is sent when the page is left
//   details.menu               closes on Escape, on a click elsewhere and when focus leaves it

import {gettext} from "./translation.js";

const NOTICE_SECONDS = 8;

function emit(name, detail) {
  document.dispatchEvent(new CustomEvent(`assay:${name}`, {detail}));
}

// htmx starts itself a moment after the page has come; a link used in that moment would leave the page instead of changing it.
document.addEventListener("DOMContentLoaded", () => globalThis.htmx?.initialize());

// --- htmx: token, refusals, redirects ---------------------------------------------------------------------------------

// Signing in again in another window changes the token: all that this page holds of the old one is worth nothing then.
function freshToken() {
  const meta = document.querySelector('meta[name="csrf-token"]');
  const token = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1];
  if (!token || isSomebodyElses()) return meta?.content;
  for (const field of document.querySelectorAll('input[name="csrfmiddlewaretoken"]')) field.value = token;
  return token;
}

/** Whether somebody else than the page was made for is signed in by now, in another window. */
function isSomebodyElses() {
  const person = document.querySelector('meta[name="person"]')?.content;
  const now = document.cookie.match(/(?:^|; )assay_person=([^;]+)/)?.[1];
  return Boolean(person && now && person !== now);
}

/** Nothing is sent in the name of somebody who has not written it. */
function refuseForeign(event) {
  if (!isSomebodyElses()) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const text = gettext("Somebody else has signed in to this browser, so nothing was sent. Sign in again in another window and continue here, or reload this page.");
  emit("toast", {tone: "bad", text});
}

addEventListener("submit", (event) => event.target.method === "post" && refuseForeign(event), true);

// What is sent after the session has ended leads to the sign-in page, and what was typed is gone. So a form with words is
// sent once somebody is known to be signed in; forms that keep their words themselves need not ask. A double click sends once.
const HOLDS_WORDS = "textarea, input:not([type]), input[type=text], input[type=email], input[type=date], input[type=number], input[type=file]";
const KEEPS_WORDS = "[hx-post], [data-keep], [data-autosave]";
const DOUBLE_CLICK = 1000;
const ANSWERS_WITHIN = 10_000;
const asking = new WeakSet();
const allowed = new WeakSet();

addEventListener(
  "submit",
  async (event) => {
    const {target: form, submitter} = event;
    const person = document.querySelector('meta[name="person"]');
    if (!person || form.method !== "post" || form.matches(KEEPS_WORDS) || allowed.delete(form)) return;
    if (![...form.elements].some((field) => field.matches(HOLDS_WORDS))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (asking.has(form)) return;
    asking.add(form);
    const answer = await whetherSignedIn(person.dataset.signedIn);
    if (answer === "no") emit("toast", {tone: "bad", text: gettext("You are signed out, so nothing was sent. Sign in again in another window and continue here.")});
    else if (!answer) emit("toast", {tone: "bad", text: gettext("The server does not respond, so nothing was sent. Try again.")});
    else {
      allowed.add(form);
      form.requestSubmit(submitter);
      allowed.delete(form);
    }
    setTimeout(() => asking.delete(form), answer === "no" || !answer ? 0 : DOUBLE_CLICK);
  },
  true,
);

/** "yes" or "no"; nothing where no answer comes in time: whoever has pressed a button is waiting. */
async function whetherSignedIn(url) {
  const waits = new AbortController();
  const timer = setTimeout(() => waits.abort(), ANSWERS_WITHIN);
  try {
    const response = await fetch(url, {signal: waits.signal});
    return response.ok ? await response.text() : "";
  } catch {
    return "";
  } finally {
    clearTimeout(timer);
  }
}

addEventListener("focus", freshToken);
document.addEventListener("visibilitychange", freshToken);
document.addEventListener("submit", freshToken, true);

document.addEventListener("htmx:config:request", (event) => {
  const {ctx} = event.detail;
  // Edits of a draft are refused for whoever has none (autosave.js).
  if (!ctx.edit && ctx.request.method === "POST") refuseForeign(event);
  const token = freshToken();
  if (token && !/^(GET|HEAD|QUERY)$/.test(ctx.request.method)) {
    ctx.request.headers["X-CSRFToken"] = token;
    if (ctx.request.body?.has?.("csrfmiddlewaretoken")) ctx.request.body.set("csrfmiddlewaretoken", token);
  }
});

document.addEventListener("htmx:after:request", (event) => {
  const {ctx} = event.detail;
  // Edits of a draft answer for themselves (autosave.js).
  if (ctx.edit || ctx.target === document.body) return;
  const {status, raw} = ctx.response;
  const isPage = /^\s*<!doctype html/i.test(ctx.text ?? "");
  if (status >= 400 && (isPage || status >= 500)) {
    event.preventDefault();
    // kept-forms.js marks what it sends again, and says so itself.
    if (status >= 500 && ctx.keptForm) return;
    emit("toast", {tone: "bad", text: isPage ? sentenceOf(ctx.text) : gettext("Server error. Try again.")});
  } else if (isPage && raw.redirected && ctx.sourceElement?.closest?.("form[data-keep]")) {
    // It only saves itself: the page stays, with what was typed.
    event.preventDefault();
    unsaved.add(ctx.sourceElement.closest("form"));
    emit("toast", {tone: "bad", text: gettext("You are signed out, so this was not saved. Sign in again in another window and continue here.")});
  } else if (isPage && !ctx.select) {
    // A redirect was followed to a whole page: go there instead of putting it into a corner of this one.
    event.preventDefault();
    location.assign(raw.url);
  }
});

document.addEventListener("htmx:error", ({detail: {ctx, error}}) => {
  const polls = ctx?.sourceEvent?.type === "every";
  if (!ctx || ctx.edit || polls || ctx.keptForm || !(error instanceof TypeError || error?.name === "AbortError")) return;
  // What is typed meanwhile is kept: of what was only asked for there is nothing to say but that it did not come.
  const asked = /^(GET|HEAD|QUERY)$/.test(ctx.request.method);
  const text = asked
    ? gettext("No connection to the server. This could not be loaded. Try again.")
    : gettext("No connection to the server. Nothing was changed. Try again.");
  emit("toast", {tone: "bad", text});
});

// If two pages are asked for one place, the later one stays there, whichever is answered first.
const asked = new WeakMap();

document.addEventListener("htmx:before:request", ({detail: {ctx}}) => {
  if (ctx.request.method !== "GET" || !ctx.target) return;
  asked.get(ctx.target)?.request.abort();
  asked.set(ctx.target, ctx);
});

// Whoever goes to a field meanwhile, or types, stays: the answer would take the field away, and the next keys would be commands.
const TYPED = "input:not([type=checkbox], [type=radio]), textarea, code-editor, [contenteditable]";

for (const type of ["input", "focusin"]) {
  document.addEventListener(type, ({target}) => {
    if (!target.closest("#inspector") || (type === "focusin" && !target.closest(TYPED))) return;
    asked.get(document.getElementById("edit-note"))?.request.abort();
  });
}

function sentenceOf(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const sentence = page.querySelector("[data-sentence]") ?? page.querySelector("main h1");
  return sentence?.textContent.trim() || gettext("The server refused the request. Nothing was changed.");
}

// --- focus after a swap -----------------------------------------------------------------------------------------------

const before = new WeakMap();

document.addEventListener("htmx:before:swap", ({detail: {ctx}}) => {
  const ids = [];
  for (let node = document.activeElement; node && node !== document.body; node = node.parentElement) {
    if (node.id) ids.push(node.id);
  }
  const item = document.activeElement?.closest("[data-nav-item]");
  const index = item ? [...document.querySelectorAll("[data-nav-item]")].indexOf(item) : -1;
  before.set(ctx, {ids, item, index, had: document.activeElement !== document.body});
});

document.addEventListener("htmx:after:swap", ({detail: {ctx}}) => {
  const wanted = document.querySelector("[data-autofocus]");
  const {ids = [], item, index = -1, had = false} = before.get(ctx) ?? {};
  if (wanted) {
    wanted.removeAttribute("data-autofocus");
    focusOn(wanted);
  } else if (had && (document.activeElement === document.body || document.activeElement.disabled)) {
    // What had the focus is gone, or about to lose it: stay as near to it as the page still reaches.
    const gone = item && !item.isConnected && !(item.id && document.getElementById(item.id));
    const items = gone ? [...document.querySelectorAll("[data-nav-item]")] : [];
    const place = ids.map((id) => document.getElementById(id)).find((node) => node?.checkVisibility() && !node.disabled);
    focusOn(items[Math.min(index, items.length - 1)] ?? place ?? document.getElementById("main"));
  }
  localTimes(document);
});

// --- what is open in the editor is seen in the dialogue -----------------------------------------------------------------

let followed = document.querySelector("#chat [aria-current]")?.id;

function follow() {
  const current = document.querySelector("#chat [aria-current]");
  if (!current || current.id === followed) return;
  followed = current.id;
  // Where both share one scroll bar, this would take the editor away.
  const pane = current.closest(".chat");
  if (pane && getComputedStyle(pane).overflowY === "auto") current.scrollIntoView({block: "nearest"});
}

document.addEventListener("htmx:after:swap", follow);
if (new URLSearchParams(location.search).has("at")) {
  document.querySelector("#chat [aria-current]")?.scrollIntoView({block: "center"});
}

// A page that refuses a form begins with why, also for who cannot see it.
focusOn(document.querySelector(".error-summary[data-autofocus]"));

function focusOn(element) {
  if (!element) return;
  element.focus({preventScroll: false});
  if (document.activeElement === document.body) {
    element.tabIndex = -1;
    element.focus();
  }
}

// --- words: toasts and the live region ----------------------------------------------------------------------------------

const toasts = document.getElementById("toasts");
const live = document.getElementById("live");

function announce(text) {
  if (!live) return;
  live.textContent = "";
  requestAnimationFrame(() => (live.textContent = text));
}

document.addEventListener("assay:announce", ({detail}) => announce(detail.text));

// Whoever is typing goes on typing: elsewhere the next keys would be commands, and the words lost.
document.addEventListener("assay:question", ({detail: {at}}) => {
  if (document.activeElement?.closest(TYPED)) return;
  at.scrollIntoView({block: "nearest"});
  at.focus();
});

document.addEventListener("assay:toast", ({detail: {text, tone = "info"}}) => {
  const template = document.getElementById(`notice-${tone}`);
  const known = [...(toasts?.querySelectorAll("[data-text]") ?? [])].some((other) => other.textContent === text);
  if (!template || !toasts || known) return;
  const notice = template.content.firstElementChild.cloneNode(true);
  notice.querySelector("[data-text]").textContent = text;
  toasts.append(notice);
});

function fade(notice) {
  // Bad news stays until somebody sends it away.
  if (!notice.matches?.(".notice.tone-good, .notice.tone-info")) return;
  let timer;
  const start = () => (timer = setTimeout(() => notice.remove(), NOTICE_SECONDS * 1000));
  const stop = () => clearTimeout(timer);
  for (const type of ["pointerenter", "focusin"]) notice.addEventListener(type, stop);
  for (const type of ["pointerleave", "focusout"]) notice.addEventListener(type, start);
  start();
}

if (toasts) {
  for (const notice of toasts.children) fade(notice);
  // A live region says what changes in it, not what was there when the page came.
  if (toasts.textContent.trim()) announce(toasts.textContent.replace(/\s+/g, " ").trim());
  new MutationObserver((records) => {
    for (const record of records) for (const node of record.addedNodes) if (node.nodeType === 1) fade(node);
  }).observe(toasts, {childList: true});
}

// --- clicks ---------------------------------------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const at = (selector) => event.target.closest?.(selector);
  const opener = at("[data-dialog]");
  if (opener) document.getElementById(opener.dataset.dialog)?.showModal();
  at("[data-close]")?.closest("dialog")?.close();
  at("[data-dismiss]")?.closest(".notice")?.remove();
  const copier = at("[data-copy], [data-copy-text]");
  if (copier) copy(copier);
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

async function copy(button) {
  const source = button.dataset.copy ? document.querySelector(button.dataset.copy) : null;
  const text = source ? (source.value ?? source.textContent) : button.dataset.copyText;
  try {
    await navigator.clipboard.writeText(text ?? "");
    emit("toast", {tone: "good", text: gettext("Copied")});
  } catch {
    emit("toast", {tone: "warn", text: gettext("This browser does not let this page copy text. Select the text and copy it yourself.")});
  }
}

document.addEventListener(
  "submit",
  (event) => {
    const question = event.submitter?.dataset.confirm ?? event.target.dataset?.confirm;
    if (question && !confirm(question)) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  },
  true,
);

// --- menus and drawers ------------------------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  const menu = event.target.closest?.("details.menu[open]");
  const drawer = document.querySelector(".drawer:popover-open");
  const notice = event.target.closest?.("#toasts .notice");
  const leaves = event.target.closest?.("[data-escape-to]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  } else if (notice) {
    notice.remove();
  } else if (drawer && !document.querySelector("dialog:modal")) {
    drawer.hidePopover();
  } else if (leaves) {
    document.querySelector(leaves.dataset.escapeTo)?.focus();
  } else {
    return;
  }
  event.preventDefault();
});

// A drawer that closes gives the focus back to the button that opens it.
document.addEventListener(
  "toggle",
  ({target, newState}) => {
    if (!target.matches?.(".drawer") || newState !== "closed") return;
    const focused = document.activeElement;
    if (focused !== document.body && !target.contains(focused)) return;
    document.querySelector(`[popovertarget="${CSS.escape(target.id)}"]:not([popovertargetaction])`)?.focus();
  },
  true,
);

document.addEventListener("focusout", (event) => {
  const menu = event.target.closest?.("details.menu[open]");
  if (menu && event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
});

// --- times --------------------------------------------------------------------------------------------------------------------

function localTimes(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    const date = new Date(time.dateTime);
    if (Number.isNaN(date.valueOf())) continue;
    const clock = time.dataset.local === "clock" && date.toDateString() === new Date().toDateString();
    /** @type {Intl.DateTimeFormatOptions} */
    const day = {dateStyle: "medium", ...(time.dataset.local === "date" ? {} : {timeStyle: "short"})};
    /** @type {Intl.DateTimeFormatOptions} */
    const style = clock ? {hour: "2-digit", minute: "2-digit", hourCycle: "h23"} : day;
    time.title ||= time.textContent.trim();
    time.textContent = new Intl.DateTimeFormat(document.documentElement.lang || "en", style).format(date);
    time.removeAttribute("data-local");
  }
}

localTimes(document);

// --- leaving a form that saves itself ---------------------------------------------------------------------------------------

const unsaved = new Set();

document.addEventListener("input", ({target}) => {
  const form = target.form ?? target.closest?.("form");
  if (form?.dataset.keep) unsaved.add(form);
});
document.addEventListener("htmx:before:request", ({target}) => unsaved.delete(target));
document.addEventListener("submit", ({target, defaultPrevented}) => {
  unsaved.delete(target);
  // All of the form is on its way now: a save that comes after it would find nothing to save into.
  if (target.dataset.keep && !defaultPrevented) target.dispatchEvent(new Event("htmx:abort"));
});

// The first is in time for the page that follows; where it does not come (a tab that is put away), the second does.
for (const type of ["beforeunload", "pagehide"]) {
  addEventListener(type, () => {
    for (const form of unsaved) {
      const body = new FormData(form);
      body.append("leaving", "1");
      navigator.sendBeacon(form.dataset.keep, body);
    }
    unsaved.clear();
  });
}
