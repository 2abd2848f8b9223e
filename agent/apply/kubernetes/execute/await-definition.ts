import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '#bundles/errors';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { stopIfAborted } from '../api/send.ts';
import { hasItsNames, isEstablished, refusedNames } from '../health/is-established.ts';
import { isRecord } from '#bundles/is-record';

const PAUSE_MS = 100;
/** How long the server may say of the names from before that they are taken, after it got others. */
const JUDGED_MS = 2000;

/**
 * Waits until the server accepts objects of a CRD that was just applied: established and in discovery.
 * @throws FleetError APPLY_FAILED if another definition has its names; CLUSTER_LACKS if it takes longer than `timeoutMs`
 */
export const awaitDefinition = async (
  api: KubernetesApi,
  crd: LiveObject,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<LiveObject> => {
  const { apiVersion, kind, metadata } = crd;
  const until = performance.now() + timeoutMs;
  const served = servedTypes(crd);
  let live: LiveObject | undefined = crd;
  let refusedAt: number | undefined;
  for (;;) {
    stopIfAborted(signal);
    const refused = live && refusedNames(live);
    refusedAt = refused && (refusedAt ?? performance.now());
    if (refused && performance.now() - (refusedAt ?? 0) >= Math.min(timeoutMs, JUDGED_MS)) {
      throw new FleetError('APPLY_FAILED', `${kind} ${metadata.name}: ${refused.message}`, {
        hint: 'Give it names that no other definition of the group has; or remove the other one, then run "fleet-agent retry"',
      });
    }
    if (live && isEstablished(live) && hasItsNames(live)) {
      api.forgetTypes();
      const types = new Set(
        (await api.types(signal)).map(({ group, version, kind: of }) => `${group}/${version} ${of}`),
      );
      if (served.every((type) => types.has(type))) return live;
    }
    if (performance.now() > until) {
      throw new FleetError(
        'CLUSTER_LACKS',
        `${kind} ${metadata.name} is not established after ${Math.round(timeoutMs / 1000)} s`,
        {
          hint: `"kubectl describe ${kind} ${metadata.name}" shows why; the agent tries again automatically, with growing pauses`,
        },
      );
    }
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => {});
    live = await api.read({ apiVersion, kind, name: metadata.name }, signal);
  }
};

const servedTypes = ({ spec }: LiveObject): readonly string[] => {
  if (!isRecord(spec) || !isRecord(spec['names']) || !Array.isArray(spec['versions'])) return [];
  const { group, names, versions } = spec as { group: string; names: { kind: string }; versions: unknown[] };
  return versions
    .filter(isRecord)
    .filter(({ served }) => served === true)
    .map(({ name }) => `${group}/${String(name)} ${names.kind}`);
};
