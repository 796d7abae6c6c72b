// Who hears whom, as lines between two nodes.

import type { Group } from '../types';

/** Fewer sevenths are no way on which to count. */
const ENOUGH = 3;

export interface Pair {
  a: string;
  b: string;
  /** Each hears the other. */
  both: boolean;
  sevenths: number;
}

export function pairs(shown: Group): Pair[] {
  const ids = Object.keys(shown.nodes).sort();
  const hears = (who: string, whom: string) => shown.hearing[who]?.[whom] ?? 0;
  const all: Pair[] = [];
  ids.forEach((a, at) => {
    for (const b of ids.slice(at + 1)) {
      const [there, back] = [hears(a, b), hears(b, a)];
      if (there < ENOUGH && back < ENOUGH) continue;
      all.push({ a, b, both: there >= ENOUGH && back >= ENOUGH, sevenths: Math.max(there, back) });
    }
  });
  return all;
}
