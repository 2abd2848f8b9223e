import { defined } from '#bundles/defined';
import { FleetError, isFleetError } from '#bundles/errors';
import type { DesiredPackage, StepResult } from '../../../model/target.ts';
import { sentenceOf } from '../../../store/outbox/sentence-of.ts';
import { inParallel } from '../api/in-parallel.ts';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { nameOf } from '../api/open-kubernetes-api.ts';
import { isOwner, type Owner } from '../desired/marks.ts';
import { ranksOf } from '../desired/ranks-of.ts';
import type { Wanted } from '../desired/resolve-wanted.ts';
import { isFailureHook, isHook, type WantedObject } from '../desired/wanted-object.ts';
import { settleKubernetes } from '../health/settle-kubernetes.ts';
import type { KubernetesTargetOptions } from '../kubernetes-options.ts';
import { appliedState, asJson } from '../owned-state.ts';
import { awaitGone } from './await-gone.ts';

/** Names the try of the package whose failure a hook was made for, so that a restart of the agent waits for it instead of running it again. */
const FAILURE_MARK = 'fleet-ferry/failure';

type Failure = {
  readonly desired: DesiredPackage;
  /** The objects of `desired`. */
  readonly wanted: Wanted;
  readonly owner: Owner;
  /** Identity of the try that failed. */
  readonly attempt: string;
};

/**
 * Runs the hooks of a package that failed (fleet-ferry/hook: failed), wave after wave, and waits until they are complete. A wave that is
 * not ends them. Their failures are results.
 * @throws FleetError API_UNREACHABLE, ABORTED
 */
export const executeFailureHooks = async (
  options: KubernetesTargetOptions,
  api: KubernetesApi,
  failure: Failure,
  signal: AbortSignal,
): Promise<readonly StepResult[]> => {
  const { objects } = failure.wanted;
  const hooks = objects.filter((object) => isFailureHook(object) && object.policy.apply !== 'ignore');
  if (hooks.length === 0) return [];
  const ranks = ranksOf(objects);
  const waves = Map.groupBy(hooks, ({ key }) => ranks.get(key) ?? 0);
  const results: StepResult[] = [];
  for (const [, wave] of [...waves].toSorted(([a], [b]) => a - b)) {
    const made = await inParallel(wave, (hook) => createHook(options, api, hook, failure, signal));
    const checks = made.every(isMade)
      ? await settleKubernetes(api, wave, options.healthTimeoutMs, signal)
      : [];
    const failed = new Map(
      checks.filter(({ outcome }) => outcome === 'failed').map(({ name, message }) => [name, message]),
    );
    results.push(
      ...made.map((result, index): StepResult => {
        const why = failed.get(nameOf(wave[index] as WantedObject));
        return why === undefined
          ? result
          : { ...result, outcome: 'failed', reason: `${result.reason}, and is not complete: ${why}` };
      }),
    );
    if (!results.every(isMade)) break;
  }
  return results;
};

const isMade = ({ outcome }: StepResult): boolean => outcome !== 'failed';

/** Creates the object of a hook, in place of that of an earlier failure. */
const createHook = async (
  { stepTimeoutMs }: KubernetesTargetOptions,
  api: KubernetesApi,
  hook: WantedObject,
  { desired, owner, attempt }: Failure,
  signal: AbortSignal,
): Promise<StepResult> => {
  try {
    const before = await api.read(hook, signal);
    if (before && !isOwner(before, owner))
      throw new FleetError('PATH_CLAIMED', `${nameOf(hook)} exists and does not belong to the package`);
    if (before?.metadata.annotations?.[FAILURE_MARK] === attempt) return madeHook(hook, desired, before);
    if (before && isHook(hook)) {
      const uid = before.metadata.uid ?? '';
      await api.remove(hook, { uid, propagation: 'Background' }, signal);
      const held = await awaitGone(api, hook, uid, stepTimeoutMs, signal);
      if (held) throw new FleetError('APPLY_FAILED', held.message);
    }
    const options = defined({ force: true, secret: hook.secret ? (true as const) : undefined });
    const { object } = await api.apply(withAttempt(hook.object, attempt), options, signal);
    return madeHook(hook, desired, object);
  } catch (error) {
    if (!isFleetError(error) || error.code === 'ABORTED' || error.code === 'API_UNREACHABLE') throw error;
    return { key: hook.key, outcome: 'failed', reason: `the hook could not run: ${sentenceOf(error)}` };
  }
};

const withAttempt = (object: LiveObject, attempt: string): LiveObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    annotations: { ...object.metadata.annotations, [FAILURE_MARK]: attempt },
  },
});

const madeHook = (hook: WantedObject, desired: DesiredPackage, live: LiveObject): StepResult => ({
  key: hook.key,
  outcome: 'created',
  reason: 'it runs because the package failed',
  state: asJson(appliedState(desired, hook, live)),
});
