// Keyboard shortcuts, declared in the markup:
//
//   data-key="a"            that key clicks a button or link, and focuses a field; "g d" is two keys one after the
//                           other; "Shift+X", "ArrowUp", "?" and the like are names of KeyboardEvent.key
//   data-key-label="…"      what the shortcuts dialog calls it (default: the element's own name)
//   data-key-group="…"      on it or around it: the heading in the dialog (default: This page)
//   data-keys="a=…|Delete=…"   keys that the element's own script handles while it has the focus: only listed here
//   data-nav-item           j and k (or Shift for the first and last) walk through these; give them tabindex="-1"
//   data-held="z Shift+Z"   each of these, held with Ctrl or Cmd outside of text, clicks it (undo, redo); the focus
//                           stays where it is, by its data-key, too
//   data-primary            Ctrl+Enter clicks it, when the focus is not in an ordinary form, which it then submits
//
// Where several elements carry the same key, the one in the item that has the focus wins (where none has had it, in the
// one marked aria-current), then the one in an open dialog, then the first that can be seen. No key is taken while somebody types, or when another handler has already
// used it (preventDefault). A closed select that saves itself is no place to type: a letter would choose something, and
// save it, unseen, so one that means nothing does nothing. Single keys can be switched off in the dialog; those held with Ctrl stay.

import {gettext} from "./translation.js";

const STORED = "assay.shortcuts";
const CHORD_MILLISECONDS = 1200;
const TEXT = "input:not([type=checkbox], [type=radio], [type=button], [type=submit], [type=file]), textarea, code-editor, [contenteditable]";
const SELECT = CSS.supports("selector(select:open)") ? 'select:open, select:not(form[data-autosave=""] select)' : "select";
const TYPING = `${TEXT}, ${SELECT}`;

const dialog = document.getElementById("shortcuts");
let pending = "";
let pendingUntil = 0;
let lastItem = null;

function isOn() {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

function show(on) {
  document.documentElement.dataset.shortcuts = on ? "on" : "off";
  for (const element of document.querySelectorAll("[data-key]")) {
    const key = element.dataset.key;
    if (on && !key.includes(" ")) element.setAttribute("aria-keyshortcuts", key);
    else element.removeAttribute("aria-keyshortcuts");
  }
}

// --- finding what a key means -----------------------------------------------------------------------------------------

function nameOf(event) {
  let {key} = event;
  // A keyboard that writes another script still has the key where its owner expects it.
  if (key.length === 1 && key > "\x7f" && /^Key[A-Z]$/.test(event.code)) key = event.code.slice(3).toLowerCase();
  if (event.shiftKey && (key.length > 1 || /[a-z]/i.test(key))) return `Shift+${key.length === 1 ? key.toUpperCase() : key}`;
  return key;
}

// What stands in a closed menu can be reached by its key all the same.
function within(element) {
  return element.closest("details.menu:not([open])") ?? element;
}

function usable(element) {
  return !element.disabled && element.getAttribute("aria-disabled") !== "true" && within(element).checkVisibility();
}

function scope() {
  return document.querySelector("dialog:modal") ?? document;
}

function find(keys) {
  const all = [...scope().querySelectorAll(`[data-key="${CSS.escape(keys)}"]`)].filter(usable);
  const item = currentItem() ?? scope().querySelector("[data-nav-item][aria-current]");
  return all.find((element) => item?.contains(element)) ?? all.find((element) => !element.closest("[data-nav-item]")) ?? all[0];
}

function startsChord(key) {
  return [...scope().querySelectorAll(`[data-key^="${CSS.escape(key)} "]`)].some(usable);
}

function act(element) {
  if (element.matches("input:not([type=checkbox], [type=radio], [type=submit], [type=button]), select, textarea")) {
    element.focus();
    element.select?.();
  } else if (element.matches("code-editor, [data-key-focus]")) {
    element.focus();
  } else {
    // A button that takes the focus first leaves it in a sensible place when a dialog it opens is closed.
    if (!element.matches("[data-held]")) element.focus({preventScroll: true});
    element.click();
  }
}

// --- walking ------------------------------------------------------------------------------------------------------------

function items() {
  return [...scope().querySelectorAll("[data-nav-item]")].filter((item) => item.checkVisibility());
}

function currentItem() {
  const focused = document.activeElement?.closest?.("[data-nav-item]");
  if (focused) return focused;
  return lastItem?.isConnected ? lastItem : null;
}

function walk(name) {
  const all = items();
  if (!all.length) return false;
  const at = all.indexOf(currentItem());
  const to = {j: at + 1, k: at < 0 ? 0 : at - 1, "Shift+J": all.length - 1, "Shift+K": 0}[name];
  const item = all[Math.max(0, Math.min(all.length - 1, to))];
  lastItem = item;
  const target = item.matches("a, button, [tabindex]") ? item : (item.querySelector("a, button, [tabindex]") ?? item);
  target.focus({preventScroll: true});
  item.scrollIntoView({block: "nearest"});
  return true;
}

document.addEventListener("focusin", (event) => {
  lastItem = event.target.closest?.("[data-nav-item]") ?? lastItem;
});

// --- keys -----------------------------------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
    if (!event.repeat && submitAround(event.target)) event.preventDefault();
    return;
  }
  const name = nameOf(event);
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.target.closest?.(TEXT)) {
    const held = [...scope().querySelectorAll("[data-held]")].find((one) => one.dataset.held.split(" ").includes(name));
    // Also where there is nothing to undo: the browser would take back what was typed in some field.
    if (held) event.preventDefault();
    if (held && usable(held)) held.click();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !isOn() || event.target.closest?.(TYPING)) return;
  if (["Shift", "Tab", "Enter", " "].includes(name)) return;
  // An arrow goes through a select's options.
  if (event.target.localName === "select" && event.key.length > 1) return;
  if (handle(name, event) || event.target.localName === "select") event.preventDefault();
});

