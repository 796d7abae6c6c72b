// Numbers for people.

function scaled(value: number, step: number, units: string[]): string {
  let at = 0;
  while (value >= step && at + 1 < units.length) {
    value /= step;
    at += 1;
  }
  const digits = at === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[at]}`;
}

export const size = (bytes: number): string =>
  scaled(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);

export const rate = (bits: number): string =>
  scaled(bits, 1000, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s']);

export const share = (part: number): string => `${(part * 100).toFixed(1)} %`;

export function time(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

export const distance = (metres: number): string =>
  metres < 1000 ? `${metres} m` : `${metres / 1000} km`;

export const millis = (seconds: number): string =>
  seconds < 0.01 ? `${(seconds * 1000).toFixed(1)} ms` : `${Math.round(seconds * 1000)} ms`;
