// A pipeline schedule, placed by its dependencies alone. Kinds, orders and needs come as data.

// "4F28(BF)4B" is FFFF, 28 times BF, BBBB; the n-th of a kind is its n-th microbatch.
// Small letters are a device's second chunk of the model. "28+1(BF)" is once more for each
// further number of microbatches that the schedule admits.
const expand = (order, steps) => {
  const kinds = [];
  for (const [, times, step, group, one] of order.matchAll(/(\d+)([+-]\d+)?(?:\(([^)]+)\)|([A-Za-z]))/g))
    for (let i = 0; i < Number(times) + Number(step ?? 0) * steps; i++) kinds.push(...(group ?? one));
  const seen = {};
  return kinds.map((kind) => [kind, (seen[kind] = (seen[kind] ?? -1) + 1)]);
};

// An operation starts when its stage is free and what it needs has arrived.
const place = (orders, placement, needs, duration, delay) => {
  const finish = {};
  for (const row of Object.keys(needs)) finish[row] = [];
  const at = orders.map(() => ({ next: 0, now: 0 }));
  const waits = {};
  for (const [row, list] of Object.entries(needs))
    waits[row] = list.map(([kind, from]) => [finish[`${kind},${from}`], from]);
  const cells = [];
  for (let moved = true; moved; ) {
    moved = false;
    orders.forEach((order, device) => {
      const own = at[device];
      while (own.next < order.length) {
        const [kind, stage, j] = order[own.next];
        let start = own.now;
        let ready = true;
        const row = `${kind},${stage}`;
        for (const [done, from] of waits[row]) {
          const arrival = done[j];
          if (arrival === undefined) ready = false;
          else start = Math.max(start, arrival + (placement[from] === device ? 0 : delay));
        }
        if (!ready) break;
        own.now = start + duration(kind, device);
        finish[row][j] = own.now;
        cells.push({ kind, stage, device, j, start, end: own.now });
        own.next += 1;
        moved = true;
      }
    });
  }
  return at.every((own, device) => own.next === orders[device].length) ? cells : null;
};

// Microbatches that a device holds, a chunk's each: from the start of the first of their kinds to the end of the last.
const heldBy = (cells) => {
  const spans = new Map();
  for (const { stage, j, start, end } of cells) {
    const key = `${stage},${j}`;
    const old = spans.get(key) ?? [start, end];
    spans.set(key, [Math.min(old[0], start), Math.max(old[1], end)]);
  }
  const events = [...spans.values()].flatMap(([a, b]) => [[a, 1], [b, -1]]);
  events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let held = 0;
  return events.map(([time, change]) => [time, (held += change)]);
};

const simulate = (picture, engine, state) => {
  const { values, dropped } = state;
  const [p, m] = [values[picture.stages], values[picture.microbatches]];
  const name = values[picture.choice];
  const made = picture.schedules[name];
  const refused = made.refused[p - 1];
  if (refused[m]) return { error: refused[m] };
  const rank = m - 1 - Object.keys(refused).filter((other) => Number(other) < m).length;
  const placement = made.placement[p - 1];
  const chunks = placement.length / p;
  const orders = made.orders[p - 1].map((told, device) => {
    const [begin, text_] = told.findLast(([from]) => from <= rank);
    const owned = placement.flatMap((owner, stage) => (owner === device ? [stage] : []));
    return expand(picture.strings[text_], rank - begin).map(([letter, j]) => {
      const kind = letter.toUpperCase();
      return [kind, owned[letter === kind ? 0 : 1], j];
    });
  });
  const slow = engine.at(picture.slowest, values, dropped);
  const times = {};
  for (const [kind, formula] of Object.entries(picture.durations))
    times[kind] = engine.at(formula, values, dropped);
  const duration = (kind, device) => (times[kind] / chunks) * (device === p - 1 ? slow : 1);
  const delay = engine.at(picture.delay, values, dropped);
  const cells = place(orders, placement, picture.needs[placement.length], duration, delay);
  if (!cells) return { error: `${name}: deadlock` };
  const makespan = Math.max(...cells.map((x) => x.end));
  const busy = cells.reduce((sum, x) => sum + x.end - x.start, 0);
  const byStage = orders.map((_, stage) => cells.filter((x) => x.device === stage));
  const held = byStage.map(heldBy);
  const peaks = held.map((steps) => Math.max(...steps.map(([, n]) => n)));
  return { cells, chunks, byStage, held, peaks, makespan, idle: 1 - busy / (makespan * p) };
};

