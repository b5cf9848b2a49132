// <span-selection> around a form with a readonly <textarea>: the text that the user selects in it, by mouse or keyboard,
// is written into the form's [name=start] and [name=end], which count characters (code points) from the start. Without
// this module, the numbers are typed.

class SpanSelection extends HTMLElement {
  connectedCallback() {
    document.addEventListener("selectionchange", this.#update);
  }

  disconnectedCallback() {
    document.removeEventListener("selectionchange", this.#update);
  }

  // Keep the last selection: moving to the button may clear it.
  #update = () => {
    const text = this.querySelector("textarea");
    if (document.activeElement !== text || text.selectionStart === text.selectionEnd) return;
    const count = (end) => [...text.value.slice(0, end)].length;
    this.querySelector('[name="start"]').value = count(text.selectionStart);
    this.querySelector('[name="end"]').value = count(text.selectionEnd);
  };
}

customElements.define("span-selection", SpanSelection);
