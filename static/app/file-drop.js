// <file-drop> around a file input: files can be dropped on it, and an <output> inside shows what was chosen. Without
// this module the input works as usual.

import {gettext, interpolate, ngettext} from "./translation.js";

class FileDrop extends HTMLElement {
  connectedCallback() {
    this.addEventListener("dragover", (event) => {
      event.preventDefault();
      this.toggleAttribute("over", true);
    });
    this.addEventListener("dragleave", (event) => {
      if (!this.contains(event.relatedTarget)) this.toggleAttribute("over", false);
    });
    this.addEventListener("drop", (event) => this.#drop(event));
    this.addEventListener("change", () => this.#showFiles());
  }

  get #input() {
    return this.querySelector('input[type="file"]');
  }

  #drop(event) {
    event.preventDefault();
    this.toggleAttribute("over", false);
    const dropped = event.dataTransfer?.files;
    if (!dropped?.length || !this.#input) return;
    if (dropped.length > 1 && !this.#input.multiple) return this.#show(gettext("Drop one file at a time."));
    this.#input.files = dropped;
    this.#input.dispatchEvent(new Event("change", {bubbles: true}));
    this.#input.focus();
  }

  #showFiles() {
    const files = [...(this.#input?.files ?? [])];
    this.#show(files.map((file) => `${file.name} (${size(file.size)})`).join(", "));
  }

  #show(text) {
    const output = this.querySelector("output");
    if (output) output.textContent = text;
  }
}

function size(bytes) {
  if (bytes < 1000) return interpolate(ngettext("%(count)s byte", "%(count)s bytes", bytes), {count: bytes});
  const power = Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(1)} ${["", "kB", "MB", "GB"][power]}`;
}

customElements.define("file-drop", FileDrop);
