// What pages do by themselves: bring their parts up to date, tell times in the reader's zone, change the theme.
"use strict";
(function () {
  var root = document.documentElement;

  // Times in the reader's zone.
  var full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  var forms = {
    minute: new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" }),
    clock: new Intl.DateTimeFormat(undefined, { timeStyle: "medium" }),
    day: new Intl.DateTimeFormat(undefined, { day: "2-digit", month: "short" }),
  };
  var stamp = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/;
  var stamps = new RegExp(stamp.source, "g");
  function told(utc) { return full.format(new Date(utc.replace(" UTC", "Z").replace(" ", "T"))); }
  function tellTimes(part) {
    part.querySelectorAll("time[data-at]").forEach(function (each) {
      each.title = full.format(1000 * Number(each.dataset.at));
    });
    part.querySelectorAll("text[data-at], time[data-form]").forEach(function (each) {
      each.textContent = forms[each.dataset.form].format(1000 * Number(each.dataset.at));
    });
    // Times within sentences, tables of numbers, and what is shown when a chart is pointed at.
    part.querySelectorAll(".answer, .reasons li, .verdict p, .chart title, .chart-card td").forEach(function (each) {
      if (!stamp.test(each.textContent)) { return; }
      var texts = document.createTreeWalker(each, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) { texts.currentNode.data = texts.currentNode.data.replace(stamps, told); }
    });
  }

  // Parts that bring themselves up to date, as long as somebody looks.
  var stale = document.getElementById("stale");
  function replace(part, text) {
    var open = Array.from(part.querySelectorAll("details")).map(function (each) { return each.open; });
    var scrolled = Array.from(part.querySelectorAll(".scroll")).map(function (each) { return each.scrollLeft; });
    var fresh = new DOMParser().parseFromString(text, "text/html").body;
    part.replaceChildren.apply(part, Array.from(fresh.childNodes));
    part.querySelectorAll("details").forEach(function (each, place) { each.open = Boolean(open[place]); });
    part.querySelectorAll(".scroll").forEach(function (each, place) { each.scrollLeft = scrolled[place] || 0; });
    tellTimes(part);
  }
  function isRead(part) {
    // Who works with the keyboard or marks text in a part is not interrupted.
    var marked = document.getSelection();
    var holds = marked && !marked.isCollapsed && part.contains(marked.anchorNode);
    return holds || (part.contains(document.activeElement) && document.activeElement !== document.body);
  }
  function keepLive(part) {
    var every = 1000 * Number(part.dataset.every || 5);
    var wait = part.dataset.first === undefined ? every : 1000 * Number(part.dataset.first);
    function again(after) { window.setTimeout(look, after); }
    function look() {
      if (document.hidden || isRead(part)) { again(1000); return; }
      fetch(part.dataset.live, { headers: { "X-Part": "1" } }).then(function (answer) {
        if (answer.redirected) { window.location.reload(); return null; }
        if (!answer.ok) { throw new Error(String(answer.status)); }
        return answer.status === 204 ? null : answer.text();
      }).then(function (text) {
        if (text !== null && part.dataset.reload !== undefined) { window.location.reload(); return; }
        if (text !== null) { replace(part, text); }
        if (stale) { stale.hidden = true; }
        if (part.querySelector("[data-done]")) { return; }
        again(every);
      }).catch(function () {
        if (stale) { stale.hidden = false; }
        again(2 * every);
      });
    }
    again(wait);
  }
  document.querySelectorAll("[data-live]").forEach(keepLive);

  // Forms that need no button.
  document.querySelectorAll("form[data-auto]").forEach(function (form) {
    form.addEventListener("change", function () { form.submit(); });
  });

  // A slider that shows what it would do while it moves.
  document.querySelectorAll("input[data-shows]").forEach(function (slider) {
    var part = document.getElementById(slider.dataset.shows);
    var waiting = null;
    slider.addEventListener("input", function () {
      window.clearTimeout(waiting);
      waiting = window.setTimeout(function () {
        var address = new URL(slider.dataset.from, window.location.href);
        address.searchParams.set(slider.name, slider.value);
        fetch(address).then(function (answer) { return answer.text(); }).then(function (text) {
          replace(part, text);
        });
        var here = new URL(window.location.href);
        here.searchParams.set(slider.name, slider.value);
        window.history.replaceState(null, "", here);
      }, 120);
    });
  });

  // Commands to copy; where a page may not do so (http from another machine), the whole text is selected.
  document.addEventListener("click", function (event) {
    var button = event.target.closest("button[data-copy]");
    if (!button) { return; }
    function tell(text) {
      button.textContent = text;
      window.setTimeout(function () { button.textContent = "Copy"; }, 1500);
    }
    function select() {
      var shown = button.parentElement.querySelector("code");
      shown.textContent = button.dataset.copy;
      document.getSelection().selectAllChildren(shown);
      tell("Selected");
    }
    if (!navigator.clipboard) { select(); return; }
    navigator.clipboard.writeText(button.dataset.copy).then(function () { tell("Copied"); }, select);
  });

  // Questions before what cannot be undone.
  document.addEventListener("submit", function (event) {
    var question = event.target.dataset.ask;
    if (question && !window.confirm(question)) { event.preventDefault(); }
  });

  // The theme.
  var button = document.getElementById("theme");
  if (button) {
    var system = window.matchMedia("(prefers-color-scheme: dark)");
    var isDark = function () { return root.dataset.theme ? root.dataset.theme === "dark" : system.matches; };
    var tell = function () {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", isDark() ? "Change to the light theme" : "Change to the dark theme");
    };
    button.hidden = false;
    button.addEventListener("click", function () {
      root.dataset.theme = isDark() ? "light" : "dark";
      try { localStorage.setItem("freshness-theme", root.dataset.theme); } catch (error) { /* only for now */ }
      tell();
    });
    system.addEventListener("change", tell);
    tell();
  }

  tellTimes(document);
})();
