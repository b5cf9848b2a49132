// The workspace: select by clicking, keep the selection in view, and the sheet of a narrow window.
//
//   .chat .turn                    a click on it opens its fields, with the focus in the first one
//   [data-select="ID"]             … or those of another part, or what the link with that id opens
//   [data-field="SELECTOR"]        a click inside it puts the focus into that field of the inspector
//   #inspector-side                in a narrow window a sheet at the bottom: data-sheet="open" or "closed"
//   [data-sheet-toggle]            a button that opens and closes the sheet

import {interpolate, ngettext} from "./translation.js";

const NARROW = matchMedia("(max-width: 63.99rem)");
const CONTROLS = "a, button, input, select, textarea, summary, label, code-editor, [contenteditable]";
const FIELDS = "textarea, input:not([type=hidden], [type=radio], [type=checkbox]), select, .cm-content";

const side = document.getElementById("inspector-side");
const current = () => document.querySelector("#chat [aria-current]");

// --- select by clicking ---------------------------------------------------------------------------------------------------

let wanted = ""; // selector of the field to focus when the inspector has arrived

function linkOf(turn) {
  const own = turn.querySelector(".open-link");
  if (own) return own;
  const other = document.getElementById(turn.dataset.select ?? "");
  return other?.matches("a") ? other : other?.querySelector(".open-link");
}

document.addEventListener("click", (event) => {
  const turn = event.target.closest?.("#chat .turn");
  const link = turn && !event.target.closest(CONTROLS) && !event.defaultPrevented && linkOf(turn);
  // Selecting text to copy it is no click on the message.
  if (!link || event.button || !getSelection().isCollapsed) return;
  const touched = matchMedia("(pointer: coarse)").matches;
  // Focusing a field would open the keyboard of a phone.
  wanted = touched ? "" : (event.target.closest("[data-field]")?.dataset.field ?? "*");
  link.click();
});

function focusField() {
  const selector = wanted;
  wanted = "";
  const inspector = document.getElementById("inspector");
  if (!selector || !inspector) return;
  const within = selector === "*" ? inspector : inspector.querySelector(selector);
  const fields = [...(within?.querySelectorAll(FIELDS) ?? [])].filter((one) => one.checkVisibility() && !one.readOnly && !one.disabled);
  // A list of tools comes before the arguments, but is rarely what is wrong.
  const field = fields.find((one) => one.localName !== "select") ?? fields[0];
  field?.focus({preventScroll: true});
  field?.scrollIntoView({block: "nearest"});
}

// A text field is as high as its text, also where the style sheet cannot say so.
if (!CSS.supports("field-sizing", "content")) {
  const grow = (field) => {
    field.style.blockSize = "auto";
    field.style.blockSize = `${Math.min(field.scrollHeight + 4, innerHeight * 0.6)}px`;
  };
  const growAll = () => document.querySelectorAll("#inspector textarea").forEach((field) => field.checkVisibility() && grow(field));
  document.addEventListener("input", ({target}) => target.matches?.("#inspector textarea") && grow(target));
  document.addEventListener("htmx:after:swap", growAll);
  growAll();
}

// --- keep the selection in view ------------------------------------------------------------------------------------------

/** The part of the window in which the dialogue is seen. */
function frame() {
  const pane = document.querySelector(".chat");
  const own = getComputedStyle(pane).overflowY === "auto";
  const box = pane.getBoundingClientRect();
  const top = own ? box.top + (pane.querySelector(".pane-bar")?.offsetHeight ?? 0) : 0;
  const below = NARROW.matches && side?.dataset.sheet === "open" ? side.getBoundingClientRect().top : innerHeight;
  const bar = document.getElementById("toolbar")?.getBoundingClientRect().top ?? innerHeight;
  return {top, bottom: Math.min(own ? box.bottom : innerHeight, below, bar), scroller: own ? pane : document.scrollingElement};
}

function show(part, {centred = false} = {}) {
  const {top, bottom, scroller} = frame();
  const box = part.getBoundingClientRect();
  const room = bottom - top;
  const gap = 8;
  let by = 0;
  if (centred) by = box.top - top - Math.max(gap, (room - box.height) / 2);
  else if (box.top < top + gap || box.height > room) by = box.top - top - gap;
  else if (box.bottom > bottom - gap) by = box.bottom - bottom + gap;
  // The beginning of a long part is already there, or another part of it is being read.
  if (box.height > room && box.top < bottom - gap && box.bottom > top + gap && !centred && seen === part.id) return;
  if (Math.abs(by) > 1) scroller.scrollBy({top: by, behavior: "instant"});
}

