import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareBytes } from '#bundles/digest';
import type { Event } from '#bundles/formats/events/event';
import type { KubernetesApi } from '../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { lookAtDrift } from '../../../../agent/observe/observe.ts';
import { readOwned } from '../../../../agent/store/applied/inventory.ts';
import { acquireLock } from '../../../../agent/store/lock.ts';
import { readPackages } from '../../../../agent/store/applied/packages.ts';
import { FLEET, type KubernetesSite } from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import { NOW } from '../../../agent/world.ts';
import type { OwnCluster } from '../../../harness/kubernetes/cluster.ts';
import { type Boundary, oneOfEachSort, sortOf } from '../../../agent/boundaries.ts';
import { LONG } from '../../../harness/run/long.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import {
  connect,
  look,
  lookUntil,
  openLocked,
  REFUSING,
  refusedIn,
  SCENARIOS,
  type Scenario,
} from './killed-agent/scenarios.ts';
import { testProgramFile } from '../../../harness/run/program-file.ts';

const PROGRAM = testProgramFile('test/integration/kubernetes/kubernetes-target/killed-agent/look-apart.ts');
const TIMEOUT_MS = LONG ? 1_800_000 : 240_000;
/** A lease that is waited for takes two minutes, a look a second or two: longer, and a lease was waited for. */
const [LEASE_S, LOOK_MS] = [120, 60_000];
const run = promisify(execFile);

type Live = {
  readonly metadata: { readonly name: string; readonly annotations?: object };
  readonly data?: object;
};

/** An event without its place in the chain. */
const withoutPlace = ({
  prev: _,
  monotonicMs: __,
  seq: ___,
  ...event
}: Event): Omit<Event, 'prev' | 'monotonicMs' | 'seq'> => event;

const byAssignment = (a: Pick<Event, 'assignment'>, b: Pick<Event, 'assignment'>): number =>
  compareBytes(a.assignment ?? '', b.assignment ?? '');

/**
 * Tests of an agent that ends while it works. In npm test it is killed once in each scenario, and stops in the test's own process at one
 * boundary of each sort that no scenario before has; in the long run it is killed at every boundary.
 */
