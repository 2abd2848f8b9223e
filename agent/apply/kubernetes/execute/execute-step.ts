import { FleetError } from '#bundles/errors';
import type { DesiredPackage, Step, StepResult } from '../../../model/target.ts';
import type { KubernetesApi } from '../api/kubernetes-api.ts';
import { resolveWanted } from '../desired/resolve-wanted.ts';
import type { KubernetesTargetOptions } from '../kubernetes-options.ts';
import { fromStep } from '../kubernetes-step.ts';
import { executeAwait } from './execute-await.ts';
import { executeApply } from './execute-apply.ts';
import { executePutBack } from './execute-put-back.ts';
import { executeDetach, executeRemoval } from './execute-removal.ts';

/** Executes one step of a plan. Idempotent. @throws FleetError API_*, FIELD_CONFLICT, APPLY_FAILED */
export const executeStep = async (
  options: KubernetesTargetOptions,
  api: KubernetesApi,
  step: Step,
  desired: DesiredPackage | undefined,
  signal: AbortSignal,
): Promise<StepResult> => {
  const own = fromStep(step);
  switch (own.kind) {
    case 'note':
      return { key: step.key, outcome: step.outcome, reason: step.reason };
    case 'apply': {
      if (!desired)
        throw new FleetError('APPLY_FAILED', `${step.key}: a package that is removed applies nothing`);
      const wanted = await resolveWanted(api, options.fleet, desired, signal);
      return executeApply(options, api, { wanted, desired, step, detail: own.detail }, signal);
    }
    case 'await': {
      if (!desired) return { key: step.key, outcome: 'unchanged', reason: step.reason };
      const { objects: all, byKey } = await resolveWanted(api, options.fleet, desired, signal);
      const objects = own.detail.keys.flatMap((key) => byKey.get(key) ?? []);
      const others = all.filter((object) => !objects.includes(object));
      const owner = { fleet: options.fleet, assignment: desired.assignment };
      const timeoutMs = options.healthTimeoutMs;
      return executeAwait(api, { step, desired, objects, others, owner, timeoutMs }, signal);
    }
    case 'remove':
      return executeRemoval(options, api, step, own.detail, signal);
    case 'detach':
      return executeDetach(options, api, step, own.detail, signal);
    case 'put-back':
      return executePutBack(options, api, step, own.detail, signal);
  }
};
