// The checklist of a review, and the errors that the reviewer's edits suggest: keys, focus and times.
//
//   .checklist > fieldset > .check-item   a question: y answers Yes and goes on, n answers No and opens the note,
//                                         Shift+Y answers the rest of the fieldset with Yes, j and k go to the next
//                                         and the previous question. The keys work while the focus is in a question, so
//                                         that no other key is bound twice
//   data-required                         on a question that must be answered: [data-blank-questions] leads to the
//                                         first one that is not
//   [data-unanswered]                     asks once whether an approval is meant that leaves questions without an answer;
//                                         sending again is the answer
//   [data-field-link]                     leads to the field (or heading). In the list of what was refused, it goes with
//                                         what is wrong when the field is changed
//   .suggested-error[data-kind][data-anchor]   y adds it to the rows of #named-errors, n drops it
//
// The form #verdict is beside the dialogue: it is rendered again while the user works. Its input is kept by words.js;
// this module keeps the chosen verdict and the focus. The field `answer_times` gets the seconds of each answer since
// the one before, as [[place, question, seconds, whether one key gave several], …].

import {isOn, namesOf, scriptedKey} from "./keys.js";
import {gettext, interpolate, ngettext} from "./translation.js";

/** The verdicts that need a reason. */
const REFUSING = ["reject", "escalate"];
const TEXT = "textarea, input:not([type=radio], [type=checkbox])";
const ROW = ".check-item, .suggested-error";
// A press that comes sooner is part of the one before: nobody has read the question.
const READING_MILLISECONDS = 1000;

let current; // the question or suggestion that had the focus last
let verdict = ""; // the verdict that the user chose on this page
let asked = false; // whether the user has had time to read that questions have no answer
let reading; // the timer until then
let since = performance.now(); // when the last answer was given, or the checklist got the focus

const form = () => document.querySelector("form#verdict");
const rows = () => [...document.querySelectorAll(ROW)].filter((row) => row.checkVisibility());
const radio = (item, value) => item.querySelector(`input[type=radio][value=${value}]`);
const isBlank = (item) => item.matches(".check-item") && !item.querySelector("input[type=radio]:checked");
const isOpen = (row) => isBlank(row) || row.matches(".suggested-error");
const blankIn = (fieldset) => [...fieldset.querySelectorAll(".check-item")].filter(isBlank);
/** Return the open row to go on with: the current one, else the first. */
const openRow = () => [current, ...rows()].find((row) => row?.checkVisibility() && isOpen(row));
const firstBlank = () => rows().find((row) => "required" in row.dataset && isBlank(row));

// --- the focus --------------------------------------------------------------------------------------------------------

function focusRow(row) {
  const target = row.querySelector("input[type=radio]:checked") ?? row.querySelector("input[type=radio], button");
  target.focus({preventScroll: true});
  row.scrollIntoView({block: "nearest"});
}

/** Focus the next row that is open, else the next one, else what sends the review. */
function goOn(row) {
  const all = rows();
  const after = all.filter((other) => row.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);
  const next = after.find(isOpen) ?? all.find(isOpen) ?? after[0];
  if (next) focusRow(next);
  else finish();
}

/** Go to the next or the previous question; after the last one, to what sends the review. */
function walk(row, event) {
  const names = namesOf(event);
  const [next, previous] = ["next-place", "previous-place"].map((one) => names.includes(scriptedKey(one)));
  if (!next && !previous) return false;
  const all = rows();
  const other = all[all.indexOf(row) + (next ? 1 : -1)];
  if (other) focusRow(other);
  else if (next) finish();
  return true;
}

function finish() {
  const chosen = form()?.querySelector("[name=verdict]:checked");
  const target = chosen ? form().querySelector("[data-primary]") : form()?.querySelector("[name=verdict]");
  target?.focus();
}

document.addEventListener("focusin", ({target, relatedTarget}) => {
  current = target.closest(ROW) ?? current;
  if (target.closest(".checklist") && !relatedTarget?.closest?.(".checklist")) since = performance.now();
});

// --- answers ----------------------------------------------------------------------------------------------------------

function answer(items, value) {
  noteTimes(items);
  for (const item of items) {
    radio(item, value).checked = true;
    forget(item);
  }
  for (const type of ["input", "change"]) radio(items.at(-1), value).dispatchEvent(new Event(type, {bubbles: true}));
}

