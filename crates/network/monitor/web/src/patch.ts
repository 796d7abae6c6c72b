// Merge patches (RFC 7386): null takes a field away.

type Fields = Record<string, unknown>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function apply(document: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const next: Fields = isFields(document) ? { ...document } : {};
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) delete next[name];
    else next[name] = apply(next[name], change);
  }
  return next;
}
