import { isFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import type { AgentFacts } from '../../../model/agent-facts.ts';
import type { KubernetesApi, LiveObject, ObjectRef } from '../api/kubernetes-api.ts';
import { LEASE_TYPE, lastHolder, leaseName } from '../lease/lease-record.ts';
import { agentStatus } from './agent-status.ts';

type ShowApi = Pick<KubernetesApi, 'typeOf' | 'read' | 'create' | 'patch'>;

/** The definition is deploy/kubernetes/base/definition.yaml. */
const AGENT_TYPE = { apiVersion: 'fleet-ferry.internal/v1alpha1', kind: 'FleetAgent' } as const;

const NO_DEFINITION =
  'the cluster has no kind FleetAgent, so that kubectl shows nothing of the agent; the rest works: kubectl apply -f deploy/kubernetes/base/definition.yaml';

const shownBy = (holder: string, fleet: string): string =>
  `FleetAgent ${fleet} shows ${holder}, which was the last to work on this cluster; one cluster has one agent of a fleet: stop the other`;

/** How long the agent does not ask again for a kind that the cluster does not have: each question is a discovery. */
const ABSENT_MS = 600_000;
/** A look that found nothing new is written at most this often. */
const TICK_MS = 60_000;

export type Shown = {
  /** The object, for events; undefined if the cluster does not have the kind. */
  readonly object: LiveObject | undefined;
  /** Whether another agent took the lease of the fleet last. It writes the object and the events. */
  readonly isOther: boolean;
  readonly said: readonly string[];
};

/**
 * Keeps the status of the object FleetAgent of the fleet, in the agent's namespace. Writes when something changed, a new look was made, or
 * somebody deleted the object before a new look.
 * Writes nothing if another agent took the lease of the fleet last: that agent writes the object, and two would overwrite each other's status.
 * @throws FleetError API_UNREACHABLE, ABORTED
 */
export const createAgentObject = (
  { namespace, name, agent }: { readonly namespace: string; readonly name: string; readonly agent: string },
  elapsedMs: () => number,
) => {
  const ref: ObjectRef = { ...AGENT_TYPE, namespace, name };
  let absentUntil = -Infinity;
  let object: LiveObject | undefined;
  let written: { readonly text: string; readonly lookedAt: string | null; readonly at: number } | undefined;
  let verdict: { readonly is: string; readonly since: string } | undefined;
  const write = async (api: ShowApi, status: object, signal: AbortSignal): Promise<void> => {
    const change = [{ op: 'add', path: '/status', value: status }] as const;
    const patch = () => api.patch(ref, change, signal, { subresource: 'status' });
    const before = await patch();
    object = before ?? (await createObject(api, ref, signal));
    if (!before) await patch();
  };
  return async (api: ShowApi, facts: AgentFacts, now: Date, signal: AbortSignal): Promise<Shown> => {
    const holder = (await holderIn(api, namespace, name, signal)) ?? agent;
    if (holder !== agent) {
      written = undefined;
      verdict = undefined;
      object = undefined;
      return { object, isOther: true, said: [shownBy(holder, name)] };
    }
    const isOther = false;
    if (elapsedMs() < absentUntil) return { object: undefined, isOther, said: [NO_DEFINITION] };
    if (!(await api.typeOf(AGENT_TYPE, signal))) {
      absentUntil = elapsedMs() + ABSENT_MS;
      object = undefined;
      return { object, isOther, said: [NO_DEFINITION] };
    }
    verdict ??= transitionOf(await api.read(ref, signal));
    if (verdict?.is !== facts.verdict) verdict = { is: facts.verdict, since: formatTime(now) };
    const { lookedAt } = facts;
    const text = JSON.stringify({ ...facts, lookedAt: null });
    if (written?.text === text) {
      if (written.lookedAt === lookedAt) return { object, isOther, said: [] };
      const isDue = elapsedMs() - written.at >= TICK_MS;
      if (!isDue && (await api.read(ref, signal))) return { object, isOther, said: [] };
    }
    await write(api, agentStatus(facts, verdict.since), signal);
    written = { text, lookedAt, at: elapsedMs() };
    return { object, isOther, said: [] };
  };
};

const holderIn = async (
  api: ShowApi,
  namespace: string,
  fleet: string,
  signal: AbortSignal,
): Promise<string | undefined> => {
  try {
    return lastHolder(await api.read({ ...LEASE_TYPE, namespace, name: leaseName(fleet) }, signal));
  } catch (error) {
    // An agent without the right to the lease cannot apply anything here, but still shows its own state.
    if (isFleetError(error, 'API_DENIED')) return undefined;
    throw error;
  }
};

const createObject = async (api: ShowApi, ref: ObjectRef, signal: AbortSignal): Promise<LiveObject> => {
  const { apiVersion, kind, namespace = '', name } = ref;
  try {
    return await api.create({ apiVersion, kind, metadata: { name, namespace } }, signal);
  } catch (error) {
    const other = isFleetError(error, 'FIELD_CONFLICT') ? await api.read(ref, signal) : undefined;
    if (!other) throw error;
    return other;
  }
};

/** The verdict and its time that an earlier run of the agent wrote. */
const transitionOf = (
  object: LiveObject | undefined,
): { readonly is: string; readonly since: string } | undefined => {
  const status = object?.['status'] as { readonly conditions?: readonly Condition[] } | undefined;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.reason !== undefined && ready.lastTransitionTime !== undefined
    ? { is: ready.reason, since: ready.lastTransitionTime }
    : undefined;
};

type Condition = { readonly type?: string; readonly reason?: string; readonly lastTransitionTime?: string };
