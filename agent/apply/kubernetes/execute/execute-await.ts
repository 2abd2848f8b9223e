import { FleetError } from '#bundles/errors';
import type { DesiredPackage, Step, StepResult } from '../../../model/target.ts';
import { describeFailedChecks } from '../../../store/outbox/record-checks.ts';
import type { KubernetesApi } from '../api/kubernetes-api.ts';
import type { Wanted } from '../desired/resolve-wanted.ts';
import { currentAsApplied, versionsAsApplied } from '../health/settle/current-as-applied.ts';
import { settleKubernetes } from '../health/settle-kubernetes.ts';
import type { KubernetesTargetOptions } from '../kubernetes-options.ts';

/**
 * Waits until the objects of a rank are healthy. @throws FleetError CHECK_FAILED if they are not within `healthTimeoutMs`; API_*, ABORTED
 */
export const executeAwait = async (
  { healthTimeoutMs }: KubernetesTargetOptions,
  api: KubernetesApi,
  wanted: Wanted,
  desired: DesiredPackage,
  { step, keys }: { readonly step: Step; readonly keys: readonly string[] },
  signal: AbortSignal,
): Promise<StepResult> => {
  const objects = keys.flatMap((key) => wanted.byKey.get(key) ?? []);
  const noted = { current: currentAsApplied(desired), changed: versionsAsApplied(desired) };
  const checks = await settleKubernetes(api, objects, healthTimeoutMs, signal, noted);
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  if (failed.length === 0) return { key: step.key, outcome: 'unchanged', reason: step.reason };
  throw new FleetError(
    'CHECK_FAILED',
    `objects that come first are not healthy, so the others were not applied: ${describeFailedChecks(failed)}`,
  );
};
