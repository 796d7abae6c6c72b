// The stream of the server: the whole document first, then what changes.

import { apply } from './patch';
import type { Shown } from './types';

/** Without any news for so long, what is shown is old. */
const STALE_AFTER = 15_000;
/** Points of the chart that are kept, as the server keeps them. */
const POINTS_MAX = 600;

export class Stream {
  shown = $state.raw<Shown | undefined>(undefined);
  /** What was shown at an earlier time, while somebody looks back. */
  past = $state.raw<Shown | undefined>(undefined);
  then = $state(0);
  points = $state.raw<number[][]>([]);
  ended = $state(false);
  stale = $state(false);
  #heard = Date.now();
  #begun = 0;

  constructor() {
    const source = new EventSource('/api/stream');
    source.addEventListener('snapshot', (event) => this.#show(JSON.parse(event.data)));
    source.addEventListener('patch', (event) => this.#show(apply(this.shown, JSON.parse(event.data))));
    source.addEventListener('history', (event) => {
      this.points = JSON.parse(event.data);
      const last = this.points.at(-1)?.[0] ?? 0;
      this.#begun = Date.now() / 1000 - last;
    });
    source.addEventListener('alive', () => {
      this.#heard = Date.now();
    });
    source.addEventListener('end', () => {
      this.ended = true;
      source.close();
    });
    // The browser connects again by itself, and then gets the whole anew.
    setInterval(() => {
      this.stale = !this.ended && Date.now() - this.#heard > STALE_AFTER;
      if (!this.ended) this.#addPoint();
    }, 1000);
  }

  replay(document: Shown, then: number): void {
    this.past = document;
    this.then = then;
  }

  live(): void {
    this.past = undefined;
  }

  #show(document: unknown): void {
    this.shown = document as Shown;
    this.#heard = Date.now();
    this.stale = false;
  }

  /** The server sends its points once; from then on the page makes its own. */
  #addPoint(): void {
    const shown = this.shown;
    if (!shown || this.stale) return;
    const now = Math.round(Date.now() / 1000 - this.#begun);
    if (shown.kind === 'group') {
      this.points = [...this.points.slice(1 - POINTS_MAX), [now, shown.sent_bps, shown.monitor.bps]];
      return;
    }
    const pace = shown.phase === 'ended' ? 0 : (shown.pace_bps ?? 0);
    const rate = shown.phase === 'sending' ? (shown.sending?.rate_bps ?? 0) : 0;
    const point = shown.kind === 'send' ? [now, rate, pace] : [now, pace, (shown.loss ?? 0) * 100];
    this.points = [...this.points.slice(1 - POINTS_MAX), point];
  }
}
