import type { Lineage } from '../../load/releases/check-promoted.ts';
import type { BuildLineage } from './open-chain.ts';

export type LineageJudgement<T> = {
  /** 'restated': the released bundle stays, and a statement is signed about what it was made from now. */
  readonly outcome: T | 'released' | 'restated' | 'direct-held';
  readonly direct: true | undefined;
};

type LineageBefore = Pick<Lineage, 'shared' | 'promoted' | 'held'> & { readonly wasTried?: boolean };

/** True if the newest statement says what the bundle is made from now. */
const isStated = (now: BuildLineage, before: LineageBefore | undefined, holds: boolean): boolean =>
  before?.shared === now.shared && before.promoted === now.promoted && (holds || before.held.length === 0);

/**
 * Judgement of a bundle by the promotion chain: a change without a new promotion is direct, and held if the policy forbids
 * direct changes. The same bundle of another candidate is stated again, without a release: the content was tried already.
 * @param now undefined in a platform without a chain: nothing changes
 * @param before the newest statement about the channel's current release; undefined without one. `wasTried`: the release's own
 *   statement names a shared digest and holds no assignment
 * @param holds whether the build holds an assignment. A release whose own statement holds one closes the gate and begins no soak,
 *   so there is a new one once nothing is held, although the bundle may be the same
 */
export const judgeLineage = <T extends string>(
  judged: T,
  now: BuildLineage | undefined,
  before: LineageBefore | undefined,
  holds: boolean,
): LineageJudgement<T> => {
  if (!now) return { outcome: judged, direct: undefined };
  const direct = now.promoted !== undefined && before?.promoted === now.promoted ? true : undefined;
  if (judged === 'released')
    return { outcome: direct && now.direct === 'forbid' ? 'direct-held' : judged, direct };
  if (judged === 'unchanged' && now.isLinked && !isStated(now, before, holds)) {
    const { wasTried = before?.held.length === 0 } = before ?? {};
    return { outcome: holds || wasTried ? 'restated' : 'released', direct: undefined };
  }
  return { outcome: judged, direct: undefined };
};
