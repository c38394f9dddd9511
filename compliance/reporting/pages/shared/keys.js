// Keys: / goes to the filter, j and k to the next and the last row, Enter opens what has the focus
(() => {
  const targets = () => [...document.querySelectorAll("main tbody tr:not([hidden]) :is(a, summary):first-of-type, main details > summary")]
    .filter((each, at, all) => each.checkVisibility() && all.findIndex((other) => other.closest("tr, details") === each.closest("tr, details")) === at);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    if (event.key === "/") {
      const input = document.querySelector("input[type=search]");
      if (!input) return;
      event.preventDefault();
      input.focus();
    } else if (event.key === "j" || event.key === "k") {
      const all = targets();
      const at = all.indexOf(document.activeElement);
      const next = all[event.key === "j" ? at + 1 : Math.max(0, at - 1)];
      next?.focus();
      next?.scrollIntoView({ block: "nearest" });
    }
  });

  // Parts that an address leads to are opened; paper shows all of them
  const open = () => {
    if (location.hash.includes("=") || !location.hash) return;
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (target?.tagName === "DETAILS") target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
  const before = new Map();
  addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details:not(.chooser)")) { before.set(each, each.open); each.open = true; }
  });
  addEventListener("afterprint", () => {
    for (const [each, state] of before) each.open = state;
  });
})();
