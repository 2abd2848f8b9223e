import { aborted } from '../../../store/journal/aborted.ts';
import type { CheckResult } from '../../../model/target.ts';
import type { KubernetesApi, LiveObject } from '../api/kubernetes-api.ts';
import { isBuiltIn } from '../desired/is-built-in.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { type CustomHealth, openCustomHealth } from './custom-health.ts';
import { createFailureFilter } from './settle/failure-filter.ts';
import { type ClusterView, openClusterView } from './settle/cluster-view.ts';
import { judgeWanted, windowOf } from './settle/judge-wanted.ts';
import { newestWarning } from './settle/newest-warning.ts';
import { SETTLE_DEFAULTS, type SettleOptions } from './settle/settle-options.ts';
import { type Ended, toChecks } from './settle/to-checks.ts';
import { isWorkload, withPods } from './settle/workload-pods.ts';
import type { HealthContext, Verdict } from './verdict.ts';
import { isFleetError } from '#bundles/errors';
import { textOf } from './live-field.ts';

type Api = Pick<KubernetesApi, 'typeOf' | 'list' | 'watch' | 'read' | 'server'>;

/** Changes come in bursts: judging waits for the rest of a burst, longer for more objects. */
const BURST_MS = 100;
const BURST_MS_AN_OBJECT = 2;
/** Interval of judging without changes, for verdicts that depend on time. */
const TICK_MS = 1000;
/** Time after which the pods of an unfinished workload are examined. */
const PODS_AFTER_MS = 1500;
/** Upper bound on unfinished objects whose last event is read. */
const MAX_EVENTS = 10;
const MAX_READ = 100;

/**
 * Waits until every object is Current or has been Failed for its patience (checklist W1), or until one failed for good, at most
 * `timeoutMs`, or the time that an object gives itself. Time in which the server is unreachable does not count.
 * @throws FleetError API_UNREACHABLE if the server is unreachable for too long, API_DENIED, ABORTED. Unhealthy objects are a result
 */
export const settleKubernetes = async (
  api: Api,
  objects: readonly WantedObject[],
  timeoutMs: number,
  signal: AbortSignal,
  options: Partial<SettleOptions> = {},
): Promise<readonly CheckResult[]> => {
  const settings = { ...SETTLE_DEFAULTS, ...options };
  const all = objects.filter(({ policy }) => policy.wait);
  const waited = all.filter(({ key }) => !settings.current.has(key));
  const counts = { left: objects.length - all.length, current: all.length - waited.length };
  if (waited.length === 0) return toChecks({ passed: counts.current, left: counts.left, waiting: 0 }, []);
  const ended = new AbortController();
  const within = AbortSignal.any([signal, ended.signal]);
  try {
    const end = await watchUntilSettled(api, waited, timeoutMs, within, settings);
    const sure =
      end.timedOut === undefined ? end : await rereadUnfinished(api, waited, end, within, settings);
    return await describeOpen(api, waited, counts, sure, signal);
  } catch (error) {
    if (signal.aborted) throw aborted(error);
    throw error;
  } finally {
    ended.abort();
  }
};

type JudgeContext = HealthContext & { readonly customHealth: CustomHealth };

type End = {
  readonly view: ClusterView;
  readonly context: JudgeContext;
  readonly verdicts: ReadonlyMap<string, Verdict>;
  readonly believed: ReadonlySet<string>;
  readonly timedOut: string | undefined;
};

const watchUntilSettled = async (
  api: Api,
  waited: readonly WantedObject[],
  timeoutMs: number,
  signal: AbortSignal,
  settings: SettleOptions,
): Promise<End> => {
  const { clock, outageMs, loadBalancer } = settings;
  const customHealth = await openCustomHealth(waited.map(({ policy }) => policy.health));
  const hasClaims = waited.some(({ group, kind }) => group === '' && kind === 'PersistentVolumeClaim');
  const lateBinding: ReadonlySet<string> = hasClaims ? await readLateBinding(api, signal) : new Set();
  const view = openClusterView(api, waited, signal, settings);
  const believe = createFailureFilter();
  const burst = Math.min(BURST_MS, waited.length * BURST_MS_AN_OBJECT);
  const begin = clock.elapsedMs();
  let away = 0;
  let awaySince: number | undefined;
  let judged = false;
  for (;;) {
    const at = clock.elapsedMs();
    if (signal.aborted) throw aborted(signal.reason);
    if (view.error() !== undefined) throw view.error();
    const lost = view.lost();
    if (lost) {
      awaySince ??= at;
      if (at - awaySince >= outageMs) throw lost;
    } else {
      if (awaySince !== undefined) away += at - awaySince;
      awaySince = undefined;
      const elapsed = at - begin - away;
      const context = { now: clock.now(), loadBalancer, lateBinding, customHealth, isServed: view.isServed };
      const verdicts = judgeAll(waited, view, context, elapsed, settings);
      if (verdicts) {
        judged = true;
        const believed = believe(verdicts, at - away);
        if (elapsed >= PODS_AFTER_MS) view.followPods(namespacesOfWorkloads(waited, verdicts));
        const end = { view, context, verdicts, believed, timedOut: undefined };
        const isUnrecoverable = [...believed].some((key) => cannotRecover(verdicts.get(key)));
        if (isUnrecoverable || !waited.some(({ key }) => isOpen(end, key))) return end;
        const late = waited.find(
          ({ key, policy }) => isOpen(end, key) && elapsed >= (policy.timeoutMs ?? timeoutMs),
        );
        if (late) return { ...end, timedOut: seconds(late.policy.timeoutMs ?? timeoutMs) };
      }
    }
    await view.news(TICK_MS, signal);
    // Judges right after the first lists, because most packages are healthy by then.
    if (judged) await clock.sleep(burst, signal);
  }
};

