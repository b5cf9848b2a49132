// What every page needs. The modules of this folder talk to each other through these events on `document`:
//
//   assay:toast     {text, tone}   show a notice (tone: good, info, warn, bad); `presses`: with a button that undoes it,
//                                  by pressing the element of that action (shortcuts.js); `leads`: with a link to the
//                                  change that it is about, or to what `leadsTo` says; `until`: when it goes
//   assay:over      {until}        the notices until then go: “saved” (everything is), “sent” (a form that was kept is),
//                                  “connected” (the server answers again)
//   assay:key-ended {key, text}    the action of a key has ended; pressing it later shows the text
//   assay:announce  {text}         announce something to screen readers only
//   assay:copied    {button}       a copy button has put its text into the clipboard
//   assay:question  {at}           scroll to a new question, and focus it unless the user is typing
//
// Markup that this module handles:
//
//   data-dialog="id"           click opens that <dialog> as a modal; data-close inside it closes it
//   data-dismiss               click removes the notice around it
//   data-copy="#id"            click copies that element's text (or value); data-copy-text="…" copies the given text
//   button.fold                click shows or hides the lines after it; searching in the page shows them, too
//   data-confirm="Question?"   on a form or its button: ask before submitting
//   data-confirm-on, data-confirm-off   on a choice: ask this, too, if it is made, or if it isn't
//   data-confirm-with="selector"   on such a choice: only if this field is filled in; else the server asks for it
//   data-needs="selector"      on a button: with this field empty, it leads there and shows data-needs-text
//   data-escape-to="selector"  Escape inside it moves the focus to that element
//   data-autofocus             focused once, when a swap brings it; an error summary also when its page loads, or the
//                              field that its value selects
//   <time data-local datetime> shown in the reader's own time zone
//   data-time-zone="NAME"      a note about another time zone: hidden where the reader's clock is the same
//   data-keep="URL"            on a form that htmx saves after a pause: leaving the page sends the latest input
//   details.menu               closes on Escape, on a click elsewhere and when focus leaves it

import {gettext} from "./translation.js";

const NOTICE_SECONDS = 8;

function emit(name, detail) {
  document.dispatchEvent(new CustomEvent(`assay:${name}`, {detail}));
}

// htmx starts itself shortly after the page has loaded. Until then a link would leave the page instead of updating it.
document.addEventListener("DOMContentLoaded", () => globalThis.htmx?.initialize());

// --- htmx: token, errors, redirects -----------------------------------------------------------------------------------

// Signing in again in another window changes the token, and the copies of the old one in this page become invalid.
function freshToken() {
  const meta = document.querySelector('meta[name="csrf-token"]');
  const token = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1];
  if (!token || isSomebodyElses()) return meta?.content;
  for (const field of document.querySelectorAll('input[name="csrfmiddlewaretoken"]')) {
    if (field.value !== token) field.value = token;
  }
  return token;
}

/** Whether somebody else has signed in, in another window, since this page was loaded. */
function isSomebodyElses() {
  const person = document.querySelector('meta[name="person"]')?.content;
  const now = document.cookie.match(/(?:^|; )assay_person=([^;]+)/)?.[1];
  return Boolean(person && now && person !== now);
}

/** Cancel the request if somebody else is signed in now: it would be sent in their name. */
function cancelForeign(event) {
  if (!isSomebodyElses()) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const text = gettext("Somebody else has signed in on this browser, so nothing was sent. Sign in again in another window and continue here, or reload this page.");
  emit("toast", {tone: "bad", text});
}

addEventListener("submit", (event) => event.target.method === "post" && cancelForeign(event), true);

// A form sent after the session has ended leads to the sign-in page, and its input is lost. So a form with input is
// sent only after the server has confirmed the session. Forms that keep their input themselves don't ask. A double
// click sends once.
const INPUTS = "textarea, input:not([type]), input[type=text], input[type=email], input[type=date], input[type=number], input[type=file]";
const KEEPS_INPUT = "[hx-post], [data-keep], [data-autosave]";
const DOUBLE_CLICK_MILLISECONDS = 1000;
const TIMEOUT_MILLISECONDS = 10_000;
const asking = new WeakSet();
const allowed = new WeakSet();

