// Airflow keeps its light or dark setting here; without one, the system's counts.
function follow() {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
}
follow();
addEventListener("storage", follow);
// A page of Airflow's own belongs into the window around the frame that it shows these pages in.
addEventListener("click", (event) => {
  const link = event.target.closest("a[data-top]");
  if (!link || parent === window) return;
  const outside = parent.document.createElement("a");
  outside.href = link.href;
  parent.document.body.append(outside);
  outside.click();
  outside.remove();
  event.preventDefault();
});
