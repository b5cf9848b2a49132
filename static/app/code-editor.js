// <code-editor data-src="…/codemirror.js" data-lang="json|python"> around a <textarea>.
//
// The textarea has the value: the form sends it, the server renders it, and it works without this module. The editor is
// in the shadow root, so the page's styles and htmx swaps do not affect it. Its style sheets are adopted ones, which
// the content security policy allows. Its colours are the page's custom properties, so it follows the theme. On the
// textarea it fires `input` during typing, and `change` when the focus leaves. It starts once the page has been painted
// with the textarea, which has the same text: an editor takes as long to build as the rest of an answer to a click.
// `assay:editor` says that it is there: it is taller than the textarea.
//
// Tab leaves the editor, as in any field. With `data-tab="indent"` (default for Python) Tab indents, and Escape
// followed by Tab leaves; a line below the editor says so.

import {gettext} from "./translation.js";

const LINE = 1.45;

class CodeEditor extends HTMLElement {
  #view;
  #starting = false;
  #typed = false;

  async connectedCallback() {
    if (this.#view || this.#starting || !this.textarea) return;
    this.#starting = true;
    this.textarea.style.minBlockSize = `calc(${rowsOf(this.textarea) * LINE}em + 2px)`;
    let codemirror;
    try {
      codemirror = await import(this.dataset.src);
      await painted();
    } catch {
      return; // The textarea works on its own.
    } finally {
      this.#starting = false;
    }
    if (this.isConnected && this.textarea) this.#start(codemirror);
  }

  // Without being told, an editor that is gone keeps listening to the window, and the page gets slower with each one.
  disconnectedCallback() {
    // An editor that is only moved is back in the page at the end of the task.
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.#view?.destroy();
      this.#view = undefined;
    });
  }

  get textarea() {
    return this.querySelector("textarea");
  }

  focus(options) {
    if (this.#view) this.#view.focus();
    else this.textarea?.focus(options);
  }

  /** Whether the editor has the focus and was typed in; a click alone does not count. */
  get isTypedIn() {
    return Boolean(this.#typed && this.#view?.hasFocus);
  }

  /** Show what the server has put into the textarea, unless the user is typing here. */
  refresh() {
    if (!this.#view || !this.textarea) return;
    const text = this.#view.state.doc.toString();
    if (text === this.textarea.value) return;
    if (this.isTypedIn) this.textarea.value = text;
    else this.#view.dispatch({changes: changed(text, this.textarea.value)});
  }

  #start(cm) {
    const {textarea} = this;
    const indents = (this.dataset.tab ?? (this.dataset.lang === "python" ? "indent" : "")) === "indent";
    // The field may already have the focus: the editor takes it over, with the cursor position.
    const focused = document.activeElement === textarea ? textarea.selectionStart : -1;
    const shadow = this.shadowRoot ?? this.attachShadow({mode: "open"});
    const frame = document.createElement("div");
    frame.className = "frame";
    const hint = document.createElement("p");
    hint.id = "hint";
    hint.textContent = gettext("Tab indents. To leave the editor, press Esc, then Tab.");
    shadow.replaceChildren(frame, ...(indents ? [hint] : []));
    shadow.adoptedStyleSheets = [frameStyle()];
    this.#view = new cm.EditorView({
      doc: textarea.value,
      parent: frame,
      root: shadow,
      extensions: this.#extensions(cm, indents),
    });
    // Ctrl+Enter belongs to the page (shortcuts.js); the editor would insert a blank line.
    const leave = (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      event.stopPropagation();
      this.dispatchEvent(new KeyboardEvent("keydown", event));
    };
    frame.addEventListener("keydown", leave, {capture: true});
    if (focused >= 0) {
      this.#typed = textarea.value !== textarea.defaultValue;
      this.#view.dispatch({selection: {anchor: focused}});
      this.#view.focus();
    }
    this.dispatchEvent(new CustomEvent("assay:editor", {bubbles: true}));
  }

  #extensions(cm, indents) {
    const {textarea} = this;
    const readOnly = textarea.readOnly || textarea.disabled;
    const label = textarea.getAttribute("aria-label") ?? textarea.labels?.[0]?.textContent.trim() ?? gettext("Code");
    const keys = indents
      ? [
          {key: "Tab", run: (view) => insertIndent(view)},
          {key: "Shift-Tab", run: (view) => removeIndent(view)},
        ]
      : [];
    const problems = cm.jsonParseLinter();
    // A blank field is no error of its own: the server knows whether it may be blank.
    const lint = cm.linter((view) => (view.state.doc.toString().trim() ? problems(view) : []));
    const language = {json: () => [cm.json(), lint], python: () => [cm.python()]};
    return [
      cm.keymap.of(keys),
      cm.basicSetup,
      ...(language[this.dataset.lang]?.() ?? []),
      highlighting(cm),
      cm.EditorView.lineWrapping,
      cm.EditorState.readOnly.of(readOnly),
      cm.EditorView.editable.of(!readOnly),
      cm.EditorView.contentAttributes.of({
        "aria-label": label,
        ...(indents ? {"aria-describedby": "hint"} : {}),
        ...(textarea.getAttribute("aria-invalid") ? {"aria-invalid": "true"} : {}),
        // Also if it is editable: an accessibility check expects scrollable elements to be focusable.
        tabindex: "0",
      }),
      cm.EditorView.updateListener.of((update) => this.#updated(update)),
      look(cm, rowsOf(textarea)),
    ];
  }

  #updated(update) {
    const {textarea} = this;
    if (!textarea) return;
    const text = update.docChanged ? update.state.doc.toString() : textarea.value;
    if (update.view.hasFocus && textarea.value !== text) {
      textarea.value = text;
      this.#typed = true;
      textarea.dispatchEvent(new Event("input", {bubbles: true}));
    }
    if (update.focusChanged && !update.view.hasFocus && this.#typed) {
      this.#typed = false;
      textarea.dispatchEvent(new Event("change", {bubbles: true}));
    }
  }
}

