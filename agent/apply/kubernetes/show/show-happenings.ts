import { isFleetError } from '#bundles/errors';
import { cutText } from '#cli/cut-text';
import type { Happening } from '../../../model/agent-facts.ts';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';

type EventApi = Pick<KubernetesApi, 'create' | 'patch'>;

/** Events written in one publication; if there are more, one further event says how many. */
const MAX_AT_ONCE = 20;
/** The server deletes events after an hour. The count of a younger one is raised, as the kubelet does. */
const COUNTED_MS = 3_600_000;
const MAX_KNOWN = 200;
const MAX_MESSAGE = 1000;
const COMPONENT = 'fleet-agent';

type Known = { readonly name: string; readonly count: number; readonly first: number };

export type About = {
  readonly namespace: string;
  /** The FleetAgent, or the Lease of the fleet where the cluster does not have the kind. */
  readonly object: Pick<LiveObject, 'apiVersion' | 'kind'> & {
    readonly metadata: { readonly name: string; readonly uid?: string };
  };
};

/**
 * Writes Kubernetes events about the agent. The same happening again raises the count of its event. Each has a name of its own, so that
 * one that was written before the agent was killed is not written twice. @throws FleetError API_UNREACHABLE, API_DENIED, ABORTED
 */
export const createHappenings = (elapsedMs: () => number) => {
  const known = new Map<string, Known>();
  const countOn = async (
    api: EventApi,
    namespace: string,
    { one, key }: { readonly one: Happening; readonly key: string },
    signal: AbortSignal,
  ): Promise<boolean> => {
    const before = known.get(key);
    if (!before || elapsedMs() - before.first > COUNTED_MS) return false;
    const count = before.count + 1;
    const ref = { apiVersion: 'v1', kind: 'Event', namespace, name: before.name };
    const changes = [
      { op: 'replace', path: '/count', value: count },
      { op: 'replace', path: '/lastTimestamp', value: one.at },
    ] as const;
    if (!(await api.patch(ref, changes, signal))) return false;
    known.set(key, { ...before, count });
    return true;
  };
  return async (
    api: EventApi,
    { namespace, object }: About,
    happenings: readonly Happening[],
    signal: AbortSignal,
  ): Promise<void> => {
    const shown = happenings.slice(-MAX_AT_ONCE);
    const left = happenings.length - shown.length;
    const [first] = happenings;
    const all = left > 0 && first ? [summaryOf(first, left), ...shown] : shown;
    for (const one of all) {
      const key = JSON.stringify([one.reason, one.message]);
      if (await countOn(api, namespace, { one, key }, signal)) continue;
      const name = `${COMPONENT}.${one.id.slice(-32)}`;
      const written = eventOf(one, { name, namespace, object });
      try {
        await api.create(written, signal);
      } catch (error) {
        if (!isFleetError(error, 'FIELD_CONFLICT')) throw error;
      }
      known.delete(key);
      known.set(key, { name, count: 1, first: elapsedMs() });
      for (const old of [...known.keys()].slice(0, -MAX_KNOWN)) known.delete(old);
    }
  };
};

const summaryOf = (first: Happening, left: number): Happening => ({
  ...first,
  reason: 'More',
  isWarning: false,
  message: `${left} more events; all of them: fleet-agent history`,
});

const eventOf = (
  one: Happening,
  { name, namespace, object }: About & { readonly name: string },
): LiveObject => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, namespace },
  involvedObject: {
    apiVersion: object.apiVersion,
    kind: object.kind,
    namespace,
    ...object.metadata,
  },
  type: one.isWarning ? 'Warning' : 'Normal',
  reason: one.reason,
  message: cutText(one.message, MAX_MESSAGE),
  source: { component: COMPONENT },
  reportingComponent: COMPONENT,
  reportingInstance: object.metadata.name,
  firstTimestamp: one.at,
  lastTimestamp: one.at,
  count: 1,
});
