import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { Edge } from '../model/edge.ts';
import type { State } from './state.ts';

/** A time by the wall clock, which people may set, and by the clock since that boot. */
export type Moment = { readonly at: Timestamp; readonly bootId: string; readonly monotonicMs: number };

/**
 * When live state was last compared. It need not survive a power cut, after which the agent looks again, so that writes are not
 * synced.
 */
export type LastLook = {
  /** The last look that could read the live state of a package, or had none to read. */
  readonly last?: Moment | undefined;
  /** By assignment. */
  readonly packages: Readonly<Record<string, Moment>>;
};

const NEVER: LastLook = { packages: {} };

const fileOf = (directory: string): string => join(directory, 'look.json');

/** Returns a look that never was if there is no readable record of one. */
export const readLastLook = ({ directory }: Pick<State, 'directory'>): LastLook => {
  try {
    return { ...NEVER, ...(JSON.parse(readFileSync(fileOf(directory), 'utf8')) as LastLook | null) };
  } catch {
    return NEVER;
  }
};

/** Replaces the record of a whole look. `read` are the packages that were compared, `all` those that run here. */
export const recordLook = (
  { state, edge }: { readonly state: Pick<State, 'directory'>; readonly edge: Edge },
  { read, all }: { readonly read: readonly string[]; readonly all: readonly string[] },
): void => {
  const before = readLastLook(state);
  const now = momentOf(edge);
  const compared = new Set(read);
  const packages = all.flatMap((assignment) => {
    const moment = compared.has(assignment) ? now : before.packages[assignment];
    return moment ? [[assignment, moment] as const] : [];
  });
  const isLook = all.length === 0 || read.length > 0;
  write(state.directory, { last: isLook ? now : before.last, packages: Object.fromEntries(packages) });
};

/** Records that one package was compared, applied and checked. */
export const recordCompared = (
  { state, edge }: { readonly state: Pick<State, 'directory'>; readonly edge: Edge },
  assignment: string,
): void => {
  const before = readLastLook(state);
  write(state.directory, { ...before, packages: { ...before.packages, [assignment]: momentOf(edge) } });
};

/** The present. */
export const momentOf = ({
  now,
  bootId,
  monotonicMs,
}: Pick<Edge, 'now' | 'bootId' | 'monotonicMs'>): Moment => ({
  at: formatTime(now()),
  bootId,
  monotonicMs: monotonicMs(),
});

const write = (directory: string, look: LastLook): void => {
  const file = fileOf(directory);
  try {
    writeFileSync(`${file}.new`, `${JSON.stringify(look)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // A full disk: the old record stays, and its age grows.
  }
};

/**
 * Milliseconds since a moment: by the clock since boot within one boot, otherwise by the wall clock. Returns undefined if the wall
 * clock was set back past it, so that its age is unknown.
 */
export const ageOf = (
  { at, bootId, monotonicMs }: Moment,
  edge: Pick<Edge, 'now' | 'bootId' | 'monotonicMs'>,
): number | undefined => {
  if (bootId !== 'unknown' && bootId === edge.bootId) return Math.max(0, edge.monotonicMs() - monotonicMs);
  const age = edge.now().getTime() - parseTime(at).getTime();
  return age < 0 ? undefined : age;
};