function accept(row) {
  const list = document.getElementById("named-errors");
  const {kind, anchor} = row.dataset;
  if (!isNamed(row)) {
    const isFree = (field) => !field.querySelector("[name=error-type]").value && !field.querySelector("[name=error-note]").value;
    let field = [...list.children].find(isFree);
    if (!field) {
      document.querySelector('[data-add-row="#named-errors"]').click();
      field = list.lastElementChild;
    }
    field.querySelector("[name=error-type]").value = kind;
    field.querySelector("[name=error-anchor]").value = anchor;
    for (const type of ["input", "change"]) field.querySelector("select").dispatchEvent(new Event(type, {bubbles: true}));
  }
  row.hidden = true;
  goOn(row);
  countErrors();
  const text = interpolate(gettext("Added to the errors found: %(error)s"), {error: row.querySelector("strong").textContent});
  document.dispatchEvent(new CustomEvent("assay:announce", {detail: {text}}));
}

function isNamed({dataset: {kind, anchor}}) {
  return [...document.querySelectorAll("#named-errors > *")].some(
    (field) => field.querySelector("[name=error-type]").value === kind && field.querySelector("[name=error-anchor]").value === anchor,
  );
}

function actionOf(event) {
  const names = namesOf(event);
  return ["yes", "no", "rest-yes"].find((one) => scriptedKey(one) && names.includes(scriptedKey(one)));
}

document.addEventListener(
  "keydown",
  (event) => {
    const {target, key, isComposing, repeat} = event;
    if (event.defaultPrevented || isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = target.closest?.(ROW) ?? (target === document.body && current?.checkVisibility() ? current : null);
    if (!row) {
      // The focus is on a verdict or on what sends the review. A key answers only the question that has the focus: it
      // leads to one that is open, and does nothing after the last answer.
      if (!isOn() || !target.closest?.("form#verdict") || target.matches(TEXT) || !actionOf(event)) return;
      event.preventDefault();
      if (openRow()) focusRow(openRow());
      return;
    }
    if (target.matches(TEXT)) {
      if (!row.matches(".check-item")) return;
      // Enter also saves the form.
      if (key === "Enter") setTimeout(() => goOn(row));
      if (key !== "Escape") return;
      // The sheet of a narrow window stays open.
      event.preventDefault();
      event.stopPropagation();
      focusRow(row);
      return;
    }
    if (isOn() && walk(row, event)) return event.preventDefault();
    const action = actionOf(event);
    if (!action || !isOn()) return;
    event.preventDefault();
    if (repeat) return;
    if (row.matches(".suggested-error")) {
      if (action === "no") row.querySelector("input").click();
      else if (action === "yes") accept(row);
      else if (rows().some(isBlank)) focusRow(rows().find(isBlank)); // it answers questions, and none of them has the focus
    } else if (action === "no") {
      answer([row], "no");
      row.querySelector(".check-note input").focus();
    } else {
      const rest = action === "rest-yes" ? blankIn(row.parentElement).filter((item) => item !== row) : [];
      answer([row, ...rest], "yes");
      goOn(rest.at(-1) ?? row);
    }
  },
  true,
);

document.addEventListener("click", (event) => {
  const button = event.target.closest?.(".suggested-error button[name=accept]");
  const link = event.target.closest?.("[data-question-link]");
  const question = link && document.getElementById(decodeURIComponent(link.hash.slice(1)));
  const rest = event.target.closest?.("[data-yes-rest]") ? blankIn(event.target.closest("fieldset")) : [];
  if (!button && !question && !rest.length) return;
  event.preventDefault();
  if (rest.length) {
    answer(rest, "yes");
    goOn(rest.at(-1));
  } else if (button) accept(button.closest(".suggested-error"));
  else focusRow(question);
});

document.addEventListener("change", ({target, isTrusted}) => {
  if (target.name === "verdict") chooseVerdict(target.value);
  if (target.matches?.(".suggested-error input")) goOn(target.closest(".suggested-error"));
  if (isTrusted && target.matches?.(".check-item input[type=radio]")) noteTimes([target.closest(".check-item")]);
  showBlank();
  countErrors();
});

/** Note the verdict, also in the address: reloading the page must not choose an earlier one. */
function chooseVerdict(value) {
  verdict = value;
  const address = new URL(location.href);
  if (!address.pathname.endsWith("/submit/")) return;
  address.searchParams.set("verdict", value);
  history.replaceState(history.state, "", address);
}

// A key has chosen the verdict: what is missing is the reason, or an answer.
document.addEventListener("click", ({target, isTrusted}) => {
  if (target.name !== "verdict" || isTrusted || focusReason()) return;
  if (openRow()) focusRow(openRow());
});

function focusReason() {
  const {reason} = form()?.elements ?? {};
  const wanted = REFUSING.includes(form()?.querySelector("[name=verdict]:checked")?.value) && reason && !reason.value.trim();
  if (wanted) reason.focus();
  return Boolean(wanted);
}

// --- what was refused ---------------------------------------------------------------------------------------------------

function focusField(id) {
  const field = document.getElementById(id);
  if (field?.matches(ROW)) return focusRow(field);
  field?.focus();
  // The verdict is of use together with what sends it.
  field?.closest(".review-foot")?.scrollIntoView({block: "nearest"});
}

const idOf = (link) => decodeURIComponent(link.hash.slice(1));

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("[data-field-link]");
  if (!link) return;
  event.preventDefault();
  focusField(idOf(link));
});

