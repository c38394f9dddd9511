"use strict";
(() => {
  const order = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value ?? cell.textContent.trim();
  };

  const compare = (first, second) => {
    const numbers = [Number(first), Number(second)];
    return numbers.some(Number.isNaN) ? order.compare(first, second) : numbers[0] - numbers[1];
  };

  const sort = (table, column, up) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [valueOf(row, column), row]);
    const known = rows.filter(([value]) => value !== "");
    known.sort((a, b) => (up ? 1 : -1) * compare(a[0], b[0]));
    // What has no value stands last, either way
    body.append(...known.map(([, row]) => row), ...rows.filter(([value]) => value === "").map(([, row]) => row));
    [...table.tHead.rows[0].cells].forEach((head, index) => {
      if (index === column) head.setAttribute("aria-sort", up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => sort(table, column, head.getAttribute("aria-sort") !== "ascending"));
      head.replaceChildren(button);
    });
  }

  for (const table of document.querySelectorAll("table.filterable")) {
    const label = document.createElement("label");
    const input = document.createElement("input");
    const shown = document.createElement("output");
    label.className = "filter";
    input.type = "search";
    input.autocomplete = "off";
    label.append("Filter ", input, " ", shown);
    table.parentElement.before(label);
    const rows = [...table.tBodies[0].rows];
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        count += !row.hidden;
      }
      shown.value = words.length ? `${count} of ${rows.length} rows` : "";
    });
  }

  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") target.open = true;
  };
  addEventListener("hashchange", open);
  open();

  // Curves that can be pointed at take the place of the still ones as they come into view: what
  // draws them is large. Where it fails the still ones stand
  const loaded = new Map();
  const load = (name) => {
    if (!loaded.has(name)) {
      loaded.set(name, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = `charts/${name}.js`;
        script.addEventListener("load", resolve);
        script.addEventListener("error", reject);
        document.body.append(script);
      }));
    }
    return loaded.get(name);
  };
  const draw = async (figure) => {
    const name = figure.dataset.chart;
    await Promise.all([load("interactive"), load(name)]);
    await window.podiumDraw(figure, window.podiumCharts[name]);
  };
  const figures = document.querySelectorAll("figure[data-chart]");
  if (figures.length && "IntersectionObserver" in window) {
    window.podiumCharts = {};
    const observer = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        draw(target).catch(() => {});
      }
    }, { rootMargin: "300px" });
    for (const figure of figures) observer.observe(figure);
  }

  const before = new Map();
  addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details.objection")) { before.set(each, each.open); each.open = true; }
  });
  addEventListener("afterprint", () => {
    for (const [each, state] of before) each.open = state;
  });
})();