const gantt = (picture, spec, engine, state, width) => {
  const run = simulate(picture, engine, state);
  if (run.error) return { error: run.error };
  const p = run.byStage.length;
  const [left, right, rowHeight] = [30, width - 44, p > 8 ? 26 : 40];
  const height = p * rowHeight + 46;
  const x = scale(0, run.makespan, left, right, false);
  const most = Math.max(...run.peaks);
  const bar = rowHeight * 0.55;
  const kinds = Object.keys(picture.durations);
  let out = text(right + 6, 12, "peak", "start");
  run.byStage.forEach((cells, stage) => {
    const y = 18 + stage * rowHeight;
    out += text(left - 8, y + bar / 2 + 4, stage, "end");
    out += rect(left, y, right - left, bar, "idle");
    // One path a kind; the cell under the pointer is found by its place.
    kinds.forEach((kind, k) => {
      const own = cells.filter((cell) => cell.kind === kind);
      const boxes = own.map((cell) => `M${x(cell.start).toFixed(1)} ${y}H${x(cell.end).toFixed(1)}v${bar}H${x(cell.start).toFixed(1)}z`);
      if (own.length) out += `<path d="${boxes.join("")}" class="cell k${k}"/>`;
      for (const cell of own) {
        const [a, b] = [x(cell.start), x(cell.end)];
        if (b - a > 14) out += text((a + b) / 2, y + bar / 2 + 4, cell.j, "middle", `in k${k}`);
      }
    });
    const [floor, unit] = [y + rowHeight - 4, (rowHeight - bar - 6) / most];
    let path = `M${left} ${floor}`;
    let level = floor;
    for (const [time, n] of run.held[stage].filter(([at], i, all) => at !== all[i + 1]?.[0])) {
      path += `H${x(time).toFixed(1)}V${(level = floor - n * unit).toFixed(1)}`;
    }
    out += `<path d="${path}H${right}V${floor}Z" class="held"/>`;
    out += text(right + 6, floor, digits(run.peaks[stage] / run.chunks), "start", "strong");
  });
  for (const t of marks(0, run.makespan, false, width < 480 ? 4 : 8))
    out += line(x(t), height - 26, x(t), height - 22, "axis") + text(x(t), height - 9, digits(t));
  const keys = kinds.filter((kind) => run.cells.some((c) => c.kind === kind))
    .map((kind) => ({ label: picture.kinds[kind] ?? kind, look: "cell", cell: `cell k${kinds.indexOf(kind)}` }));
  keys.push({ label: "idle", look: "cell", cell: "idle" }, { label: "microbatches held", look: "cell", cell: "held" });
  const words = `Simulated: ${digits(run.makespan)} units of time, <b>${STYLES.percent(run.idle)}</b> of it idle; `
    + `at most ${digits(run.peaks[0] / run.chunks)} microbatches held by the first stage, ${digits(run.peaks[p - 1] / run.chunks)} by the last.`;
  const find = (across, down) => {
    const [stage, time] = [Math.floor((down - 18) / rowHeight), ((across - left) / (right - left)) * run.makespan];
    const cell = run.byStage[stage]?.find((c) => c.start <= time && time < c.end);
    return cell ? cellWords(picture, run, cell) : "";
  };
  return { picture: svg(width, height, picture.alt, out), keys, words, find };
};

const cellWords = (picture, run, { kind, stage, device, j, start, end }) =>
  `${picture.kinds[kind] ?? kind} of microbatch ${j} on stage ${device}${run.chunks > 1 ? `, chunk ${stage}` : ""}, from ${digits(start, 4)} to ${digits(end, 4)}`;
