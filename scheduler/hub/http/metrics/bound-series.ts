/** One series of a metric. */
export type Series<Label extends string> = {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
};

/** `beyond`: how many were added up. */
export type Bounded<Label extends string> = {
  readonly series: readonly Series<Label>[];
  readonly beyond: number;
};

/** Upper bound on the series of one metric with names in its labels. The others are summed under OTHER. */
export const MAX_SERIES = 1000;
const OTHER = 'other';

/**
 * Keeps the first `most` series; of the others `folded` labels are OTHER, and those that are alike then are combined.
 * @param series the most important first
 */
export const boundSeries = <Label extends string>(
  series: readonly Series<Label>[],
  {
    folded,
    combine,
    most = MAX_SERIES,
  }: {
    readonly folded: readonly Label[];
    readonly combine: (one: number, other: number) => number;
    readonly most?: number;
  },
): Bounded<Label> => {
  const rest = series.slice(most);
  const others = new Map<string, Series<Label>>();
  for (const { labels, value } of rest) {
    const named = { ...labels, ...Object.fromEntries(folded.map((label) => [label, OTHER])) };
    const key = JSON.stringify(named);
    const before = others.get(key);
    others.set(key, { labels: named, value: before ? combine(before.value, value) : value });
  }
  return { series: [...series.slice(0, most), ...others.values()], beyond: rest.length };
};

export const add = (one: number, other: number): number => one + other;
