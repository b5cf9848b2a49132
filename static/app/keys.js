// What the scripts that take keys share: the names of keys, whether a key may be taken now, and the element of a key.
//
// The server writes the keys into the page (annotator/core/keys.py; the template tag `key`):
//
//   data-action="undo"      the action of an element
//   data-key="u"            the key that clicks a button or link, or focuses a field; "g d" is two keys in sequence.
//                           Without it, the action has no key for this person, but the search (palette.js) finds it
//   data-held="z Shift+Z"   each of these keys with Ctrl or Cmd, outside text fields, clicks it; neither these nor its
//                           data-key move the focus
//   data-type-ahead         on a select: reached by its key, it chooses by typed letters although it saves itself
//   data-key-scope          around elements with keys that others have as well: those near the focus win
//   data-scripted="next-place" data-keys="j"   in the shortcuts dialog: an action that a script carries out
//
// A key is never taken while a field, a select or an editor has the focus, nor for a second after the focus was taken
// away from one: by a swap, because it was disabled or removed. Leaving it with Tab, Escape or a click is different.

const STORED = "assay.shortcuts";
const GUARD_MILLISECONDS = 1000;
export const TEXT = "input:not([type=checkbox], [type=radio], [type=button], [type=submit], [type=file]), textarea, code-editor, [contenteditable]";
const TYPING = `${TEXT}, select`;

/** Whether the person has single keys switched on in this browser. */
export function isOn() {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

export function switchKeys(on) {
  try {
    localStorage.setItem(STORED, on ? "on" : "off");
  } catch {
    // Storage is not available: the choice applies to this page only.
  }
}

// --- names ------------------------------------------------------------------------------------------------------------

/**
 * Return the names that a pressed key may have in the table, the first that means something counts. Digits of the upper
 * row go by their place, because keyboards differ in what they write there; all others by what they write.
 */
export function namesOf(event) {
  const digit = /^Digit([0-9])$/.exec(event.code)?.[1];
  const {key} = event;
  const written = event.shiftKey && (key.length > 1 || /[a-z]/i.test(key)) ? `Shift+${key.length === 1 ? key.toUpperCase() : key}` : key;
  if (digit) return [event.shiftKey ? `Shift+${digit}` : digit, written];
  // On a keyboard for another script, use the key's position.
  const letter = key.length === 1 && key > "\x7f" && /^Key([A-Z])$/.exec(event.code)?.[1];
  if (letter) return [event.shiftKey ? `Shift+${letter}` : letter.toLowerCase(), written];
  return [written];
}

/** Return the key of an action that a script carries out; "" if it has none. */
export const scriptedKey = (name) => document.querySelector(`[data-scripted="${name}"]`)?.dataset.keys ?? "";

// --- fields ---------------------------------------------------------------------------------------------------------------

let field = null; // the field with the focus
let lost = null; // the field that the focus was taken from last
let lostAt = -Infinity;
let leavingUntil = -Infinity; // until when a move of the focus is the person's

// A field of a dialog that has just been closed keeps the focus until the next frame, but takes no keys any more.
const fieldOf = (element) => {
  const found = element?.closest?.(TYPING) ?? null;
  return found?.closest("dialog:not([open])") ? null : found;
};

// The browser moves the focus before it does anything else, but closes a popover a little after Escape.
const ESCAPE_MILLISECONDS = 200;
const isLeaving = () => performance.now() < leavingUntil;

function leave() {
  leavingUntil = Infinity;
  setTimeout(() => (leavingUntil = -Infinity));
}

for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) addEventListener(type, leave, true);
// What is closed takes its fields along, but the browser takes the focus from them only with a later frame.
function forgetWithin({target, newState}) {
  const inside = field ?? lost;
  if (newState === "open" || !inside || !target.contains?.(inside)) return;
  field = null;
  lostAt = -Infinity;
}

addEventListener("close", forgetWithin, true); // of a dialog
addEventListener("toggle", forgetWithin, true); // of a drawer or a menu
// The next item takes all of the last one along.
document.addEventListener("assay:item-comes", () => {
  field = null;
  lostAt = -Infinity;
});
// Somebody who clicks or presses Escape has seen where the focus is.
addEventListener("pointerdown", () => (lostAt = -Infinity), true);
addEventListener(
  "keydown",
  ({key, ctrlKey, metaKey}) => {
    if (key === "Escape") {
      leavingUntil = performance.now() + ESCAPE_MILLISECONDS;
      lostAt = -Infinity;
    }
    if (key === "Tab" || ((ctrlKey || metaKey) && key === "Enter")) leave();
  },
  true,
);

