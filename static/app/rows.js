// Rows of a form that are all alike, of which anybody may want more than the page shows.
//
//   <div id="ID" data-rows="Error">            holds the rows, each a <fieldset> whose <legend> says "Error" and its number
//   <button type="button" data-add-row="#ID">  adds one like the last, empty, and goes to it
//
// assay:rows-wanted {body}: words come back into a form (words.js), which needs a row for each of them.

function add(rows) {
  const row = rows.lastElementChild.cloneNode(true);
  for (const field of row.querySelectorAll("input, select")) field.value = "";
  row.querySelector("legend").textContent = `${rows.dataset.rows} ${rows.children.length + 1}`;
  rows.append(row);
  return row;
}

document.addEventListener("click", ({target}) => {
  const button = target.closest?.("[data-add-row]");
  if (button) add(document.querySelector(button.dataset.addRow)).querySelector("input, select").focus();
});

document.addEventListener("assay:rows-wanted", ({target, detail: {body}}) => {
  for (const rows of target.querySelectorAll("[data-rows]")) {
    const {name} = rows.querySelector("[name]");
    for (let more = body.getAll(name).length - rows.children.length; more > 0; more -= 1) add(rows);
  }
});
