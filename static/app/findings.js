// Moves from finding to finding in the workspace, and opens the field of a waiver.
//
//   [data-finding-step="1"]       a button: open the place of the next finding, or with -1 of the previous one
//   #finding-steps [data-finding] the findings in order, as links; data-row is the id of the finding's row in the editor
//   details[data-waive]           opening it moves the focus to its field

import {gettext, interpolate} from "./translation.js";

let last = ""; // the row of the finding that was opened last
let lastAt = null; // the place that the editor showed then
/** @type {{link: any, row: string, number: number, total: number} | null} */
let wanted = null; // the finding whose row gets the focus when its editor is there

const links = () => [...document.querySelectorAll("#finding-steps [data-finding]")];

const place = () => document.getElementById("inspector")?.dataset.at ?? "/";

/**
 * Return the index of the finding to open. From one that was opened: the next one. Otherwise one of the selected place,
 * which the person has not visited yet; the whole dialogue counts as no place, because a page begins there.
 */
function target(all, step) {
  const at = place();
  const opened = wanted || at === lastAt ? all.findIndex((link) => link.dataset.row === last) : -1;
  if (opened >= 0) return (opened + step + all.length) % all.length;
  const isOwn = ({dataset: {finding}}) => at !== "/" && (finding === at || finding.startsWith(`${at}/`));
  const own = step > 0 ? all.findIndex(isOwn) : all.findLastIndex(isOwn);
  if (own >= 0) return own;
  return step > 0 ? 0 : all.length - 1;
}

document.addEventListener("assay:item-comes", () => {
  last = "";
  lastAt = null;
  wanted = null;
});

function move(step) {
  const all = links();
  if (!all.length) return;
  const to = target(all, step);
  const link = all[to];
  last = link.dataset.row;
  wanted = {link, row: last, number: to + 1, total: all.length};
  link.click();
}

document.addEventListener("click", ({target}) => {
  const button = target.closest?.("[data-finding-step]");
  if (button) move(Number(button.dataset.findingStep));
});

// The row, not a text field, gets the focus: the next key may be another move, or w.
document.addEventListener("htmx:after:swap", ({detail: {ctx}}) => {
  if (!wanted || ctx?.sourceElement !== wanted.link) return;
  lastAt = place();
  const {number, total} = wanted;
  const row = document.querySelector(`#inspector #${CSS.escape(wanted.row)}`);
  wanted = null;
  if (!row) return;
  const message = row.querySelector(".finding")?.textContent.replace(/\s+/g, " ").trim() ?? "";
  const text = interpolate(gettext("Finding %(number)s of %(total)s: %(message)s"), {number, total, message});
  document.dispatchEvent(new CustomEvent("assay:announce", {detail: {text}}));
  row.focus({preventScroll: true});
  row.scrollIntoView({block: "nearest"});
});

// An editor above the row was taller than its field.
document.addEventListener("assay:editor", () => {
  const {activeElement} = document;
  if (activeElement?.matches("#inspector .finding-row")) activeElement.scrollIntoView({block: "nearest"});
});

document.addEventListener(
  "toggle",
  ({target, newState}) => {
    if (target.matches?.("details[data-waive]") && newState === "open" && target.contains(document.activeElement)) {
      target.querySelector("[name=reason]")?.focus();
    }
  },
  true,
);
