/** A property that rows are filtered by. Its key is the parameter of the address. */
export type Facet<T> = {
  readonly key: string;
  readonly label: string;
  readonly of: (row: T) => readonly string[];
  /** Text of a value, where it is not the value. */
  readonly names?: Readonly<Record<string, string>>;
  /** Values in this order before all others, which come by their count. */
  readonly order?: readonly string[];
};

export type Choice = { readonly value: string; readonly label: string; readonly count: number };

/** Rows that have every chosen value, and the choices of each facet by its key. */
export type Filtered<T> = {
  readonly found: readonly T[];
  readonly choices: ReadonlyMap<string, readonly Choice[]>;
};

/**
 * Filters rows by the chosen values of a query and counts the values of every facet, in one pass: a row that all filters leave counts for
 * each facet, a row that one filter removes counts for the facet of that filter. A chosen value that no row has is a choice with 0.
 */
export const filterRows = <T>(
  rows: readonly T[],
  facets: readonly Facet<T>[],
  query: URLSearchParams,
): Filtered<T> => {
  const counted = facets.map((facet) => {
    const value = query.get(facet.key);
    return { facet, chosen: value === '' ? null : value, counts: new Map<string, number>() };
  });
  const found = rows.filter((row) => {
    const values = counted.map(({ facet }) => facet.of(row));
    const removedBy = counted.filter(
      ({ chosen }, index) => chosen !== null && values[index]?.includes(chosen) === false,
    );
    if (removedBy.length > 1) return false;
    for (const [index, one] of counted.entries())
      if (removedBy.every((other) => other === one))
        for (const value of values[index] ?? []) one.counts.set(value, (one.counts.get(value) ?? 0) + 1);
    return removedBy.length === 0;
  });
  const choices = counted.map(({ facet, chosen, counts }) => {
    if (chosen !== null && !counts.has(chosen)) counts.set(chosen, 0);
    return [facet.key, toChoices(facet, counts)] as const;
  });
  return { found, choices: new Map(choices) };
};

const toChoices = <T>(facet: Facet<T>, counts: ReadonlyMap<string, number>): readonly Choice[] => {
  const place = (value: string): number => {
    const at = facet.order?.indexOf(value) ?? -1;
    return at < 0 ? Number.MAX_SAFE_INTEGER : at;
  };
  return [...counts]
    .map(([value, count]) => ({ value, count, label: facet.names?.[value] ?? value }))
    .toSorted((a, b) => place(a.value) - place(b.value) || b.count - a.count || (a.value < b.value ? -1 : 1));
};