const cannotRecover = (verdict: Verdict | undefined): boolean =>
  verdict?.status === 'Failed' && verdict.patienceMs === 0;

/**
 * Reads unfinished objects again before the package fails, because a watch with a dead connection reports nothing.
 * @throws FleetError API_UNREACHABLE
 */
const rereadUnfinished = async (
  api: Api,
  waited: readonly WantedObject[],
  end: End,
  signal: AbortSignal,
  settings: SettleOptions,
): Promise<End> => {
  const verdicts = new Map(end.verdicts);
  const open = waited.filter(({ key }) => isOpen(end, key)).slice(0, MAX_READ);
  for (const wanted of open) {
    const live = await api.read(wanted, signal);
    const verdict = judgeWanted(wanted, live, { ...end.context, now: settings.clock.now() }, true);
    if (verdict.status === 'Current') verdicts.set(wanted.key, verdict);
  }
  return { ...end, verdicts };
};

const isOpen = ({ verdicts, believed }: Pick<End, 'verdicts' | 'believed'>, key: string): boolean =>
  verdicts.get(key)?.status !== 'Current' && !believed.has(key);

/** undefined until every object was read once. */
const judgeAll = (
  waited: readonly WantedObject[],
  view: ClusterView,
  context: JudgeContext,
  elapsedMs: number,
  { windowMs, changed }: Pick<SettleOptions, 'windowMs' | 'changed'>,
): ReadonlyMap<string, Verdict> | undefined => {
  const verdicts = new Map<string, Verdict>();
  for (const wanted of waited) {
    const live = view.liveOf(wanted);
    if (live === 'unread') return undefined;
    const settled = elapsedMs >= windowOf(wanted, windowMs);
    const last = live ? undefined : view.lastOf(wanted);
    const verdict = judgeWanted(wanted, live, { ...context, last }, settled, changed.get(wanted.key));
    const waits = live && verdict.status === 'InProgress' && isWorkload(wanted.group, wanted.kind);
    verdicts.set(wanted.key, waits ? withPods(verdict, live, view.podsOf(live), context.now) : verdict);
  }
  return verdicts;
};

const namespacesOfWorkloads = (
  waited: readonly WantedObject[],
  verdicts: ReadonlyMap<string, Verdict>,
): ReadonlySet<string> =>
  new Set(
    waited
      .filter(({ key, group, kind }) => verdicts.get(key)?.status === 'InProgress' && isWorkload(group, kind))
      .map(({ namespace }) => namespace ?? ''),
  );

const describeOpen = async (
  api: Api,
  waited: readonly WantedObject[],
  { left, current }: { readonly left: number; readonly current: number },
  { view, verdicts, believed, timedOut }: End,
  signal: AbortSignal,
): Promise<readonly CheckResult[]> => {
  const passed = current + waited.filter(({ key }) => verdicts.get(key)?.status === 'Current').length;
  const failing = waited.filter(({ key }) => believed.has(key));
  const open = waited.filter(({ key }) => isOpen({ verdicts, believed }, key));
  const ended: Ended[] = failing.map((wanted) => ({
    wanted,
    message: verdicts.get(wanted.key)?.message ?? '',
  }));
  if (timedOut === undefined) return toChecks({ passed, left, waiting: open.length }, ended);
  for (const [index, wanted] of open.entries()) {
    const { status, message } = verdicts.get(wanted.key) ?? {
      status: 'Unknown',
      message: 'it was never read',
    };
    const live = view.liveOf(wanted);
    const asked = live && live !== 'unread' && index < MAX_EVENTS ? [live, ...unready(view, live)] : [];
    const event = await newestWarning(api, asked, signal);
    const way = isBuiltIn(wanted.group) ? '' : `; ${WAIT_DISABLED}`;
    ended.push({ wanted, message: `${message} (${status} after ${timedOut})${event}${way}` });
  }
  return toChecks({ passed, left, waiting: 0 }, ended);
};

/** Events of a workload tell why pods could not be created; events of its pods tell why they do not run. */
const unready = (view: ClusterView, live: LiveObject): readonly LiveObject[] => view.podsOf(live).slice(0, 3);

/** A controller of a custom resource may never report that an object is ready, or that it has seen its last change. */
const WAIT_DISABLED =
  'if its controller never reports more, fleet-ferry/wait: disabled leaves it out of the health check';

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

/** Storage classes that bind a claim only when a pod uses it; empty without permission to list them. */
const readLateBinding = async (
  api: Pick<KubernetesApi, 'list'>,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> => {
  const type = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass' };
  const { items } = await api.list(type, {}, signal).catch((error: unknown) => {
    if (isFleetError(error, 'API_DENIED')) return { items: [] };
    throw error;
  });
  return new Set(
    items
      .filter((one) => textOf(one, 'volumeBindingMode') === 'WaitForFirstConsumer')
      .map(({ metadata }) => metadata.name),
  );
};
