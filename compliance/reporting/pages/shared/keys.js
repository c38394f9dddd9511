// Keys: / goes to the filter, or to the search of a page without one; j and k go to the next and the
// previous row, Enter opens the element with the focus
(() => {
  const targets = () => [...document.querySelectorAll("main tbody tr:not([hidden]) :is(a, summary):first-of-type, main details:not(.chooser) > summary")]
    .filter((each, at, all) => each.checkVisibility() && all.findIndex((other) => other.closest("tr, details") === each.closest("tr, details")) === at);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    if (event.key === "/") {
      const input = document.querySelector("input[type=search]");
      const search = document.querySelector("nav a[href*='search.html']");
      event.preventDefault();
      if (input) input.focus();
      else search?.click();
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
