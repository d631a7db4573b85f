// Filters, sorts and plots the runs that are in the page. Without it the page shows the newest runs as a table.
"use strict";
(() => {
  const fields = JSON.parse(document.getElementById("fields").textContent);
  const runs = JSON.parse(document.getElementById("rows").textContent).map((row) =>
    Object.fromEntries(fields.map((field, i) => [field, row[i]])));
  for (const run of runs) {
    run.experiment = run.name.split("/")[0];
    const [, y, mo, d, h, mi, s] = run.name.match(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/);
    run.time = Date.UTC(y, mo - 1, d, h, mi, s);
  }
  const SHOWN = 200;
  const form = document.getElementById("filters");
  const body = document.querySelector("#runs tbody");
  const columns = ["name", "state", "service", "offered", "achieved", "requests", "p50", "p99", "p999", "note"];
  const latencies = new Set(["p50", "p99", "p999", "max"]);
  let order = { by: "time", down: true };

  const rate = (value) => (value === null ? "–" : Math.round(value).toLocaleString("en"));
  // As lab/report/numbers.py prints them: three digits, trailing zeros included.
  const digits = (value) => {
    const decimals = Math.max(0, 2 - Math.floor(Math.log10(Number(value.toPrecision(3)))));
    return value === 0 ? "0" : value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  };
  const latency = (ms) => {
    const rounded = Number(ms.toPrecision(3));
    return rounded < 1 ? `${digits(ms * 1e3)} µs` : rounded < 1e3 ? `${digits(ms)} ms` : `${digits(ms / 1e3)} s`;
  };
  const shown = (field, value, run) =>
    value === null ? "–"
      : latencies.has(field) ? (run?.lower_bounds.split(" ").includes(field) ? "≥ " : "") + latency(value)
        : field === "cpu" ? `${digits(value)} µs` : typeof value === "number" ? rate(value) : value;

  function wanted() {
    const want = Object.fromEntries(new FormData(form));
    return runs.filter((run) =>
      (!want.experiment || run.experiment === want.experiment) && (!want.service || run.service === want.service) &&
      (!want.state || run.state === want.state) && (!want.since || run.time >= Date.parse(want.since)) &&
      (!want.text || `${run.name} ${run.note}`.includes(want.text)));
  }

  function sorted(list) {
    const key = order.by;
    const sign = order.down ? -1 : 1;
    return [...list].sort((a, b) => {
      const [x, y] = [a[key] ?? "", b[key] ?? ""];
      return x === y ? 0 : sign * (x < y ? -1 : 1);
    });
  }

  function archive(run) {
    const link = document.createElement("a");
    link.href = `${encodeURI(run.name)}.tar.gz`;
    link.textContent = ".tar.gz";
    link.className = "archive";
    link.setAttribute("aria-label", `Download ${run.name} as .tar.gz`);
    return link;
  }

  function fill(list) {
    body.replaceChildren(...list.slice(0, SHOWN).map((run) => {
      const row = document.createElement("tr");
      for (const field of columns) {
        const cell = document.createElement(field === "name" ? "th" : "td");
        if (field === "name") {
          const link = document.createElement("a");
          link.href = `${encodeURI(run.name)}/report.html`;
          link.textContent = run.name;
          cell.scope = "row";
          cell.append(link);
          if (location.protocol !== "file:") cell.append(" ", archive(run)); // the artifact server packs it
        } else {
          cell.textContent = field === "note" || field === "service" ? run[field] ?? "" : shown(field, run[field], run);
        }
        if (field === "state") cell.className = `state-${run.state}`;
        if (typeof run[field] === "number" || latencies.has(field)) cell.className = "number";
        row.append(cell);
      }
      return row;
    }));
    const more = list.length > SHOWN ? `, ${SHOWN} of them shown` : "";
    document.getElementById("count").textContent = `${list.length.toLocaleString("en")} runs${more}`;
  }

  const namespace = "http://www.w3.org/2000/svg";
  function element(name, attributes, text) {
    const made = document.createElementNS(namespace, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function plot(list) {
    const field = form.elements.metric.value;
    const points = list.filter((run) => run[field] !== null && run[field] > 0);
    const svg = document.getElementById("over-time");
    const wide = svg.parentElement.clientWidth > 640;
    const [width, height, left, bottom] = [wide ? 1040 : 360, 300, 64, 30];
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    document.getElementById("no-points").hidden = points.length > 0;
    svg.toggleAttribute("hidden", points.length === 0);
    if (!points.length) return;
    const times = points.map((run) => run.time);
    const logs = points.map((run) => Math.log10(run[field]));
    const bounds = (values, room) => {
      const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
      const pad = Math.max((high - low) * 0.06, room);
      return [low - pad, high + pad];
    };
    const [t0, t1] = bounds(times, 60e3);
    const [v0, v1] = bounds(logs, 0.08);
    const x = (time) => left + ((time - t0) / (t1 - t0)) * (width - left - 14);
    const y = (log) => 12 + (1 - (log - v0) / (v1 - v0)) * (height - bottom - 12);
    for (let i = 0; i <= 4; i++) {
      const log = v0 + ((v1 - v0) * i) / 4;
      svg.append(element("line", { class: "grid", x1: left, x2: width - 14, y1: y(log), y2: y(log) }));
      svg.append(element("text", { x: left - 8, y: y(log) + 4, "text-anchor": "end" }, shown(field, 10 ** log)));
    }
    const long = t1 - t0 > 3 * 864e5;
    const steps = wide ? 5 : 2;
    for (let i = 0; i <= steps; i++) {
      const time = t0 + ((t1 - t0) * (i + 0.5)) / (steps + 1);
      const stamp = new Date(time).toISOString();
      const name = long ? stamp.slice(0, 10) : `${stamp.slice(8, 10)}. ${stamp.slice(11, 16)}`;
      svg.append(element("text", { x: x(time), y: height - 8, "text-anchor": "middle" }, name));
    }
    points.forEach((run, i) => {
      const dot = element("circle", { cx: x(run.time).toFixed(1), cy: y(logs[i]).toFixed(1), r: 4,
        class: run.state === "valid" ? "" : "other" });
      dot.append(element("title", {}, `${run.name}: ${shown(field, run[field], run)}, n = ${shown("requests", run.requests)}, ${run.state}`));
      dot.addEventListener("click", () => { location.href = `${encodeURI(run.name)}/report.html`; });
      svg.append(dot);
    });
  }

  function update() {
    const list = wanted();
    fill(sorted(list));
    plot(list);
  }

  document.querySelectorAll("#runs thead th").forEach((head, i) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    button.type = "button";
    button.addEventListener("click", () => {
      const by = columns[i] === "name" ? "time" : columns[i];
      order = { by, down: order.by === by ? !order.down : true };
      update();
    });
    head.replaceChildren(button);
  });
  form.hidden = false;
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("resize", () => plot(wanted()));
  update();
})();