let shown = document.getElementById("inspector");
let seen = current()?.id ?? "";
let wasVisible = true;

// An answer brings only the tasks of the dialogue that differ from what the page shows.
document.addEventListener("htmx:config:request", ({detail: {ctx}}) => {
  const version = document.getElementById("chat")?.dataset.version;
  if (version) ctx.request.headers["X-Dialogue"] = version;
});

/** Note which version of the dialogue the page shows with the tasks of an answer. */
function noteVersion(chat, version, asked) {
  // The page has changed since it asked: the next answer brings the whole dialogue.
  if (chat.dataset.version !== asked && chat.dataset.version !== version) chat.removeAttribute("data-version");
  else chat.dataset.version = version;
}

document.addEventListener("htmx:before:swap", ({detail: {ctx}}) => {
  const part = current();
  if (part) {
    const {top, bottom} = frame();
    const box = part.getBoundingClientRect();
    wasVisible = box.bottom > top && box.top < bottom;
  }
  const {headers} = ctx?.response ?? {};
  const version = headers?.get("X-Dialogue");
  if (version) noteVersion(document.getElementById("chat"), version, ctx.request.headers["X-Dialogue"]);
  const now = headers?.get("X-Current") ?? null;
  if (now === null || part?.id === now) return;
  part?.removeAttribute("aria-current");
  if (now) document.getElementById(now)?.setAttribute("aria-current", "true");
});

document.addEventListener("htmx:after:swap", ({detail: {ctx}}) => {
  if (!document.getElementById("workspace")) return;
  const part = current();
  const inspector = document.getElementById("inspector");
  // An answer has several parts, and an edit of the same place changes the inspector without replacing it.
  if (inspector !== shown) {
    shown = inspector;
    if (ctx?.request?.method === "GET") arrive();
  }
  if (!part) return;
  if (part.id !== seen || wasVisible) show(part);
  seen = part.id;
});

function arrive() {
  // Another place or tab begins at its top.
  side.scrollTop = 0;
  if (document.activeElement !== document.body || wanted) openSheet();
  focusField();
}

if (document.getElementById("inspector")?.dataset.panel === "review") {
  openSheet();
  if (current()) show(current(), {centred: true});
}
if (side && new URLSearchParams(location.search).has("at")) {
  openSheet();
  const part = current();
  if (part) show(part, {centred: true});
}

document.addEventListener("assay:item-comes", () => {
  wasVisible = false;
  wanted = "";
  asked = "";
  for (const drawer of document.querySelectorAll(":is(.drawer, .unfolded):popover-open")) drawer.hidePopover();
  for (const menu of document.querySelectorAll("#toolbar details.menu")) menu.open = false;
  const field = document.querySelector("[data-search-in]");
  if (field?.value) {
    field.value = "";
    search(field);
  }
  setSheet("closed");
});
document.addEventListener("assay:item", () => {
  seen = current()?.id ?? "";
  for (const pane of [document.scrollingElement, document.querySelector(".chat"), side]) pane.scrollTop = 0;
});

// The dialogue follows the checklist.
let asked = ""; // the id of the task whose questions had the focus last

document.addEventListener("focusin", ({target}) => {
  const place = target.closest?.("#inspector fieldset[data-shows]")?.dataset.shows ?? asked;
  if (place === asked || NARROW.matches) return;
  asked = place;
  const task = document.getElementById(place);
  if (task) show(task);
});

// --- the sheet of a narrow window ------------------------------------------------------------------------------------------

function openSheet() {
  setSheet("open");
}

function setSheet(state) {
  if (!side) return;
  side.dataset.sheet = state;
  document.querySelector("[data-sheet-toggle]")?.setAttribute("aria-expanded", String(state === "open"));
}

if (side) {
  side.dataset.sheet ??= "closed";
  document.addEventListener("htmx:after:swap", () => setSheet(side.dataset.sheet));
}

