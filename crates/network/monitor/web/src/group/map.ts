// Where nodes stand, as points of a picture: north is up, and a metre is as long in both directions.

import type { Place } from './layout';
import type { At } from '../types';

/** Along a meridian; the mean radius of the earth is 6371 km. */
const METRES_A_DEGREE = (6_371_000 * Math.PI) / 180;
/** Points of nodes keep so much of the picture's width and height free on each side. */
const MARGIN = 0.1;
/** Nodes at one place have a picture of so many metres. */
const LEAST = 10;
/** The scale takes at most this part of the width. */
const SCALE_MOST = 0.25;

export interface Picture {
  points: Map<string, Place>;
  /** Metres of a unit of the picture. */
  metres: number;
  /** The scale: metres, and how long they are. */
  scale: { metres: number; length: number };
}

/** The largest of 1, 2 and 5 times a power of ten that is no more than this. */
export function round(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return (most >= 5 * power ? 5 : most >= 2 * power ? 2 : 1) * power;
}

/** In a picture of this width and height. */
export function draw(places: Record<string, At>, width: number, height: number): Picture {
  const all = Object.entries(places);
  // Where they stand on both sides of the 180th meridian, the east of it goes on beyond 180.
  const lons = all.map(([, at]) => at.lon);
  const across = Math.max(...lons) - Math.min(...lons) > 180;
  const lon = (at: At) => (across && at.lon < 0 ? at.lon + 360 : at.lon);
  const mean = all.reduce((sum, [, at]) => sum + at.lat, 0) / Math.max(1, all.length);
  const narrow = Math.cos((mean * Math.PI) / 180);
  const east = all.map(([, at]) => lon(at) * narrow * METRES_A_DEGREE);
  const north = all.map(([, at]) => at.lat * METRES_A_DEGREE);
  const [left, right] = [Math.min(...east), Math.max(...east)];
  const [low, high] = [Math.min(...north), Math.max(...north)];
  const free = 1 - 2 * MARGIN;
  const metres = Math.max((right - left) / (width * free), (high - low) / (height * free), LEAST / width);
  const points = new Map(
    all.map(([id], at): [string, Place] => [
      id,
      {
        x: width / 2 + ((east[at] ?? 0) - (left + right) / 2) / metres,
        y: height / 2 - ((north[at] ?? 0) - (low + high) / 2) / metres,
      },
    ]),
  );
  const long = round(width * SCALE_MOST * metres);
  return { points, metres, scale: { metres: long, length: long / metres } };
}
