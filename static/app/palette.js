// The search of all pages (Ctrl+K): the actions of this page with their keys, the pages of the bar, and what the server
// finds (dialogues, people, sections of the guideline, projects). Markup: components/palette.html.
//
// The input is a combobox: it keeps the focus, the arrows choose an option, Enter takes it.

import {marked, match} from "./fuzzy.js";
import {act, find, keysOf, labelOf, usable} from "./keys.js";
import {gettext, interpolate, ngettext} from "./translation.js";

const PAUSE_MILLISECONDS = 120;
const TIMEOUT_MILLISECONDS = 5000;
const MAX_SHOWN = 12;

const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById("palette"));
const input = dialog?.querySelector("input");
const list = dialog?.querySelector("[role=listbox]");
const status = dialog?.querySelector("[role=status]");

let entries = []; // {label, key, href, group, run}
let found = []; // groups of the server, for the query that is shown
let options = []; // what is shown, in order
let current = -1;
let asked = null; // aborts the request that is running
let pause;

// --- what can be chosen -----------------------------------------------------------------------------------------------------

function collect() {
  const byName = new Map();
  const seen = new Set();
  const item = document.activeElement?.closest("[data-nav-item]") ?? document.querySelector("[data-nav-item][aria-current]");
  for (const element of document.querySelectorAll("[data-action]")) {
    if (element.closest("dialog") || element.dataset.action === "palette" || !usable(element)) continue;
    const label = labelOf(element);
    const name = `${element.dataset.action} ${label}`;
    if (byName.has(name) && !item?.contains(element)) continue;
    const href = element.getAttribute("href");
    if (href && element.closest(".topbar")) seen.add(href);
    const {key = ""} = element.dataset;
    // Where its first key has a meaning of its own, a pair of keys has none.
    const shown = key.includes(" ") && find(key.split(" ")[0], null) ? "" : key;
    byName.set(name, {label, key: shown, href, inBar: Boolean(element.closest(".topbar")), group: element.dataset.keyGroup, run: () => act(element)});
  }
  const pages = [];
  for (const link of document.querySelectorAll(".topbar a[href], [data-palette-pages] a[href]")) {
    const href = link.getAttribute("href");
    if (seen.has(href) || link.matches("[aria-current=true]")) continue;
    seen.add(href);
    pages.push({label: labelOf(link), key: "", href, group: gettext("Go to"), run: () => link.click()});
  }
  // What this page can do comes before the ways to other pages.
  const actions = [...byName.values()].sort((a, b) => Number(a.inBar) - Number(b.inBar));
  return [...actions, ...pages];
}

/** Return the groups to show for a query: the best fits first. */
function groupsFor(query) {
  const fits = entries
    .map((entry) => ({...entry, fit: match(query, entry.label)}))
    .filter((entry) => entry.fit)
    .sort((a, b) => b.fit.score - a.fit.score);
  const groups = new Map();
  for (const entry of query ? fits.slice(0, MAX_SHOWN) : fits) {
    if (!groups.has(entry.group)) groups.set(entry.group, []);
    groups.get(entry.group).push(entry);
  }
  // What the page finds itself is shown once, with its key.
  const shown = new Set([...groups.values()].flat().map(({href}) => href));
  const fresh = found.map(({title, results}) => ({title, results: results.filter(({url}) => !shown.has(url))}));
  const server = fresh.filter(({results}) => results.length).map(({title, results}) => [
    title,
    results.map((one) => ({label: one.label, detail: one.detail, key: "", fit: match(query, one.label) ?? {at: []}, run: () => location.assign(one.url)})),
  ]);
  return [...groups, ...server];
}

// --- the list ---------------------------------------------------------------------------------------------------------------

function draw() {
  const query = input.value.trim();
  const chosen = options[current]?.name;
  options = [];
  list.replaceChildren();
  for (const [title, rows] of groupsFor(query)) {
    const group = document.createElement("div");
    group.setAttribute("role", "group");
    const heading = document.createElement("div");
    heading.className = "palette-group";
    heading.id = `palette-group-${list.childElementCount}`;
    heading.setAttribute("role", "presentation");
    heading.textContent = title;
    group.setAttribute("aria-labelledby", heading.id);
    group.append(heading, ...rows.map((row) => optionOf(row, `${title} ${row.label}`)));
    list.append(group);
  }
  const again = options.findIndex((option) => option.name === chosen);
  choose(again >= 0 ? again : 0);
  say();
}

