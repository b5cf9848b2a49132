// Repeated rows of a form, to which the user can add more.
//
//   <div id="ID" data-rows="Error">            the rows, each a <fieldset> with the <legend> "Error" and a number
//   <button type="button" data-add-row="#ID">  adds an empty copy of the last row and focuses it
//
// assay:rows-wanted {body}: input is restored into a form (words.js), which needs a row for each value.

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
