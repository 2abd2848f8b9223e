import type { Lineage } from '../../load/releases/check-promoted.ts';
import type { BuildLineage } from './open-chain.ts';

export type LineageJudgement<T> = {
  readonly outcome: T | 'released' | 'direct-held';
  readonly direct: true | undefined;
};

/**
 * Judgement of a bundle by the promotion chain: a change without a new promotion is direct, and held if the policy forbids
 * direct changes; a statement about the link is renewed with its content.
 * @param now undefined in a platform without a chain: nothing changes
 * @param before of the channel's current release; undefined without one
 * @param holds whether the build holds an assignment. A statement with held assignments closes the gate, so it is renewed once
 *   there is none, although the bundle may be the same
 */
export const judgeLineage = <T extends string>(
  judged: T,
  now: BuildLineage | undefined,
  before: Pick<Lineage, 'shared' | 'promoted' | 'held'> | undefined,
  holds: boolean,
): LineageJudgement<T> => {
  if (!now) return { outcome: judged, direct: undefined };
  const direct = now.promoted !== undefined && before?.promoted === now.promoted ? true : undefined;
  if (judged === 'released')
    return { outcome: direct && now.direct === 'forbid' ? 'direct-held' : judged, direct };
  const isMended = !holds && before !== undefined && before.held.length > 0;
  const says = before?.shared === now.shared && before.promoted === now.promoted && !isMended;
  if (judged === 'unchanged' && now.isLinked && !says) return { outcome: 'released', direct: undefined };
  return { outcome: judged, direct: undefined };
};
