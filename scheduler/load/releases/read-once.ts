import { type Digest, digestOf } from '#bundles/digest';
import { entriesOf, type Layout, referenceOf } from '#bundles/formats/layout/layout';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { TrustRoot } from '#bundles/trust/root/root';

/** Cache of verified releases of a repository, valid while the layout names the same artifacts in it. */
type Known = { readonly mark: string; readonly results: Map<string, Promise<unknown>> };

/** By layout and repository. */
const known = new Map<string, Known>();

export type ReadOnce = {
  readonly layout: Layout;
  readonly roots: readonly TrustRoot[];
  /** 'prod/kiosk', 'audit' */
  readonly repository: string;
  /** Its result. */
  readonly what: string;
};

/**
 * Reads and verifies something of a repository once: its artifacts are named by their digests, so the result is the same until the
 * index names others or the fleet has another root. A failure is not kept. Results are shared and must not be changed.
 */
export const readOnce = <T>(
  { layout, roots, repository, what }: ReadOnce,
  read: () => Promise<T>,
): Promise<T> => {
  const place = `${layout.directory} ${repository}`;
  const mark = `${markOf(entriesOf(layout, repository))} ${roots.at(-1)?.digest}`;
  const before = known.get(place);
  const { results } = before?.mark === mark ? before : { results: new Map<string, Promise<unknown>>() };
  if (before?.results !== results) known.set(place, { mark, results });
  const result = results.get(what) ?? read();
  results.set(what, result);
  result.catch(() => results.get(what) === result && results.delete(what));
  return result as Promise<T>;
};

const marks = new WeakMap<readonly Descriptor[], Digest>();

const markOf = (entries: readonly Descriptor[]): Digest => {
  const mark =
    marks.get(entries) ??
    digestOf(entries.map((entry) => `${referenceOf(entry)} ${entry.digest}`).join('\n'));
  marks.set(entries, mark);
  return mark;
};
