// Takes the keys of the page. keys.js says which element a key belongs to, and when keys are left alone.
//
//   data-nav-item           keys move between these (by default j and k, with Shift to the last and first); give them
//                           tabindex="-1". One with a link to the editor (data-action="edit") is opened as well
//   data-key-twice          a link to a part of the editor where the same key goes on: it is pressed there as well
//   data-primary            Ctrl+Enter clicks it, unless the focus is in an ordinary form, which it submits instead
//   data-presses="undo"     clicks the element of that action
//   data-leads-to="selector"   on a choice of a fieldset: making it moves the focus to this field of the fieldset
//
// Keys are ignored if another handler has used them (preventDefault). In a closed select, letters do nothing: they would
// choose an option unnoticed (but see data-type-ahead in keys.js). Single keys can be switched off in the dialog; those
// with Ctrl or Cmd cannot.

import {gettext} from "./translation.js";
import {act, find, isOn, isTyping, namesOf, scope, scriptedKey, startsPair, TEXT, usable} from "./keys.js";

const PAIR_MILLISECONDS = 1200;
const OPEN_MILLISECONDS = 4000;
const MAX_WAITING = 8;
const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform);

let pending = "";
let pendingUntil = 0;
let lastItem = null;

// --- places: j and k ------------------------------------------------------------------------------------------------------

let link = null; // the link of the place that was chosen with a key, while the editor loads it
let openingUntil = 0;
let waiting = []; // keys pressed meanwhile: they are meant for that place

function items() {
  return [...scope().querySelectorAll("[data-nav-item]")].filter((item) => item.checkVisibility());
}

function currentItem() {
  const focused = document.activeElement?.closest?.("[data-nav-item]");
  if (focused) return focused;
  const again = lastItem?.isConnected ? lastItem : lastItem?.id && document.getElementById(lastItem.id);
  return again || scope().querySelector("[data-nav-item][aria-current]");
}

const WALKS = {"next-place": (at) => at + 1, "previous-place": (at) => Math.max(0, at - 1), "last-place": () => Infinity, "first-place": () => 0};

function walk(name) {
  const all = items();
  const step = Object.keys(WALKS).find((one) => scriptedKey(one) === name);
  if (!all.length || !step) return false;
  goTo(all[Math.min(all.length - 1, WALKS[step](all.indexOf(currentItem())))]);
  return true;
}

/** Go to a place, and open it in the editor if there is one. */
function goTo(item) {
  const moved = item !== currentItem();
  lastItem = item;
  focusOn(item);
  item.scrollIntoView({block: "nearest"});
  const other = document.getElementById(item.dataset.select ?? "");
  const opens = [item, other].map((one) => one?.querySelector("[data-action=edit]")).find(Boolean) ?? (other?.matches("a") && other);
  if (moved && opens) follow(opens);
}

/** Follow a link to the editor; keys wait until it is there. */
function follow(opens, keys = []) {
  link = opens;
  openingUntil = performance.now() + OPEN_MILLISECONDS;
  waiting = keys;
  opens.click();
}

/** Go to the next place with a finding, or to the previous one. */
function focusOn(item) {
  const target = item.matches("a, button, [tabindex]") ? item : (item.querySelector("a, button, [tabindex]") ?? item);
  target.focus({preventScroll: true});
}

// Opened by a key, an editor begins with its first field; by a click, with its heading (workspace.js: or with the field
// that was clicked).
let fieldsFrom = null; // the link that was opened
document.addEventListener("click", ({target, detail, isTrusted}) => {
  const opens = target.closest?.("#chat [data-action=edit]");
  fieldsFrom = opens && isTrusted && detail === 0 ? opens : null;
});

const isOpening = () => link !== null && performance.now() < openingUntil;

