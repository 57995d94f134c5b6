// Airflow keeps its light or dark setting here; without one, the system's counts.
function follow() {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
}
follow();
addEventListener("storage", follow);
