// The list of keys (by default ?): those of the page, those of scripts, found by what they do. It is generated from the
// same attributes that bind them (keys.js).

import {isOn, keysOf, labelOf, reachable, switchKeys} from "./keys.js";
import {gettext} from "./translation.js";

const dialog = document.getElementById("shortcuts");
const search = dialog?.querySelector("[data-shortcut-search]");

function show(on) {
  document.documentElement.dataset.shortcuts = on ? "on" : "off";
  for (const element of document.querySelectorAll("[data-key]")) {
    const {key} = element.dataset;
    if (on && !key.includes(" ")) element.setAttribute("aria-keyshortcuts", key);
    else element.removeAttribute("aria-keyshortcuts");
  }
}

/** Return the keys of the page: group → key → what it does. */
function collect() {
  const groups = new Map();
  const add = (group, key, label) => {
    if (!groups.has(group)) groups.set(group, new Map());
    if (!groups.get(group).has(key)) groups.get(group).set(key, label);
  };
  const bound = [...document.querySelectorAll("[data-key]")].filter(reachable);
  const single = new Set(bound.map((one) => one.dataset.key));
  for (const element of bound) {
    const {key} = element.dataset;
    // Where its first key has a meaning of its own, a pair of keys has none.
    if (key.includes(" ") && single.has(key.split(" ")[0])) continue;
    add(element.closest("[data-key-group]")?.dataset.keyGroup ?? gettext("This page"), key, labelOf(element));
  }
  for (const element of [...document.querySelectorAll("[data-held]")].filter(reachable)) {
    const key = element.dataset.held.split(" ")[0];
    const shown = key.startsWith("Shift+") ? `Ctrl+${key}` : `Ctrl+${key.toUpperCase()}`;
    add(element.closest("[data-key-group]")?.dataset.keyGroup ?? gettext("This page"), shown, labelOf(element));
  }
  for (const {dataset} of dialog.querySelectorAll("[data-scripted]")) {
    const place = dataset.within;
    const there = !place || [...document.querySelectorAll(place)].some((one) => one.checkVisibility());
    if (dataset.shown && there) add(dataset.group, dataset.shown, dataset.label);
  }
  return groups;
}

function draw() {
  const words = search.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const list = dialog.querySelector("[data-shortcut-list]");
  let count = 0;
  list.replaceChildren();
  for (const [group, keys] of collect()) {
    const wanted = [...keys].filter(([key, label]) => words.every((word) => `${group} ${label} ${key}`.toLocaleLowerCase().includes(word)));
    if (!wanted.length) continue;
    count += wanted.length;
    const heading = document.createElement("h3");
    heading.textContent = group;
    const terms = document.createElement("dl");
    terms.className = "keys";
    for (const [key, label] of wanted) {
      const term = document.createElement("dt");
      term.append(...keysOf(key));
      const meaning = document.createElement("dd");
      meaning.textContent = label;
      terms.append(term, meaning);
    }
    list.append(heading, terms);
  }
  dialog.querySelector("[data-shortcut-none]").hidden = count > 0;
}

search?.addEventListener("input", draw);

dialog?.querySelector("[data-shortcut-switch]").addEventListener("change", ({target}) => {
  switchKeys(target.checked);
  show(target.checked);
});

document.addEventListener("click", ({target}) => {
  if (!dialog || !target.closest?.("[data-shortcuts-open]") || dialog.open) return;
  search.value = "";
  draw();
  dialog.showModal();
});

const toggle = dialog?.querySelector("[data-shortcut-switch]");
if (toggle) toggle.checked = isOn();
show(isOn());
document.addEventListener("htmx:after:swap", () => show(isOn()));
