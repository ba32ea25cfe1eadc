// Runs before the first paint, so that a remembered light theme does not flash dark. Everything else is in app.js.

try {
  if (localStorage.getItem("pricetime.theme") === "light") document.documentElement.dataset.theme = "light";
} catch {
  // Without storage the page is dark.
}
