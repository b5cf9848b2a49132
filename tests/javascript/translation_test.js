/// <reference lib="deno.ns" />
// Texts of the scripts, with and without Django's catalog.
import assert from "node:assert/strict";

import {gettext, interpolate, ngettext} from "../../static/app/translation.js";

const catalog = /** @type {any} */ (globalThis);

Deno.test("without a catalog the texts stay as they are", () => {
  assert.equal(gettext("Copied"), "Copied");
  assert.equal(ngettext("%(count)s change", "%(count)s changes", 1), "%(count)s change");
  assert.equal(ngettext("%(count)s change", "%(count)s changes", 0), "%(count)s changes");
});

Deno.test("the functions of a catalog are used once it is there", () => {
  catalog.gettext = (text) => ({Copied: "Kopiert"})[text] ?? text;
  catalog.ngettext = (one, many, count) => (count < 3 ? `few: ${one}` : `many: ${many}`);
  try {
    assert.equal(gettext("Copied"), "Kopiert");
    assert.equal(gettext("Unknown"), "Unknown");
    assert.equal(ngettext("change", "changes", 2), "few: change");
    assert.equal(ngettext("change", "changes", 3), "many: changes");
  } finally {
    delete catalog.gettext;
    delete catalog.ngettext;
  }
});

Deno.test("values replace their names, and nothing else is read as one", () => {
  assert.equal(interpolate("%(a)s of %(b)s, %(a)s", {a: 0, b: "%(a)s"}), "0 of %(a)s, 0");
  assert.equal(interpolate("100 % of %(unknown)s", {}), "100 % of %(unknown)s");
});
