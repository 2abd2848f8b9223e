import { FleetError, isFleetError } from '#bundles/errors';
import { aborted } from '../../../store/journal/aborted.ts';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import type { LeaseOptions } from './lease-options.ts';
import { LEASE_TYPE, type LeaseRecord, readRecord, takenBy } from './lease-record.ts';

export type LeaseApi = Pick<KubernetesApi, 'read' | 'create' | 'replace'>;

const LOOK_MS = 1000;

/**
 * Takes the lease when nobody has it, when its holder is dead for sure, or gave no sign of life for as long as it said. Only changes
 * seen from here count: clocks differ, and a remote time proves nothing.
 * @returns the lease as it was written @throws FleetError BUSY naming the holder, API_*, ABORTED
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
      // Somebody was first: look who.
      continue;
    }
    if (alive && at - begin >= waitMs) throw busy(options, record);
    await clock.sleep(LOOK_MS, signal);
  }
};

/** This process itself, which did not come to giving it back, or one that had our lock before us (decisions/0014). */
const isPast = ({ holder, place }: LeaseOptions, found: string): boolean =>
  found === holder || (place !== undefined && found.endsWith(`, ${place}`));

/** undefined when somebody else wrote it at the same moment. */
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

/** An agent that is run from outside the cluster finds no namespace of its own: it makes it. */
const createIn = async (api: LeaseApi, lease: LiveObject, signal: AbortSignal): Promise<LiveObject> => {
  try {
    return await api.create(lease, signal);
  } catch (error) {
    if (!isFleetError(error, 'API_REFUSED')) throw error;
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
