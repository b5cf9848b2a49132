// Moves from finding to finding in the workspace, and opens the field of a waiver.
//
//   [data-finding-step="1"]       a button: open the place of the next finding, or with -1 of the previous one
//   #finding-steps [data-finding] the findings in order, as links; data-row is the id of the finding's row in the editor
//   details[data-waive]           opening it moves the focus to its field

import {gettext, interpolate} from "./translation.js";

let last = ""; // the row of the finding that was opened last
/** @type {{row: string, number: number, total: number} | null} */
let wanted = null; // the finding whose row gets the focus when its editor is there

const links = () => [...document.querySelectorAll("#finding-steps [data-finding]")];

/** Whether the selected place is that of the finding or holds it. */
function isSelected({dataset: {finding}}) {
  const at = document.getElementById("inspector")?.dataset.at ?? "/";
  return at === "/" ? !finding : finding === at || finding.startsWith(`${at}/`);
}

/** Return the index of the finding from which a move starts; -1 if the selection has none. */
function current(all) {
  const opened = all.findIndex((link) => link.dataset.row === last && isSelected(link));
  return opened >= 0 ? opened : all.findIndex(isSelected);
}

function move(step) {
  const all = links();
  if (!all.length) return;
  const from = current(all);
  const to = from < 0 ? (step > 0 ? 0 : all.length - 1) : (from + step + all.length) % all.length;
  const link = all[to];
  last = link.dataset.row;
  wanted = {row: last, number: to + 1, total: all.length};
  link.click();
}

document.addEventListener("click", ({target}) => {
  const button = target.closest?.("[data-finding-step]");
  if (button) move(Number(button.dataset.findingStep));
});

// The row, not a text field, gets the focus: the next key may be another move, or w.
document.addEventListener("htmx:after:swap", () => {
  const row = wanted && document.querySelector(`#inspector #${CSS.escape(wanted.row)}`);
  if (!row) return;
  const {number, total} = wanted;
  wanted = null;
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
