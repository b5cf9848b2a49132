// The edits of a draft on their way to the server: one after the other, again after a failure, and kept in the browser
// until they are accepted. This module knows no page; autosave.js, which does, says what it sends and when.

const RETRY_SECONDS = [2, 5, 15, 30, 60];
const PREFIX = "assay.draft.";
export const ENDED = ["signed-out", "lost"]; // nothing is sent before somebody has done something about it

const random = (parts) => crypto.getRandomValues(new Uint32Array(parts)).reduce((text, part) => text + part.toString(36), "");
const isRefused = ({state}) => state === "refused";
const isInConflict = ({state}) => state === "conflict";
const isSamePlace = (one, other) => one.url === other.url && one.anchor === other.anchor && one.op === other.op;
/** Whether an edit is still to be sent, or on its way: an answer that is shown now is not its own. */
export const isUnanswered = (edit) => edit.state === "unsent" && !edit.outcome;

/** Whether two forms, or what they have sent, are of one place, or one of a part of the other: each shows what the other saves only later. */
export function crosses(one, other) {
  const places = [one?.anchor ?? null, other.anchor ?? null];
  if (places.includes(null) || (one.anchor === other.anchor && one.op === other.op)) return false;
  return `${one.anchor}/`.startsWith(`${other.anchor}/`) || `${other.anchor}/`.startsWith(`${one.anchor}/`);
}

/**
 * What the queue needs of the page around it.
 * @typedef {object} Surroundings
 * @property {() => string | undefined} draft   the open draft's public id
 * @property {() => Storage} storage            throws where the browser has closed it
 * @property {() => boolean} isOnline
 * @property {(edit: any) => Promise<unknown>} post   sends an edit and sets its `outcome`: saved, refused, conflict, offline or one of ENDED
 * @property {(state: string, was: string) => void} show   tells what became of the edits
 * @property {() => void} forgetRefusals        takes away why edits were refused: none is any more
 * @property {() => boolean} isUnfinished       whether something typed cannot be sent yet
 * @property {(act: () => void, seconds: number) => () => void} later   returns what calls it off
 */

/** The edits that the server has not accepted yet. They are sent in order, one at a time, and kept in the browser. */
export class EditQueue {
  /** @type {any[]} */
  edits = [];
  /** The edit that is on its way. */
  current = null;
  /** saved, saving, offline, conflict, refused, unfinished or one of ENDED */
  state = "saved";
  /** When this page last saved something. @type {Date | undefined} */
  savedAt = undefined;
  page = random(2);
  #around;
  #failures = 0;
  #made = 0;
  #cancelRetry = () => {};

  /** @param {Surroundings} around */
  constructor(around) {
    this.#around = around;
  }

  get unsent() {
    return this.edits.filter((edit) => !isRefused(edit));
  }

  /** Whether the place was changed again since, and that waits: it holds all that this edit holds. */
  isOutdated(edit) {
    const later = this.edits.slice(this.edits.indexOf(edit) + 1);
    return later.some((other) => other.state === "unsent" && isSamePlace(other, edit));
  }

  /** Take up what an earlier page has left in the browser. */
  adopt() {
    const draft = this.#around.draft();
    if (!draft) return;
    let left = [];
    try {
      const storage = this.#around.storage();
      const keys = Object.keys(storage).filter((key) => key.startsWith(`${PREFIX}${draft}.`));
      left = keys.sort().map((key) => JSON.parse(storage.getItem(key)));
    } catch {
      return;
    }
    for (const edit of left) this.edits.push({...edit, page: this.page, chosen: -1, adopted: true, state: "unsent", tries: edit.tries + 1});
  }

  /** Return an edit with what the queue must know of it: its id, its place in the order, its state. */
  edit(content) {
    const now = Date.now().toString(36).padStart(9, "0");
    const key = `${now}.${String(this.#made++).padStart(6, "0")}.${this.page}`;
    return {id: random(4), key, draft: this.#around.draft(), page: this.page, tries: 0, state: "unsent", ...content};
  }

  /** Send an edit when its turn comes. One that is not `ready` to be sent only replaces what was refused at its place. */
  add(edit, {ready = true} = {}) {
    if (edit.anchor !== null) this.#replaceBy(edit, ready);
    if (ready) {
      this.edits.push(edit);
      this.#keep(edit);
    } else this.#afterRefusals();
    return this.run();
  }

  /** Typing replaces unsent typing at the same place, as long as nothing that is not typing came between. */
  #replaceBy(edit, ready) {
    for (let at = this.edits.length - 1; at >= 0 && this.edits[at].anchor !== null; at -= 1) {
      const older = this.edits[at];
      const isUntried = older.tries === 0 && older !== this.current && older.state === "unsent";
      if (isSamePlace(older, edit) && ((ready && isUntried) || isRefused(older))) this.#forget(older);
    }
  }

