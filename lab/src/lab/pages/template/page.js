// Reads values off the charts: the pointer, or the arrow keys when a chart has the focus, moves a line between its stops.
// Each stop is [position 0…1, heading, [[name, value], …], 1 if only its own mark shows it].
// A mark names its stop by data-stop; a click on it keeps what is shown. A chart with a search field finds its marks.
// Without this script the page lacks nothing else.
"use strict";
(() => {
  const tip = document.getElementById("tip");
  const namespace = "http://www.w3.org/2000/svg";

  // The plot area in the window: the element without its margins.
  function areaOf(plot) {
    const box = plot.getBoundingClientRect();
    const style = getComputedStyle(plot);
    const left = box.left + parseFloat(style.paddingLeft);
    return { left, width: box.right - parseFloat(style.paddingRight) - left, top: box.top + parseFloat(style.paddingTop) };
  }

  function show(figure, stop, clientX, clientY) {
    const plot = figure.querySelector("svg.plot");
    let cursor = plot.querySelector(".cursor");
    if (!cursor) {
      cursor = document.createElementNS(namespace, "line");
      cursor.setAttribute("class", "cursor");
      cursor.setAttribute("y2", "100%");
      plot.append(cursor);
    }
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, `${100 * stop[0]}%`);
    const heading = document.createElement("b");
    heading.textContent = stop[1];
    const lines = stop[2].map(([name, value]) => {
      const line = document.createElement("span");
      const label = document.createElement("i");
      label.textContent = name;
      line.append(label, value);
      return line;
    });
    tip.replaceChildren(heading, ...lines);
    tip.hidden = false;
    const area = areaOf(plot);
    const at = clientX ?? area.left + stop[0] * area.width;
    const over = clientY ?? area.top;
    const beyond = at + 18 + tip.offsetWidth > document.documentElement.clientWidth;
    tip.style.left = `${Math.max(4, beyond ? at - 18 - tip.offsetWidth : at + 18)}px`;
    tip.style.top = `${Math.max(4, Math.min(over - 12, innerHeight - tip.offsetHeight - 4))}px`;
  }

  function hide(figure) {
    tip.hidden = true;
    figure.querySelectorAll(".cursor").forEach((cursor) => cursor.remove());
    figure.querySelectorAll(".kept").forEach((mark) => mark.classList.remove("kept"));
  }

  function find(figure, stops, text) {
    const wanted = text.trim().toLowerCase();
    const marks = [...figure.querySelectorAll("[data-stop]")];
    const words = (mark) => `${stops[mark.dataset.stop][1]} ${mark.getAttribute("class")}`.toLowerCase();
    marks.forEach((mark) => mark.classList.toggle("missed", !words(mark).includes(wanted)));
    const found = marks.filter((mark) => !mark.classList.contains("missed")).length;
    figure.querySelector("output").textContent = wanted ? `${found} of ${marks.length}` : "";
  }

  function nearest(stops, at) {
    const far = (i) => (stops[i][3] ? Infinity : Math.abs(stops[i][0] - at));
    return stops.reduce((best, _, i) => (far(i) < far(best) ? i : best), 0);
  }

  for (const figure of document.querySelectorAll("figure.chart")) {
    const stops = JSON.parse(figure.querySelector("script").textContent);
    if (!stops.length) continue;
    const inOrder = stops.map((_, i) => i).sort((a, b) => stops[a][0] - stops[b][0]);
    let current = inOrder[0];
    let kept = false;
    const plot = figure.querySelector("svg.plot");
    plot.addEventListener("pointermove", (event) => {
      if (kept) return;
      const area = areaOf(plot);
      current = Number(event.target.dataset.stop ?? nearest(stops, (event.clientX - area.left) / area.width));
      show(figure, stops[current], event.clientX, event.clientY);
    });
    plot.addEventListener("pointerleave", () => kept || hide(figure));
    plot.addEventListener("click", (event) => {
      hide(figure);
      kept = !kept && event.target.dataset.stop !== undefined;
      if (!kept) return;
      current = Number(event.target.dataset.stop);
      event.target.classList.add("kept");
      show(figure, stops[current], event.clientX, event.clientY);
    });
    const release = () => {
      kept = false;
      hide(figure);
    };
    addEventListener("scroll", () => kept && release(), { passive: true });
    figure.querySelector("input")?.addEventListener("input", (event) => find(figure, stops, event.target.value));
    figure.addEventListener("keydown", (event) => {
      if (event.target !== figure) return;
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") release();
      if (!step) return;
      event.preventDefault();
      release();
      current = inOrder[Math.max(0, Math.min(stops.length - 1, inOrder.indexOf(current) + step))];
      show(figure, stops[current]);
    });
    figure.addEventListener("blur", release);
  }
})();
