// Runs before the first paint, so that a light theme does not flash dark. Everything else is in app.js.

{
  let theme = null;
  try {
    theme = localStorage.getItem("pricetime.theme");
  } catch {
    // Without storage nothing is remembered.
  }
  const light = theme === null ? matchMedia("(prefers-color-scheme: light)").matches : theme === "light";
  document.documentElement.dataset.theme = light ? "light" : "dark";
}
