// Completes names after @ while one writes a comment, and moves the focus into the field of a new comment.
//
//   <textarea data-mentions="ID">   ID is that of a <datalist> with the people: value "@name", text the full name
//   [data-opens-comment]            a link that opens the comments: the focus goes into #comment-text, once it is there
//
// The field keeps the focus. Arrow keys move in the list, Enter and Tab take a name, Escape closes the list.

import {gettext, interpolate, ngettext} from "./translation.js";

const MOST = 8;
const BEGUN = /(?:^|[^\w@./+-])@([\w.+-]*)$/u;

/** @type {HTMLUListElement | null} */
let list = null;
let field = null; // the textarea that the list belongs to
let chosen = 0;

function peopleOf(textarea) {
  const options = document.getElementById(textarea.dataset.mentions)?.querySelectorAll("option") ?? [];
  return [...options].map((option) => ({name: option.value.replace(/^@/, ""), full: option.textContent.trim()}));
}

/** Return what was typed after the @ before the caret; null if the caret is not in a mention. */
function typedIn(textarea) {
  if (textarea.selectionStart !== textarea.selectionEnd) return null;
  const before = textarea.value.slice(0, textarea.selectionStart);
  // Names in code are not mentions.
  if ((before.split("\n").pop().match(/`/g) ?? []).length % 2) return null;
  return before.match(BEGUN)?.[1] ?? null;
}

function matching(textarea, typed) {
  const text = typed.toLowerCase();
  const starts = ({name, full}) => name.toLowerCase().startsWith(text) || full.toLowerCase().split(/\s+/).some((word) => word.startsWith(text));
  return peopleOf(textarea).filter(starts).slice(0, MOST);
}

function close() {
  list?.remove();
  list = null;
  field?.removeAttribute("aria-activedescendant");
  field?.removeAttribute("aria-controls");
  field = null;
}

function open(textarea, people) {
  const isNew = field !== textarea || list?.childElementCount !== people.length;
  close();
  field = textarea;
  list = document.createElement("ul");
  list.className = "mention-list";
  list.id = "mention-list";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", gettext("People"));
  for (const [index, {name, full}] of people.entries()) {
    const option = document.createElement("li");
    option.id = `mention-${index}`;
    option.setAttribute("role", "option");
    option.dataset.name = name;
    option.textContent = full && full !== name ? `${full} (@${name})` : `@${name}`;
    list.append(option);
  }
  textarea.setAttribute("aria-autocomplete", "list");
  textarea.setAttribute("aria-controls", list.id);
  textarea.after(list);
  choose(0);
  if (!isNew) return;
  const text = ngettext("%(count)s person. Enter takes the name.", "%(count)s people. Use the arrow keys, then Enter.", people.length);
  document.dispatchEvent(new CustomEvent("assay:announce", {detail: {text: interpolate(text, {count: people.length})}}));
}

function choose(index) {
  chosen = index;
  for (const [at, option] of [...list.children].entries()) option.setAttribute("aria-selected", String(at === index));
  field.setAttribute("aria-activedescendant", `mention-${index}`);
  list.children[index].scrollIntoView({block: "nearest"});
}

function take(index) {
  const name = list.children[index].getAttribute("data-name");
  const textarea = field;
  const start = textarea.selectionStart - (typedIn(textarea) ?? "").length;
  const after = /^\s/.test(textarea.value.slice(textarea.selectionStart)) ? "" : " ";
  textarea.setRangeText(`${name}${after}`, start, textarea.selectionStart, "end");
  close();
  textarea.focus();
  // The text is kept like typed text (words.js).
  textarea.dispatchEvent(new Event("input", {bubbles: true}));
}

function look(textarea) {
  const typed = typedIn(textarea);
  const people = typed === null ? [] : matching(textarea, typed);
  const done = people.length === 1 && people[0].name === typed;
  if (people.length && !done) open(textarea, people);
  else close();
}

document.addEventListener("input", ({target}) => target.matches?.("textarea[data-mentions]") && look(target));
document.addEventListener("focusout", ({target}) => target === field && close());

document.addEventListener(
  "keydown",
  (event) => {
    if (!list || event.target !== field || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const count = list.childElementCount;
    if (event.key === "ArrowDown") choose((chosen + 1) % count);
    else if (event.key === "ArrowUp") choose((chosen + count - 1) % count);
    else if (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) take(chosen);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  },
  true,
);

// A press on a name must not take the focus from the field.
document.addEventListener("pointerdown", (event) => list?.contains(event.target) && event.preventDefault());
document.addEventListener("mousedown", (event) => list?.contains(event.target) && event.preventDefault());
document.addEventListener("click", ({target}) => {
  const option = list && target.closest?.("#mention-list > li");
  if (option) take([...list.children].indexOf(option));
});

let opening = false;

document.addEventListener("click", ({target}) => {
  // Focusing a field would open the keyboard of a phone.
  if (target.closest?.("[data-opens-comment]")) opening = !matchMedia("(pointer: coarse)").matches;
});
document.addEventListener("htmx:after:swap", () => {
  const box = opening && document.getElementById("comment-text");
  if (!box) return;
  opening = false;
  box.focus();
});
