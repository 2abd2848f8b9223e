import type { Agent } from '../agent.ts';
import { type PackageResult, resultOf, withResumed } from '../apply/package-result.ts';
import { resume } from '../apply/perform.ts';
import { pruneCopies } from '../apply/prune-copies.ts';
import { reconcile } from '../apply/reconcile.ts';
import { letGoImages } from '../images/let-go-images.ts';
import { forgetOldOperations } from '../journal/operations.ts';
import { frozenBy } from '../staleness/frozen-by.ts';
import type { Staleness } from '../staleness/read-staleness.ts';
import { tellStaleness } from '../staleness/tell-staleness.ts';
import { collectGarbage } from '../store/collect-garbage.ts';
import { readPull } from '../store/pull.ts';
import { type HealthWaits, observe, type PackageDrift } from './observe.ts';

export type Look = {
  readonly packages: readonly PackageResult[];
  readonly drift: readonly PackageDrift[];
  /** Nothing vouches for what runs being the newest. */
  readonly stale?: Staleness;
};

export type HowToLook = { readonly mayBegin?: boolean; readonly waits?: HealthWaits | undefined };

/**
 * What the daemon does each time: ends what was interrupted, applies what is still wanted, looks for drift.
 * @param mayBegin false outside the windows: nothing that a release wants is begun, while drift is looked after as always
 * @param waits where the health of corrected and broken packages is waited for; in this look unless said
 */
export const lookAround = async (agent: Agent, { mayBegin = true, waits }: HowToLook = {}): Promise<Look> => {
  const stale = tellStaleness(agent);
  // Half of a change is worse than the whole: what had begun is brought to its end, stale or not.
  const resumed = await resume(agent);
  const packages = mayBegin
    ? withResumed(resumed, await reconcile(agent))
    : resumed
      ? [resultOf(resumed)]
      : [];
  // What was seen of packages that are about to change would be old before it is told.
  const drift = agent.news?.aborted
    ? []
    : await observe(frozenBy(agent) ? onlyReporting(agent) : agent, waits);
  await collectGarbage(agent.state);
  await pruneCopies(agent, 'too many');
  // What is being brought for a release that is not accepted yet is wanted by no package so far.
  if (readPull(agent.state).length === 0) await letGoImages(agent);
  forgetOldOperations(agent.state);
  return { packages, drift, ...(stale ? { stale } : {}) };
};

const onlyReporting = (agent: Agent): Agent => ({
  ...agent,
  policy: { ...agent.policy, onDrift: 'report' },
});
