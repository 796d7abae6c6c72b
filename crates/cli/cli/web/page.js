"use strict";
// The list of streams, and a player for one of them. What `body` says in its data is for tests.
const film = document.getElementById("film");
const state = document.getElementById("state");
const rows = document.getElementById("streams");
const seen = { stalls: 0, started: null, opened: performance.now(), playing: null };
let player = null;

function tell() {
  document.body.dataset.stalls = seen.stalls;
  document.body.dataset.started = seen.started === null ? "" : Math.round(seen.started);
  document.body.dataset.position = film.currentTime.toFixed(1);
}

film.addEventListener("timeupdate", tell);
film.addEventListener("playing", () => {
  if (seen.started === null) seen.started = performance.now() - seen.opened;
  state.textContent = "Playing " + seen.playing + ".";
});
film.addEventListener("waiting", () => {
  if (seen.started !== null) seen.stalls += 1;
});

function watch(name, list) {
  if (player) player.destroy();
  seen.playing = name;
  seen.opened = performance.now();
  seen.started = null;
  const address = "/" + encodeURIComponent(name) + "/" + list;
  if (window.Hls && Hls.isSupported()) {
    // Nothing comes from far away: what is here is here at once.
    player = new Hls({ enableWorker: false, liveSyncDurationCount: 2, lowLatencyMode: false });
    player.on(Hls.Events.ERROR, (_, error) => {
      if (!error.fatal) return;
      state.textContent = "The player stopped (" + error.details + "). It tries again.";
      setTimeout(() => watch(name, list), 1000);
    });
    player.loadSource(address);
    player.attachMedia(film);
  } else {
    film.src = address;
  }
  film.play().catch(() => { state.textContent = "Press play."; });
}

function button(text, action) {
  const made = document.createElement("button");
  made.textContent = text;
  made.addEventListener("click", action);
  return made;
}

function row(stream) {
  const made = document.createElement("tr");
  const kept = stream.segments + " segments, " + (stream.bytes / 1e6).toFixed(1) + " MB" +
    (stream.ended ? ", ended" : "");
  for (const text of [stream.name, stream.chosen, kept]) {
    made.appendChild(document.createElement("td")).textContent = text;
  }
  const cell = made.appendChild(document.createElement("td"));
  cell.append(
    button("Live", () => watch(stream.name, "index.m3u8")),
    button("From the beginning", () => watch(stream.name, "beginning.m3u8")),
  );
  return made;
}

async function refresh() {
  try {
    const streams = await (await fetch("/api/streams")).json();
    rows.replaceChildren(...streams.map(row));
    const first = streams.find((stream) => stream.segments > 0);
    if (seen.playing === null && first) watch(first.name, "index.m3u8");
  } catch {
    state.textContent = "This node does not answer. Is 'fanfare video serve' running?";
  }
  setTimeout(refresh, 1000);
}
refresh();
