// Keyboard shortcuts, declared in the markup:
//
//   data-key="a"            the key clicks a button or link, or focuses a field; "g d" is two keys in sequence;
//                           "Shift+X", "ArrowUp", "?" and so on are names of KeyboardEvent.key
//   data-key-label="…"      its name in the shortcuts dialog (default: the element's own name)
//   data-key-group="…"      on it or around it: the heading in the dialog (default: This page)
//   data-keys="a=…|Delete=…"   keys that the element's own script handles while it has the focus: only listed here
//   data-key-scope          around elements with keys that others have as well: those near the focus win
//   data-nav-item           j and k move between these (with Shift to the first and last); give them tabindex="-1"
//   data-held="z Shift+Z"   each of these keys with Ctrl or Cmd, outside text fields, clicks it (undo, redo); neither
//                           these nor its data-key move the focus
//   data-primary            Ctrl+Enter clicks it, unless the focus is in an ordinary form, which it submits instead
//
// If several elements have the same key, the one in the focused scope or fieldset wins, then the one in the focused item (if no item has had the focus, in the one
// marked aria-current), then the one in an open dialog, then the first visible one. Keys are ignored while the user
// types, and if another handler has used them (preventDefault). A closed select that saves itself does not count as
// typing: a letter would choose and save an option unnoticed, so letters without a meaning do nothing. Single keys can
// be switched off in the dialog; those with Ctrl or Cmd cannot.

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

// --- find the element of a key ----------------------------------------------------------------------------------------

function nameOf(event) {
  let {key} = event;
  // On a keyboard for another script, use the key's position.
  if (key.length === 1 && key > "\x7f" && /^Key[A-Z]$/.test(event.code)) key = event.code.slice(3).toLowerCase();
  if (event.shiftKey && (key.length > 1 || /[a-z]/i.test(key))) return `Shift+${key.length === 1 ? key.toUpperCase() : key}`;
  return key;
}

// The key of an element in a closed menu works as well.
function within(element) {
  const menu = element.closest("details.menu:not([open])") ?? element;
  const folded = menu.closest(".unfolded:not(:popover-open)");
  return folded && getComputedStyle(folded).display === "none" ? folded.parentElement : menu;
}

function usable(element) {
  return !element.disabled && element.getAttribute("aria-disabled") !== "true" && within(element).checkVisibility();
}

function scope() {
  return document.querySelector("dialog:modal") ?? document;
}

function find(keys) {
  const all = [...scope().querySelectorAll(`[data-key="${CSS.escape(keys)}"]`)].filter(usable);
  const near = document.activeElement?.closest?.("[data-key-scope], fieldset");
  const item = currentItem() ?? scope().querySelector("[data-nav-item][aria-current]");
  return all.find((element) => near?.contains(element)) ?? all.find((element) => item?.contains(element)) ?? all.find((element) => !element.closest("[data-nav-item]")) ?? all[0];
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
    // Focus the button first: if it opens a dialog, closing the dialog returns the focus to it.
    if (!element.matches("[data-held]")) element.focus({preventScroll: true});
    element.click();
  }
}

// --- j and k ------------------------------------------------------------------------------------------------------------

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
    // Even if there is nothing to undo: the browser would undo typing in some field.
    if (held) event.preventDefault();
    if (held && usable(held)) held.click();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !isOn() || event.target.closest?.(TYPING)) return;
  if (["Shift", "Tab", "Enter", " "].includes(name)) return;
  // Arrows move through a select's options.
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
    // Storage is not available: the choice applies to this page only.
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
