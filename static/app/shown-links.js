// Secret links that a page shows once (invite_many.html). Each answer adds rows to #shown-links; this module keeps what
// is made of all of them: the heading, the text of “Copy all”, the file. It warns before the page is left while it shows
// links that were not copied. Nothing stores the links: a typed value would be kept by browsers, so the text is none.
//
//   <tr data-key-of data-person data-address data-csv>   a link; a new one for the same key replaces it

import {gettext, interpolate, ngettext} from "./translation.js";

const section = document.getElementById("shown-links");
const file = section?.querySelector("a[download]");
const head = file?.getAttribute("href").split("%0D%0A")[0];
const copied = new WeakSet();

const rowsOf = () => [...(section?.querySelectorAll("tr[data-key-of]") ?? [])];
const left = () => rowsOf().filter((row) => !copied.has(row)).length;

/** Remove links that a later one has replaced: they no longer work. */
function dropReplaced() {
  const latest = new Map();
  for (const row of rowsOf()) {
    latest.get(row.dataset.keyOf)?.remove();
    latest.set(row.dataset.keyOf, row);
  }
}

function show() {
  dropReplaced();
  const rows = rowsOf();
  section.hidden = !rows.length;
  const count = rows.length;
  section.querySelector("h2").textContent = interpolate(ngettext("%(count)s invitation link", "%(count)s invitation links", count), {count});
  const lines = rows.map((row) => [row.dataset.person, row.dataset.address, row.querySelector("input").value].filter(Boolean).join(", "));
  document.getElementById("all-links").textContent = lines.join("\n");
  file.href = [head, ...rows.map((row) => row.dataset.csv.replace(/%0D%0A$/, ""))].join("%0D%0A") + "%0D%0A";
  showLeft();
}

function showLeft() {
  const count = left();
  const words = count
    ? interpolate(ngettext("%(count)s link isn’t copied yet.", "%(count)s links aren’t copied yet.", count), {count})
    : gettext("All links are copied.");
  document.getElementById("not-copied").textContent = words;
}

function mark(rows) {
  for (const row of rows) copied.add(row);
  showLeft();
}

if (section) {
  show();
  document.addEventListener("htmx:after:swap", show);
  document.addEventListener("assay:copied", ({detail: {button}}) => {
    if (section.contains(button)) mark(button.closest("tr") ? [button.closest("tr")] : rowsOf());
  });
  section.addEventListener("copy", ({target}) => {
    // A link that was selected and copied by hand, or the text of all.
    const row = target.closest?.("tr[data-key-of]");
    if (row) mark([row]);
    else if (getSelection().toString().trim() === document.getElementById("all-links").textContent) mark(rowsOf());
  });
  file.addEventListener("click", () => mark(rowsOf()));
  addEventListener("beforeunload", (event) => {
    if (left()) event.preventDefault();
  });
}