  /** Send what is unsent, until all is sent or something stands in the way. */
  async run() {
    while (!this.current && !["conflict", ...ENDED].includes(this.state)) {
      const [edit] = this.unsent;
      if (!edit) return this.settle();
      if (!this.#around.isOnline()) return this.#fail("offline");
      const outcome = await this.#send(edit);
      if (outcome === "conflict") return this.#show("conflict");
      if (!["saved", "refused"].includes(outcome)) return this.#fail(outcome);
    }
  }

  async #send(edit) {
    this.#cancelRetry();
    this.current = edit;
    edit.tries += 1;
    edit.outcome = null;
    this.#keep(edit);
    this.#show("saving");
    try {
      await this.#around.post(edit);
    } catch {
      edit.outcome ??= "offline";
    }
    this.current = null;
    const outcome = edit.outcome ?? "offline";
    delete edit.outcome;
    if (outcome === "saved") {
      this.#failures = 0;
      this.savedAt = new Date();
      this.#forget(edit);
      this.#afterRefusals();
    } else if (outcome === "refused") {
      this.#failures = 0;
      edit.state = "refused";
      // Words stay until the next edit at this place; a button that was refused has nothing to keep.
      if (edit.anchor === null || this.isOutdated(edit)) this.#forget(edit);
      else this.#keep(edit);
    } else if (outcome === "conflict") {
      edit.state = "conflict";
      this.#keep(edit);
    }
    return outcome;
  }

  /** Somebody is typing what will be sent in a moment. */
  expect() {
    if (this.state === "saved") this.#show("saving");
  }

  settle() {
    this.#show(this.edits.length ? "refused" : this.#around.isUnfinished() ? "unfinished" : "saved");
  }

  #fail(outcome) {
    this.#show(outcome);
    if (ENDED.includes(outcome)) return;
    const seconds = RETRY_SECONDS[Math.min(this.#failures, RETRY_SECONDS.length - 1)];
    this.#failures += 1;
    this.#cancelRetry();
    this.#cancelRetry = this.#around.later(() => this.run(), seconds);
  }

  /** Try again at once; after the connection has come back (`anew`), the pauses begin with the shortest. */
  retry({anew = false} = {}) {
    if (anew) this.#failures = 0;
    if (this.current || this.state === "conflict" || !this.unsent.length) return undefined;
    this.state = "saving";
    return this.run();
  }

  /**
   * `made`, an edit of this page, has made `version`: what was made on the one before, by this page, is made on this one.
   * What was made on an earlier one stays so, for another window came between, and may have been at the same place; so does
   * what another form of this place holds, which does not show the edit.
   */
  advance(version, made) {
    for (const edit of this.edits) {
      if (edit.page !== this.page || edit.seen !== version - 1 || crosses(made, edit)) continue;
      edit.seen = version;
      if (edit !== this.current) this.#keep(edit);
    }
  }

  get inConflict() {
    return this.edits.filter(isInConflict);
  }

  /** The prompt of a conflict was answered: the edit it was about is settled, and later ones there are made on `version`. */
  decide(version) {
    for (const edit of this.dropConflict()) {
      for (const later of this.edits.filter((other) => isSamePlace(other, edit))) later.seen = version ?? later.seen;
    }
    this.savedAt = new Date();
    this.state = "saving";
    return this.run();
  }

  /** Forget the edits that are in conflict, and return them. */
  dropConflict() {
    const dropped = this.inConflict;
    dropped.forEach((edit) => this.#forget(edit));
    return dropped;
  }

  /** Forget the refused edits whose words (see words.js) were dropped. */
  dropRefused(keys) {
    for (const edit of this.edits.filter((one) => isRefused(one) && keys.includes(one.words))) this.#forget(edit);
    this.#afterRefusals();
    return this.run();
  }

  #afterRefusals() {
    if (!this.edits.some(isRefused)) this.#around.forgetRefusals();
  }

  #show(state) {
    const was = this.state;
    this.state = state;
    this.#around.show(state, was);
  }

  #keep(edit) {
    try {
      this.#around.storage().setItem(PREFIX + edit.draft + "." + edit.key, JSON.stringify(edit));
    } catch {
      // Storage is full or closed: the edit lives as long as this page, and leaving the page warns.
    }
  }

  #forget(edit) {
    const at = this.edits.indexOf(edit);
    if (at >= 0) this.edits.splice(at, 1);
    try {
      this.#around.storage().removeItem(PREFIX + edit.draft + "." + edit.key);
    } catch {
      // See #keep().
    }
  }
}
