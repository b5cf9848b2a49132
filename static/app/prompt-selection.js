// <prompt-selection data-text="ID"> around a form: text that the user selects inside the element with that id, by mouse
// or keyboard, is put into the form's [name=value] and shown in its <output>. This enables the form's button. Marks
// that name the constraint of a passage ([data-mark]) are not part of the text. Without this module the element is
// hidden (case.css); the fields next to it do the same.

import {gettext, interpolate} from "./translation.js";

class PromptSelection extends HTMLElement {
  connectedCallback() {
    document.addEventListener("selectionchange", this.#update);
    this.#update();
  }

  disconnectedCallback() {
    document.removeEventListener("selectionchange", this.#update);
  }

  // Keep the last selection: moving to the button may clear it.
  #update = () => {
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
