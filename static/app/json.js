// JSON that people type.

/** Whether a text is JSON or blank. */
export function isJson(text) {
  if (!text.trim()) return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