/** Forget what is wrong with the field of an input that was changed. */
function forget(target) {
  const place = target.closest?.(".check-item") ?? target.closest?.(".tiles, .field, fieldset");
  const field = place?.closest("form#verdict") && (place.querySelector("[aria-invalid]") ?? place.closest("[aria-invalid]"));
  if (!field) return;
  const described = field.getAttribute("aria-describedby").split(" ");
  document.getElementById(described.pop())?.remove();
  field.removeAttribute("aria-invalid");
  field.setAttribute("aria-describedby", described.join(" "));
  const ids = [place, ...place.querySelectorAll("[id]")].map(({id}) => id);
  for (const link of document.querySelectorAll("[data-field-link]")) if (ids.includes(idOf(link))) link.parentElement.remove();
  const summary = document.getElementById("refused");
  const left = summary?.querySelectorAll("li").length ?? 0;
  if (left < 2) document.querySelector('[href="#refused"]')?.parentElement.remove();
  if (!left) summary?.remove();
}

for (const type of ["input", "change"]) document.addEventListener(type, ({target}) => forget(target));

function countErrors() {
  const open = [...document.querySelectorAll(".suggested-error")].filter((row) => !row.hidden && !row.querySelector("input").checked);
  for (const section of document.querySelectorAll(".suggested-errors")) section.hidden = !open.length;
  const count = [...document.querySelectorAll("#named-errors [name=error-type]")].filter(({value}) => value).length;
  const place = document.querySelector("[data-error-count]");
  if (place) place.textContent = count ? `(${count})` : "";
}

function showBlank() {
  const note = document.querySelector("[data-blank-questions]");
  if (!note) return;
  const first = firstBlank();
  note.hidden = !first;
  if (first) note.querySelector("a").hash = encodeURIComponent(first.id);
  const question = document.querySelector("[data-unanswered]");
  if (question && !question.hidden) sayBlank(question);
}

/** Say how many questions have no answer, with a link to the first; hide the question if all have one. */
function sayBlank(question) {
  const all = rows().filter((row) => row.matches(".check-item"));
  const blank = all.filter(isBlank);
  question.hidden = !blank.length;
  if (!blank.length) return;
  const counts = {blank: blank.length, all: all.length};
  const none = gettext("No question is answered.");
  const some = ngettext("%(blank)s of %(all)s questions has no answer.", "%(blank)s of %(all)s questions have no answer.", blank.length);
  question.querySelector("[data-blank-count]").textContent = blank.length === all.length ? none : interpolate(some, counts);
  question.querySelector("a").hash = encodeURIComponent(blank[0].id);
}

// --- times ------------------------------------------------------------------------------------------------------------

const stored = () => `assay.times.${document.querySelector("[data-draft]")?.dataset.draft}`;

function readTimes() {
  try {
    return JSON.parse(sessionStorage[stored()] ?? "{}");
  } catch {
    return {};
  }
}

function noteTimes(items) {
  if (!form()?.elements.answer_times) return;
  const seconds = (performance.now() - since) / 1000 / items.length;
  since = performance.now();
  const times = readTimes();
  for (const item of items) {
    const name = radio(item, "yes").name;
    times[name] = [(times[name]?.[0] ?? 0) + seconds, items.length > 1];
  }
  try {
    sessionStorage[stored()] = JSON.stringify(times);
  } catch {
    // Storage is not available: the times stay unknown.
  }
}

