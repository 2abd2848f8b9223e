import { isDeepStrictEqual } from 'node:util';
import { compareBytes, type Digest, shortDigest } from '#bundles/digest';
import { canonicalJson } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import type { Timestamp } from '#bundles/time';
import type { Store } from '../../store/open-store.ts';
import type { Database, GateLinkRow } from '../../store/tables.ts';

/** Last verdict of `serve` about a link of the chain. */
export type LinkState = {
  readonly from: string;
  readonly to: string;
  readonly mode: string;
  /** 'waiting', 'ready', 'promoted', 'rejected', 'paused', 'superseded'. */
  readonly state: string;
  readonly candidate: Digest | null;
  /** The first of `unmet`, or the code of an error. */
  readonly waitsFor: string | null;
  /** Names of all conditions that are not met. */
  readonly unmet: readonly string[];
  /** Why it is not ready, in one sentence. */
  readonly why: string | null;
  /** Since when state, candidate and condition are the same. */
  readonly since: Timestamp;
};

/** @param environment at either end; undefined: all links */
export const readLinkStates = async (db: Database, environment?: string): Promise<readonly LinkState[]> => {
  const rows = await db.selectFrom('gate_link').selectAll().orderBy('environment').execute();
  return rows
    .filter(
      (row) =>
        environment === undefined || row.environment === environment || row.promoted_from === environment,
    )
    .map((row) => ({
      from: row.promoted_from,
      to: row.environment,
      mode: row.mode,
      state: row.state,
      candidate: row.candidate,
      waitsFor: row.waits_for,
      unmet: row.unmet === null ? [] : (parseJson(row.unmet) as readonly string[]),
      why: row.why,
      since: row.since,
    }));
};

/**
 * Stores the judgement of all links of the chain for `status`. Writes only what differs.
 * @returns the links whose state, candidate or condition is new
 */
export const recordLinkStates = async (
  store: Store,
  judged: readonly Omit<LinkState, 'since'>[],
  now: Timestamp,
): Promise<readonly LinkState[]> => {
  const known = new Map((await readLinkStates(store.db)).map((state) => [state.to, state]));
  const states = judged.map((state): LinkState => {
    const before = known.get(state.to);
    return { ...state, since: before && isSameState(before, state) ? before.since : now };
  });
  const differing = states.filter((state) => !isDeepStrictEqual(known.get(state.to), state));
  const gone = [...known.keys()].filter((to) => !states.some((state) => state.to === to));
  if (differing.length === 0 && gone.length === 0) return [];
  await store.transact(async (tx) => {
    const replaced = [...gone, ...differing.map(({ to }) => to)];
    await tx.deleteFrom('gate_link').where('environment', 'in', replaced).execute();
    if (differing.length > 0) await tx.insertInto('gate_link').values(differing.map(toRow)).execute();
  });
  return differing.filter((state) => {
    const before = known.get(state.to);
    return !before || !isSameState(before, state);
  });
};

const toRow = ({ from, to, waitsFor, unmet, ...state }: LinkState): GateLinkRow => ({
  ...state,
  environment: to,
  promoted_from: from,
  waits_for: waitsFor,
  unmet: canonicalJson(unmet),
});

type Compared = Pick<LinkState, 'from' | 'state' | 'candidate' | 'waitsFor'>;

const isSameState = (one: Compared, other: Compared): boolean =>
  one.from === other.from &&
  one.state === other.state &&
  one.candidate === other.candidate &&
  one.waitsFor === other.waitsFor;

/** 'dev to qa: candidate sha256:4f0c: waiting, soak: 2 of 4 agents, wanted 1 d without a break' */
export const describeLinks = (links: readonly LinkState[]): readonly string[] =>
  links.map(({ from, to, candidate, state, why }) => {
    const what = candidate === null ? '' : ` candidate ${shortDigest(candidate)}:`;
    return `${from} to ${to}:${what} ${state}${why === null ? '' : `, ${why}`}`;
  });

/** Environments as a candidate passes them; those outside of the chain first, by name. */
export const inChainOrder = (
  environments: readonly string[],
  links: readonly { readonly from: string; readonly to: string }[],
): readonly string[] => {
  const before = new Map(links.map(({ from, to }) => [to, from]));
  const place = (name: string, depth = 0): number => {
    const from = before.get(name);
    return from === undefined || depth > links.length ? depth : place(from, depth + 1);
  };
  return environments.toSorted((a, b) => place(a) - place(b) || compareBytes(a, b));
};
