// Before anything is shown: the theme that the reader has chosen, if it is not the system's.
"use strict";
(function () {
  var chosen = null;
  try { chosen = localStorage.getItem("freshness-theme"); } catch (error) { /* no storage: the system's theme */ }
  if (chosen === "dark" || chosen === "light") { document.documentElement.dataset.theme = chosen; }
  document.documentElement.classList.add("script");
})();