document.addEventListener("click", (event) => {
  if (event.target.closest?.("[data-sheet-toggle]")) {
    setSheet(side.dataset.sheet === "open" ? "closed" : "open");
    const part = current();
    if (part) show(part);
  }
  // A link to a place in the dialogue is of no use below the sheet.
  const link = event.target.closest?.('#inspector-side a[href^="#"]');
  const target = link && document.getElementById(decodeURIComponent(link.getAttribute("href").slice(1)));
  if (link && NARROW.matches && !side.contains(target)) setSheet("closed");
  if (event.target.closest?.("[data-field-link]")) openSheet();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !NARROW.matches || !side?.contains(event.target)) return;
  // Escape has only led from a field to another part of the sheet.
  if (event.defaultPrevented && side.contains(document.activeElement)) return;
  setSheet("closed");
});

// --- search in the reference drawer -------------------------------------------------------------------------------------------

/** Put each heading of the guideline and what follows it into one block, so that they are found together. */
function blocksOf(body) {
  const blocks = [...body.querySelectorAll("[data-search-block]")].map((one) => [one]);
  for (const prose of body.querySelectorAll("[data-search-blocks]")) {
    let block = [];
    for (const one of prose.children) {
      if (/^H[1-6]$/.test(one.tagName) && block.length) {
        blocks.push(block);
        block = [];
      }
      block.push(one);
    }
    if (block.length) blocks.push(block);
  }
  return blocks;
}

function search(field) {
  const body = document.querySelector(field.dataset.searchIn);
  if (!body) return;
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const block of blocksOf(body)) {
    const text = block.map((one) => one.textContent).join(" ").toLowerCase();
    const fits = words.every((word) => text.includes(word));
    found += fits ? 1 : 0;
    for (const one of block) {
      one.hidden = !fits;
      unfold(one, fits ? words : []);
    }
  }
  const status = body.querySelector("[data-search-status]");
  if (status) status.textContent = words.length ? interpolate(ngettext("%(count)s place", "%(count)s places", found), {count: found}) : "";
  mark(body, words);
}

/** Unfold what hides one of the words. What a search has unfolded is folded again when it hides none. */
function unfold(block, words) {
  const has = (text) => words.some((word) => text.toLowerCase().includes(word));
  for (const details of [block, ...block.querySelectorAll("details")]) {
    if (details.localName !== "details") continue;
    const hides = [...details.children].some((one) => one.localName !== "summary" && has(one.textContent));
    if (hides && !details.open) details.dataset.unfolded = "";
    if (hides) details.open = true;
    else if ("unfolded" in details.dataset) {
      details.open = false;
      delete details.dataset.unfolded;
    }
  }
  for (const fold of block.querySelectorAll(".folded[hidden]")) {
    if (has(fold.textContent)) fold.dispatchEvent(new Event("beforematch", {bubbles: true}));
  }
}

/** Mark the words without changing the page. */
function mark(body, words) {
  if (!globalThis.CSS?.highlights) return;
  const ranges = [];
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  while (words.length && ranges.length < 500 && walker.nextNode()) {
    const text = (walker.currentNode.textContent ?? "").toLowerCase();
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0 && ranges.length < 500; at = text.indexOf(word, at + word.length)) {
        const range = new Range();
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, at + word.length);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
  // A long value scrolls by itself: show its first hit.
  const scrolled = new Set();
  for (const range of ranges) {
    const box = range.startContainer.parentElement.closest("pre");
    if (!box || scrolled.has(box)) continue;
    scrolled.add(box);
    box.scrollTop += range.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 2;
  }
}

document.addEventListener("input", ({target}) => target.matches?.("[data-search-in]") && search(target));
document.addEventListener("htmx:after:swap", () => {
  const field = document.querySelector("[data-search-in]");
  if (field?.value) search(field);
});

// The search has the focus when the drawer opens, unless that would open the keyboard of a phone.
document.querySelector("[data-reference]")?.addEventListener("toggle", ({target, newState}) => {
  if (newState === "open" && !matchMedia("(pointer: coarse)").matches) target.querySelector("[data-search-in]").focus();
});

// A page that was opened with a reference shows it.
const reference = document.querySelector("[data-reference].open");
if (reference) {
  reference.classList.remove("open");
  reference.showPopover();
}
