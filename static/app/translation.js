// Text in the reader's language. In English, which is the language of the source, no catalog is loaded and these
// functions return the text as it is. For another language, base.html loads Django's catalog, which defines functions
// of the same names. `make translations` collects the texts.

const catalog = /** @type {any} */ (globalThis);

/** Return the text in the reader's language. */
export const gettext = (text) => catalog.gettext?.(text) ?? text;

/** Return the form of the text for a number, in the reader's language. */
export const ngettext = (one, many, count) => catalog.ngettext?.(one, many, count) ?? (count === 1 ? one : many);

/** Return the text with values in place of its `%(name)s`. */
export const interpolate = (text, values) => text.replace(/%\((\w+)\)s/g, (whole, name) => values[name] ?? whole);
