import { assessDecided, readDecided } from '../promote/gate/assess.ts';
import type { GateHub } from '../promote/gate/gate-hub.ts';
import { type Link, linksOf } from '../promote/facts/link.ts';
import { promote, type PromotionResult } from '../promote/gate/promote.ts';
import { openReleases } from '../../release/write/open-releases.ts';
import type { Lineage } from '../../load/releases/read-lineage.ts';
import type { Promotion } from '../../model/promotion.ts';

export type OpenGate = {
  readonly link: Link;
  /** The candidate that was judged. If another one took its place since, nothing is promoted. */
  readonly candidate: Lineage;
};

export type PromoteOptions = {
  /** Reads the chain and the policies of the newest platform: an edit since the last build counts. */
  readonly readChain: (signal: AbortSignal) => Promise<Promotion>;
  readonly clock: () => Date;
  /** Proves that this process still leads (lead.ts). */
  readonly confirm?: () => Promise<void>;
  /** Maximum wait for another writer of the layout. */
  readonly lockWaitMs?: number;
  readonly signal: AbortSignal;
};

/** Why the policy does not promote a candidate whose gate is open; undefined: it does. */
export const heldFromPolicy = (promoted: 'now' | 'before' | undefined): string | undefined =>
  promoted === 'before'
    ? 'it was promoted before and another candidate took its place: only a person promotes it again'
    : undefined;

/**
 * Promotes a candidate in the name of its policy: judges it again under the lock of the layout, so that no decision and no release
 * comes between the judgement and the promotion.
 * @returns undefined if the link is automatic no more, or its gate is not open any more
 * @throws FleetError BUSY while another process writes the layout; the codes of readPromotion, assess and promote
 */
export const promoteIfOpen = async (
  hub: GateHub,
  { link, candidate: { candidate } }: OpenGate,
  { readChain, clock, confirm, lockWaitMs: waitMs, signal }: PromoteOptions,
): Promise<PromotionResult | undefined> => {
  const current = linksOf(await readChain(signal)).find(
    ({ from, to }) => from === link.from && to === link.to,
  );
  if (current?.policy?.mode !== 'automatic') return undefined;
  const now = clock();
  using releases = await openReleases(hub.layout, { command: 'serve', now, waitMs });
  const decided = await readDecided(hub, current, { candidate, signal });
  if (heldFromPolicy(decided.decisions.promoted) !== undefined) return undefined;
  const assessment = await assessDecided(hub, decided, { now, signal, asks: null });
  if (assessment.verdict.state !== 'ready') return undefined;
  await confirm?.();
  const reason = `PromotionPolicy ${current.policy.name}`;
  return await promote(releases, hub.keys, assessment, { mode: 'automatic', person: null, reason, now });
};
