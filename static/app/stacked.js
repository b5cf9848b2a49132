// Tables with the class `stacked`: in a narrow window each row is a list of "head: value" (components.css); those with
// the class `early`, which have many columns, also in a wider one. This writes the head of the column to each cell, and
// keeps the roles that such a layout takes away from the elements.

const ROLES = {THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell"};
const NARROW = matchMedia("(max-width: 39.99rem)");
const EARLY = matchMedia("(max-width: 63.99rem)");

function stack(root) {
  for (const table of root.querySelectorAll("table.stacked")) {
    const heads = [...table.querySelectorAll("thead th")];
    for (const part of table.querySelectorAll("thead, tbody, tr, td")) part.role = ROLES[part.tagName];
    for (const head of heads) head.role = "columnheader";
    for (const row of table.tBodies[0]?.rows ?? []) {
      let column = 0;
      for (const cell of row.cells) {
        const head = heads[column];
        column += cell.colSpan;
        if (cell.localName === "th") cell.role = "rowheader";
        // A head that only screen readers read is obvious from its cells.
        else if (head && cell.colSpan === 1 && !head.querySelector(".visually-hidden")) cell.dataset.label = head.textContent.trim();
      }
    }
    table.role = "table";
    table.toggleAttribute("data-stacks", (table.matches(".early") ? EARLY : NARROW).matches);
  }
}

stack(document);
for (const query of [NARROW, EARLY]) query.addEventListener("change", () => stack(document));
document.addEventListener("htmx:after:swap", () => stack(document));