addEventListener(
  "submit",
  async (event) => {
    const {target: form, submitter} = event;
    const person = document.querySelector('meta[name="person"]');
    if (!person || form.method !== "post" || form.matches(KEEPS_INPUT) || allowed.delete(form)) return;
    if (![...form.elements].some((field) => field.matches(INPUTS))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (asking.has(form)) return;
    asking.add(form);
    const answer = await askWhetherSignedIn(person.dataset.signedIn);
    if (answer === "no") emit("toast", {tone: "bad", text: gettext("You are signed out, so nothing was sent. Sign in again in another window and continue here.")});
    else if (!answer) emit("toast", {tone: "bad", text: gettext("The server isn’t responding, so nothing was sent. Try again."), until: "connected"});
    else if (answer !== "yes" && !form.matches("[data-in-maintenance]")) emit("toast", {tone: "bad", text: answer}); // what operators say
    else {
      allowed.add(form);
      form.requestSubmit(submitter);
      allowed.delete(form);
    }
    setTimeout(() => asking.delete(form), answer === "yes" ? DOUBLE_CLICK_MILLISECONDS : 0);
  },
  true,
);

/** Return "yes" or "no", what is said during maintenance, or "" if there is no answer in time: the user has pressed a button and is waiting. */
async function askWhetherSignedIn(url) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), TIMEOUT_MILLISECONDS);
  try {
    const response = await fetch(url, {signal: abort.signal});
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
  // The server itself refuses edits to another person's draft (autosave.js).
  if (!ctx.edit && ctx.request.method === "POST") cancelForeign(event);
  const token = freshToken();
  if (token && !/^(GET|HEAD|QUERY)$/.test(ctx.request.method)) {
    ctx.request.headers["X-CSRFToken"] = token;
    if (ctx.request.body?.has?.("csrfmiddlewaretoken")) ctx.request.body.set("csrfmiddlewaretoken", token);
  }
});

document.addEventListener("htmx:after:request", (event) => {
  const {ctx} = event.detail;
  // autosave.js handles the answers to edits of a draft.
  if (ctx.edit || ctx.target === document.body) return;
  const {status, raw} = ctx.response;
  const isPage = /^\s*<!doctype html/i.test(ctx.text ?? "");
  // 429: too many requests. What is sent again later does not show the refusal in place of the content.
  const isLater = status === 429 || status >= 500;
  if (status >= 400 && (isPage || isLater)) {
    event.preventDefault();
    // kept-forms.js marks what it will send again, and shows its own message.
    if (isLater && ctx.keptForm) return;
    const words = raw.headers.has("Assay-Maintenance")
      ? gettext("Maintenance: nothing can be changed for now. Try again later.")
      : status === 429
        ? gettext("Too many requests. Wait a minute and try again.")
        : gettext("Server error. Try again.");
    emit("toast", {tone: "bad", text: isPage ? sentenceOf(ctx.text) : words});
  } else if (isPage && raw.redirected && ctx.sourceElement?.closest?.("form[data-keep]")) {
    // The form only saved itself: stay on the page and keep the input.
    event.preventDefault();
    unsaved.add(ctx.sourceElement.closest("form"));
    emit("toast", {tone: "bad", text: gettext("You are signed out, so this wasn’t saved. Sign in again in another window and continue here.")});
  } else if (isPage && !ctx.select) {
    // A redirect led to a whole page: go there instead of showing it inside this one.
    event.preventDefault();
    location.assign(raw.url);
  }
});

document.addEventListener("htmx:error", ({detail: {ctx, error}}) => {
  const polls = ctx?.sourceEvent?.type === "every";
  if (!ctx || ctx.edit || polls || ctx.keptForm || !(error instanceof TypeError || error?.name === "AbortError")) return;
  // A request that only reads cannot have changed anything.
  const reads = /^(GET|HEAD|QUERY)$/.test(ctx.request.method);
  const text = reads
    ? gettext("No connection to the server. This couldn’t be loaded. Try again.")
    : gettext("No connection to the server. Nothing was changed. Try again.");
  emit("toast", {tone: "bad", text, until: "connected"});
});

document.addEventListener("htmx:after:request", ({detail: {ctx}}) => {
  if (ctx.response.status < 500) emit("over", {until: "connected"});
});
addEventListener("online", () => emit("over", {until: "connected"}));

// If two requests have the same target, the later one wins, whichever is answered first.
const pending = new WeakMap();

