import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { toFleetError } from '#bundles/errors';
import { freeBytesOf } from '../../../../agent/acquire/blobs/free-space.ts';
import { openClusterAccess } from '../../../../agent/apply/kubernetes/api/cluster-access.ts';
import type { KubernetesApi } from '../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { openKubernetesApi } from '../../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from '../../../../agent/apply/kubernetes/kubernetes-target.ts';
import { reconcile } from '../../../../agent/apply/reconcile.ts';
import { readConfig } from '../../../../agent/config/read-config.ts';
import { createDaemon } from '../../../../agent/daemon/create-daemon.ts';
import { lookAround } from '../../../../agent/daemon/look-around.ts';
import { runDaemon } from '../../../../agent/daemon/run-daemon.ts';
import type { Target } from '../../../../agent/model/target.ts';
import { lookAtDrift, observe } from '../../../../agent/observe/observe.ts';
import { makeAllDue } from '../../../../agent/store/applied/attempts.ts';
import { readOwned } from '../../../../agent/store/applied/inventory.ts';
import { findPackage } from '../../../../agent/store/applied/packages.ts';
import { openOperation } from '../../../../agent/store/journal/operations.ts';
import {
  copiesIn,
  createSite,
  FLEET,
  type KubernetesSite,
  openSite,
  pack,
} from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import { NOW, testEdge } from '../../../agent/world.ts';
import { rootAccess } from '../../../harness/hosts/as-root.ts';
import type { OwnCluster } from '../../../harness/kubernetes/cluster.ts';
import { startLineTo } from '../../../harness/kubernetes/line-to-cluster.ts';
import { LONG } from '../../../harness/run/long.ts';
import { runOrFail } from '../../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { accountToken, tokenKubeconfig } from '../account-token.ts';
import { startWebhookServer, type WebhookServer } from '../refusals/webhook-server.ts';
import { restingClock } from './resting-clock.ts';

const CORE = '/api/v1/namespaces/default';
const MAPS = `${CORE}/configmaps`;
const HOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const CHANGING = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings';
const FLOWS = '/apis/flowcontrol.apiserver.k8s.io/v1';
/** A server takes a while to see webhooks, roles and limits. */
const SEEN = { timeout: 30_000, interval: 100 };
const PATIENT = { patienceMs: 30_000, requestMs: 60_000 };
const IMPATIENT = { patienceMs: 500, requestMs: 10_000 };

const configMap = (name: string, text: string, annotations = '{}'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: default, annotations: ${annotations}}\ndata: {text: ${text}}\n---\n`;
const maps = (name: string, count: number): string =>
  Array.from({ length: count }, (_, index) => configMap(`${name}-${index}`, 'x')).join('');

type Names = { readonly plural: string; readonly kind: string; readonly shortNames?: readonly string[] };

/** A definition in the group `faults.example`. */
const definition = (names: Names): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${names.plural}.faults.example` },
  spec: {
    group: 'faults.example',
    scope: 'Namespaced',
    names: { singular: names.plural.slice(0, -1), ...names },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
});
const custom = (kind: string, text: string): string =>
  `apiVersion: faults.example/v1\nkind: ${kind}\nmetadata: {name: one, namespace: default, annotations: {fleet-ferry/wait: disabled}}\ntext: ${text}\n---\n`;

/** What was reported of a package, without the results of its checks: 'package failed API_DENIED', 'package created'. */
const outcomesOf = ({ events }: KubernetesSite, assignment: string): readonly string[] =>
  events()
    .filter((event) => event.assignment === assignment && event.type !== 'check')
    .map(({ type, outcome = '', code = '' }) =>
      `${type} ${outcome === 'failed' ? `failed ${code}` : outcome}`.trim(),
    );

/** The API before whose first apply of that object, not as a dry run, something happens. */
const before = (api: KubernetesApi, name: string, act: () => Promise<void>): KubernetesApi => {
  let done: Promise<void> | undefined;
  return new Proxy(api, {
    get: (of, key) => {
      if (key !== 'apply') return Reflect.get(of, key);
      const apply: KubernetesApi['apply'] = async (object, options, signal) => {
        if (object.metadata.name === name && options.dryRun !== true) await (done ??= act());
        return of.apply(object, options, signal);
      };
      return apply;
    },
  });
};

