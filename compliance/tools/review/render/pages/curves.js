// Bundled with Vega, which defines the name vegaEmbed
const COLOURS = [
  "#4c78a8", "#e45756", "#54a24b", "#b279a2", "#f58518",
  "#439894", "#9d755d", "#d67195", "#7970a9", "#6b8e23",
];

const colourOf = (run) => COLOURS[run % COLOURS.length];

const rowsOf = ({ points, others, runs }) => [
  ...points.map(([result, run, x, value, end, outside]) => ({
    result, run, x, value, end: Boolean(end), outside: Boolean(outside),
    name: runs[result][run], colour: colourOf(run),
  })),
  ...others,
];

// The content of a tooltip comes from logs: it is always shown as text
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true");
document.body.append(tip);

const tell = (_handler, event, _item, value) => {
  tip.hidden = !value;
  if (!value) return;
  tip.replaceChildren(...Object.entries(value).map(([name, shown]) => {
    const line = document.createElement("div");
    line.textContent = `${name}: ${shown}`;
    return line;
  }));
  const left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4);
  const top = Math.min(event.clientY + 12, innerHeight - tip.offsetHeight - 4);
  tip.style.left = `${Math.max(left, 0)}px`;
  tip.style.top = `${Math.max(top, 0)}px`;
};

const legendOf = (view, count) => {
  const legend = document.createElement("div");
  legend.className = "runs";
  legend.setAttribute("role", "group");
  legend.setAttribute("aria-label", "Runs to show; none chosen shows all");
  legend.append("Runs ");
  const chosen = new Set();
  const show = () => {
    for (const each of legend.querySelectorAll("button")) {
      each.setAttribute("aria-pressed", String(chosen.has(Number(each.value))));
    }
    view.signal("chosen", [...chosen]).runAsync();
  };
  for (let run = 0; run < count; run += 1) {
    const button = document.createElement("button");
    const swatch = document.createElement("span");
    button.type = "button";
    button.value = run;
    swatch.style.background = colourOf(run);
    button.append(swatch, String(run + 1));
    button.setAttribute("aria-label", `Run ${run + 1}`);
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      if (!chosen.delete(run)) chosen.add(run);
      show();
    });
    legend.append(button);
  }
  const all = document.createElement("button");
  all.type = "button";
  all.className = "all";
  all.textContent = "all";
  all.addEventListener("click", () => { chosen.clear(); show(); });
  legend.append(all);
  return legend;
};

window.podiumDraw = async (figure, picture) => {
  const still = figure.querySelector("img");
  const place = document.createElement("div");
  place.className = "live";
  const { view } = await vegaEmbed(
    place,
    { ...picture.specification, data: { values: rowsOf(picture) } },
    // `ast`: the policy of the pages forbids compiled expressions. Only errors are logged: a
    // selected run may have no point in a chart, which makes its scale infinite
    { mode: "vega-lite", ast: true, logLevel: 1, actions: false, defaultStyle: false, renderer: "canvas", tooltip: tell },
  );
  // Vega gives it the role of a document without a description
  const shown = place.querySelector("[role]") ?? place;
  shown.setAttribute("role", "img");
  shown.setAttribute("aria-label", still.alt);
  // It is printed, and a picture outside of the view would be loaded late
  still.loading = "eager";
  figure.append(legendOf(view, Math.max(...picture.runs.map((names) => names.length))), place);
  figure.classList.add("drawn");
  return view;
};
