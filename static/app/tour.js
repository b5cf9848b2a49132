// The tour of the workspace: #tour is a card that goes from one [data-tour="STEP"] on the page to the next.
//
//   <div id="tour" popover="manual" role="dialog" data-tour-url="URL" data-tour-start>
//     <… aria-live id="tour-text">       describes the dialog, so that a screen reader reads each step
//     <section data-tour-step="STEP">    the text about the element with data-tour="STEP"; left out if there is none
//     [data-tour-next], [data-tour-back], [data-tour-done], [data-tour-skip]   its buttons
//   [data-tour-restart]                  starts it again, wherever it is
//
// With `data-tour-start` it starts with the page, unless the page shows an error. When it ends, the server is told once
// (POST to the URL), so it never starts by itself again. The focus is on the button Next. Escape skips the tour wherever
// the focus is; the arrow keys go on and back. While the card has the focus, no other key has a meaning.

const card = document.getElementById("tour");
const GAP = 12;

let steps = [];
let at = 0;
let focusedBefore = null;

const targetOf = (step) => [...document.querySelectorAll(`[data-tour="${step.dataset.tourStep}"]`)].find((one) => one.checkVisibility());
const isOpen = () => card.matches(":popover-open");
const button = (name) => card.querySelector(`[data-tour-${name}]`);

function hasErrors() {
  return [...document.querySelectorAll('main [role="alert"]')].some((one) => one.checkVisibility() && one.textContent.trim());
}

function start() {
  steps = [...card.querySelectorAll("[data-tour-step]")].filter(targetOf);
  if (!steps.length) return;
  if (!isOpen()) focusedBefore = document.activeElement;
  for (const open of document.querySelectorAll("[popover]:popover-open")) if (open !== card) open.hidePopover();
  card.showPopover();
  show(0);
}

function mark(target) {
  for (const shown of document.querySelectorAll("[data-tour-shown]")) delete shown.dataset.tourShown;
  if (target) target.dataset.tourShown = "";
}

function show(place) {
  at = Math.max(0, Math.min(steps.length - 1, place));
  for (const step of card.querySelectorAll("[data-tour-step]")) step.toggleAttribute("data-current", step === steps[at]);
  const isLast = at === steps.length - 1;
  button("back").hidden = at === 0;
  button("next").hidden = isLast;
  button("done").hidden = !isLast;
  button("skip").hidden = isLast;
  const target = targetOf(steps[at]);
  mark(target);
  target?.scrollIntoView({block: "nearest", behavior: "instant"});
  position();
  button(isLast ? "done" : "next").focus({preventScroll: true});
}

/** Put the card beside the target, or else over its edge, inside the window. On a narrow page the stylesheet does it. */
function position() {
  const target = isOpen() && steps[at] ? targetOf(steps[at]) : null;
  if (!target) return;
  const place = target.getBoundingClientRect();
  const {width, height} = card.getBoundingClientRect();
  const fits = {
    below: place.bottom + GAP + height <= innerHeight,
    above: place.top - GAP - height >= 0,
    right: place.right + GAP + width <= innerWidth,
  };
  let left = place.left;
  let top = place.top + GAP;
  if (fits.right) left = place.right + GAP;
  else if (fits.below) top = place.bottom + GAP;
  else if (fits.above) top = place.top - GAP - height;
  else left = place.left - GAP - width >= 0 ? place.left - GAP - width : place.right - width - GAP;
  card.style.left = `${Math.max(GAP, Math.min(innerWidth - width - GAP, left))}px`;
  card.style.top = `${Math.max(GAP, Math.min(innerHeight - height - GAP, top))}px`;
  // Where the card is at the edge of the window, it must not cover what it is about.
  card.toggleAttribute("data-above", place.top > innerHeight / 2);
}

function end() {
  if (!isOpen()) return;
  card.hidePopover();
  mark(null);
  if (focusedBefore?.isConnected && focusedBefore !== document.body) focusedBefore.focus({preventScroll: true});
  else document.getElementById("main").focus({preventScroll: true});
  remember();
}

async function remember() {
  delete card.dataset.tourStart;
  // Read each time: signing in again in another window changes it.
  const token = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] ?? "";
  try {
    await fetch(card.dataset.tourUrl, {method: "POST", headers: {"X-CSRFToken": token}, keepalive: true});
  } catch {
    // Offline: the tour starts once more.
  }
}

if (card) {
  card.addEventListener("click", ({target}) => {
    if (target.closest("[data-tour-next]")) show(at + 1);
    else if (target.closest("[data-tour-back]")) show(at - 1);
    else if (target.closest("[data-tour-done], [data-tour-skip]")) end();
  });
  card.addEventListener("keydown", (event) => {
    const {key} = event;
    if (key === "ArrowRight" && at < steps.length - 1) show(at + 1);
    else if (key === "ArrowLeft") show(at - 1);
    // Enter and the space bar press the button that has the focus.
    if (key !== "Tab") event.stopPropagation();
  });
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || !isOpen() || document.querySelector("dialog:modal")) return;
      event.preventDefault();
      event.stopPropagation();
      end();
    },
    {capture: true},
  );
  addEventListener("resize", position);
  document.addEventListener("scroll", position, {capture: true, passive: true});
  document.addEventListener("click", ({target}) => {
    if (target.closest?.("[data-tour-restart]")) start();
  });
  // The page has moved the focus by now, if it does.
  if ("tourStart" in card.dataset && !hasErrors()) requestAnimationFrame(start);
}
