"use strict";
// The charts over the run's time, and the replay line's button.
(() => {
  const { data, dark, colour, make, fontOf, kinds, kindColour, brokerColour } = tidemark;
  const axisWidth = 76, axisHeight = 34, axisSpace = 80;

  const clipped = (u, paint) => {
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    u.ctx.clip();
    paint(u.ctx, u.bbox, devicePixelRatio);
    u.ctx.restore();
  };
  const eachBand = (u, fn) => data.bands.forEach((b) => {
    const x0 = u.valToPos(b.from, "x", true), x1 = u.valToPos(b.to, "x", true);
    if (x1 >= u.bbox.left && x0 <= u.bbox.left + u.bbox.width) fn(b, x0, Math.max(x1, x0 + 2 * devicePixelRatio));
  });
  const paintBands = (u) => clipped(u, (ctx, bbox, px) => eachBand(u, (b, x0, x1) => {
    ctx.fillStyle = kindColour(b.kind);
    ctx.globalAlpha = dark.matches ? 0.17 : 0.11;
    ctx.fillRect(x0, bbox.top, x1 - x0, bbox.height);
    ctx.globalAlpha = 0.9;
    ctx.fillRect(x0, bbox.top, x1 - x0, 2 * px);
    if (b.applied) ctx.fillRect(u.valToPos(b.applied, "x", true), bbox.top, px, bbox.height);
  }));
  const nameBands = (u) => clipped(u, (ctx, bbox, px) => {
    ctx.font = fontOf(11);
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    const free = [-1, -1, -1]; // where each of three lines of names has room again
    eachBand(u, (b, x0, x1) => {
      const left = Math.max(x0, bbox.left), line = free.findIndex((x) => x <= left);
      const text = line < 0 ? "" : [`#${b.fault} ${b.kind}`, `#${b.fault}`].find((t) => ctx.measureText(t).width < x1 - left - 8 * px);
      if (!text) return;
      ctx.fillStyle = kindColour(b.kind);
      ctx.fillText(text, left + 4 * px, bbox.top + (5 + 13 * line) * px);
      free[line] = left + 10 * px + ctx.measureText(text).width;
    });
  });

  const paintMoments = (moments, named) => (u) => clipped(u, (ctx, bbox, px) => {
    ctx.font = fontOf(11);
    ctx.textBaseline = "bottom";
    ctx.strokeStyle = ctx.fillStyle = colour("bad");
    ctx.lineWidth = 1.5 * px;
    ctx.setLineDash([4 * px, 3 * px]);
    moments.forEach((m, i) => {
      const x = Math.round(u.valToPos(m.at, "x", true));
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const left = x > bbox.left + bbox.width * 0.75;
      ctx.textAlign = left ? "right" : "left";
      if (named) ctx.fillText(m.name, x + (left ? -5 : 5) * px, bbox.top + bbox.height - (4 + 15 * (i % 4)) * px);
    });
  });

  // The moment that a link points at.
  const paintLinked = (u) => {
    if (tidemark.moment === null) return;
    clipped(u, (ctx, bbox, px) => {
      ctx.strokeStyle = colour("accent");
      ctx.lineWidth = 2 * px;
      const x = Math.round(u.valToPos(tidemark.moment, "x", true));
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    });
  };
  // A place is where a chart stands. It is drawn when it comes near the screen, and made to show the present once it is there again: a page has
  // more charts than anybody looks at at a time. On paper all of them are drawn.
  const places = new Map();
  const place = (host, height, fn) => {
    host.setAttribute("role", "img");
    host.setAttribute("aria-label", host.dataset.label || "Chart");
    host.style.minHeight = height + "px";
    places.set(host, { host, fn, charts: [], drawn: false, near: false, stale: false });
    sight.observe(host);
  };
  const freshen = (p) => {
    if (!p.drawn) {
      p.drawn = true;
      p.fn(p.host);
      p.host.style.minHeight = "";
    } else if (p.stale) {
      for (const { chart, sync } of p.charts) {
        chart.setSize({ width: widthOf(p.host), height: chart.height });
        if (sync === "run") move(chart);
      }
    }
    p.stale = false;
  };
  const widthOf = (host) => Math.max(host.clientWidth, 280);
  const changed = (now) => places.forEach((p) => {
    if (p.near) now(p);
    else p.stale = true;
  });
  const sight = new IntersectionObserver((entries) => entries.forEach((e) => {
    const p = places.get(e.target);
    p.near = e.isIntersecting;
    if (p.near) freshen(p);
  }), { rootMargin: "300px 0px" });
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((d) => { d.open = true; });
    places.forEach(freshen);
  });

  // The charts over the whole run and the timeline of operations show the same stretch of time.
  let moving = false; // by the page, not by somebody's hand
  const move = (chart) => {
    moving = true;
    chart.batch(() => chart.setScale("x", { min: tidemark.from, max: tidemark.to }));
    moving = false;
  };
  const zoomed = (u, key) => {
    const { min, max } = u.scales.x;
    if (u.status === 0 || moving || key !== "x" || min === tidemark.from && max === tidemark.to) return;
    Object.assign(tidemark, { from: min, to: max });
    tidemark.tell("range", u);
  };
  tidemark.listen((what, source) => changed(({ charts }) => charts.forEach(({ chart, sync }) => {
    if (what === "moment") chart.redraw(false);
    else if (chart !== source && sync === "run") move(chart);
  })));

  const secondsAxis = () => ({
    stroke: colour("soft"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 }, font: `12px ${tidemark.family}`,
    size: axisHeight, space: axisSpace, values: (u, splits) => splits.map((s) => (s === null ? "" : +s.toFixed(3) + " s")),
  });
  const valueAxis = (values) => ({ ...secondsAxis(), size: axisWidth, space: 32, values });
  const number = (digits, unit) => (u, v) => (v === null || v === undefined ? "–" : v.toLocaleString("en", { maximumFractionDigits: digits }) + (unit ? " " + unit : ""));

  const plot = (host, opts, series, group) => {
    const sync = group || "run";
    const hooks = { ...opts.hooks };
    hooks.draw = [...(hooks.draw || []), paintLinked];
    if (sync === "run") hooks.setScale = [zoomed];
    const chart = new uPlot({
      width: widthOf(host), height: 220, padding: [10, 18, 0, 0], ...opts, hooks,
      cursor: { sync: { key: sync, scales: ["x", null] }, drag: { x: true, y: false }, points: { size: 5 }, y: false, ...(opts.cursor || {}) },
    }, series, host);
    places.get(host).charts.push({ chart, sync });
  };
  const line = (label, stroke, more) => ({ label, stroke, width: 1.5, points: { show: false }, spanGaps: false, value: number(2), ...more });
  // Charts stand below one another: all of a time axis is the same [from, to], whatever the times of a chart's values.
  const wholeRun = { from: tidemark.from, to: tidemark.to };
  const timeScale = (all) => ({
    time: false,
    range: (u, min, max) => {
      if (u.status === 0 && all === wholeRun) return [tidemark.from, tidemark.to];
      if (!moving && (min === null || min <= u.data[0][0] && max >= u.data[0][u.data[0].length - 1])) return [all.from, all.to];
      return [min, max];
    },
  });

  const drawLatency = (host) => {
    const l = data.latency;
    const some = [l.p50, l.open].some((c) => c.some((v) => v !== null));
    if (!some) {
      host.append(make("p", "No send was acknowledged, so there is no latency to draw.", "none"));
      return;
    }
    plot(host, {
      height: 240,
      scales: { x: timeScale(wholeRun), y: { distr: 3, log: 10 } },
      axes: [secondsAxis(), valueAxis((u, splits) => splits.map((s) => (s === null ? "" : +s.toPrecision(3) + "")))],
      series: [{ label: "Time", value: number(2, "s") }, line("median", colour("c0"), { width: 2 }), line("95 %", colour("c2")), line("99 %", colour("c4")), line("longest", colour("faint"), { width: 1 }),
        line("longest wait of unknown outcome", colour("bad"), { width: 0, points: { show: true, size: 5, fill: colour("bad"), stroke: colour("bad") } })],
      hooks: { drawClear: [paintBands], draw: [nameBands] },
    }, [l.t, l.p50, l.p95, l.p99, l.max, l.open]);
  };

  const drawRate = (host) => {
    const r = data.rate;
    const outcome = (label, c, fill) => line(label, c, { fill: fill ? c + "22" : undefined, value: number(1) });
    plot(host, {
      height: 190,
      scales: { x: timeScale(wholeRun), y: { range: (u, min, max) => [0, Math.max(max * 1.08, 1)] } },
      axes: [secondsAxis(), valueAxis()],
      series: [{ label: "Time", value: number(2, "s") }, outcome("acknowledged", colour("good"), true), outcome("failed", colour("bad"), true), outcome("unknown outcome", colour("warn"), true), outcome("polls", colour("faint"))],
      hooks: { drawClear: [paintBands], draw: [nameBands] },
    }, [r.t, r.acked, r.failed, r.unknown, r.polls]);
  };

  // A row of lanes: one a broker, coloured by role, the leader epoch written where there is room.
  const roles = { leader: "leader", isr: "in sync", out: "out of sync", deposed: "believes that it leads", paused: "paused", down: "down or unreachable", untold: "not drawn" };
  const drawLanes = (host, part, span, group, moments) => {
    const rows = part.brokers.length, rowHeight = 24;
    const readout = make("div", "", "readout");
    const segmentAt = (lane, t) => lane.find((s) => s.f <= t && t < s.t);
    const paint = (u) => clipped(u, (ctx, bbox, px) => {
      const high = bbox.height / rows;
      ctx.textBaseline = "middle";
      ctx.font = fontOf(11);
      part.lanes.forEach((lane, row) => {
        const top = bbox.top + row * high + 2 * px;
        for (const s of lane) {
          if (s.t < u.scales.x.min || s.f > u.scales.x.max) continue;
          const x0 = Math.max(u.valToPos(s.f, "x", true), bbox.left), x1 = Math.min(u.valToPos(s.t, "x", true), bbox.left + bbox.width);
          ctx.fillStyle = colour("lane-" + s.r);
          ctx.fillRect(x0, top, Math.max(x1 - x0 - px * 0.5, px), high - 4 * px);
          const text = s.e < 0 ? "" : "e" + s.e;
          if (text && s.r !== "down" && x1 - x0 > (text.length * 7 + 10) * px) {
            ctx.fillStyle = colour(s.r === "leader" || s.r === "deposed" ? "on-dark" : "on-light");
            ctx.textAlign = "left";
            ctx.fillText(text, x0 + 5 * px, top + (high - 4 * px) / 2);
          }
        }
      });
    });
    plot(host, {
      height: rows * rowHeight + axisHeight + 10, legend: { show: false },
      scales: { x: timeScale(span), y: { range: () => [0, rows] } },
      axes: [secondsAxis(), { ...valueAxis(), grid: { show: false }, ticks: { show: false }, splits: () => part.brokers.map((b, i) => rows - i - 0.5), values: () => part.brokers.map((b) => "broker " + b) }],
      series: [{}, { label: "", points: { show: false }, width: 0 }],
      cursor: { points: { show: false } },
      hooks: {
        draw: [paint, paintMoments(moments || [], false)],
        setCursor: [(u) => {
          const t = u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : NaN;
          readout.textContent = !(t >= 0) ? "" : t.toFixed(3) + " s: " + part.brokers.map((b, i) => {
            const s = segmentAt(part.lanes[i], t);
            return "broker " + b + " " + (s ? roles[s.r] + (s.e < 0 ? "" : " (epoch " + s.e + ")") : "–");
          }).join(" · ");
        }],
      },
    }, [[span.from, span.to], [0, 0]], group);
    const key = make("div", undefined, "key-row");
    const used = new Set(part.lanes.flat().map((s) => s.r));
    for (const [name, text] of Object.entries(roles)) {
      if (!used.has(name)) continue;
      const item = make("span", undefined), box = make("i");
      box.style.background = colour("lane-" + name);
      item.append(box, text);
      key.append(item);
    }
    host.append(key, readout);
  };

  const drawLines = (host, part, span, group, moments) => {
    const series = [{ label: "Time", value: number(3, "s") }], columns = [part.t];
    part.brokers.forEach((b, i) => {
      series.push(line(b + " LEO", brokerColour(i)), line(b + " HW", brokerColour(i), { dash: [5, 4], width: 1.5 }));
      columns.push(part.leo[i], part.hw[i]);
    });
    plot(host, {
      height: 220, scales: { x: timeScale(span), y: {} }, axes: [secondsAxis(), valueAxis()], series,
      hooks: { drawClear: [paintBands], draw: [nameBands, paintMoments(moments || [], true)] },
    }, columns, group);
  };

  // How far each replica is behind the longest log: where the lines of offsets lie too close to tell apart.
  const drawLag = (host, part, span, group, moments) => {
    const series = [{ label: "Time", value: number(3, "s") }], columns = [part.t];
    const longest = part.t.map((_, i) => Math.max(...part.leo.map((c) => (c[i] === null ? 0 : c[i]))));
    const behind = (c) => c.map((v, i) => (v === null ? null : longest[i] - v));
    part.brokers.forEach((b, i) => {
      series.push(line(b + " LEO", brokerColour(i)), line(b + " HW", brokerColour(i), { dash: [5, 4] }));
      columns.push(behind(part.leo[i]), behind(part.hw[i]));
    });
    plot(host, {
      height: 170, scales: { x: timeScale(span), y: { range: (u, min, max) => [0, Math.max(max * 1.08, 5)] } }, axes: [secondsAxis(), valueAxis()], series,
      hooks: { drawClear: [paintBands], draw: [nameBands, paintMoments(moments || [], false)] },
    }, columns, group);
  };

  // The faults as bars, one row a kind.
  const drawFaults = (host) => {
    const rows = kinds.length;
    plot(host, {
      height: rows * 24 + axisHeight + 10, legend: { show: false },
      scales: { x: timeScale(wholeRun), y: { range: () => [0, rows] } },
      axes: [secondsAxis(), { ...valueAxis(), grid: { show: false }, ticks: { show: false }, splits: () => kinds.map((k, i) => rows - i - 0.5), values: () => kinds }],
      series: [{}, { label: "", points: { show: false }, width: 0 }],
      cursor: { points: { show: false } },
      hooks: { draw: [(u) => clipped(u, (ctx, bbox, px) => {
        const high = bbox.height / rows;
        ctx.font = fontOf(11);
        ctx.textBaseline = "middle";
        ctx.textAlign = "left";
        const free = kinds.map(() => -1); // where each row has room for a number again
        eachBand(u, (b, x0, x1) => {
          const row = kinds.indexOf(b.kind), top = bbox.top + row * high + 3 * px;
          ctx.fillStyle = kindColour(b.kind);
          ctx.fillRect(x0, top, x1 - x0, high - 6 * px);
          ctx.fillStyle = colour("paper");
          const text = "#" + b.fault, needs = ctx.measureText(text).width + 10 * px;
          if (x1 - x0 < needs || x0 < free[row]) return;
          ctx.fillText(text, x0 + 5 * px, top + (high - 6 * px) / 2);
          free[row] = x0 + needs;
        });
      })] },
    }, [[wholeRun.from, wholeRun.to], [0, 0]]);
  };

  const legendHeight = 28, keyHeight = 56;
  const within = (id, height, fn) => {
    const host = document.getElementById(id);
    if (host) place(host, height, fn);
  };
  const drawPart = (part, lanes, lines, lag, ...more) => {
    if (lanes) place(lanes, part.brokers.length * 24 + axisHeight + 10 + keyHeight, (host) => drawLanes(host, part, ...more));
    if (lines && part.t.length) place(lines, 220 + legendHeight, (host) => drawLines(host, part, ...more));
    if (lag && part.t.length) place(lag, 170 + legendHeight, (host) => drawLag(host, part, ...more));
  };
  const host = (name, i) => document.querySelector(`[data-${name}="${i}"]`);
  data.windows.forEach((w, i) => {
    if (data.partitions[w.partition]) drawPart(data.partitions[w.partition], host("window-lanes", i), host("window-lines", i), null, w, "window" + i, w.moments);
  });
  if (data.bands.length) within("chart-faults", kinds.length * 24 + axisHeight + 10, drawFaults);
  within("chart-latency", 240 + legendHeight, drawLatency);
  within("chart-rate", 190 + legendHeight, drawRate);
  data.partitions.forEach((part, i) => drawPart(part, host("lanes", i), host("lines", i), host("lag", i), wholeRun, "run"));

  dark.addEventListener("change", () => places.forEach((p) => {
    for (const { chart } of p.charts) chart.destroy();
    p.host.replaceChildren();
    Object.assign(p, { charts: [], drawn: false });
    if (p.near) freshen(p);
  }));
  let resizing;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => changed(({ host, charts }) => charts.forEach(({ chart }) => chart.setSize({ width: widthOf(host), height: chart.height }))), 120);
  });

  // The lines of a log that hold a text; the moment that a link points at, in every table of moments.
  document.querySelectorAll(".log-filter").forEach((input) => {
    const lines = [...input.closest("details").querySelectorAll("tbody tr")].map((tr) => [tr, tr.textContent.toLowerCase()]);
    input.addEventListener("input", () => {
      const text = input.value.trim().toLowerCase();
      for (const [tr, line] of lines) tr.hidden = !line.includes(text);
    });
  });
  tidemark.listen((what) => {
    if (what !== "moment") return;
    document.querySelectorAll("tr.now").forEach((tr) => tr.classList.remove("now"));
    document.querySelectorAll("tbody:has(tr[data-t])").forEach((body) => {
      let best = null, distance = 0.5; // seconds
      for (const tr of body.rows) {
        const d = Math.abs(+tr.dataset.t - tidemark.moment);
        if (d < distance) [best, distance] = [tr, d];
      }
      if (!best) return;
      best.classList.add("now");
      const box = best.closest(".scroll.log");
      if (box) box.scrollTop += best.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 2;
    });
  });

  // The replay line: selected in the page, and on the clipboard where the browser lets it.
  const copy = document.getElementById("copy");
  if (copy) {
    copy.addEventListener("click", async () => {
      const code = document.getElementById("replay-line");
      getSelection().selectAllChildren(code);
      let done = false;
      try {
        await navigator.clipboard.writeText(code.textContent);
        done = true;
      } catch {
        done = document.execCommand("copy");
      }
      copy.textContent = done ? "Copied" : "Selected";
      setTimeout(() => { copy.textContent = "Copy"; }, 2000);
    });
  }
})();