/** Return the times as the server reads them; the id of a task may hold colons. */
function timesToSend() {
  return Object.entries(readTimes()).map(([name, [seconds, together]]) => {
    const [, place, question] = name.match(/^check:(.*):([^:]*)$/);
    return [place, question, Math.round(seconds * 10) / 10, together];
  });
}

document.addEventListener(
  "submit",
  (event) => {
    const {target, submitter} = event;
    if (!target.matches("#verdict") || event.defaultPrevented || submitter?.hasAttribute("formaction")) return;
    const question = document.querySelector("[data-unanswered]");
    const passes = !REFUSING.includes(target.querySelector("[name=verdict]:checked")?.value);
    const unsure = question && !asked && passes && rows().some(isBlank) && !firstBlank();
    if (unsure && !document.querySelector("[data-blocked]")) {
      event.preventDefault();
      event.stopImmediatePropagation();
      delete target.dataset.waits;
      clearTimeout(reading);
      reading = setTimeout(() => {
        asked = true;
        document.querySelector("[data-unanswered]")?.setAttribute("data-asked", "");
      }, READING_MILLISECONDS);
      sayBlank(question);
    } else {
      target.elements.answer_times.value = JSON.stringify(timesToSend());
    }
  },
  true,
);

document.addEventListener("assay:item-comes", () => {
  current = undefined;
  verdict = "";
  asked = false;
  clearTimeout(reading);
});

// --- the form is rendered again -----------------------------------------------------------------------------------------

let shown = null; // the form that the page shows
let focused = null; // the field of it that had the focus before a swap: {name, value}

document.addEventListener("htmx:before:swap", () => {
  const field = document.activeElement;
  focused = field?.form && field.form === form() ? {name: field.name, value: field.value, id: field.id} : null;
});

document.addEventListener("htmx:after:swap", ({detail: {ctx}}) => {
  // An edit that was answered after the tab was opened: its answer left the tab as it was. A form that waited for the
  // edit is sent now, and its page is left.
  const late = ctx?.edit?.outcome === "saved" && form() && form() === shown && !("waits" in form().dataset);
  begin();
  if (late) globalThis.htmx.ajax("GET", form().getAttribute("action"), {source: document.body, target: "#edit-note", swap: "innerHTML"});
});

function begin() {
  const now = form();
  if (now === shown) return;
  const isNew = !shown;
  shown = now;
  if (!now) return;
  restoreVerdict(now);
  for (const row of now.querySelectorAll(".suggested-error")) row.hidden = isNamed(row);
  showBlank();
  countErrors();
  if (isNew) {
    since = performance.now();
    const summary = document.querySelector(".error-summary");
    if (summary) {
      const first = summary.querySelector("[data-field-link]");
      if (first) focusField(idOf(first));
      document.dispatchEvent(new CustomEvent("assay:announce", {detail: {text: summary.textContent.replace(/\s+/g, " ").trim()}}));
      return;
    }
    if (focusReason()) return;
    const blocked = document.querySelector("[data-blocked]");
    const first = rows().find(isOpen);
    if (blocked) blocked.focus();
    else if (first) focusRow(first);
    else finish();
  } else if (focused) {
    const fields = [...now.elements].filter(({name}) => name === focused.name);
    (fields.find(({value, type}) => type !== "radio" || value === focused.value) ?? fields[0])?.focus({preventScroll: true});
  }
}

/** Choose the verdict again that the user had chosen; a change of the draft turns an approval into one with a fix. */
function restoreVerdict(now) {
  const offered = [...now.querySelectorAll("[name=verdict]")];
  const chosen = offered.find(({checked}) => checked);
  if (chosen) verdict = chosen.value;
  const passes = ["approve", "fix"];
  const again = offered.find(({value}) => value === verdict || (passes.includes(value) && passes.includes(verdict)));
  if (!chosen && again) again.checked = true;
}

// An edit of this page that is answered while the tab is open: the review is about the version that it made.
document.addEventListener("assay:draft-moved", ({detail: {version}}) => {
  const seen = form()?.elements.seen;
  if (seen && Number(seen.value) === version - 1) seen.value = version;
});

begin();
