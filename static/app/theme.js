// Changes the theme without reloading the page. Without this module the theme form posts, and the server sets a cookie
// and renders the page again. This module sets the same cookie, so that the next page has the theme, however soon it is
// opened.

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
