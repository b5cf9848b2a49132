// Checkboxes of a list that belong to a form below it.
//
//   <input type="checkbox" form="ID" …>      a row; with Shift, a click or the space bar selects all rows since the last
//   <input type="checkbox" data-select-page="ID">   selects all rows of the page
//   <form id="ID" data-selection>            the form
//   <span role="status" data-selected>       announces the number of selected rows

import {interpolate, ngettext} from "./translation.js";

let last = null;
let shifted = false;

const rowsOf = (id) => [...document.querySelectorAll(`input[type=checkbox][form="${CSS.escape(id)}"]`)];

function show(id) {
  const rows = rowsOf(id);
  const count = rows.filter((row) => row.checked).length;
  const words = count ? ngettext("%(count)s selected", "%(count)s selected", count) : "";
  document.querySelector("[data-selected]").textContent = interpolate(words, {count});
  const whole = document.querySelector(`[data-select-page="${CSS.escape(id)}"]`);
  if (whole) {
    whole.checked = count > 0 && count === rows.length;
    whole.indeterminate = count > 0 && count < rows.length;
  }
}

// The click that the space bar causes does not say whether Shift is down.
for (const name of ["keydown", "keyup"]) {
  document.addEventListener(name, (event) => {
    shifted = event.shiftKey;
  }, {capture: true});
}

document.addEventListener("click", ({target, shiftKey}) => {
  if (!target.matches?.("input[type=checkbox]")) return;
  const page = target.dataset.selectPage;
  if (page) {
    for (const row of rowsOf(page)) row.checked = target.checked;
    show(page);
    return;
  }
  if (!target.form?.matches("[data-selection]") || !target.hasAttribute("form")) return;
  const {id} = target.form;
  const rows = rowsOf(id);
  const [from, to] = [rows.indexOf(last), rows.indexOf(target)].sort((one, other) => one - other);
  if ((shiftKey || shifted) && from >= 0) {
    for (const row of rows.slice(from, to + 1)) row.checked = target.checked;
  }
  last = target;
  show(id);
});

// A browser that goes back to a page keeps what was ticked there.
globalThis.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-selection]")) if (rowsOf(form.id).length) show(form.id);
});