export const killedOnCluster = (cluster: () => OwnCluster): void => {
  describe('an agent that is killed with SIGKILL while it works on a cluster', () => {
    let folder: TemporaryDirectory;
    let api: KubernetesApi;
    const tried = new Set<string>();
    const notYetTried = (boundaries: readonly Boundary[]): readonly Boundary[] => {
      const fresh = oneOfEachSort(boundaries).filter((one) => !tried.has(sortOf(one)));
      for (const one of fresh) tried.add(sortOf(one));
      return fresh;
    };

    beforeAll(async () => {
      folder = await temporaryDirectory('killed-agent');
      api = await connect(cluster().kubeconfig);
      for (const [path, object] of REFUSING) await cluster().request('POST', path, object);
      const path = '/api/v1/namespaces/default/services';
      const refused = async (): Promise<boolean> => {
        const { status } = await cluster().request('POST', path, refusedIn('default'));
        if (status < 300) await cluster().request('DELETE', `${path}/refused-in-earnest`);
        return status >= 400;
      };
      // A policy is enforced a moment after it was created; a test that never sees it fails at its scenario.
      for (let tries = 100; tries > 0 && !(await refused()); tries--) await sleep(200);
    });
    afterAll(async () => {
      await api?.close();
      await folder?.[Symbol.asyncDispose]();
    });

    const open = (ns: string): Promise<KubernetesSite> =>
      openLocked({ folder: join(folder.path, ns), api, ns });
    const listOf = async (path: string): Promise<readonly Live[]> => {
      const { body } = await cluster().request('GET', path);
      return (body as { readonly items: readonly Live[] }).items;
    };

    /** A site where `before` runs and `after` is wanted. */
    const prepare = async ({ before, after, spoils }: Scenario, ns: string): Promise<void> => {
      (await acquireLock(join(folder.path, ns, 'state'), 'enroll', NOW))[Symbol.dispose]();
      await using site = await open(ns);
      await site.release(before(ns));
      await site.want(after(ns));
      const maps = `/api/v1/namespaces/${ns}/configmaps`;
      const theirs = { metadata: { name: 'theirs' }, data: { text: 'theirs', only: 'theirs' } };
      await cluster().request('POST', maps, { apiVersion: 'v1', kind: 'ConfigMap', ...theirs });
      if (!spoils) return;
      await cluster().request('DELETE', `${maps}/gone`);
      await cluster().request('PATCH', `${maps}/kept`, { data: { text: 'spoilt' } });
      await cluster().request('DELETE', `${maps}/steady`);
    };

    /** Looks in a process of its own, which is killed at the n-th boundary. */
    const lookKilled = async (ns: string, n: number): Promise<void> => {
      const argv = [PROGRAM, join(folder.path, ns), cluster().kubeconfig, ns, String(n)];
      // Compiling the same modules in each process would be most of the work.
      const env = { ...process.env, NODE_COMPILE_CACHE: join(folder.path, 'compiled') };
      const died = await run(process.execPath, argv, { env }).catch(
        (error: { signal: string | null; stderr: string }) => error,
      );
      expect('signal' in died && died.signal, died.stderr).toBe('SIGKILL');
    };
    const lookHere = (ns: string, n: number): Promise<readonly string[]> =>
      lookUntil(n, { folder: join(folder.path, ns), api, ns });

    /** All that shall be the same wherever it died: what is on the cluster, in the inventory, and told. */
    const endState = async (ns: string, { isSideBySide }: Scenario): Promise<unknown> => {
      await using site = await open(ns);
      const { state } = site.agent;
      const packages = readPackages(state);
      const maps = await listOf(`/api/v1/namespaces/${ns}/configmaps`);
      const end = {
        maps: maps
          .filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt')
          .map(({ metadata: { name, annotations }, data }) => ({ name, annotations, data })),
        deployments: (await listOf(`/apis/apps/v1/namespaces/${ns}/deployments`)).map(
          ({ metadata }) => metadata.name,
        ),
        packages,
        owned: packages.map(({ assignment }) =>
          readOwned(state, assignment).map(({ key, state: { uid, hash, wanted, of, ...rest } }) => ({
            key,
            known: [uid, hash, wanted, of].map((value) => typeof value),
            rest,
          })),
        ),
        drift: await lookAtDrift(site.agent),
        events: isSideBySide
          ? site.events().map(withoutPlace).toSorted(byAssignment)
          : site.events().map(({ prev: _, monotonicMs: __, ...event }) => event),
      };
      // Names of the namespace are in every file, and so in every digest.
      const seen: string[] = [];
      const text = JSON.stringify(end)
        .replaceAll(ns, 'NS')
        .replace(/sha256:[0-9a-f]{64}/g, (digest) => {
          if (!seen.includes(digest)) seen.push(digest);
          return `digest ${seen.indexOf(digest)}`;
        });
      return JSON.parse(text);
    };

    /** Removes every package: no object stays that nobody owns, and what was taken over is as it was before. */
    const expectNothingLeft = async (ns: string, point: string): Promise<void> => {
      await using site = await open(ns);
      await site.release([]);
      const maps = await listOf(`/api/v1/namespaces/${ns}/configmaps`);
      const left = maps.filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt');
      expect(left, `after ${point}`).toMatchObject([{ data: { text: 'theirs', only: 'theirs' } }]);
      expect(left[0]?.metadata.annotations, `after ${point}`).toBeUndefined();
    };

    it.each(SCENARIOS)(
      'ends as without a kill, killed at any point: $name (I1)',
      async (scenario) => {
        const index = SCENARIOS.indexOf(scenario);
        const calm = `calm-${index}-x`;
        await prepare(scenario, calm);
        const points = await lookHere(calm, 0);
        const boundaries = points.map((point, at) => ({ point, n: at + 1 }));
        expect(points).toEqual(expect.arrayContaining([...scenario.passes]));
        const undisturbed = await endState(calm, scenario);

        const waiting = [...(LONG ? boundaries : notYetTried(boundaries)).entries()];
        const worker = async (): Promise<void> => {
          for (let next = waiting.shift(); next; next = waiting.shift()) {
            const [at, { point, n }] = next;
            const ns = `crash-${index}-${n}-x`;
            await prepare(scenario, ns);
            if (LONG || at === 0 || scenario.isSideBySide) await lookKilled(ns, n);
            else expect(await lookHere(ns, n)).toHaveLength(n);
            const lease = `/apis/coordination.k8s.io/v1/namespaces/${ns}-lease/leases/fleet-agent-${FLEET}`;
            await cluster().request('PATCH', lease, { spec: { leaseDurationSeconds: LEASE_S } });
            const begin = Date.now();
            {
              await using site = await open(ns);
              await look(site);
            }
            expect(Date.now() - begin, `the lease, after ${point}`).toBeLessThan(LOOK_MS);
            expect(await endState(ns, scenario), `after ${point}`).toEqual(undisturbed);
            // The agent lists all kinds before it deletes a namespace.
            if (at === 0) await expectNothingLeft(ns, point);
          }
        };
        await Promise.all([worker(), worker()]);
      },
      TIMEOUT_MS,
    );
  });
};