function opened({detail: {ctx}}) {
  if (fieldsFrom && ctx.sourceElement === fieldsFrom) {
    fieldsFrom = null;
    focusFirstField();
  }
  if (!link || ctx.sourceElement !== link) return;
  const item = !link.matches("[data-key-twice]") && currentItem();
  link = null;
  if (item) focusOn(item);
  const keys = waiting;
  waiting = [];
  for (const names of keys) {
    // What follows a key that leads into a field was typed for the field.
    if (isTyping({target: document.activeElement})) return;
    handle(names, {repeat: false, target: document.activeElement});
  }
}

document.addEventListener("htmx:after:swap", opened);
document.addEventListener("htmx:error", ({detail: {ctx, error}}) => {
  if (ctx?.sourceElement !== link || error?.name === "AbortError") return;
  link = null;
  waiting = [];
});

document.addEventListener("focusin", (event) => {
  lastItem = event.target.closest?.("[data-nav-item]") ?? lastItem;
});

// --- keys -----------------------------------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  const {ctrlKey, metaKey, altKey, target} = event;
  if ((ctrlKey || metaKey) && event.key === "Enter") {
    if (isLeaving() || isBurst()) event.preventDefault();
    else if (!event.repeat && submitAround(target)) {
      burstUntil = performance.now() + BURST_MILLISECONDS;
      sessionStorage.setItem(SENT, String(Date.now()));
      event.preventDefault();
    }
    return;
  }
  if ((ctrlKey || metaKey) && !altKey) return takeHeld(event);
  if (ctrlKey || metaKey || altKey) return;
  // In a form that saves itself, a letter would choose and save an option unnoticed.
  const saves = target.localName === "select" && target.closest("[data-autosave], [data-keep]");
  if (saves && !target.multiple && !("letters" in target.dataset) && event.key.length === 1 && event.key !== " " && !isOpen(target)) {
    event.preventDefault();
  }
  if (isSameKeyAgain(event)) return event.preventDefault();
  if (!isOn() || isTyping(event) || isLeaving() || ["Shift", "Tab", " "].includes(event.key)) return;
  // Enter presses what has the focus.
  if (event.key === "Enter" && target.closest?.("a[href], button, summary, input, [role=button], [role=option]")) return;
  if (!handle(namesOf(event), event)) return;
  taken = {key: event.key, at: performance.now()};
  event.preventDefault();
});

// A key that leads into a field and is held a little too long, or pressed twice, is not meant as text.
const AGAIN_MILLISECONDS = 400;
let taken = {key: "", at: -Infinity}; // the last key that did something

function isSameKeyAgain({key, target}) {
  const now = performance.now();
  if (key === taken.key && now - taken.at < AGAIN_MILLISECONDS && target.closest?.(TEXT)) {
    taken.at = now;
    return true;
  }
  if (key !== "Shift") taken = {key: "", at: -Infinity};
  return false;
}

// A form that leads to another page has been sent: what is typed until it arrives is for nothing on this one.
let leavingUntil = -Infinity;
const isLeaving = () => performance.now() < leavingUntil;
addEventListener("submit", ({target, defaultPrevented}) => {
  if (!defaultPrevented && target.method === "post") leavingUntil = performance.now() + OPEN_MILLISECONDS;
});
addEventListener("pageshow", () => (leavingUntil = -Infinity));
document.addEventListener("assay:item", () => (leavingUntil = -Infinity));

// Ctrl+Enter that is pressed once more, out of habit or because the page seemed slow, must not decide on what has just
// come up: the Review tab, the next item, the next step of a form. It does nothing until a second after the last press,
// and after the page has come, unless the person has used another key or the mouse meanwhile.
const SENT = "assay.sent";
const BURST_MILLISECONDS = 1000;
// Whether the page has come soon after that key, as the answer to a form or by a link.
const hasCome = () => Date.now() - Number(sessionStorage.getItem(SENT)) < OPEN_MILLISECONDS;
const endOfBurst = () => (hasCome() ? performance.now() + BURST_MILLISECONDS : -Infinity);
let burstUntil = endOfBurst();
document.addEventListener("assay:item", () => (burstUntil = endOfBurst()));

