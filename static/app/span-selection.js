// <span-selection> around a form with a readonly <textarea>: the text that the user selects in it, by mouse or keyboard,
// is written into the form's [name=start] and [name=end], which count characters (code points) from the start. Without
// this module, the numbers are typed.

class SpanSelection extends HTMLElement {
  connectedCallback() {
    document.addEventListener("selectionchange", this.#update);
    // Browsers move no cursor by keyboard in a readonly field. So while it has the focus, it is an ordinary one that
    // refuses every change; some of an input method cannot be refused, and are undone.
    this.addEventListener("focusin", ({target}) => {
      if (target.matches("textarea")) target.readOnly = false;
    });
    this.addEventListener("beforeinput", (event) => {
      if (event.target.matches("textarea")) event.preventDefault();
    });
    this.addEventListener("input", ({target}) => {
      if (target.matches("textarea")) target.value = target.defaultValue;
    });
    // The browser reports a selection a moment later, perhaps when the focus is already on the button.
    this.addEventListener("focusout", ({target}) => {
      if (target.matches("textarea")) this.#read(target);
    });
  }

  disconnectedCallback() {
    document.removeEventListener("selectionchange", this.#update);
  }

  // Keep the last selection: moving to the button may clear it.
  #update = () => {
    const text = this.querySelector("textarea");
    if (document.activeElement === text) this.#read(text);
  };

  #read(text) {
    if (text.selectionStart === text.selectionEnd) return;
    const count = (end) => [...text.value.slice(0, end)].length;
    this.querySelector('[name="start"]').value = count(text.selectionStart);
    this.querySelector('[name="end"]').value = count(text.selectionEnd);
  }
}

customElements.define("span-selection", SpanSelection);
