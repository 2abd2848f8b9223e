/** The name that somebody who wrote `wrong` may have meant, if one is near enough. */
export const nearestName = (wrong: string, names: Iterable<string>): string | undefined => {
  let best: string | undefined;
  let least = wrong.length > 4 ? 3 : 2;
  for (const name of names) {
    const steps = name.toLowerCase() === wrong.toLowerCase() ? 0 : distance(wrong, name, least);
    if (steps < least) {
      least = steps;
      best = name;
    }
  }
  return best;
};

/** Levenshtein's distance, or `limit` where it is not less. */
const distance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [i, letter] of a.split('').entries()) {
    const next = [i + 1];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] as number) + (letter === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return Math.min(limit, row[b.length] as number);
};
