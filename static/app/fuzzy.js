// A small fuzzy search: the letters of the query, in their order, anywhere in the text. Letters one after the other and
// beginnings of words count most.

const MAX_QUERY = 64;
const MAX_TEXT = 200;

/**
 * Return how well a text fits a query, and which of its characters do; null if it does not fit.
 * @param {string} query
 * @param {string} text
 * @returns {{score: number, at: number[]} | null}
 */
export function match(query, text) {
  const wanted = [...lower(query).replace(/\s+/g, "")].slice(0, MAX_QUERY);
  const letters = [...text.slice(0, MAX_TEXT)].map(lower);
  if (!wanted.length) return {score: 0, at: []};
  const whole = letters.join("").indexOf(lower(query).trim());
  // The words as they were typed come before letters that are scattered.
  const exact = whole < 0 ? null : taken(wanted, letters, [...letters.join("").slice(0, whole)].length);
  let best = exact && {...exact, score: exact.score + 20};
  for (let start = 0; !exact && start <= letters.length - wanted.length; start += 1) {
    if (letters[start] !== wanted[0]) continue;
    const found = taken(wanted, letters, start);
    if (!found) break; // what does not fit from here does not fit from later
    if (!best || found.score > best.score) best = found;
  }
  return best;
}

/** Take the letters of the query, each at its next place, beginning at `start`. At most MAX_TEXT steps. */
function taken(wanted, letters, start) {
  const at = [];
  let score = 0;
  let next = start;
  for (const letter of wanted) {
    while (letters[next] === " " && letter !== " ") next += 1;
    const found = letters.indexOf(letter, next);
    if (found < 0) return null;
    if (found === at.at(-1) + 1) score += 4;
    if (found === 0 || /[^\p{L}\p{N}]/u.test(letters[found - 1])) score += 6;
    score -= Math.min(3, found - next);
    at.push(found);
    next = found + 1;
  }
  return {score: score - letters.length / MAX_TEXT, at};
}

function lower(text) {
  const low = text.toLowerCase();
  return low.length === text.length ? low : text; // some letters become two
}

/** Return nodes of a text in which the characters at these places are marked. */
export function marked(text, at) {
  const places = new Set(at);
  const nodes = [];
  let run = "";
  let on = false;
  const flush = () => {
    if (!run) return;
    const mark = on ? document.createElement("mark") : null;
    if (mark) mark.textContent = run;
    nodes.push(mark ?? run);
    run = "";
  };
  [...text].forEach((letter, index) => {
    if (places.has(index) !== on) {
      flush();
      on = !on;
    }
    run += letter;
  });
  flush();
  return nodes;
}