function handle(name, event) {
  const chord = Date.now() < pendingUntil ? `${pending} ${name}` : "";
  pendingUntil = 0;
  const element = (chord && find(chord)) || find(name);
  if (element) {
    if (!event.repeat) act(element);
    return true;
  }
  if (startsChord(name)) {
    pending = name;
    pendingUntil = Date.now() + CHORD_MILLISECONDS;
    return true;
  }
  if (["j", "k", "Shift+J", "Shift+K"].includes(name)) return walk(name);
  if (name === "?" && dialog && !event.repeat) {
    open();
    return true;
  }
  return false;
}

function submitAround(element) {
  const form = element.closest?.("form");
  if (form && !form.matches("[data-autosave], [method=dialog]")) {
    const buttons = [...form.elements].filter((control) => control.matches("button, input") && control.type === "submit");
    form.requestSubmit(buttons.find((button) => button.matches("[data-primary]")) ?? buttons[0]);
    return true;
  }
  const primary = [...scope().querySelectorAll("[data-primary]")].find(usable);
  primary?.click();
  return Boolean(primary);
}

// --- the dialog -------------------------------------------------------------------------------------------------------------

function labelOf(element) {
  if (element.dataset.keyLabel) return element.dataset.keyLabel;
  const field = element.querySelector("textarea") ?? element; // of a code editor
  const named = field.labels?.[0] ?? element;
  const copy = named.cloneNode(true);
  for (const extra of copy.querySelectorAll("kbd, .hint, [aria-hidden=true]")) extra.remove();
  return element.getAttribute("aria-label") ?? copy.textContent.replace(/\s+/g, " ").trim();
}

function keysOf(text) {
  return text.split(" ").flatMap((key, index) => {
    const node = document.createElement("kbd");
    node.textContent = key;
    return index ? [" ", node] : [node];
  });
}

function open() {
  const groups = new Map();
  for (const element of document.querySelectorAll("[data-key]")) {
    if (!element.checkVisibility() && !element.closest("details.menu")) continue;
    const group = element.closest("[data-key-group]")?.dataset.keyGroup ?? gettext("This page");
    if (!groups.has(group)) groups.set(group, new Map());
    if (!groups.get(group).has(element.dataset.key)) groups.get(group).set(element.dataset.key, labelOf(element));
  }
  for (const element of document.querySelectorAll("[data-keys]")) {
    if (!element.checkVisibility()) continue;
    const keys = element.dataset.keys.split("|").map((pair) => pair.trim().split("="));
    groups.set(element.dataset.keyGroup, new Map([...(groups.get(element.dataset.keyGroup) ?? []), ...keys]));
  }
  const list = dialog.querySelector("[data-shortcut-list]");
  list.replaceChildren();
  for (const [group, keys] of groups) {
    const heading = document.createElement("h3");
    heading.textContent = group;
    const terms = document.createElement("dl");
    terms.className = "keys";
    for (const [key, label] of keys) {
      const term = document.createElement("dt");
      term.append(...keysOf(key));
      const meaning = document.createElement("dd");
      meaning.textContent = label;
      terms.append(term, meaning);
    }
    list.append(heading, terms);
  }
  dialog.querySelector("[data-walk]").hidden = !items().length;
  dialog.showModal();
}

dialog?.querySelector("[data-shortcut-switch]").addEventListener("change", (event) => {
  try {
    localStorage.setItem(STORED, event.target.checked ? "on" : "off");
  } catch {
    // Storage is closed: the choice holds for this page.
  }
  show(event.target.checked);
});

document.addEventListener("click", (event) => {
  if (event.target.closest?.("[data-shortcuts-open]")) open();
});

const toggle = dialog?.querySelector("[data-shortcut-switch]");
if (toggle) toggle.checked = isOn();
show(isOn());
document.addEventListener("htmx:after:swap", () => show(isOn()));