/**
 * Tests of faults of the cluster and of the agent's machine. During the fault the agent reports its cause once, and applies other packages.
 * Afterwards it applies all of them, and reports each result once.
 */
export const faultsOnCluster = (cluster: () => OwnCluster): void => {
  const open = async (kubeconfig: string, limits = IMPATIENT): Promise<KubernetesApi> =>
    openKubernetesApi(await openClusterAccess({ kubeconfig, context: '' }), limits);
  const targetOver = (api: Promise<KubernetesApi>): Target =>
    kubernetesTarget({
      open: () => api,
      fleet: FLEET,
      healthTimeoutMs: 10_000,
      stepTimeoutMs: 10_000,
      adopt: 'ifUnowned',
      copies: copiesIn(join(cluster().kubeconfig, '..')),
    });
  const target = (limits = IMPATIENT): Target => targetOver(open(cluster().kubeconfig, limits));
  const again = ({ agent }: KubernetesSite) => {
    makeAllDue(agent.state, agent.edge.now());
    return reconcile(agent);
  };

  describe('a fault', () => {
    let hooks: WebhookServer;
    let folder: TemporaryDirectory;
    beforeAll(async () => {
      [hooks, folder] = await Promise.all([startWebhookServer(), temporaryDirectory('faults')]);
    });
    afterAll(async () => {
      await hooks?.[Symbol.asyncDispose]();
      await folder?.[Symbol.asyncDispose]();
    });

    const post = async (path: string, object: object): Promise<void> => {
      const { status, body } = await cluster().request('POST', path, object);
      if (status !== 201) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    };
    const statusOf = async (path: string): Promise<number> => (await cluster().request('GET', path)).status;
    const dataOf = async (name: string): Promise<unknown> =>
      ((await cluster().request('GET', `${MAPS}/${name}`)).body as { readonly data?: unknown }).data;
    const hook = (name: string, failurePolicy: 'Fail' | 'Ignore', timeoutSeconds = 1) => ({
      metadata: { name },
      webhooks: [
        {
          name: `${name}.example.org`,
          clientConfig: hooks.at('/never'),
          rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }],
          matchConditions: [{ name: 'ours', expression: `request.name.startsWith('${name}-')` }],
          failurePolicy,
          sideEffects: 'None',
          timeoutSeconds,
          admissionReviewVersions: ['v1'],
        },
      ],
    });
    /** How long the server takes for a ConfigMap, in ms, and its answer. */
    const probe = async (name: string): Promise<{ readonly status: number; readonly ms: number }> => {
      const begun = performance.now();
      const { status } = await cluster().request('POST', `${MAPS}?dryRun=All`, { metadata: { name } });
      return { status, ms: performance.now() - begun };
    };
    const bindAdmin = (name: string): Promise<void> =>
      post(BINDINGS, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
        subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
      });
    /** A kubeconfig of a new account with all rights in the namespace `default`, by a binding of its name. */
    const account = async (name: string): Promise<string> => {
      await post(`${CORE}/serviceaccounts`, { metadata: { name } });
      await bindAdmin(name);
      return tokenKubeconfig(cluster(), await accountToken(cluster(), 'default', name), folder.path);
    };
    const mayPatch = async (api: KubernetesApi): Promise<boolean> => {
      const probing = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'may', namespace: 'default' },
      };
      return api.apply(probing, { force: true, dryRun: true }, new AbortController().signal).then(
        () => true,
        () => false,
      );
    };

    it.concurrent('of a webhook that accepts requests and never answers is named, other packages continue, and its own are applied once the webhook is removed', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const old = pack('a-old', configMap('hang-old', 'x'));
      const fresh = pack('b-new', configMap('hang-new', 'x'));
      const beside = pack('c-beside', configMap('beside-hang', 'x'));
      await site.release([old]);
      await post(HOOKS, hook('hang', 'Fail'));
      await expect.poll(async () => (await probe('hang-probe')).status, SEEN).toBe(500);
      const unreachable = {
        code: 'WEBHOOK_UNREACHABLE',
        message: expect.stringContaining('hang.example.org') as string,
      };
      expect(await site.release([old, fresh, beside])).toMatchObject([
        { assignment: 'b-new', outcome: 'failed', ...unreachable },
        { assignment: 'c-beside', outcome: 'created' },
      ]);
      // What is deleted meanwhile cannot be made again, and says why.
      await cluster().request('DELETE', `${HOOKS}/hang`);
      await expect.poll(async () => (await probe('hang-probe')).status, SEEN).toBe(201);
      await cluster().request('DELETE', `${MAPS}/hang-old`);
      await post(HOOKS, hook('hang', 'Fail'));
      await expect.poll(async () => (await probe('hang-probe')).status, SEEN).toBe(500);
      expect(await observe(site.agent)).toMatchObject([
        { assignment: 'a-old', corrected: false, failure: unreachable },
        { assignment: 'c-beside', drift: [] },
      ]);
      const told = site.events().length;
      expect(await again(site)).toMatchObject([{ assignment: 'b-new', outcome: 'failed', ...unreachable }]);
      makeAllDue(site.agent.state, site.agent.edge.now());
      await observe(site.agent);
      expect(site.events()).toHaveLength(told);
      await cluster().request('DELETE', `${HOOKS}/hang`);
      await expect.poll(async () => (await probe('hang-probe')).status, SEEN).toBe(201);
      expect(await again(site)).toMatchObject([{ assignment: 'b-new', outcome: 'created' }]);
      makeAllDue(site.agent.state, site.agent.edge.now());
      await observe(site.agent);
      expect(await dataOf('hang-old')).toEqual({ text: 'x' });
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }, { drift: [] }, { drift: [] }]);
      expect(outcomesOf(site, 'b-new')).toEqual(['package failed WEBHOOK_UNREACHABLE', 'package created']);
    });

    it.concurrent('of a webhook that hangs and may be ignored delays each write by its timeout, and fails nothing', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      await post(HOOKS, hook('late', 'Ignore'));
      await expect.poll(async () => (await probe('late-probe')).ms, SEEN).toBeGreaterThan(900);
      const begun = performance.now();
      expect(await site.release([pack('late', maps('late', 5))])).toMatchObject([{ outcome: 'created' }]);
      expect(performance.now() - begun).toBeGreaterThan(1800);
      expect(await site.release([])).toMatchObject([{ outcome: 'deleted' }]);
      expect(await statusOf(`${MAPS}/late-0`)).toBe(404);
      await cluster().request('DELETE', `${HOOKS}/late`);
    });

    it.runIf(LONG)(
      'of webhooks that together take longer than the server gives a request fails their package alone',
      async ({ expect }) => {
        await using site = await createSite(target(PATIENT));
        // One after the other, as they may change the object; the server gives a request 34 seconds.
        const both = [
          [`${CHANGING}/both`, 'Ignore'],
          [`${CHANGING}/both-second`, 'Fail'],
        ] as const;
        const webhooks = (policy: 'Ignore' | 'Fail', seconds: number) =>
          hook('both', policy, seconds).webhooks;
        for (const [path, policy] of both)
          await post(CHANGING, { metadata: { name: path.split('/').at(-1) }, webhooks: webhooks(policy, 1) });
        await expect.poll(async () => (await probe('both-probe')).ms, SEEN).toBeGreaterThan(1800);
        for (const [path, policy] of both)
          await cluster().request('PATCH', path, { webhooks: webhooks(policy, 30) });
        await sleep(3000);
        const [failed, other] = await site.release([
          pack('a-both', configMap('both-a', 'x')),
          pack('b-beside', configMap('beside-both', 'x')),
        ]);
        expect(failed).toMatchObject({
          outcome: 'failed',
          code: expect.stringMatching(/^(WEBHOOK_UNREACHABLE|API_FAILED)$/) as string,
        });
        expect(other).toMatchObject({ assignment: 'b-beside', outcome: 'created' });
        for (const [path] of both) await cluster().request('DELETE', path);
      },
      300_000,
    );

    it.concurrent('in the names of a definition fails its package with the words of the server, and leaves the other definition alone', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      await post(DEFINITIONS, definition({ plural: 'vises', kind: 'Vise', shortNames: ['vs'] }));
      const clamps = (names: Partial<Names>, text: string) =>
        pack(
          'clamps',
          `${JSON.stringify(definition({ plural: 'clamps', kind: 'Clamp', ...names }))}\n---\n${custom(names.kind ?? 'Clamp', text)}${configMap('clamp', text)}`,
        );
      const [failed] = await site.release([clamps({ kind: 'Vise' }, 'a')]);
      expect(failed).toMatchObject({
        outcome: 'failed',
        code: 'APPLY_FAILED',
        message: expect.stringMatching(/clamps\.faults\.example.*"Vise(List)?" is already in use/) as string,
        rolledBack: true,
      });
      expect(await statusOf(`${DEFINITIONS}/clamps.faults.example`)).toBe(404);
      expect(await statusOf(`${MAPS}/clamp`)).toBe(404);
      expect(readOwned(site.agent.state, 'clamps')).toEqual([]);
      // Only other content can help: nothing is tried again, and nothing is reported again.
      const told = site.events().length;
      expect(await again(site)).toMatchObject([{ outcome: 'failed', code: 'APPLY_FAILED' }]);
      expect(site.events()).toHaveLength(told);

      // A name that a working definition wants as well: it is put back, and its objects are served all the time.
      expect(await site.release([clamps({}, 'a')])).toMatchObject([{ outcome: 'created' }]);
      const [renamed] = await site.release([clamps({ shortNames: ['vs'] }, 'b')]);
      expect(renamed).toMatchObject({
        code: expect.stringMatching(/^(APPLY|CHECK)_FAILED$/) as string,
        message: expect.stringMatching(/"vs" is already in use/) as string,
        rolledBack: true,
      });
      const one = await cluster().request('GET', '/apis/faults.example/v1/namespaces/default/clamps/one');
      expect(one.body).toMatchObject({ text: 'a' });
      expect(await dataOf('clamp')).toEqual({ text: 'a' });
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
      expect(await site.release([clamps({}, 'c')])).toMatchObject([{ outcome: 'configured' }]);
      expect(await statusOf(`${DEFINITIONS}/vises.faults.example`)).toBe(200);
    });

    it.concurrent('of an object that the server takes and etcd does not is rolled back, named, and not tried again', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const plates = (text: string) =>
        pack(
          'plates',
          `${JSON.stringify(definition({ plural: 'plates', kind: 'Plate' }))}\n---\n${custom('Plate', text)}${configMap('plate', text.slice(0, 1))}`,
        );
      await site.release([plates('a')]);
      const [failed] = await site.release([plates('b'.repeat(2_000_000))]);
      expect(failed).toMatchObject({ outcome: 'failed', code: 'API_REFUSED', rolledBack: true });
      expect(failed?.message).toMatch(/Plate default\/one.*too large/);
      expect(await dataOf('plate')).toEqual({ text: 'a' });
      const told = site.events().length;
      expect(await again(site)).toMatchObject([{ outcome: 'failed', code: 'API_REFUSED' }]);
      expect(site.events()).toHaveLength(told);
      expect(await site.release([plates('c')])).toMatchObject([{ outcome: 'configured' }]);
    });

    it.concurrent('of a right that is taken away between two objects of a package is named, and the package ends when it is back', async ({
      expect,
    }) => {
      const kubeconfig = await account('demoted');
      const own = await open(kubeconfig);
      const revoke = async (): Promise<void> => {
        await cluster().request('DELETE', `${BINDINGS}/demoted`);
        await expect.poll(() => mayPatch(own), SEEN).toBe(false);
      };
      const grant = async (): Promise<void> => {
        await bindAdmin('demoted');
        await expect.poll(() => mayPatch(own), SEEN).toBe(true);
      };
      await expect.poll(() => mayPatch(own), SEEN).toBe(true);
      const wanted = (text: string) =>
        pack(
          'demoted',
          `${configMap('demoted-first', text)}${configMap('demoted-second', text, '{fleet-ferry/wave: "1"}')}`,
        );
      await using site = await createSite(targetOver(open(kubeconfig)));
      await site.release([wanted('a')]);
      const through = before(own, 'demoted-second', revoke);
      Object.assign(site.agent, { targets: [targetOver(Promise.resolve(through))] });
      const [failed] = await site.release([wanted('b')]);
      expect(failed).toMatchObject({ outcome: 'failed', code: 'API_DENIED' });
      const said = JSON.stringify(site.events());
      expect(said).toMatch(/the agent may not apply ConfigMap default\/demoted-second/);
      expect(said).toContain('system:serviceaccount:default:demoted');
      expect(said).toMatch(/cannot patch resource .{0,4}configmaps/);
      expect(said).toContain('A cluster administrator gives its account a role');
      expect(await dataOf('demoted-second')).toEqual({ text: 'a' });
      await observe(site.agent);
      const told = site.events().length;
      for (let looks = 0; looks < 3; looks++) {
        await again(site);
        await observe(site.agent);
      }
      // The check of all rights names more of them, once.
      expect(site.events().length - told).toBeLessThanOrEqual(2);
      await grant();
      await again(site);
      makeAllDue(site.agent.state, site.agent.edge.now());
      await observe(site.agent);
      expect(findPackage(site.agent.state, 'demoted')).toMatchObject({ status: 'healthy' });
      for (const name of ['demoted-first', 'demoted-second'])
        expect(await dataOf(name)).toEqual({ text: 'b' });
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
      expect(outcomesOf(site, 'demoted').filter((one) => one.endsWith('configured'))).toHaveLength(1);
      await own.close();
    });

    it.concurrent('of a server that answers 429 to the agent alone delays a package, and leaves it open when it lasts', async ({
      expect,
    }) => {
      const kubeconfig = await account('throttled');
      const own = await open(kubeconfig, PATIENT);
      const quick = await open(kubeconfig);
      // The level has room for one request at a time, which one takes that waits for a webhook.
      await post(HOOKS, hook('jam', 'Fail', 30));
      let jam = new AbortController();
      const takeRoom = (): void => {
        jam.abort();
        jam = new AbortController();
        const one = {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'jam-one', namespace: 'default' },
        };
        own.apply(one, { force: true }, jam.signal).catch(() => {});
      };
      const storm = async (): Promise<void> => {
        await post(`${FLOWS}/flowschemas`, {
          metadata: { name: 'throttled' },
          spec: {
            matchingPrecedence: 50,
            priorityLevelConfiguration: { name: 'throttled' },
            rules: [
              {
                subjects: [
                  { kind: 'ServiceAccount', serviceAccount: { namespace: 'default', name: 'throttled' } },
                ],
                resourceRules: [
                  { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true },
                ],
              },
            ],
          },
        });
        await expect
          .poll(
            async () => {
              takeRoom();
              await sleep(300);
              return mayPatch(quick);
            },
            { ...SEEN, interval: 300 },
          )
          .toBe(false);
      };
      const calm = async (): Promise<void> => {
        await cluster().request('DELETE', `${FLOWS}/flowschemas/throttled`);
        jam.abort();
      };
      await post(`${FLOWS}/prioritylevelconfigurations`, {
        metadata: { name: 'throttled' },
        spec: {
          type: 'Limited',
          limited: {
            nominalConcurrencyShares: 0,
            lendablePercent: 0,
            borrowingLimitPercent: 0,
            limitResponse: { type: 'Reject' },
          },
        },
      });
      await expect.poll(() => mayPatch(quick), SEEN).toBe(true);
      let ends: Promise<void> | undefined;
      const short = before(own, 'storm-20', async () => {
        await storm();
        ends = sleep(2000).then(calm);
      });
      await using site = await createSite(targetOver(Promise.resolve(short)));
      expect(await site.release([pack('storm', maps('storm', 40))])).toMatchObject([{ outcome: 'created' }]);
      await ends;
      expect(outcomesOf(site, 'storm')).toEqual(['package created']);

      await expect.poll(() => mayPatch(quick), SEEN).toBe(true);
      const long = before(quick, 'tempest-20', storm);
      await using other = await createSite(targetOver(Promise.resolve(long)));
      await expect(other.release([pack('tempest', maps('tempest', 40))])).rejects.toMatchObject({
        code: 'API_UNREACHABLE',
        message: expect.stringContaining('it answers 429') as string,
      });
      expect(openOperation(other.agent.state)).toMatchObject({ assignment: 'tempest', phase: 'apply' });
      await calm();
      await expect.poll(() => mayPatch(quick), SEEN).toBe(true);
      await lookAround(other.agent);
      expect(findPackage(other.agent.state, 'tempest')).toMatchObject({ status: 'healthy' });
      expect(outcomesOf(other, 'tempest')).toEqual(['package created']);
      await own.close();
      await quick.close();
    });

    // A silent server costs each look the ten seconds of a connection.
    it.concurrent.for(LONG ? (['down', 'silent'] as const) : (['down'] as const))(
      'of an API server that is %s for an hour costs a look at most every five minutes, and all is right within ten minutes of its return',
      { timeout: LONG ? 600_000 : 120_000 },
      async (state, { expect }) => {
        await using line = await startLineTo(cluster());
        const clock = restingClock(NOW);
        const lines: string[] = [];
        const say = (level: string) => (_: object, message: string) => void lines.push(`${level} ${message}`);
        const log = { info: say('info'), warn: say('warn'), error: say('error') };
        const name = `hour-${state}`;
        const stopped = new AbortController();
        const one = openKubernetesApi(await openClusterAccess({ kubeconfig: line.kubeconfig, context: '' }), {
          patienceMs: 300,
          requestMs: 1000,
        });
        await using site = await createSite(
          targetOver(Promise.resolve(one)),
          {},
          { edge: { ...testEdge(), now: clock.now }, signal: stopped.signal },
        );
        const runs = pack(`${name}-runs`, `${configMap(`${name}-a`, 'x')}${configMap(`${name}-b`, 'x')}`);
        await site.release([runs]);
        // One package is in the middle, the next one not begun.
        const isCut = { done: false };
        Object.assign(site.agent, {
          onJournal: (point: string) => {
            if (isCut.done || !point.includes('step 10 done')) return;
            isCut.done = true;
            line.set(state);
          },
        });
        await site.want([
          runs,
          pack(`${name}-mid`, maps(`${name}-mid`, 60)),
          pack(`${name}-next`, configMap(`${name}-next`, 'x')),
        ]);
        await cluster().request('PATCH', `${MAPS}/${name}-a`, { data: { text: 'by hand' } });
        await cluster().request('DELETE', `${MAPS}/${name}-b`);
        const config = readConfig(undefined, { state: site.agent.state.directory, interval: '5m' });
        await using made = createDaemon(site.agent, config, log, {});
        let looks = 0;
        const { watch: _, hear: __, ...rest } = made;
        const daemon = {
          ...rest,
          sleep: clock.sleep,
          look: (how: Parameters<typeof made.look>[0]) => {
            looks += 1;
            return made.look(how);
          },
        };
        const ended = runDaemon(daemon);
        await clock.pass(3_600_000);
        expect(looks).toBeGreaterThan(5);
        expect(looks).toBeLessThanOrEqual(20);
        expect(lines.filter((text) => text === 'error look failed')).toHaveLength(1);
        expect(openOperation(site.agent.state)).toMatchObject({ assignment: `${name}-mid`, phase: 'apply' });
        const told = site.events().length;
        line.set('whole');
        await clock.pass(600_000);
        expect(site.events().length).toBeGreaterThan(told);
        expect(lines.filter((text) => text === 'info looking works again')).toHaveLength(1);
        stopped.abort();
        await ended;
        Object.assign(site.agent, { signal: new AbortController().signal });
        expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }, { drift: [] }, { drift: [] }]);
        expect(await dataOf(`${name}-a`)).toEqual({ text: 'x' });
        expect(outcomesOf(site, `${name}-mid`)).toEqual(['package created']);
        expect(outcomesOf(site, `${name}-next`)).toEqual(['package created']);
        expect(outcomesOf(site, `${name}-runs`)).toEqual([
          'package created',
          'drift',
          'corrected configured',
        ]);
        await one.close();
      },
    );

    it.concurrent('of a clock that jumps forth and back by years repeats no event, and delays no try', async ({
      expect,
    }) => {
      let now = NOW;
      await using site = await createSite(target(), {}, { edge: { ...testEdge(), now: () => now } });
      const packages = [pack('a-calm', configMap('calm', 'x')), pack('b-lacks', custom('Jump', 'x'))];
      expect(await site.release(packages)).toMatchObject([
        { outcome: 'created' },
        { outcome: 'failed', code: 'CLUSTER_LACKS' },
      ]);
      const versionOf = async () =>
        ((await cluster().request('GET', `${MAPS}/calm`)).body as { metadata: { resourceVersion: string } })
          .metadata.resourceVersion;
      const version = await versionOf();
      const told = site.events().length;
      for (const year of [2031, 2019, 2026]) {
        now = new Date(NOW);
        now.setUTCFullYear(year);
        await lookAround(site.agent);
      }
      expect(site.events()).toHaveLength(told);
      expect(await versionOf()).toBe(version);
      await post(DEFINITIONS, definition({ plural: 'jumps', kind: 'Jump' }));
      // The pause of the last try ends in the future of a clock that was set back.
      now = new Date(now.getTime() - 86_400_000);
      await expect
        .poll(async () => {
          await lookAround(site.agent);
          now = new Date(now.getTime() + 600_000);
          return findPackage(site.agent.state, 'b-lacks')?.status;
        }, SEEN)
        .toBe('healthy');
      expect(outcomesOf(site, 'b-lacks')).toEqual(['package failed CLUSTER_LACKS', 'package created']);
    });

    const title =
      'of a full disk at the agent in the middle of a package is named, and the package ends when there is room';
    (rootAccess() === 'root' ? it.concurrent : it.skip)(title, async ({ expect }) => {
      await using place = await temporaryDirectory('full-disk');
      await runOrFail(['mount', '-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', place.path]);
      await using _mounted = {
        [Symbol.asyncDispose]: async () => void (await runOrFail(['umount', '--lazy', place.path])),
      };
      const filler = join(place.path, 'filler');
      const fill = (): void => {
        try {
          for (let size = 1 << 20; ; size *= 2) writeFileSync(filler, Buffer.alloc(size), { flag: 'a' });
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      };
      let isFull = false;
      await using site = openSite(
        place.path,
        target(),
        {},
        {
          freeBytes: freeBytesOf,
          onJournal: (point) => {
            if (isFull || !point.includes('step 20 done')) return;
            isFull = true;
            fill();
          },
        },
      );
      const codesOf = (work: Promise<readonly { readonly code?: string | undefined }[]>) =>
        work.then(
          (results) => results.map(({ code }) => code),
          (error: unknown) => [toFleetError(error).code],
        );
      // What room is left for the database decides whether the failure of the package is recorded.
      expect(await codesOf(site.release([pack('crowded', maps('crowded', 200))]))).toEqual(['DISK_FULL']);
      const look = async () => (await lookAround(site.agent)).packages;
      expect(await codesOf(look())).toEqual(['DISK_FULL']);
      await rm(filler);
      makeAllDue(site.agent.state, site.agent.edge.now());
      await look();
      expect(findPackage(site.agent.state, 'crowded')).toMatchObject({ status: 'healthy' });
      expect(readOwned(site.agent.state, 'crowded')).toHaveLength(200);
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
      expect(outcomesOf(site, 'crowded').filter((told) => told === 'package created')).toHaveLength(1);
      expect(outcomesOf(site, 'crowded').filter((told) => told.includes('failed')).length).toBeLessThan(2);
    });
  });
};
