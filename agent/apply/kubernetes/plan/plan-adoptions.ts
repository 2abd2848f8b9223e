import { defined } from '#bundles/defined';
import { isFleetError } from '#bundles/errors';
import type { Adoption } from '../../../model/target.ts';
import { stopIfAborted } from '../api/send.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { asAutoscaled } from '../live/autoscaled.ts';
import { asIgnored } from '../live/ignored.ts';
import { deployersIn } from '../live/foreign-managers.ts';
import { tryApply } from '../live/try-apply.ts';
import { inParallel } from '../api/in-parallel.ts';
import { findTakeovers, HOW_TO_TAKE, mayTake, whyRefused } from './check-claims.ts';
import { type Comparison, compareTakeover } from './compare-takeover.ts';
import type { PlanContext, Takeover } from './plan-context.ts';

/** The takeovers that a plan of the package would make or refuse, by dry runs. Writes nothing. @throws FleetError API_*, ABORTED */
export const planAdoptions = async (context: PlanContext): Promise<readonly Adoption[]> => {
  const takeovers = await findTakeovers(context);
  const objects = (context.wanted?.objects ?? []).filter(({ key }) => takeovers.has(key));
  return inParallel(objects, (wanted) => judge(context, wanted, takeovers.get(wanted.key) as Takeover));
};

const judge = async (context: PlanContext, whole: WantedObject, takeover: Takeover): Promise<Adoption> => {
  const { controller, isOwned, live } = takeover;
  const wanted = asIgnored(asAutoscaled(whole, context.autoscaled), live);
  const gone = controller === undefined ? 'nobody' : `nobody: ${controller} no longer manages it`;
  const about = { key: wanted.key, owner: isOwned ? (controller ?? 'somebody') : gone };
  try {
    const tried = await tryApply(context.api, wanted, live, context.signal, () => false);
    const compared = await compareTakeover({ context, wanted, takeover, tried });
    return { ...about, ...verdictOn(takeover, compared) };
  } catch (error) {
    stopIfAborted(context.signal);
    if (!isFleetError(error) || error.retryable) throw error;
    const managers = deployersIn(live, context.options.deployers);
    return { ...about, verdict: 'refused', why: error.message, changes: [], removes: [], managers };
  }
};

const verdictOn = (
  takeover: Takeover,
  { changes, removes, strips, isEqual }: Comparison,
): Omit<Adoption, 'key' | 'owner'> => {
  const isTaken = mayTake(takeover, isEqual);
  return defined({
    verdict: isTaken ? ('taken over' as const) : ('refused' as const),
    why: isTaken ? undefined : `${whyRefused(takeover)}. ${HOW_TO_TAKE}`,
    changes,
    removes,
    managers: strips,
  });
};