function rowsOf(textarea) {
  return Number(textarea.rows) || 4;
}

/** Wait until the next frame has been painted. */
function painted() {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** Return the smallest change from one text to the other, so that the cursor keeps its position. */
function changed(from, to) {
  const shorter = Math.min(from.length, to.length);
  let start = 0;
  while (start < shorter && from[start] === to[start]) start += 1;
  let end = 0;
  while (end < shorter - start && from.at(-1 - end) === to.at(-1 - end)) end += 1;
  return {from: start, to: from.length - end, insert: to.slice(start, to.length - end)};
}

function insertIndent(view) {
  view.dispatch(view.state.replaceSelection("    "));
  return true;
}

function removeIndent(view) {
  const {from, text} = view.state.doc.lineAt(view.state.selection.main.head);
  const spaces = Math.min(4, text.length - text.trimStart().length);
  if (spaces) view.dispatch({changes: {from, to: from + spaces}});
  return true;
}

// Each definition adds a style sheet to every editor, so editors share them.
const looks = new Map();
let colours;

function highlighting({HighlightStyle, syntaxHighlighting, tags}) {
  colours ??= HighlightStyle.define([
    {tag: [tags.propertyName, tags.function(tags.variableName), tags.definition(tags.variableName)], color: "var(--code-key)"},
    {tag: tags.string, color: "var(--code-string)"},
    {tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)"},
    {tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: "var(--code-word)"},
    {tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic"},
    {tag: tags.invalid, color: "var(--bad)", textDecoration: "underline wavy"},
  ]);
  return syntaxHighlighting(colours);
}

function look({EditorView}, rows) {
  const known = looks.get(rows) ?? EditorView.theme({
    "&": {backgroundColor: "var(--inset)", color: "var(--text)", fontSize: "0.93rem", minHeight: `${rows * LINE}em`},
    "&.cm-focused": {outline: "none"},
    ".cm-scroller": {fontFamily: "var(--mono)", lineHeight: String(LINE), maxHeight: "26rem"},
    ".cm-content": {caretColor: "var(--text)"},
    ".cm-cursor": {borderLeftColor: "var(--text)"},
    ".cm-gutters": {backgroundColor: "var(--inset)", color: "var(--muted)", border: "none"},
    ".cm-activeLine, .cm-activeLineGutter": {backgroundColor: "transparent"},
    "&.cm-focused .cm-activeLineGutter": {color: "var(--text)"},
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
      backgroundColor: "var(--selection)",
    },
    "&.cm-focused .cm-matchingBracket": {backgroundColor: "var(--accent-soft)", outline: "1px solid var(--accent)"},
    ".cm-selectionMatch, .cm-searchMatch": {backgroundColor: "var(--warn-soft)", outline: "1px solid var(--warn-line)"},
    ".cm-tooltip, .cm-panels": {backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--control-line)"},
    ".cm-panels button, .cm-panels input": {backgroundImage: "none", backgroundColor: "var(--inset)", color: "var(--text)"},
    ".cm-tooltip-autocomplete ul li[aria-selected]": {backgroundColor: "var(--accent-fill)", color: "var(--on-accent)"},
    ".cm-foldPlaceholder": {backgroundColor: "var(--neutral-soft)", borderColor: "var(--neutral-line)", color: "var(--text)"},
    ".cm-diagnostic-error": {borderLeftColor: "var(--bad)"},
  });
  looks.set(rows, known);
  return known;
}

function frameStyle() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    :host { display: block }
    .frame { border: 1px solid var(--control-line); border-radius: 5px; overflow: hidden; background: var(--inset) }
    .frame:hover { border-color: var(--text) }
    .frame:focus-within { outline: 2px solid var(--focus); outline-offset: 2px }
    :host([invalid]) .frame { border: 2px solid var(--bad) }
    p { margin: 0.2rem 0 0; color: var(--muted); font: var(--small) var(--sans) }
  `);
  return sheet;
}

customElements.define("code-editor", CodeEditor);

// A click on the label focuses the editor, because the textarea itself is hidden.
document.addEventListener("click", (event) => {
  const label = event.target.closest?.("label[for]");
  label?.control?.closest("code-editor")?.focus();
});

const refresh = (root) => root.querySelectorAll("code-editor").forEach((editor) => editor.refresh());

document.addEventListener("reset", ({target}) => setTimeout(refresh, 0, target));
document.addEventListener("htmx:after:swap", () => refresh(document));
