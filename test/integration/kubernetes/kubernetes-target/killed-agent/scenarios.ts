import { openClusterAccess } from '../../../../../agent/apply/kubernetes/api/cluster-access.ts';
import type { KubernetesApi } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { openKubernetesApi } from '../../../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from '../../../../../agent/apply/kubernetes/kubernetes-target.ts';
import { resume } from '../../../../../agent/apply/perform.ts';
import { reconcile } from '../../../../../agent/apply/reconcile.ts';
import { readEdge } from '../../../../../agent/model/edge.ts';
import { observe } from '../../../../../agent/observe/observe.ts';
import { acquireLock, placeHeld } from '../../../../../agent/store/lock.ts';
import { FleetError, isFleetError } from '../../../../../bundles/errors.ts';
import {
  copiesIn,
  FLEET,
  type KubernetesPackage,
  type KubernetesSite,
  openSite,
  pack,
} from '../../../../agent/apply/kubernetes/kubernetes-site.ts';
import { NOW } from '../../../../agent/world.ts';

const namespace = (ns: string): string => `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${ns}}\n---\n`;
const configMap = (ns: string, name: string, text: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: ${ns}}\ndata: {text: ${text}}\n---\n`;
/** Objects of later waves: the agent is killed in the waits between them, too. */
const inWave = (wave: number, object: string): string =>
  object.replace('metadata: {', `metadata: {annotations: {fleet-ferry/wave: "${wave}"}, `);
const deployment = (ns: string, name: string, image: string): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: ${ns}}
spec:
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec: {containers: [{name: app, image: ${image}}]}
---
`;

const hook = (ns: string, name: string, when: string, text: string): string => `apiVersion: batch/v1
kind: Job
metadata: {name: ${name}, namespace: ${ns}, annotations: {fleet-ferry/hook: ${when}}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: ${text}}]}}}
---
`;

/** A Service that the server takes in a dry run and refuses in earnest (REFUSING). */
const REFUSED = 'refused-in-earnest';

/** What makes REFUSED so. Nothing else is judged by it. */
export const REFUSING: readonly (readonly [path: string, object: object])[] = [
  [
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'refuse' },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['services'] },
          ],
        },
        validations: [{ expression: `request.dryRun || object.metadata.name != '${REFUSED}'` }],
      },
    },
  ],
  [
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'refuse' },
      spec: { policyName: 'refuse', validationActions: ['Deny'] },
    },
  ],
];
export const refusedIn = (ns: string): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  // In a wave of its own: beside others, how many of them are done before it fails is chance.
  metadata: { name: REFUSED, namespace: ns, annotations: { 'fleet-ferry/wave': '1' } },
  spec: { ports: [{ port: 80 }] },
});

export type Scenario = {
  readonly name: string;
  readonly before: (ns: string) => readonly KubernetesPackage[];
  readonly after: (ns: string) => readonly KubernetesPackage[];
  /** Somebody deletes and changes objects of `before` by hand. */
  readonly spoils?: true;
  /** Packages are under way at the same time: their events are in any order, and a killed process alone ends them together. */
  readonly isSideBySide?: true;
  /** Boundaries it must pass for a test of it to be worth anything. */
  readonly passes: readonly string[];
};

const steady = (ns: string): KubernetesPackage => pack('steady', configMap(ns, 'steady', 'as-ever'));

