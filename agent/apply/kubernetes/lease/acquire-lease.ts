import { FleetError, isFleetError } from '#bundles/errors';
import { aborted } from '../../../store/journal/aborted.ts';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import type { LeaseOptions } from './lease-options.ts';
import { LEASE_TYPE, type LeaseRecord, readRecord, takenBy } from './lease-record.ts';

export type LeaseApi = Pick<KubernetesApi, 'read' | 'create' | 'replace'>;

const LOOK_MS = 1000;

/**
 * Takes the lease if it has no holder, if its holder is known to be dead, or if it was not renewed for its duration. The duration is
 * measured locally between observed changes, because clocks differ.
 * @returns the lease as written @throws FleetError BUSY naming the holder, API_*, ABORTED
 */
export const acquireLease = async (
  api: LeaseApi,
  options: LeaseOptions,
  signal: AbortSignal,
): Promise<LiveObject> => {
  const { namespace, name, durationMs, waitMs, clock } = options;
  const begin = clock.elapsedMs();
  let seen: { readonly version: string | undefined; readonly at: number } | undefined;
  let alive = false;
  for (;;) {
    if (signal.aborted) throw aborted(signal.reason);
    const lease = await api.read({ ...LEASE_TYPE, namespace, name }, signal);
    const record = lease && readRecord(lease);
    const at = clock.elapsedMs();
    if (seen && seen.version !== record?.resourceVersion) {
      alive = record !== undefined && record.holder !== '';
      seen = undefined;
    }
    seen ??= { version: record?.resourceVersion, at };
    const isFree = !record || record.holder === '' || isPast(options, record.holder);
    if (isFree || at - seen.at > Math.max(durationMs, record.durationMs)) {
      const taken = await write(api, options, record, signal);
      if (taken) return taken;
      // Another agent was first: read the lease again to name it.
      continue;
    }
    if (alive && at - begin >= waitMs) throw busy(options, record);
    await clock.sleep(LOOK_MS, signal);
  }
};

/** True for this process, which could not release the lease, and for an earlier holder of our lock (decisions/0014). */
const isPast = ({ holder, place }: LeaseOptions, found: string): boolean =>
  found === holder || (place !== undefined && found.endsWith(`, ${place}`));

/** undefined if another agent wrote the lease at the same time. */
const write = async (
  api: LeaseApi,
  options: LeaseOptions,
  before: LeaseRecord | undefined,
  signal: AbortSignal,
): Promise<LiveObject | undefined> => {
  const lease = takenBy(options, before);
  try {
    return before ? await api.replace(lease, signal) : await createIn(api, lease, signal);
  } catch (error) {
    if (isFleetError(error, 'FIELD_CONFLICT')) return undefined;
    throw error;
  }
};

/** Creates the namespace of the lease, which may not exist for an agent outside of the cluster. */
const createIn = async (api: LeaseApi, lease: LiveObject, signal: AbortSignal): Promise<LiveObject> => {
  try {
    return await api.create(lease, signal);
  } catch (error) {
    if (!isFleetError(error, 'CLUSTER_LACKS')) throw error;
    const namespace = { apiVersion: 'v1', kind: 'Namespace', name: lease.metadata.namespace ?? '' };
    if (await api.read(namespace, signal)) throw error;
    const { apiVersion, kind, name } = namespace;
    await api.create({ apiVersion, kind, metadata: { name } }, signal).catch((other: unknown) => {
      if (!isFleetError(other, 'FIELD_CONFLICT')) throw other;
    });
    return api.create(lease, signal);
  }
};

const busy = ({ namespace, name }: LeaseOptions, { holder, since }: LeaseRecord): FleetError =>
  new FleetError(
    'BUSY',
    `another fleet-agent is at work on this cluster: ${holder}${since === undefined ? '' : `, since ${since}`}`,
    {
      subject: `Lease ${namespace}/${name}`,
      hint: 'Wait until it is done, or stop it; one cluster has one agent at a time',
    },
  );