function optionOf(row, name) {
  const node = document.createElement("div");
  node.setAttribute("role", "option");
  node.id = `palette-option-${options.length}`;
  const label = document.createElement("span");
  label.className = "grow clip";
  label.append(...marked(row.label, row.fit.at));
  if (row.detail) {
    const detail = document.createElement("span");
    detail.className = "muted small";
    detail.textContent = ` ${row.detail}`;
    label.append(detail);
  }
  node.append(label);
  if (row.key) {
    const keys = document.createElement("span");
    keys.append(...keysOf(row.key));
    node.append(keys);
  }
  options.push({node, name, run: row.run});
  return node;
}

function choose(index) {
  options[current]?.node.removeAttribute("aria-selected");
  for (const {node} of options) node.setAttribute("aria-selected", "false");
  current = options.length ? (index + options.length) % options.length : -1;
  const node = options[current]?.node;
  node?.setAttribute("aria-selected", "true");
  node?.scrollIntoView({block: "nearest"});
  if (node) input.setAttribute("aria-activedescendant", node.id);
  else input.removeAttribute("aria-activedescendant");
}

function say() {
  const text = options.length
    ? interpolate(ngettext("%(count)s result", "%(count)s results", options.length), {count: options.length})
    : gettext("Nothing found");
  if (status.textContent !== text) status.textContent = text;
}

function take(index) {
  const option = options[index];
  if (!option) return;
  dialog.close(); // the focus is back where it was before the action runs
  option.run();
}

// --- the server's part -----------------------------------------------------------------------------------------------------------

async function ask() {
  asked?.abort();
  const query = input.value.trim();
  if (!query) {
    found = [];
    return draw();
  }
  const request = (asked = new AbortController());
  const timer = setTimeout(() => request.abort(), TIMEOUT_MILLISECONDS);
  const url = new URL(dialog.dataset.url, location.href);
  url.searchParams.set("q", query);
  if (dialog.dataset.project) url.searchParams.set("project", dialog.dataset.project);
  try {
    const response = await fetch(url, {signal: request.signal, headers: {Accept: "application/json"}});
    const answer = response.ok && response.headers.get("Content-Type")?.includes("json") ? await response.json() : {groups: []};
    if (asked === request) found = answer.groups;
  } catch {
    // Without the server, the search still finds actions and pages.
    if (asked === request) found = [];
  } finally {
    clearTimeout(timer);
  }
  if (asked === request && dialog.open) draw();
}

// --- events -----------------------------------------------------------------------------------------------------------------------

function open() {
  if (!dialog || dialog.open || document.querySelector("dialog:modal")) return;
  entries = collect();
  found = [];
  input.value = "";
  current = -1;
  dialog.showModal();
  input.focus();
  draw();
}

document.addEventListener("click", ({target}) => {
  if (target.closest?.("[data-palette-open]")) open();
});

input?.addEventListener("input", () => {
  current = -1;
  draw();
  clearTimeout(pause);
  pause = setTimeout(ask, PAUSE_MILLISECONDS);
});

const MOVES = {ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8};

input?.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key in MOVES && options.length) choose(Math.abs(MOVES[event.key]) > 1 ? Math.max(0, Math.min(options.length - 1, current + MOVES[event.key])) : current + MOVES[event.key]);
  else if (event.key === "Enter") take(current);
  else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") dialog.close();
  else return;
  event.preventDefault();
  event.stopPropagation();
});

list?.addEventListener("click", ({target}) => {
  const node = target.closest("[role=option]");
  if (node) take(options.findIndex((option) => option.node === node));
});
list?.addEventListener("pointermove", ({target}) => {
  const index = options.findIndex((option) => option.node === target.closest("[role=option]"));
  if (index >= 0 && index !== current) choose(index);
});
dialog?.addEventListener("close", () => {
  asked?.abort();
  clearTimeout(pause);
});
