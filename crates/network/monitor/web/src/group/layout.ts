// Where nodes are drawn: those that hear each other are near each other. Places stay from one time to the
// next; only what is new is laid out.

export interface Place {
  x: number;
  y: number;
}

/** Distance at which a link rests, in a square of side 1. */
const REST = 0.22;
const STEPS_NEW = 200;
const STEPS_MORE = 10;

/** The same for the same id: a page that is opened again looks alike. */
function begin(id: string): Place {
  let hash = 2166136261;
  for (const letter of id) hash = Math.imul(hash ^ letter.charCodeAt(0), 16777619) >>> 0;
  const angle = (hash / 4294967296) * 2 * Math.PI;
  const radius = 0.2 + 0.25 * ((hash % 1000) / 1000);
  return { x: 0.5 + radius * Math.cos(angle), y: 0.5 + radius * Math.sin(angle) };
}

export function layOut(
  ids: string[],
  links: [string, string][],
  before: Map<string, Place>,
): Map<string, Place> {
  const places = new Map(ids.map((id) => [id, before.get(id) ?? begin(id)]));
  const isNew = ids.some((id) => !before.has(id));
  const steps = ids.length > 300 ? 0 : isNew ? STEPS_NEW : STEPS_MORE;
  for (let step = 0; step < steps; step += 1) push(ids, links, places, 0.02 * (1 - step / steps));
  return places;
}

function push(
  ids: string[],
  links: [string, string][],
  places: Map<string, Place>,
  most: number,
): void {
  const forces = new Map(ids.map((id) => [id, { x: 0, y: 0 }]));
  const act = (one: string, other: string, strength: (distance: number) => number) => {
    const [a, b] = [places.get(one), places.get(other)];
    const [fa, fb] = [forces.get(one), forces.get(other)];
    if (!a || !b || !fa || !fb) return;
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const distance = Math.max(Math.hypot(dx, dy), 0.001);
    const force = strength(distance) / distance;
    fa.x += dx * force;
    fa.y += dy * force;
    fb.x -= dx * force;
    fb.y -= dy * force;
  };
  ids.forEach((one, at) => {
    for (const other of ids.slice(at + 1)) act(one, other, (distance) => -0.002 / distance);
  });
  for (const [one, other] of links) act(one, other, (distance) => 0.4 * (distance - REST));
  for (const id of ids) {
    const [place, force] = [places.get(id), forces.get(id)];
    if (!place || !force) continue;
    force.x += 0.1 * (0.5 - place.x);
    force.y += 0.1 * (0.5 - place.y);
    const scale = Math.min(1, most / Math.max(Math.hypot(force.x, force.y), 1e-9));
    place.x = Math.min(0.94, Math.max(0.06, place.x + force.x * scale));
    place.y = Math.min(0.92, Math.max(0.08, place.y + force.y * scale));
  }
}
