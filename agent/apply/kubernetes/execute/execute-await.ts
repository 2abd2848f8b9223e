import { FleetError } from '#bundles/errors';
import type { DesiredPackage, Step, StepResult } from '../../../model/target.ts';
import { describeFailedChecks } from '../../../store/outbox/record-checks.ts';
import type { KubernetesApi } from '../api/kubernetes-api.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { currentAsApplied, versionsAsApplied } from '../health/settle/current-as-applied.ts';
import type { Owner } from '../desired/marks.ts';
import { deleteHooks } from './delete-hooks.ts';
import { isWorkload } from '../health/settle/workload-pods.ts';
import { settleKubernetes } from '../health/settle-kubernetes.ts';

type Waiting = {
  readonly step: Step;
  readonly desired: DesiredPackage;
  /** The objects to wait for, of `desired`. */
  readonly objects: readonly WantedObject[];
  /** The other objects of `desired`. */
  readonly others: readonly WantedObject[];
  readonly owner: Owner;
  readonly timeoutMs: number;
};

/**
 * Waits until the objects that come before the next rank are healthy.
 * @throws FleetError CHECK_FAILED if they are not within `timeoutMs`; API_*, ABORTED
 */
export const executeAwait = async (
  api: KubernetesApi,
  { step, desired, objects, others, owner, timeoutMs }: Waiting,
  signal: AbortSignal,
): Promise<StepResult> => {
  const workloads = others.filter(({ group, kind }) => isWorkload(group, kind));
  const noted = {
    current: currentAsApplied(desired),
    changed: versionsAsApplied(desired),
    later: new Set(workloads.map(({ namespace }) => namespace ?? '')),
  };
  const checks = await settleKubernetes(api, objects, timeoutMs, signal, noted);
  // What stays is named by the last wait of the package, which looks at all hooks.
  await deleteHooks(api, objects, { owner, ends: ['succeeded'] }, signal);
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  if (failed.length === 0) return { key: step.key, outcome: 'unchanged', reason: step.reason };
  throw new FleetError(
    'CHECK_FAILED',
    `objects that come first are not healthy, so the others were not applied: ${describeFailedChecks(failed)}`,
  );
};
