import type { Digest } from '#bundles/digest';
import { openReleases } from '../../../release/write/open-releases.ts';
import { assess } from '../gate/assess.ts';
import { verdictJson } from '../gate/describe-verdict.ts';
import { linkTo } from '../facts/link.ts';
import { promote } from '../gate/promote.ts';
import type { Lineage } from '../../../load/releases/read-lineage.ts';
import type { Verdict } from '../judge/verdict.ts';
import { type Chain, indexOfRepeated, LOCK_WAIT_MS, type OnAssessed, type DecisionRequest } from './chain.ts';

export type PromoteRequest = DecisionRequest & {
  /** undefined: the newest candidate that the environment before has released. */
  readonly candidate: Digest | undefined;
  readonly reason: string | null;
};

export type Promoted = {
  /** `known`: the candidate is the promoted one already, or the call that is repeated promoted it. */
  readonly outcome: 'promoted' | 'known';
  /** Number of the promotion. */
  readonly number: number;
  readonly from: string;
  readonly to: string;
  readonly candidate: Lineage;
  /** undefined: the call that is repeated made the promotion, so the gate was not asked again. */
  readonly verdict: Verdict | undefined;
};

/**
 * Promotes a candidate to an environment if its gate is open, under the lock of the layout: of two callers the second is judged
 * with the decision of the first in the log.
 * @throws FleetError USAGE if nothing is promoted to the environment; GATE_CLOSED; BUSY; the codes of assess and appendEntry
 */
export const promoteTo = async (
  { hub, promotion }: Chain,
  request: PromoteRequest,
  onAssessed: OnAssessed = () => {},
): Promise<Promoted> => {
  const { environment, candidate: named, person, reason, now, signal } = request;
  const link = linkTo(promotion, environment);
  const { from, to } = link;
  using releases = await openReleases(hub.layout, { command: 'promote', now, waitMs: LOCK_WAIT_MS });
  const assessment = await assess(hub, link, { now, signal, candidate: named, asks: person });
  const { entries } = assessment.log;
  const made =
    entries[indexOfRepeated(entries, request, (one) => one.kind === 'promotion' && one.predicate.to === to)];
  if (made?.kind === 'promotion' && made.candidate !== undefined) {
    const { shared, number } = made.predicate;
    const candidate = { candidate: made.candidate, shared };
    return { outcome: 'known', number, from, to, candidate, verdict: undefined };
  }
  onAssessed(assessment);
  const { candidate, verdict } = assessment;
  const decided = await promote(releases, hub.keys, assessment, { mode: 'manual', person, reason, now });
  return { ...decided, from, to, candidate, verdict };
};

/** A promotion for programs: the verdict's fields beside outcome and number. */
export const promotedJson = ({ outcome, number, from, to, candidate, verdict }: Promoted): object => ({
  outcome,
  number,
  ...(verdict ? verdictJson(verdict, candidate.candidate) : { from, to, ...candidate }),
});