document.addEventListener("htmx:before:request", ({detail: {ctx}}) => {
  if (ctx.request.method !== "GET" || !ctx.target) return;
  pending.get(ctx.target)?.request.abort();
  pending.set(ctx.target, ctx);
});

// Focusing a field or typing cancels the request: its answer would remove the field, and the next keys would be
// commands.
const TYPED = "input:not([type=checkbox], [type=radio]), textarea, code-editor, [contenteditable]";

for (const type of ["input", "focusin"]) {
  document.addEventListener(type, ({target}) => {
    if (!target.closest("#inspector") || (type === "focusin" && !target.closest(TYPED))) return;
    pending.get(document.getElementById("edit-note"))?.request.abort();
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

// An element that is removed with the focus has the styles of the half-changed page computed: it loses the focus before.
document.addEventListener("htmx:before:swap", ({detail: {tasks}}) => {
  const focused = document.activeElement;
  const goes = ({target, swapSpec}) => target !== document.body && target?.contains?.(focused) && /^(outer|inner)HTML$/.test(swapSpec?.style ?? swapSpec);
  if (focused !== document.body && tasks?.some(goes)) focused.blur();
});

document.addEventListener("htmx:after:swap", ({detail: {ctx}}) => {
  const wanted = document.querySelector("[data-autofocus]");
  const {ids = [], item, index = -1, had = false} = before.get(ctx) ?? {};
  if (wanted) {
    wanted.removeAttribute("data-autofocus");
    focusOn(wanted);
  } else if (had && (document.activeElement === document.body || document.activeElement.disabled)) {
    // The element with the focus is gone, or about to lose it: focus the nearest one that is left.
    const gone = item && !item.isConnected && !(item.id && document.getElementById(item.id));
    const items = gone ? [...document.querySelectorAll("[data-nav-item]")] : [];
    const place = ids.map((id) => document.getElementById(id)).find((node) => node?.checkVisibility() && !node.disabled);
    focusOn(items[Math.min(index, items.length - 1)] ?? place ?? document.getElementById("main"));
  }
  localTimes(document);
});

// A page that refuses a form starts with its errors, also for screen readers. It does so once: a later swap leaves the
// focus where the user works.
const errors = document.querySelector(".error-summary[data-autofocus]");
focusOn((errors?.dataset.autofocus && document.querySelector(errors.dataset.autofocus)) || errors);
errors?.removeAttribute("data-autofocus");

function focusOn(element) {
  if (!element) return;
  element.focus({preventScroll: false});
  if (document.activeElement === document.body) {
    element.tabIndex = -1;
    element.focus();
  }
}

// --- toasts and the live region -----------------------------------------------------------------------------------------

const toasts = document.getElementById("toasts");
const live = document.getElementById("live");

function announce(text) {
  if (!live) return;
  live.textContent = "";
  requestAnimationFrame(() => (live.textContent = text));
}

document.addEventListener("assay:announce", ({detail}) => announce(detail.text));

// Don't take the focus from somebody who is typing: elsewhere the next keys would be commands.
document.addEventListener("assay:question", ({detail: {at}}) => {
  if (document.activeElement?.closest(TYPED)) return;
  at.scrollIntoView({block: "nearest"});
  at.focus();
});

document.addEventListener("assay:toast", ({detail: {text, tone = "info", presses = "", leads = "", leadsTo = gettext("Go to change"), until = ""}}) => {
  const template = document.getElementById(`notice-${tone}`);
  const known = [...(toasts?.querySelectorAll("[data-text]") ?? [])].some((other) => other.textContent === text);
  if (!template || !toasts || known) return;
  const notice = template.content.firstElementChild.cloneNode(true);
  notice.querySelector("[data-text]").textContent = text;
  if (presses) {
    const button = document.createElement("button");
    button.className = "small";
    button.dataset.presses = presses;
    button.textContent = gettext("Undo");
    notice.querySelector("[data-dismiss]").before(button);
  }
  if (leads) {
    const link = document.createElement("a");
    link.className = "button small";
    link.href = leads;
    link.textContent = leadsTo;
    notice.querySelector("[data-dismiss]").before(link);
  }
  if (until) notice.dataset.until = until;
  toasts.append(notice);
});

document.addEventListener("assay:over", ({detail: {until}}) => {
  const over = toasts?.querySelectorAll(`[data-until="${until}"]`) ?? [];
  for (const notice of over) notice.remove();
  if (over.length && until !== "saved") announce(gettext("The server can be reached again."));
});

document.addEventListener("assay:save-state", ({detail: {state}}) => {
  if (state === "saved") emit("over", {until: "saved"});
});

// The seconds that are left, in words of the page's language. Screen readers don't read it out: see aria-hidden.
const secondsLeft = new Intl.NumberFormat(document.documentElement.lang || "en", {style: "unit", unit: "second"});

function fade(notice) {
  const undo = notice.querySelector?.("[data-undo]");
  // Warnings and errors stay until they are dismissed, but what they offer to undo ends.
  if (!undo && !notice.matches?.(".notice.tone-good, .notice.tone-info")) return;
  const passes = undo && notice.matches(".tone-warn, .tone-bad") ? undo : notice;
  const countdown = notice.querySelector("[data-countdown]");
  const seconds = Number(undo?.dataset.undo) || NOTICE_SECONDS;
  let timer;
  const tick = (left) => {
    if (countdown) countdown.textContent = secondsLeft.format(left);
    if (left) timer = setTimeout(tick, 1000, left - 1);
    else end();
  };
  const end = () => {
    const key = undo?.querySelector("[data-key]")?.dataset.key;
    passes.remove();
    if (key) emit("key-ended", {key, text: gettext("The time for undoing this is over.")});
  };
  const stop = () => clearTimeout(timer);
  const start = () => {
    stop();
    tick(seconds);
  };
  for (const type of ["pointerenter", "focusin"]) notice.addEventListener(type, stop);
  document.addEventListener("assay:item-comes", stop, {once: true});
  for (const type of ["pointerleave", "focusout"]) notice.addEventListener(type, start);
  start();
}

// What floats above the foot of the page must know how high it is. Properties of the root would be less code, but each
// change of them computes the styles of the whole page again. What changed is painted first.
const measured = new Map([[toasts, "--toasts"], [document.querySelector("body > .bar"), "--bar"]]);
const heights = new CSSStyleSheet();
heights.replaceSync(".toasts, .unfolded, .drawer, .inspector-side, :is(main, .chat, .inspector-side)::after {}");
document.adoptedStyleSheets.push(heights);
const measure = new ResizeObserver((changes) => requestAnimationFrame(() => noteHeights(changes)));

function noteHeights(changes) {
  const {style} = /** @type {CSSStyleRule} */ (heights.cssRules[0]);
  for (const {target, borderBoxSize} of changes) style.setProperty(measured.get(target), `${borderBoxSize[0].blockSize}px`);
  const foot = [...measured.values()].map((name) => style.getPropertyValue(name) || "0px");
  document.documentElement.style.scrollPaddingBlockEnd = `calc(${foot.join(" + ")})`;
}

for (const element of measured.keys()) if (element) measure.observe(element);

if (toasts) {
  // A live region announces changes, but not what was there when the page loaded.
  const shown = toasts.cloneNode(true);
  for (const silent of shown.querySelectorAll("[aria-hidden=true], [data-dismiss]")) silent.remove();
  if (shown.textContent.trim()) announce(shown.textContent.replace(/\s+/g, " ").trim());
  for (const notice of toasts.children) fade(notice);
  const textOf = (notice) => notice.querySelector("[data-text]")?.textContent.trim();
  new MutationObserver((records) => {
    for (const node of records.flatMap(({addedNodes}) => [...addedNodes])) {
      if (node.nodeType !== 1) continue;
      // The same refusal again takes the place of the first.
      for (const other of [...toasts.children]) if (other !== node && textOf(node) && textOf(other) === textOf(node)) other.remove();
      fade(node);
    }
  }).observe(toasts, {childList: true});
}

// --- clicks ---------------------------------------------------------------------------------------------------------------

const OPEN_MENU = "details.menu[open]:not(.bar > :popover-open *)";

document.addEventListener("click", (event) => {
  const at = (selector) => event.target.closest?.(selector);
  const opener = at("[data-dialog]");
  if (opener) document.getElementById(opener.dataset.dialog)?.showModal();
  at("[data-close]")?.closest("dialog")?.close();
  at("[data-dismiss]")?.closest(".notice")?.remove();
  const copier = at("[data-copy], [data-copy-text]");
  if (copier) copy(copier);
  // What a popover over the page does is seen on the page.
  const pressed = at(".bar > .unfolded:popover-open button:not([popovertarget], [data-dialog])");
  if (pressed) pressed.closest(":popover-open").hidePopover();
  const fold = at(".fold");
  if (fold) setFold(fold, fold.ariaExpanded !== "true");
  for (const menu of document.querySelectorAll(OPEN_MENU)) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("beforematch", ({target}) => {
  if (target.matches(".folded")) setFold(target.previousElementSibling, true);
});

function setFold(button, open) {
  button.ariaExpanded = String(open);
  if (open) button.nextElementSibling.removeAttribute("hidden");
  else button.nextElementSibling.setAttribute("hidden", "until-found");
}

async function copy(button) {
  const source = button.dataset.copy ? document.querySelector(button.dataset.copy) : null;
  const text = source ? (source.value ?? source.textContent) : button.dataset.copyText;
  try {
    await navigator.clipboard.writeText(text ?? "");
    emit("toast", {tone: "good", text: gettext("Copied")});
    emit("copied", {button});
  } catch {
    emit("toast", {tone: "warn", text: gettext("This browser doesn’t allow copying here. Select the text and copy it yourself.")});
  }
}

/** Return what to ask before a form is sent; empty if nothing. */
function questionOf({target: form, submitter}) {
  const choices = [...form.elements].filter(({type, disabled}) => ["checkbox", "radio"].includes(type) && !disabled);
  const asked = choices.map(({checked, dataset}) => {
    const field = dataset.confirmWith && document.querySelector(dataset.confirmWith);
    if (field && !field.value.trim()) return "";
    return checked ? dataset.confirmOn : dataset.confirmOff;
  });
  return [submitter?.dataset.confirm ?? form.dataset.confirm, ...asked].filter(Boolean).join("\n\n");
}

document.addEventListener(
  "submit",
  (event) => {
    const {needs} = event.submitter?.dataset ?? {};
    const needed = needs && document.querySelector(needs);
    if (needed && !needed.value.trim()) {
      event.preventDefault();
      event.stopImmediatePropagation();
      needed.focus();
      emit("toast", {text: event.submitter.dataset.needsText});
      return;
    }
    const question = questionOf(event);
    if (question && !confirm(question)) {
      asking.delete(event.target);
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  },
  true,
);

// --- menus and drawers ------------------------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  const menu = event.target.closest?.(OPEN_MENU);
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

// What the bar of a narrow window shows in a popover has no menu inside it: the menu is open while the popover is.
document.addEventListener(
  "toggle",
  ({target, newState}) => {
    if (!target.matches?.(".bar > .unfolded")) return;
    for (const menu of target.querySelectorAll("details.menu")) menu.open = newState === "open";
  },
  true,
);

// A drawer that closes moves the focus back to the button that opens it.
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
  const menu = event.target.closest?.(OPEN_MENU);
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

for (const note of document.querySelectorAll("[data-time-zone]")) {
  const clock = (/** @type {Intl.DateTimeFormatOptions} */ zone) => new Intl.DateTimeFormat("en", {dateStyle: "short", timeStyle: "short", ...zone}).format();
  try {
    note.hidden = clock({timeZone: note.dataset.timeZone}) === clock({});
  } catch {
    // This browser doesn't know the time zone: the note stays.
  }
}

// --- leaving a form that saves itself ---------------------------------------------------------------------------------------

const unsaved = new Set();
const submitted = new WeakSet();

document.addEventListener("input", ({target}) => {
  const form = target.form ?? target.closest?.("form");
  if (!form?.dataset.keep) return;
  unsaved.add(form);
  submitted.delete(form);
});
document.addEventListener("htmx:before:request", ({target}) => unsaved.delete(target));
document.addEventListener("submit", ({target, defaultPrevented}) => {
  unsaved.delete(target);
  // The whole form is being sent: a save that arrives after it would have nothing to save to. This holds for a save on
  // its way, and for one that waits for a pause in typing.
  if (!target.dataset.keep || defaultPrevented) return;
  submitted.add(target);
  target.dispatchEvent(new Event("htmx:abort"));
});
document.addEventListener("htmx:config:request", (event) => {
  if (submitted.has(event.detail.ctx.sourceElement)) event.preventDefault();
});

// The first is early enough for the next page. If it doesn't fire (a discarded tab), the second does.
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
