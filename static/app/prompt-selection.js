// <prompt-selection data-text="ID"> around a form: what somebody selects inside the element with that id, by mouse or by
// keyboard, goes into the form's [name=value] and is shown in its [output]; its button can be pressed from then on.
// The marks that say which constraint a passage states ([data-mark]) are no words of the text.
// Without this module the element is not shown (case.css): the fields beside it do the same.

import {gettext, interpolate} from "./translation.js";

class PromptSelection extends HTMLElement {
  connectedCallback() {
    document.addEventListener("selectionchange", this.#look);
    this.#look();
  }

  disconnectedCallback() {
    document.removeEventListener("selectionchange", this.#look);
  }

  // What was selected last stays: going to the button may end the selection.
  #look = () => {
    const words = selectedIn(document.getElementById(this.dataset.text));
    if (!words) return;
    this.querySelector('[name="value"]').value = words;
    this.querySelector("output").textContent = interpolate(gettext("Selected: “%(text)s”"), {text: words});
    this.querySelector("button").disabled = false;
  };
}

function selectedIn(text) {
  const selection = getSelection();
  if (!text || !selection.rangeCount || selection.isCollapsed) return "";
  const range = selection.getRangeAt(0).cloneRange();
  if (!range.intersectsNode(text)) return "";
  const whole = document.createRange();
  whole.selectNodeContents(text);
  if (range.compareBoundaryPoints(Range.START_TO_START, whole) < 0) range.setStart(whole.startContainer, whole.startOffset);
  if (range.compareBoundaryPoints(Range.END_TO_END, whole) > 0) range.setEnd(whole.endContainer, whole.endOffset);
  const words = range.cloneContents();
  for (const mark of words.querySelectorAll("[data-mark]")) mark.remove();
  return words.textContent.trim();
}

customElements.define("prompt-selection", PromptSelection);
