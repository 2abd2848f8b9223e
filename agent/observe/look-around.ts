import type { Agent } from '../agent.ts';
import { type PackageResult, withResumed } from '../apply/package-result.ts';
import { resume } from '../apply/perform.ts';
import { reconcile } from '../apply/reconcile.ts';
import { forgetOldOperations } from '../journal/operations.ts';
import { collectGarbage } from '../store/collect-garbage.ts';
import { observe, type PackageDrift } from './observe.ts';

export type Look = { readonly packages: readonly PackageResult[]; readonly drift: readonly PackageDrift[] };

/** What the daemon does each time: ends what was interrupted, applies what is still wanted, looks for drift. */
export const lookAround = async (agent: Agent): Promise<Look> => {
  const resumed = await resume(agent);
  const packages = withResumed(resumed, await reconcile(agent));
  const drift = await observe(agent);
  await collectGarbage(agent.state);
  forgetOldOperations(agent.state);
  return { packages, drift };
};
