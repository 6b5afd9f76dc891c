"use strict";
(function () {
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const drawn = Array.from(document.querySelectorAll(".chart"), function (place) {
    const options = { mode: "vega", renderer: "svg", actions: false, ast: true, tooltip: { theme: "custom" } };
    return draw(place, specs[place.dataset.chart], options);
  });
  Promise.all(drawn).then(function () {
    document.documentElement.dataset.drawn = String(drawn.length);
    document.documentElement.dataset.milliseconds = String(Math.round(performance.now()));
  });
})();