function isBurst() {
  // The checklist has asked, and says itself when one has had the time to read that.
  if (performance.now() > burstUntil || document.querySelector("[data-unanswered][data-asked]:not([hidden])")) return false;
  burstUntil = performance.now() + BURST_MILLISECONDS;
  return true;
}

for (const type of ["pointerdown", "input"]) addEventListener(type, () => (burstUntil = -Infinity), true);
addEventListener(
  "keydown",
  ({key}) => {
    if (!["Enter", "Control", "Meta", "Shift", "Alt"].includes(key)) burstUntil = -Infinity;
  },
  true,
);

const isOpen = (select) => CSS.supports("selector(select:open)") && select.matches(":open");

/** Take a key that is held with Ctrl or Cmd. */
function takeHeld(event) {
  const names = namesOf(event);
  const held = [...scope().querySelectorAll("[data-held]")].find((one) => one.dataset.held.split(" ").some((key) => names.includes(key)));
  if (!held) return;
  const inText = event.target.closest?.(TEXT);
  // Text fields keep their own undo. The search opens from them as well, where Ctrl+K is not a key of the system's text.
  if (held.dataset.action === "palette" ? inText && IS_MAC && event.ctrlKey : inText || isTyping({target: null})) return;
  // Even if there is nothing to undo: the browser would undo typing in some field.
  event.preventDefault();
  if (usable(held) && !(event.repeat && held.dataset.action === "palette")) held.click();
}

/** Whether a control of the editor belongs to another place than the one that has the focus. */
function isElsewhere(element, item) {
  const selected = document.querySelector("#chat [data-nav-item][aria-current]");
  if (!selected || !element.closest("#inspector") || document.activeElement?.closest("[data-nav-item]") !== item) return false;
  return Boolean(item?.closest("#chat")) && item !== selected && item.dataset.select !== selected.id && !item.contains(selected) && !selected.contains(item);
}

const ended = new Map(); // key → why it does nothing any more
document.addEventListener("assay:key-ended", ({detail: {key, text}}) => ended.set(key, text));
document.addEventListener("assay:item-comes", () => {
  ended.clear();
  pendingUntil = 0;
  link = null;
  lastItem = null;
  waiting = [];
  deletion = null;
});

function handle(names, event) {
  const before = performance.now() < pendingUntil ? pending : "";
  pendingUntil = 0;
  const pairs = before ? names.map((name) => `${before} ${name}`) : [];
  // The second key of a pair goes to no other place, as in "g k".
  const walks = pairs.some((name) => find(name, currentItem())) ? [] : names;
  for (const name of walks) if (Object.keys(WALKS).some((one) => scriptedKey(one) === name) && !find(name, currentItem())) return walk(name);
  if (isOpening()) {
    if (!event.repeat && waiting.length < MAX_WAITING) waiting.push(names);
    return true;
  }
  const item = currentItem();
  for (const name of [...pairs, ...names]) {
    const element = find(name, item);
    if (element) {
      // What is selected is deleted only where the focus is on it, or in its editor.
      const deletes = element.dataset.action === "delete";
      if (event.repeat || isElsewhere(element, item)) return true;
      if (deletes && !document.activeElement?.closest("[data-nav-item], #inspector")) return true;
      if (element.matches("[data-key-twice]")) follow(element, [names]);
      else act(element);
      if (element.dataset.action === "edit") fieldsFrom = element;
      return true;
    }
  }
  const first = names.find(startsPair);
  if (first) {
    pending = first;
    pendingUntil = performance.now() + PAIR_MILLISECONDS;
    return true;
  }
  const text = names.map((name) => ended.get(name) ?? nothingFor(name)).find(Boolean);
  if (text) document.dispatchEvent(new CustomEvent("assay:toast", {detail: {text, tone: "info"}}));
  if (text || !document.getElementById("workspace")) return Boolean(text);
  return names.includes(scriptedKey("first-field")) && focusFirstField();
}