const base = (ns: string): readonly KubernetesPackage[] => [
  pack('a-base', `${namespace(ns)}${configMap(ns, 'kept', 'one')}${configMap(ns, 'gone', 'x')}`),
  steady(ns),
];

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'a package that changes and one that is new',
    before: base,
    after: (ns) => [
      pack(
        'a-base',
        `${namespace(ns)}${configMap(ns, 'kept', 'two')}${inWave(1, configMap(ns, 'new', 'y'))}${configMap(ns, 'theirs', 'ours')}${inWave(2, deployment(ns, 'web', 'one'))}`,
      ),
      steady(ns),
      pack('z-next', configMap(ns, 'next', 'z'), { dependsOn: ['a-base'] }),
    ],
    passes: ['apply a-base: staged', 'apply a-base: settled', 'apply a-base: kept', 'apply z-next: kept'],
  },
  {
    name: 'a package that fails in the middle and is rolled back',
    before: base,
    after: (ns) => [
      pack(
        'a-base',
        `${namespace(ns)}${configMap(ns, 'kept', 'two')}${configMap(ns, 'new', 'y')}${configMap(ns, 'theirs', 'ours')}${JSON.stringify(refusedIn(ns))}`,
      ),
      steady(ns),
    ],
    passes: ['apply a-base: failed', 'apply a-base (roll back): kept'],
  },
  {
    name: 'a package that is renamed, one that is removed and an object that moves',
    before: (ns) => [
      pack('a-base', `${namespace(ns)}${configMap(ns, 'moved', 'one')}`),
      pack('extra', configMap(ns, 'extra', 'x')),
      pack('old', `${configMap(ns, 'data', 'one')}${configMap(ns, 'gone', 'x')}`),
    ],
    after: (ns) => [
      pack('a-base', namespace(ns)),
      pack(
        'new',
        `${configMap(ns, 'data', 'two')}${configMap(ns, 'more', 'y')}${configMap(ns, 'moved', 'two')}`,
      ),
    ],
    passes: ['apply new: kept', 'remove old: kept', 'remove extra: kept'],
  },
  {
    name: 'hooks before and after, and objects that are removed in waves',
    before: (ns) => [
      pack(
        'a-base',
        `${namespace(ns)}${hook(ns, 'migrate', 'before', 'one')}${configMap(ns, 'kept', 'one')}${configMap(ns, 'gone', 'x')}${inWave(1, configMap(ns, 'gone-1', 'x'))}${inWave(2, configMap(ns, 'gone-2', 'x'))}${hook(ns, 'report', 'after', 'one')}`,
      ),
    ],
    after: (ns) => [
      pack(
        'a-base',
        `${namespace(ns)}${hook(ns, 'migrate', 'before', 'two')}${configMap(ns, 'kept', 'two')}${hook(ns, 'report', 'after', 'two')}`,
      ),
    ],
    passes: ['apply a-base: settled', 'apply a-base: pruned', 'apply a-base: kept'],
  },
  {
    name: 'packages side by side, of which one fails and is rolled back',
    before: (ns) => [...base(ns), pack('c-refused', configMap(ns, 'early', 'one'))],
    after: (ns) => [
      pack('a-base', `${namespace(ns)}${configMap(ns, 'kept', 'two')}`),
      pack('b-web', `${deployment(ns, 'web', 'one')}${configMap(ns, 'theirs', 'ours')}`),
      pack('c-refused', `${configMap(ns, 'early', 'two')}${JSON.stringify(refusedIn(ns))}`),
      pack('d-web', deployment(ns, 'other', 'one')),
      steady(ns),
    ],
    isSideBySide: true,
    passes: ['apply b-web: kept', 'apply c-refused (roll back): kept', 'apply d-web: kept'],
  },
  {
    name: 'drift that is corrected',
    before: base,
    after: base,
    spoils: true,
    passes: ['correct a-base: staged', 'correct a-base: kept'],
  },
];

export const connect = async (kubeconfig: string): Promise<KubernetesApi> =>
  openKubernetesApi(await openClusterAccess({ kubeconfig, context: '' }), {
    patienceMs: 20_000,
    requestMs: 20_000,
  });

type Place = { readonly folder: string; readonly api: KubernetesApi; readonly ns: string };

/** An agent's state directory on the cluster, locked; each call is a process as far as its target goes. */
export const openLocked = async (
  { folder, api, ns }: Place,
  onJournal: (point: string) => void = () => {},
): Promise<KubernetesSite> => {
  const { bootId } = readEdge(undefined, 'auto', process.env);
  const state = `${folder}/state`;
  const lock = await acquireLock(state, 'run', NOW, { bootId });
  const target = kubernetesTarget({
    open: () => Promise.resolve(api),
    fleet: FLEET,
    // A lease for each, so that some can be tried at once.
    lease: {
      namespace: `${ns}-lease`,
      who: `plant-7/edge-1, process ${process.pid}`,
      place: () => placeHeld(state),
    },
    healthTimeoutMs: 20_000,
    stepTimeoutMs: 20_000,
    adopt: 'ifUnowned',
    copies: copiesIn(folder),
  });
  const site = openSite(folder, target, {}, { onJournal });
  return {
    ...site,
    [Symbol.asyncDispose]: async () => {
      await site[Symbol.asyncDispose]();
      lock[Symbol.dispose]();
    },
  };
};

/** What a look does: ends what is open, applies what is wanted, corrects what differs. */
export const look = async ({ agent }: KubernetesSite): Promise<void> => {
  await resume(agent);
  await reconcile(agent);
  await observe(agent);
};

/** Throws at every request of an agent that is dead. */
const mortal = (api: KubernetesApi, isDead: () => boolean): KubernetesApi =>
  new Proxy(api, {
    get: (of, name) => {
      if (isDead()) throw stopped();
      return Reflect.get(of, name);
    },
  });

const stopped = (): FleetError => new FleetError('ABORTED', 'the test stops here');

/**
 * A look that goes no further than the n-th boundary: from there on, it neither writes to its journal nor asks the cluster for anything, so
 * that its lease stays taken. @param n 0: it goes through @returns the boundaries
 */
export const lookUntil = async (n: number, place: Place): Promise<readonly string[]> => {
  const points: string[] = [];
  const isDead = (): boolean => n > 0 && points.length >= n;
  const onJournal = (point: string): void => {
    if (!isDead()) points.push(point);
    if (isDead()) throw stopped();
  };
  await using site = await openLocked({ ...place, api: mortal(place.api, isDead) }, onJournal);
  await look(site).catch((error: unknown) => {
    if (!isFleetError(error, 'ABORTED')) throw error;
  });
  return points;
};
