/** Returns the name closest to `wrong`, undefined when none is close enough to suggest. */
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

/** Returns the beginning of a hint, 'Did you mean host? ', or undefined when no name is close enough. */
export const didYouMean = (wrong: string, names: Iterable<string>): string | undefined => {
  const meant = nearestName(wrong, names);
  return meant === undefined ? undefined : `Did you mean ${meant}? `;
};

/** Optimal string alignment distance: Levenshtein plus swaps of neighbours, at most `limit`. */
const distance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let before: readonly number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swap =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? (before[j - 2] as number) + 1
          : limit;
      next.push(Math.min(change, swap, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    before = row;
    row = next;
  }
  return Math.min(limit, row[b.length] as number);
};