/** Return why a key does nothing now, of an action that is only sometimes possible. */
function nothingFor(key) {
  return document.querySelector(`#shortcuts [data-nothing-for="${CSS.escape(key)}"]`)?.dataset.nothing;
}

function focusFirstField() {
  const fields = document.querySelectorAll("#inspector :is(code-editor, textarea, select, input:not([type=hidden]))");
  const free = [...fields].filter(usable);
  // The list of tools comes before the arguments, but is rarely what is wrong.
  const first = free.find((one) => one.localName !== "select") ?? free[0];
  first?.focus();
  // A value is usually replaced, a text corrected.
  if (first?.localName === "input") first.select();
  return Boolean(first);
}

function submitAround(element) {
  const form = element.closest?.("form");
  // An edit saves itself; a comment or the reason of a waiver is sent.
  if (form && !form.matches('[data-autosave]:not([data-autosave="sent"]), [method=dialog]')) {
    const buttons = [...form.elements].filter((control) => control.matches("button, input") && control.type === "submit");
    const [first] = buttons;
    const usual = buttons.find((button) => button.matches("[data-primary]")) ?? buttons.find((button) => !button.name);
    // Of several answers, the key must not choose one.
    if (usual || buttons.length < 2) form.requestSubmit(usual ?? first);
    else {
      first.focus();
      document.dispatchEvent(new CustomEvent("assay:toast", {detail: {text: gettext("Choose one of the buttons."), tone: "info"}}));
    }
    return true;
  }
  const primary = [...scope().querySelectorAll("[data-primary]")].find(usable);
  primary?.click();
  return Boolean(primary);
}

// --- buttons that press others ---------------------------------------------------------------------------------------------

document.addEventListener("click", ({target}) => {
  const name = target.closest?.("[data-presses]")?.dataset.presses;
  if (!name) return;
  [...document.querySelectorAll(`[data-action="${CSS.escape(name)}"]`)].find(usable)?.click();
  target.closest(".notice")?.remove();
});

// A choice that a key or the mouse makes leads on to its field: what is typed next is meant for it. Arrows pass it.
document.addEventListener("click", ({target, detail, isTrusted}) => {
  const choice = target.closest?.("label")?.control ?? target;
  if (!choice.dataset?.leadsTo || (isTrusted && target === choice && !detail)) return;
  const lead = () => act(choice.closest("fieldset").querySelector(choice.dataset.leadsTo));
  // After a click on its label, the choice itself gets the focus first.
  if (isTrusted) setTimeout(lead);
  else lead();
});

// What was deleted with one key is brought back with one. The toast stays only while the deletion is the newest change of
// the draft: its button undoes the newest one.
let deletes = null; // the form of the button that was pressed
let deletion = null; // its edit
let made; // the version of the draft that it made

const withdraw = () => document.querySelector("#toasts [data-presses=undo]")?.closest(".notice").remove();

document.addEventListener("click", ({target}) => {
  const button = target.closest?.("[data-action=delete]");
  if (button) deletes = button.form;
});
document.addEventListener("assay:edit-begins", ({detail: {form, edit}}) => {
  withdraw();
  deletion = form === deletes ? edit : null;
  deletes = null;
});
// What is typed is sent before the next button acts.
document.addEventListener("input", ({target}) => {
  if (!target.closest?.("form[data-autosave]")) return;
  withdraw();
  deletion = null;
});
document.addEventListener("htmx:after:swap", ({detail: {ctx}}) => {
  const version = document.querySelector("[data-draft]")?.dataset.seen;
  if (deletion && ctx.edit === deletion && ctx.response?.status < 400) {
    deletion = null;
    made = version;
    document.dispatchEvent(new CustomEvent("assay:toast", {detail: {text: gettext("Deleted"), tone: "good", presses: "undo"}}));
  } else if (version !== made) withdraw();
});
