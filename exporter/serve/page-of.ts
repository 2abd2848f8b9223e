/** One page of a list (OCI distribution spec 1.1, "Listing Tags"). */
export type Page = { readonly items: readonly string[]; readonly next: string | undefined };

/**
 * @param sorted bytewise
 * @returns the items after `last`, at most `n`, and the query of the next page if there is one
 */
export const pageOf = (sorted: readonly string[], query: URLSearchParams): Page => {
  const last = query.get('last') ?? '';
  const rest = last === '' ? sorted : sorted.slice(firstAfter(sorted, last));
  const wanted = query.get('n');
  if (wanted === null || !/^\d{1,9}$/.test(wanted)) return { items: rest, next: undefined };
  const items = rest.slice(0, Number(wanted));
  const end = items.at(-1);
  const next =
    end === undefined || items.length === rest.length
      ? undefined
      : new URLSearchParams({ n: wanted, last: end }).toString();
  return { items, next };
};

/** Index of the first item after `last`, which need not be in this list: it may be from an earlier one. */
const firstAfter = (sorted: readonly string[], last: string): number => {
  const at = sorted.findIndex((item) => Buffer.compare(Buffer.from(item), Buffer.from(last)) > 0);
  return at < 0 ? sorted.length : at;
};
