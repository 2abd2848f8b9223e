import { canonicalBytes } from '#bundles/canonical';
import { MAX_STATEMENT_BYTES } from '#bundles/statements/envelope';
import type { BundlePredicate } from '#bundles/statements/predicates';

type Sources = BundlePredicate['sources'];
type Held = BundlePredicate['held'];

/** The payload is in base64 in a file of at most 64 KiB; 4 KiB are for everything else. Half of the rest for each list. */
const ROOM = ((MAX_STATEMENT_BYTES / 4) * 3 - 4096) / 2;
const SHORT = 200;

/**
 * The sources that fit into a bundle statement. A fleet of hundreds of applications has more: then the platform's own are
 * listed, and the candidate, which the statement names by its digest, lists all.
 */
export const fitSources = (sources: Sources): Sources => {
  if (sizeOf(sources) <= ROOM) return sources;
  return cutTo(ROOM, sources.filter(isPlatforms));
};

/** The held assignments that fit; where there are more, they are shortened, and the last line says how many are left out. */
export const fitHeld = (held: Held): Held => {
  if (sizeOf(held) <= ROOM) return held;
  const short = held.map(({ at: _, message, ...line }) => ({ ...line, message: message.slice(0, SHORT) }));
  const first = cutTo(ROOM - 2 * SHORT, short);
  const next = short[first.length];
  const more = held.length - first.length;
  return next ? [...first, { ...next, message: `this and ${more - 1} more assignments are held` }] : first;
};

const isPlatforms = ({ role }: Sources[number]): boolean => !/^(?:workload|application)\//.test(role);

const cutTo = <T extends Sources[number] | Held[number]>(room: number, items: readonly T[]): readonly T[] => {
  let left = room;
  const end = items.findIndex((item) => {
    left -= sizeOf(item) + 1;
    return left < 0;
  });
  return end === -1 ? items : items.slice(0, end);
};

const sizeOf = (item: Parameters<typeof canonicalBytes>[0]): number => canonicalBytes(item).byteLength;
