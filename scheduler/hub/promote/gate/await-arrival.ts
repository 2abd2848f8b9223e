import { setTimeout as sleep } from 'node:timers/promises';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { readCandidate } from '../../../assemble/candidate/read-candidate.ts';
import { sharedDigest } from '../../../assemble/candidate/shared-digest.ts';
import { type AuditLog, promotedTo, readAuditLog } from '../../../load/releases/audit-log.ts';
import { readLineage } from '../../../load/releases/read-lineage.ts';
import { readRestatements } from '../../../load/releases/restatements.ts';
import type { Promotion } from '../../../model/promotion.ts';
import { listReleases } from '../../../release/reissue/list-releases.ts';
import type { GateHub } from './gate-hub.ts';
import { foldDecisions } from '../facts/decisions.ts';
import { type Arrival, judgeArrival } from '../judge/judge-arrival.ts';
import { checkEnvironment, howToRelease, linksOf } from '../facts/link.ts';
import { type ChannelNow, readChannels } from '../facts/read-channels.ts';
import { readFacts } from '../facts/read-facts.ts';

export type Awaited = {
  readonly environment: string;
  /** undefined: the last promotion to the environment, or its last release. */
  readonly candidate: Digest | undefined;
  readonly timeoutMs: number;
  readonly pollMs: number;
  readonly clock: () => Date;
  readonly signal: AbortSignal;
  /** Called when the known state has changed. */
  readonly onChange: (arrival: Arrival) => void;
};

/**
 * Waits until an environment complies with a candidate.
 * @throws FleetError WAIT_TIMED_OUT; WILL_NOT_COMPLY if it cannot any more; RELEASE_MISSING if the environment has no candidate;
 *   MISSING_BLOB for an unknown one; USAGE for an unknown environment; ABORTED
 */
export const awaitArrival = async (hub: GateHub, promotion: Promotion, wanted: Awaited): Promise<Arrival> => {
  const { environment, clock, signal, onChange } = wanted;
  const lookNow = await createArrivalProbe(hub, promotion, wanted);
  const until = clock().getTime() + wanted.timeoutMs;
  for (let before = ''; ; ) {
    const arrival = await lookNow(clock());
    const text = JSON.stringify(arrival);
    if (text !== before) onChange(arrival);
    before = text;
    if (arrival.state === 'complies') return arrival;
    if (arrival.state === 'cannot')
      throw new FleetError(
        'WILL_NOT_COMPLY',
        `${environment} will not comply with this candidate: ${arrival.why}`,
        {
          subject: environment,
        },
      );
    const left = until - clock().getTime();
    if (left <= 0)
      throw new FleetError('WAIT_TIMED_OUT', `${environment} does not comply yet`, {
        subject: environment,
        hint: 'See what holds it back with: fleet-scheduler status',
      });
    await sleep(Math.min(wanted.pollMs, left), undefined, { signal });
  }
};

/** Between two looks of a request that waits. */
const LOOK_MS = 1_000;

/**
 * The state of an environment once it is final, or when the time is over.
 * @throws FleetError RELEASE_MISSING, MISSING_BLOB, USAGE, ABORTED
 */
export const awaitArrivalWithin = async (
  hub: GateHub,
  promotion: Promotion,
  { timeoutMs, clock, ...which }: Which & Pick<Awaited, 'timeoutMs' | 'clock'>,
): Promise<Arrival> => {
  const lookNow = await createArrivalProbe(hub, promotion, which);
  const until = performance.now() + timeoutMs;
  for (;;) {
    const arrival = await lookNow(clock());
    const left = until - performance.now();
    if (arrival.state !== 'waiting' || left <= 0) return arrival;
    await sleep(Math.min(LOOK_MS, left), undefined, { signal: which.signal });
  }
};

type Which = Pick<Awaited, 'environment' | 'candidate' | 'signal'>;

/** Whether an environment complies with a candidate now. @throws FleetError RELEASE_MISSING, MISSING_BLOB, USAGE */
export const checkArrival = async (
  hub: GateHub,
  promotion: Promotion,
  { now, ...which }: Which & { readonly now: Date },
): Promise<Arrival> => (await createArrivalProbe(hub, promotion, which))(now);

const createArrivalProbe = async (
  hub: GateHub,
  promotion: Promotion,
  which: Which,
): Promise<(now: Date) => Promise<Arrival>> => {
  const { environment, signal } = which;
  checkEnvironment(promotion, environment);
  const shared = await chooseShared(hub, promotion, which);
  const policy = linksOf(promotion).find(({ from }) => from === environment)?.policy;
  return (now) => look(hub, { environment, shared, policy, now, signal });
};

type Look = {
  readonly environment: string;
  readonly shared: Digest;
  readonly policy: Parameters<typeof judgeArrival>[0];
  readonly now: Date;
  readonly signal: AbortSignal;
};

const look = async (hub: GateHub, { environment, shared, policy, now, signal }: Look): Promise<Arrival> => {
  const layout = await openOrStartLayout(hub.layout);
  const log = await readAuditLog(layout, hub.keys.roots);
  const facts = await readFacts(hub, { from: environment, to: environment }, shared, { now, signal });
  const decisions = foldDecisions(log.entries, { to: environment, shared });
  const channels = await readChannels(layout, hub.keys.roots, environment);
  return judgeArrival(policy, facts, {
    decisions,
    wasThere: await hadCandidate(hub, layout, channels, shared),
    now,
  });
};

const hadCandidate = async (
  { keys }: GateHub,
  layout: Layout,
  channels: readonly ChannelNow[],
  shared: Digest,
): Promise<boolean> => {
  for (const { channel } of channels) {
    if (readRestatements(layout, channel).includes(shared)) return true;
    for (const { release } of await listReleases(layout, channel, keys.roots))
      if ((await readLineage(layout, release))?.shared === shared) return true;
  }
  return false;
};

const chooseShared = async (
  hub: GateHub,
  { environments }: Promotion,
  { environment, candidate, signal }: Which,
): Promise<Digest> => {
  const layout = await openOrStartLayout(hub.layout);
  if (candidate !== undefined)
    return sharedDigest((await readCandidate(candidate, [layout.blobs], signal)).document);
  const log: AuditLog = await readAuditLog(layout, hub.keys.roots);
  const promoted = promotedTo(log, environment)?.shared;
  if (promoted !== undefined) return promoted;
  const channels = await readChannels(layout, hub.keys.roots, environment);
  const newest = channels.flatMap(({ lineage }) => lineage?.shared ?? []).at(-1);
  if (newest !== undefined) return newest;
  throw new FleetError('RELEASE_MISSING', `${environment} has no release of a candidate`, {
    subject: environment,
    hint: howToRelease(environment, environments.find(({ name }) => name === environment)?.promotedFrom),
  });
};
