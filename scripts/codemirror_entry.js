// The parts of CodeMirror 6 that the code editor needs. `scripts/vendor.py bundle` builds one module from them.
export {basicSetup} from "codemirror";
export {EditorView, keymap} from "@codemirror/view";
export {EditorState} from "@codemirror/state";
export {HighlightStyle, syntaxHighlighting} from "@codemirror/language";
export {tags} from "@lezer/highlight";
export {linter, lintGutter} from "@codemirror/lint";
export {json, jsonParseLinter} from "@codemirror/lang-json";
export {python} from "@codemirror/lang-python";
