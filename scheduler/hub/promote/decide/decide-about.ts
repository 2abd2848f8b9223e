import type { Digest } from '#bundles/digest';
import { readAuditLog } from '../../../load/releases/audit-log.ts';
import type { Lineage } from '../../../load/releases/read-lineage.ts';
import { openReleases } from '../../../release/write/open-releases.ts';
import { assess } from '../gate/assess.ts';
import { pauseOf } from '../facts/decisions.ts';
import { decide } from '../../../release/audit/decide.ts';
import { linkTo } from '../facts/link.ts';
import { type Chain, decidedBefore, LOCK_WAIT_MS, type DecisionRequest } from './chain.ts';

export type Decided = {
  readonly from: string;
  readonly to: string;
  readonly person: string;
  readonly reason: string;
};

export type Paused = Decided & {
  readonly decision: 'pause' | 'resume';
  /** `unchanged`: the environment was paused already, or was not paused; nothing was written. */
  readonly outcome: 'decided' | 'unchanged';
  /** The pause in force: person, time and reason. */
  readonly paused: string | null;
};

/**
 * Pauses or resumes promotions to an environment. Nothing is written if that changes nothing.
 * @throws FleetError USAGE if nothing is promoted to it, or for the reason; BUSY; the codes of appendEntry
 */
export const pauseOrResume = async (
  { hub, promotion }: Chain,
  decision: 'pause' | 'resume',
  request: DecisionRequest & { readonly reason: string },
): Promise<Paused> => {
  const { environment, person, reason, now } = request;
  const { from, to } = linkTo(promotion, environment);
  using releases = await openReleases(hub.layout, { command: decision, now, waitMs: LOCK_WAIT_MS });
  const { entries } = await readAuditLog(await releases.open(), hub.keys.roots);
  const paused = pauseOf(entries, to) ?? null;
  const common = { decision, from, to, person, reason, paused };
  const isDone = (paused !== null) === (decision === 'pause');
  if (isDone || decidedBefore(entries, decision, request)) return { ...common, outcome: 'unchanged' };
  await decide(releases, hub.keys, { decision, environment: to, person, reason, now });
  return { ...common, outcome: 'decided', paused: null };
};

/**
 * Rejects a candidate for an environment, for good.
 * @param check refuses a candidate that the caller may not reject
 * @throws FleetError as pauseOrResume, and the codes of assess for the candidate
 */
export const rejectFor = async (
  { hub, promotion }: Chain,
  request: DecisionRequest & { readonly candidate: Digest | undefined; readonly reason: string },
  check: (candidate: Digest) => Promise<void> = async () => {},
): Promise<Decided & Lineage & { readonly decision: 'reject' }> => {
  const { environment, candidate: named, person, reason, now, signal } = request;
  const link = linkTo(promotion, environment);
  const { from, to } = link;
  using releases = await openReleases(hub.layout, { command: 'reject', now, waitMs: LOCK_WAIT_MS });
  const { candidate: asked, log } = await assess(hub, link, { now, signal, candidate: named, asks: null });
  const before = decidedBefore(log.entries, 'reject', request)?.candidate;
  const candidate = before ?? asked;
  if (!before) {
    await check(candidate.candidate);
    await decide(releases, hub.keys, { decision: 'reject', environment: to, candidate, person, reason, now });
  }
  return { decision: 'reject', from, to, ...candidate, person, reason };
};
