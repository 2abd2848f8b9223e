import { canonicalBytes } from '#bundles/json/canonical';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';

type Sources = BundlePredicate['sources'];
type Held = BundlePredicate['held'];

/**
 * Bytes for each of the two lists in a bundle statement. The payload is base64 in a file of MAX_STATEMENT_BYTES; 4 KiB are
 * reserved for the other fields, and the lists share the rest equally.
 */
const ROOM = ((MAX_STATEMENT_BYTES / 4) * 3 - 4096) / 2;
const MAX_SHORT_MESSAGE = 200;

/**
 * Limits the sources to what fits into a bundle statement. If they do not all fit, only the platform's own are listed; the
 * candidate, which the statement names by digest, lists all.
 */
export const limitSources = (sources: Sources): Sources => {
  if (sizeOf(sources) <= ROOM) return sources;
  return cutTo(ROOM, sources.filter(isPlatforms));
};

/** Limits held assignments to what readers take: messages are shortened, and the last entry says how many are left out. */
export const limitHeld = (given: Held): Held => {
  const held = given.every(hasPlace)
    ? given
    : given.map((line) => (hasPlace(line) ? line : withoutPlace(line)));
  if (sizeOf(held) <= ROOM) return held;
  const short = held.map(({ at: _, message, ...line }) => ({
    ...line,
    message: message.slice(0, MAX_SHORT_MESSAGE),
  }));
  const first = cutTo(ROOM - 2 * MAX_SHORT_MESSAGE, short);
  const next = short[first.length];
  const more = held.length - first.length;
  return next ? [...first, { ...next, message: `this and ${more - 1} more assignments are held` }] : first;
};

const MAX_FILE = 1024;

const hasPlace = ({ at }: Held[number]): boolean => at === undefined || at.file.length <= MAX_FILE;

const withoutPlace = ({ at: _, ...line }: Held[number]): Held[number] => line;

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