/** Note when a field has lost the focus although the person did not leave it. */
function look() {
  if (!field || fieldOf(document.activeElement) === field) return;
  // A dialog says a little after it was closed that it is: until then, its fields are in a closed one.
  const closed = field.closest("dialog:not([open])");
  if (!closed && !isLeaving() && !fieldOf(document.activeElement)) [lost, lostAt] = [field, performance.now()];
  field = null;
  watcher.disconnect();
}

// A removed element loses the focus without an event.
// One that is disabled loses it with the next frame.
const watcher = new MutationObserver(() => {
  look();
  requestAnimationFrame(look);
});

document.addEventListener("focusin", ({target}) => {
  look();
  field = fieldOf(target);
  if (field) watcher.observe(document, {childList: true, subtree: true, attributeFilter: ["disabled"]});
});
document.addEventListener("focusout", () => {
  // Where the focus goes is known only afterwards; whether the person is moving it, only now.
  const moved = isLeaving();
  queueMicrotask(() => {
    if (moved && fieldOf(document.activeElement) !== field) field = null;
    look();
  });
});

/** Whether a key belongs to a field that has the focus, or had it a moment ago. */
export function isTyping(event) {
  look();
  return Boolean(fieldOf(event.target)) || performance.now() - lostAt < GUARD_MILLISECONDS;
}

// --- elements ---------------------------------------------------------------------------------------------------------------

/** Return what must be visible for an element to be used: the key of an element in a closed menu works as well. */
function within(element) {
  const menu = element.closest("details.menu:not([open])") ?? element;
  const folded = menu.closest(".unfolded:not(:popover-open)");
  return folded && getComputedStyle(folded).display === "none" ? folded.parentElement : menu;
}

/** Whether the person could reach an element, even if it can't be used now. */
export const reachable = (element) => within(element).checkVisibility();

export const usable = (element) => !element.disabled && element.getAttribute("aria-disabled") !== "true" && reachable(element);

export const scope = () => document.querySelector("dialog:modal") ?? document;

/**
 * Return the element of a key. Of several, the one in the focused scope or fieldset wins, then the one in `item` (the
 * current place), then the one outside of all places, then the first visible one.
 */
export function find(key, item) {
  const all = [...scope().querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].filter(usable);
  const near = document.activeElement?.closest?.("[data-key-scope], fieldset");
  return (
    all.find((element) => near?.contains(element)) ??
    all.find((element) => item?.contains(element)) ??
    all.find((element) => !element.closest("[data-nav-item]")) ??
    all[0]
  );
}

/** Whether a key begins a pair of keys. Where it has a meaning of its own, it begins none. */
export function startsPair(key) {
  return [...scope().querySelectorAll(`[data-key^="${CSS.escape(key)} "]`)].some(usable);
}

/** Do what an element stands for: focus a field, click anything else. */
export function act(element) {
  if (element.matches("select[data-type-ahead]")) takeLetters(element);
  if (element.matches("input:not([type=checkbox], [type=radio], [type=submit], [type=button]), select, textarea")) {
    element.focus();
    // A value is usually replaced, a text corrected.
    if (element.localName === "textarea") element.setSelectionRange(element.value.length, element.value.length);
    else element.select?.();
  } else if (element.matches("code-editor, [data-key-focus]")) {
    // A key that leads to choices makes none.
    const choices = element.type === "radio" ? [...element.form.elements[element.name]] : [];
    const target = choices.find((one) => one.checked) ?? element;
    target.focus();
    target.scrollIntoView({block: "center"});
  } else {
    // Focus the button first: if it opens a dialog, closing the dialog returns the focus to it.
    if (!element.matches("[data-held], [data-shortcuts-open]")) element.focus({preventScroll: true});
    element.click();
    if (element.localName === "summary") element.parentElement.querySelector("input:not([type=hidden]), textarea")?.focus();
  }
}

/** Let a closed list that was reached by its key choose by typed letters, until it loses the focus. */
function takeLetters(list) {
  list.dataset.letters = "";
  list.addEventListener("focusout", () => delete list.dataset.letters, {once: true});
}

/** Return what an element does, in words. */
export function labelOf(element) {
  if (element.dataset.keyLabel) return element.dataset.keyLabel;
  const input = element.querySelector("textarea") ?? element; // of a code editor
  const copy = (input.labels?.[0] ?? element).cloneNode(true);
  for (const extra of copy.querySelectorAll("kbd, .hint, [aria-hidden=true]")) extra.remove();
  return element.getAttribute("aria-label") ?? copy.textContent.replace(/\s+/g, " ").trim();
}

/** Return the `kbd` elements of a key. */
export function keysOf(text) {
  return text.split(" ").flatMap((key, index) => {
    const node = document.createElement("kbd");
    node.textContent = key;
    return index ? [" ", node] : [node];
  });
}
