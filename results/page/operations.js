"use strict";
// The operations in real time: a lane a client, a bar an operation, and the table of those in sight. One set of filters rules both.
(() => {
  const { data, colour, make, family, kindColour } = tidemark;
  const canvas = document.getElementById("timeline");
  if (!canvas) return;
  const ops = data.ops, total = ops.id.length;
  const kindWords = ["send", "poll", "seek", "list offsets", "delete records"], outcomeWords = ["pending", "ok", "failed", "unknown"];
  const outcomeColours = ["faint", "good", "bad", "warn"], paintOrder = [1, 0, 3, 2]; // what went wrong is painted last
  const field = (id) => document.getElementById("ops-" + id);
  const readout = document.getElementById("timeline-readout"), range = document.getElementById("timeline-range");
  const table = document.querySelector("#ops tbody");

  // Columns that are looked at in every frame.
  const begin = new Float64Array(total), end = new Float64Array(total), lane = new Uint16Array(total), outcome = new Uint8Array(total);
  for (let i = 0; i < total; i++) {
    begin[i] = ops.invoke[i] / 1000;
    end[i] = ops.took[i] === null ? data.end : begin[i] + ops.took[i] / 1000;
    lane[i] = ops.client[i];
    outcome[i] = ops.outcome[i] < 4 ? ops.outcome[i] : 3;
  }
  // All of it is from where the load begins; who zooms out or moves further sees how the brokers started.
  const bounds = { from: 0, to: Math.max(data.end, 0.001) }, whole = { from: tidemark.from, to: bounds.to }, least = 0.0005;
  const view = { from: whole.from, to: whole.to };
  let matching = new Int32Array(0), lanes = [], selected = -1, hovered = -1;

  const errorOf = (i) => (ops.error[i] < 0 ? "" : ops.errors[ops.error[i]]);
  const partitionOf = (i) => (ops.partition[i] < 0 ? "" : ops.partitions[ops.partition[i]]);
  const tell = (i) => [
    `operation ${ops.id[i]}`, `${ops.clients[lane[i]]} (process ${ops.process[i]})`, `${kindWords[ops.kind[i]] || "?"} ${outcomeWords[outcome[i]]}`,
    partitionOf(i) + (ops.offset[i] < 0 ? "" : ` offset ${ops.offset[i]}`), ops.broker[i] < 0 ? "" : `broker ${ops.broker[i]}`,
    `at ${begin[i].toFixed(3)} s` + (ops.took[i] === null ? ", no answer" : `, took ${ops.took[i].toFixed(1)} ms`), ops.text[i], errorOf(i),
  ].filter(Boolean).join(" · ");

  // Tracks: the operations that match, apart by lane, by whether they are sends, and by outcome, each in order of time, as the columns are.
  // Track k is order[starts[k]] to order[starts[k + 1] - 1]. reach is how late any operation of the track up to here ends: it only grows, so that
  // both ends of what a stretch of time touches are found by halving, and a frame looks at nothing else.
  const trackOf = (l, send, out) => (l * 2 + send) * 4 + out;
  let starts, order, begins, ends, reach;
  const track = () => {
    const n = matching.length, of = (i) => trackOf(lane[i], ops.kind[i] === 0 ? 1 : 0, outcome[i]);
    starts = new Int32Array(trackOf(ops.clients.length, 0, 0) + 1);
    for (const i of matching) starts[of(i) + 1]++;
    for (let k = 1; k < starts.length; k++) starts[k] += starts[k - 1];
    [order, begins, ends, reach] = [new Int32Array(n), new Float64Array(n), new Float64Array(n), new Float64Array(n)];
    const next = starts.slice();
    for (const i of matching) {
      const k = of(i), at = next[k]++;
      order[at] = i;
      begins[at] = begin[i];
      ends[at] = end[i];
      reach[at] = at > starts[k] ? Math.max(reach[at - 1], end[i]) : end[i];
    }
  };
  const firstOf = (from, to, holds) => {
    while (from < to) {
      const middle = (from + to) >> 1;
      if (holds(middle)) to = middle;
      else from = middle + 1;
    }
    return from;
  };
  // touched is where of track k lies what is under way at some time of [from, to]; an operation between may have ended before.
  const touched = (k, from, to) => {
    const low = firstOf(starts[k], starts[k + 1], (at) => reach[at] >= from);
    return [low, firstOf(low, starts[k + 1], (at) => begins[at] > to)];
  };

  // Painting.
  const left = 118, right = 10, head = 30, foot = 24;
  let width = 0, height = 0, laneHeight = 18;
  const resize = () => {
    laneHeight = Math.max(9, Math.min(20, Math.floor(420 / Math.max(lanes.length, 1))));
    width = Math.max(canvas.parentElement.clientWidth, 280);
    height = head + Math.max(lanes.length, 1) * laneHeight + foot;
    const w = Math.round(width * devicePixelRatio), h = Math.round(height * devicePixelRatio);
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.height = height + "px";
    }
  };
  const span = () => view.to - view.from;
  const xOf = (t) => left + (t - view.from) / span() * (width - left - right);
  const tOf = (x) => view.from + (x - left) / (width - left - right) * span();
  const ticks = () => {
    const rough = span() / Math.max((width - left) / 110, 1), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough);
    const out = [];
    for (let t = Math.ceil(view.from / step) * step; t <= view.to && out.length < 50; t += step) out.push(t);
    return { at: out, digits: Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9))) };
  };
  let rowOf = [];
  const paint = () => {
    const ctx = canvas.getContext("2d"), inner = width - left - right, foundation = head + lanes.length * laneHeight;
    ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    ctx.font = `11px ${family}`;
    ctx.textBaseline = "middle";
    // Lanes, ticks, names.
    ctx.fillStyle = colour("grid");
    for (let r = 0; r <= lanes.length; r++) ctx.fillRect(left, head + r * laneHeight, inner, 1);
    const { at, digits } = ticks();
    ctx.textAlign = "center";
    for (const t of at) {
      const x = Math.round(xOf(t));
      ctx.fillStyle = colour("grid");
      ctx.fillRect(x, head, 1, foundation - head + 4);
      ctx.fillStyle = colour("soft");
      ctx.fillText(t.toFixed(digits) + " s", Math.min(x, width - 24), foundation + 13);
    }
    ctx.textAlign = "right";
    ctx.fillStyle = colour("soft");
    lanes.forEach((l, r) => ctx.fillText(ops.clients[l], left - 8, head + (r + 0.5) * laneHeight, left - 12));
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, 0, inner, foundation);
    ctx.clip();
    // Faults in force.
    ctx.textAlign = "left";
    const free = [-1, -1]; // where each of two lines of names has room again
    data.bands.forEach((b) => {
      const x0 = Math.max(xOf(b.from), left), x1 = Math.min(Math.max(xOf(b.to), xOf(b.from) + 1), width - right);
      if (x1 < left || x0 > width - right) return;
      ctx.fillStyle = kindColour(b.kind);
      ctx.globalAlpha = 0.13;
      ctx.fillRect(x0, head, x1 - x0, foundation - head);
      ctx.globalAlpha = 1;
      ctx.fillRect(x0, head - 2, x1 - x0, 2);
      if (b.applied) ctx.fillRect(xOf(b.applied), head, 1, foundation - head);
      const text = `#${b.fault} ${b.kind}`.slice(0, 30), line = free.findIndex((x) => x < x0);
      if (line < 0) return;
      ctx.fillText(text, x0 + 2, 8 + 12 * line);
      free[line] = x0 + text.length * 6.5 + 8;
    });
    // Operations: those of a track that touch on the screen are one bar.
    const scale = inner / span();
    for (const o of paintOrder) {
      ctx.fillStyle = colour(outcomeColours[o]);
      lanes.forEach((l, r) => {
        for (const send of [0, 1]) {
          const [low, high] = touched(trackOf(l, send, o), view.from, view.to);
          const top = head + r * laneHeight + (send ? 2 : laneHeight / 2), tall = send ? laneHeight - 3 : laneHeight / 2 - 1;
          let x0 = 0, x1 = 0;
          for (let at = low; at < high; at++) {
            if (ends[at] < view.from) continue;
            const from = Math.max(left + (begins[at] - view.from) * scale, left) | 0, to = Math.max(Math.min(left + (ends[at] - view.from) * scale, width), from + 1) | 0;
            if (from > x1) {
              ctx.fillRect(x0, top, x1 - x0, tall);
              x0 = from;
            }
            if (to > x1) x1 = to;
          }
          ctx.fillRect(x0, top, x1 - x0, tall);
        }
      });
    }
    // The edges of single operations show once there is room for them.
    if (scale > 2000) {
      ctx.fillStyle = colour("paper");
      lanes.forEach((l, r) => {
        for (let k = trackOf(l, 0, 0); k < trackOf(l + 1, 0, 0); k++) {
          const [low, high] = touched(k, view.from, view.to);
          for (let at = low; at < high; at++) ctx.fillRect(xOf(begins[at]) - 1, head + r * laneHeight + 2, 1, laneHeight - 3);
        }
      });
    }
    ctx.strokeStyle = ctx.fillStyle = colour("bad");
    ctx.setLineDash([4, 3]);
    for (const w of data.windows) for (const m of w.moments) upright(ctx, xOf(m.at), foundation);
    ctx.setLineDash([]);
    if (tidemark.moment !== null) {
      ctx.strokeStyle = colour("accent");
      ctx.lineWidth = 2;
      upright(ctx, xOf(tidemark.moment), foundation);
      ctx.lineWidth = 1;
    }
    for (const [i, c] of [[hovered, "ink"], [selected, "accent"]]) {
      if (i < 0 || rowOf[lane[i]] === undefined) continue;
      ctx.strokeStyle = colour(c);
      ctx.lineWidth = 2;
      ctx.strokeRect(xOf(begin[i]) - 1, head + rowOf[lane[i]] * laneHeight + 1, Math.max(xOf(end[i]) - xOf(begin[i]), 2) + 2, laneHeight - 1);
      ctx.lineWidth = 1;
    }
    ctx.restore();
  };
  const upright = (ctx, x, foundation) => {
    ctx.beginPath();
    ctx.moveTo(Math.round(x) + 0.5, head);
    ctx.lineTo(Math.round(x) + 0.5, foundation);
    ctx.stroke();
  };
  let frame = 0;
  const repaint = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      paint();
    });
  };

  // The stretch of time that is shown.
  let settling;
  const show = (from, to, told) => {
    const wide = Math.min(Math.max(to - from, least), bounds.to - bounds.from);
    view.from = Math.min(Math.max(from, bounds.from), bounds.to - wide);
    view.to = view.from + wide;
    range.textContent = `${view.from.toFixed(3)} s to ${view.to.toFixed(3)} s`;
    repaint();
    clearTimeout(settling);
    const linked = following; // the address that led here stays
    settling = setTimeout(() => {
      list();
      if (!linked) remember();
      if (!told && (tidemark.from !== view.from || tidemark.to !== view.to)) {
        Object.assign(tidemark, { from: view.from, to: view.to });
        tidemark.tell("range", "operations");
      }
    }, 160);
  };
  const zoom = (factor, around) => {
    const t = around === undefined ? (view.from + view.to) / 2 : around;
    show(t - (t - view.from) * factor, t + (view.to - t) * factor);
  };
  const pan = (share) => show(view.from + span() * share, view.to + span() * share);
  const showAll = () => show(whole.from, whole.to);

  // What matches the filters.
  const filters = ["kind", "outcome", "client", "partition"];
  const fill = (select, names) => names.forEach((name, i) => {
    const option = make("option", name);
    option.value = i;
    select.append(option);
  });
  const present = new Set(lane);
  ops.clients.forEach((name, i) => {
    if (!present.has(i)) return;
    const option = make("option", name);
    option.value = i;
    field("client").append(option);
  });
  fill(field("partition"), ops.partitions);
  const filter = () => {
    const text = field("text").value.trim().toLowerCase(), [kind, out, who, part] = filters.map((f) => (field(f).value === "" ? -1 : +field(f).value));
    const hits = (list) => list.map((s) => s.toLowerCase().includes(text));
    const inError = hits(ops.errors), inPartition = hits(ops.partitions);
    const holds = (i) => ops.text[i].toLowerCase().includes(text) || ops.error[i] >= 0 && inError[ops.error[i]] || ops.partition[i] >= 0 && inPartition[ops.partition[i]] ||
      String(ops.id[i]) === text || String(ops.offset[i]) === text || String(ops.process[i]) === text;
    const found = new Int32Array(total), used = new Set();
    let n = 0;
    for (let i = 0; i < total; i++) {
      if (kind >= 0 && ops.kind[i] !== kind || out >= 0 && ops.outcome[i] !== out || who >= 0 && lane[i] !== who || part >= 0 && ops.partition[i] !== part) continue;
      if (text !== "" && !holds(i)) continue;
      found[n++] = i;
      used.add(lane[i]);
    }
    matching = found.subarray(0, n);
    track();
    lanes = [...used].sort((a, b) => a - b);
    rowOf = [];
    lanes.forEach((l, r) => { rowOf[l] = r; });
    resize();
    repaint();
    list();
    remember();
  };

  // The table: what matches and is in sight, some rows at a time; the selected operation stands first.
  const firstPage = 12, pageSize = 400;
  let rows = [], shown = 0, listed = {};
  const dash = (n) => (n < 0 ? "–" : String(n));
  const row = (i) => {
    const tr = make("tr", undefined, i === selected ? "selected" : "");
    tr.id = "op-" + ops.id[i];
    const link = make("a", String(ops.id[i])), id = make("td", undefined, "num"), badge = make("td"), word = outcomeWords[outcome[i]];
    link.href = "#op-" + ops.id[i];
    id.append(link);
    badge.append(make("span", word, "outcome " + word));
    tr.append(id, make("td", ops.clients[lane[i]]), make("td", String(ops.process[i]), "num"), make("td", kindWords[ops.kind[i]] || String(ops.kind[i])), badge,
      make("td", partitionOf(i)), make("td", dash(ops.offset[i]), "num"), make("td", dash(ops.broker[i]), "num"), make("td", dash(ops.epoch[i]), "num"),
      make("td", begin[i].toFixed(3), "num"), make("td", ops.took[i] === null ? "–" : ops.took[i].toFixed(1), "num"),
      make("td", [ops.text[i], errorOf(i)].filter(Boolean).join(" · ")));
    return tr;
  };
  const more = () => {
    const next = Math.min(shown + (shown ? pageSize : firstPage), rows.length);
    table.append(...rows.slice(shown, next).map(row));
    shown = next;
    field("more").hidden = shown === rows.length;
    const n = (x) => x.toLocaleString("en");
    field("count").textContent = `${n(matching.length)} of ${n(total)} match, ${n(rows.length)} of them in sight`;
  };
  const list = () => {
    const present = { matching, selected, from: view.from, to: view.to };
    if (Object.keys(present).every((k) => listed[k] === present[k])) return; // the rows that somebody asked for stay
    listed = present;
    rows = selected < 0 ? [] : [selected];
    for (let n = 0; n < matching.length; n++) {
      const i = matching[n];
      if (i !== selected && end[i] >= view.from && begin[i] <= view.to) rows.push(i);
    }
    shown = 0;
    const focused = table.contains(document.activeElement) ? document.activeElement.closest("tr").id : "";
    table.replaceChildren();
    more();
    if (focused) document.getElementById(focused)?.querySelector("a").focus(); // a row that is built again keeps the keyboard
  };

  // The view as a link: #ops?outcome=3&from=1.5&to=2.
  let following = false, address = location.hash; // as it was followed or set last: another one is a link that is about to be followed
  const set = (hash) => {
    try {
      history.replaceState(null, "", hash);
    } catch { /* a browser may refuse it on file:// */ }
    address = location.hash;
  };
  const remember = () => {
    if (following || !started || location.hash !== address) return;
    const link = new URLSearchParams();
    for (const f of ["text", ...filters]) if (field(f).value !== "") link.set(f, field(f).value);
    if (view.from !== whole.from || view.to !== whole.to) {
      link.set("from", view.from.toFixed(6));
      link.set("to", view.to.toFixed(6));
    }
    const text = link.toString();
    if (text !== "") set("#ops?" + text);
    else if (address.startsWith("#ops?")) set("#operations");
  };
  const clear = () => ["text", ...filters].forEach((f) => { field(f).value = ""; });
  const select = (i, around) => {
    selected = i;
    readout.textContent = tell(i);
    if (around) {
      const margin = Math.max((end[i] - begin[i]) * 2, 0.05);
      show(begin[i] - margin, end[i] + margin);
    } else if (begin[i] < view.from || begin[i] > view.to) {
      show(begin[i] - span() / 2, begin[i] + span() / 2);
    }
    list();
    repaint();
  };
  const follow = () => {
    const hash = address = location.hash;
    following = true;
    try {
      const id = /^#op-(\d{1,15})$/.exec(hash), moment = /^#t=(\d{1,9}(?:\.\d{1,9})?)$/.exec(hash);
      if (id) {
        const i = ops.id.indexOf(+id[1]);
        if (i < 0) {
          readout.textContent = `operation ${id[1]} is not among those shown here; history.ndjson.zst has it`;
        } else {
          if (!matching.includes(i)) {
            clear();
            filter();
          }
          select(i, true);
        }
      } else if (moment) {
        tidemark.moment = +moment[1];
        show(tidemark.moment - 0.25, tidemark.moment + 0.25);
        tidemark.tell("moment", "operations");
      } else if (hash.startsWith("#ops?")) {
        const link = new URLSearchParams(hash.slice(5));
        clear();
        for (const f of ["text", ...filters]) if (link.has(f)) field(f).value = link.get(f);
        filter();
        const from = parseFloat(link.get("from")), to = parseFloat(link.get("to"));
        if (to > from) show(from, to);
      } else {
        return;
      }
      document.getElementById("operations").scrollIntoView();
    } finally {
      following = false;
    }
  };

  // Mouse, wheel, keys.
  const hit = (e) => {
    const box = canvas.getBoundingClientRect(), x = e.clientX - box.left, r = Math.floor((e.clientY - box.top - head) / laneHeight);
    if (r < 0 || r >= lanes.length || x < left) return -1;
    const t = tOf(x), slack = 3 * span() / (width - left - right), l = lanes[r];
    // What went wrong before what went well, then the shortest.
    let best = -1;
    const better = (i) => best < 0 || (outcome[i] > 1 === outcome[best] > 1 ? end[i] - begin[i] < end[best] - begin[best] : outcome[i] > 1);
    for (let k = trackOf(l, 0, 0); k < trackOf(l + 1, 0, 0); k++) {
      const [low, high] = touched(k, t - slack, t + slack);
      for (let at = low; at < high; at++) if (ends[at] >= t - slack && better(order[at])) best = order[at];
    }
    return best;
  };
  let drag = null;
  canvas.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    drag = { x: e.clientX, from: view.from, to: view.to, moved: false };
    try {
      canvas.setPointerCapture(e.pointerId);
    } catch { /* a pointer that is gone */ }
  });
  canvas.addEventListener("pointermove", (e) => {
    if (!drag) {
      const i = hit(e);
      if (i !== hovered) {
        hovered = i;
        readout.textContent = i < 0 ? (selected < 0 ? "" : tell(selected)) : tell(i);
        repaint();
      }
      return;
    }
    if (Math.abs(e.clientX - drag.x) > 3) drag.moved = true;
    if (drag.moved) {
      const by = (drag.x - e.clientX) / (width - left - right) * (drag.to - drag.from);
      show(drag.from + by, drag.to + by);
    }
  });
  const release = (e) => {
    if (drag && !drag.moved && e.type === "pointerup") {
      const i = hit(e);
      if (i >= 0) {
        select(i);
        set("#op-" + ops.id[i]);
      }
    }
    drag = null;
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => {
    hovered = -1;
    repaint();
  });
  canvas.addEventListener("dblclick", (e) => zoom(e.shiftKey ? 4 : 0.25, tOf(e.clientX - canvas.getBoundingClientRect().left)));
  canvas.addEventListener("wheel", (e) => {
    if (e.ctrlKey || e.metaKey) {
      zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 200))), tOf(e.clientX - canvas.getBoundingClientRect().left));
    } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      pan((e.deltaX || e.deltaY) / (width - left - right));
    } else {
      return; // the page scrolls
    }
    e.preventDefault();
  }, { passive: false });
  // step goes to the next or the previous operation that matches, in order of time.
  const step = (by) => {
    if (!matching.length) return;
    let n = matching.indexOf(selected);
    if (n < 0) {
      n = matching.findIndex((i) => begin[i] >= view.from);
      if (n < 0) n = matching.length - 1;
    } else {
      n = Math.max(0, Math.min(matching.length - 1, n + by));
    }
    select(matching[n]);
  };
  const keys = {
    ArrowLeft: (e) => pan(e.shiftKey ? -0.5 : -0.1), ArrowRight: (e) => pan(e.shiftKey ? 0.5 : 0.1), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: showAll,
    Home: () => show(whole.from, whole.from + span()), End: () => show(whole.to - span(), whole.to), n: () => step(1), p: () => step(-1),
    Enter: () => document.querySelector("#ops tr.selected a")?.focus(),
    Escape: () => {
      selected = -1;
      readout.textContent = "";
      list();
      repaint();
    },
  };
  canvas.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !Object.hasOwn(keys, e.key)) return;
    keys[e.key](e);
    e.preventDefault();
  });
  document.getElementById("timeline-in").addEventListener("click", () => zoom(0.5));
  document.getElementById("timeline-out").addEventListener("click", () => zoom(2));
  document.getElementById("timeline-all").addEventListener("click", showAll);
  const around = document.getElementById("timeline-window");
  if (around && data.windows.length) around.addEventListener("click", () => show(data.windows[0].from, data.windows[0].to));
  else if (around) around.hidden = true;
  field("filter").addEventListener("input", filter);
  field("filter").addEventListener("reset", () => setTimeout(filter));
  field("filter").addEventListener("submit", (e) => e.preventDefault());
  field("more").addEventListener("click", more);
  tidemark.listen((what, source) => {
    if (what === "range" && source !== "operations") show(tidemark.from, tidemark.to, true);
    else repaint();
  });
  tidemark.dark.addEventListener("change", repaint);
  addEventListener("resize", () => {
    resize();
    repaint();
  });
  let started = false;
  filter();
  paint();
  started = true;
  show(view.from, view.to);
  addEventListener("hashchange", follow);
  follow();
})();

// The page can be used from here on.
document.documentElement.dataset.ready = Math.round(performance.now());
