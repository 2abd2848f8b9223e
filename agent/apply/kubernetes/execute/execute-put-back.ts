import { isFleetError } from '#bundles/errors';
import type { Step, StepResult } from '../../../model/target.ts';
import type { KubernetesApi } from '../api/kubernetes-api.ts';
import { isRefusal } from '../api/refusal.ts';
import { servedRef } from '../api/served-ref.ts';
import { isOwner } from '../desired/marks.ts';
import { refOf } from '../desired/object-key.ts';
import type { KubernetesTargetOptions } from '../kubernetes-options.ts';
import type { PutBackDetail } from '../kubernetes-step.ts';
import { readCopy } from '../replaced/copies.ts';
import { putBack } from '../replaced/put-back.ts';
import { detach } from './execute-removal.ts';

/**
 * Restores an adopted object from its copy. Without a copy, or if the server refuses it, the object stays as it is without our marks.
 * @throws FleetError API_*
 */
export const executePutBack = async (
  { fleet, copies }: KubernetesTargetOptions,
  api: KubernetesApi,
  { key, outcome, reason }: Step,
  { apiVersion, assignment, copy: name }: PutBackDetail,
  signal: AbortSignal,
): Promise<StepResult> => {
  const owner = { fleet, assignment };
  const copy = await readCopy(copies, name);
  let why = 'there is no copy of what was there before';
  try {
    if (copy) {
      const staying = await putBack(api, copy, owner, signal);
      return {
        key,
        outcome,
        reason: staying.length === 0 ? reason : `${reason}${describeStayingVersions(staying)}`,
      };
    }
  } catch (error) {
    if (!isRefusal(error) && !isFleetError(error, 'CLUSTER_LACKS')) throw error;
    why = `the state before the package cannot be restored: ${error.message}`;
  }
  const ref = await servedRef(api, refOf(key, apiVersion), signal);
  const live = ref && (await api.read(ref, signal));
  if (ref && live && isOwner(live, owner)) await detach(api, ref, { live, owner }, signal);
  return {
    key,
    outcome: 'skipped',
    reason: `${why}: it is kept unchanged, and the agent no longer manages it`,
  };
};

const describeStayingVersions = (versions: readonly string[]): string => {
  const [what, does] = versions.length === 1 ? ['version', 'stays'] : ['versions', 'stay'];
  return `; ${what} ${versions.join(', ')} ${does} in it, not served, because objects may be stored in that form: write them all anew, then take ${versions.join(', ')} out of status.storedVersions and of spec.versions`;
};
