// The theme form works without this module (it posts, the server sets a cookie and renders the page again). With it the
// page changes at once and nothing is loaded anew: the same cookie is set here, so that the very next page has it even
// when the person leaves within the same second.

const YEAR = 365 * 86400;

document.addEventListener("submit", (event) => {
  const form = event.target;
  const theme = event.submitter?.value;
  if (!form.matches?.("form[data-theme-form]") || !theme) return;
  event.preventDefault();
  document.documentElement.dataset.theme = theme;
  for (const button of form.querySelectorAll("button[aria-pressed]")) {
    button.setAttribute("aria-pressed", String(button.value === theme));
  }
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `theme=${encodeURIComponent(theme)}; path=/; max-age=${YEAR}; SameSite=Lax${secure}`;
});
