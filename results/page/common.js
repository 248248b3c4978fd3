"use strict";
// What the page's parts share. Values of the run reach the page as text nodes or on a canvas, never as markup.
const tidemark = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("screen and (prefers-color-scheme: dark)");
  let colours = {};
  const forget = () => { colours = {}; };
  dark.addEventListener("change", forget);
  const colour = (name) => (colours[name] ||= getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  const brokerColour = (i) => colour("c" + (i % 6));
  const make = (tag, text, cls) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (cls) node.className = cls;
    return node;
  };
  const family = getComputedStyle(document.body).fontFamily;
  const fontOf = (px) => `${px * devicePixelRatio}px ${family}`;

  // Faults have a colour for each kind.
  const kinds = [...new Set(data.bands.map((b) => b.kind))].sort();
  const kindColour = (kind) => brokerColour(kinds.indexOf(kind) + 3);

  // The moment that a link #t=SECONDS points at, the stretch of time that is shown, and who wants to know of either.
  const listeners = [];
  const shared = { data, dark, colour, make, family, fontOf, kinds, kindColour, brokerColour, moment: null, from: data.begin, to: data.end };
  shared.listen = (fn) => listeners.push(fn);
  shared.tell = (what, source) => listeners.forEach((fn) => fn(what, source));
  return shared;
})();
