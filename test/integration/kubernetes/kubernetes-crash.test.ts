import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lookAtDrift } from '../../../agent/observe/observe.ts';
import { readOwned } from '../../../agent/store/applied/inventory.ts';
import { acquireLock } from '../../../agent/store/lock.ts';
import { readPackages } from '../../../agent/store/applied/packages.ts';
import type { KubernetesSite } from '../../agent/apply/kubernetes/kubernetes-site.ts';
import { NOW } from '../../agent/world.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { type Boundary, boundariesIn, oneOfEachSort, sortOf } from '../../agent/boundaries.ts';
import { LONG } from '../../harness/run/long.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import {
  look,
  openLocked,
  REFUSING,
  refusedIn,
  SCENARIOS,
  type Scenario,
} from './kubernetes-crash/scenarios.ts';
import { testProgramFile } from '../../harness/run/program-file.ts';

const PROGRAM = testProgramFile('test/integration/kubernetes/kubernetes-crash/look-apart.ts');
/** FLEET_CRASHES=all: every boundary; else one of each sort that no scenario before has. */
const ALL = LONG || process.env['FLEET_CRASHES'] === 'all';
const TIMEOUT_MS = ALL ? 1_800_000 : 240_000;
/** Longer, and a lease was waited for. */
const LEASE_MS = 15_000;
const run = promisify(execFile);

const tried = new Set<string>();
const notYetTried = (boundaries: readonly Boundary[]): readonly Boundary[] => {
  const fresh = oneOfEachSort(boundaries).filter((one) => !tried.has(sortOf(one)));
  for (const one of fresh) tried.add(sortOf(one));
  return fresh;
};

type Live = {
  readonly metadata: { readonly name: string; readonly annotations?: object };
  readonly data?: object;
};

describeWith(
  ['kube', 'kwok'],
  'an agent that is killed with SIGKILL while it works on a cluster',
  ({ kube, kwok }) => {
    let cluster: OwnCluster;
    let folder: TemporaryDirectory;

    beforeAll(async () => {
      cluster = await startOwnCluster({ kube, kwok, nodes: 1 });
      folder = await temporaryDirectory('kubernetes-crash');
      for (const [path, object] of REFUSING) await cluster.request('POST', path, object);
      const path = '/api/v1/namespaces/default/services';
      const refused = async (): Promise<boolean> => {
        const { status } = await cluster.request('POST', path, refusedIn('default'));
        if (status < 300) await cluster.request('DELETE', `${path}/refused-in-earnest`);
        return status >= 400;
      };
      // A policy is in force a moment after it is there; a test that never sees it fails at its scenario.
      for (let tries = 100; tries > 0 && !(await refused()); tries--) await sleep(200);
    });
    afterAll(async () => {
      await folder?.[Symbol.asyncDispose]();
      await cluster?.[Symbol.asyncDispose]();
    });

    const open = (ns: string): Promise<KubernetesSite> =>
      openLocked(join(folder.path, ns), cluster.kubeconfig, ns);
    const listOf = async (path: string): Promise<readonly Live[]> => {
      const { body } = await cluster.request('GET', path);
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
      await cluster.request('POST', maps, { apiVersion: 'v1', kind: 'ConfigMap', ...theirs });
      if (!spoils) return;
      await cluster.request('DELETE', `${maps}/gone`);
      await cluster.request('PATCH', `${maps}/kept`, { data: { text: 'spoilt' } });
      await cluster.request('DELETE', `${maps}/steady`);
    };

    /** Looks in a process of its own; with n, killed at the n-th boundary. Says by which signal, or what it printed. */
    const lookApart = async (ns: string, n: number): Promise<{ signal: string | null; printed: string }> => {
      const argv = [PROGRAM, join(folder.path, ns), cluster.kubeconfig, ns, String(n)];
      // Compiling the same modules in each process would be most of the work.
      const env = { ...process.env, NODE_COMPILE_CACHE: join(folder.path, 'compiled') };
      try {
        const { stdout } = await run(process.execPath, argv, { env });
        return { signal: null, printed: stdout };
      } catch (error) {
        const { signal, stderr } = error as { signal: string | null; stderr: string };
        return { signal, printed: stderr };
      }
    };

    /** All that shall be the same wherever it died: what is on the cluster, in the inventory, and told. */
    const endState = async (ns: string): Promise<unknown> => {
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
        events: site.events().map(({ prev: _, monotonicMs: __, ...event }) => event),
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

    it.each(SCENARIOS)(
      'ends as if nothing had been, wherever it died: $name',
      async (scenario) => {
        const index = SCENARIOS.indexOf(scenario);
        const calm = `calm-${index}-x`;
        await prepare(scenario, calm);
        const { printed, signal } = await lookApart(calm, 0);
        expect(signal, printed).toBeNull();
        const boundaries = boundariesIn(printed);
        expect(boundaries.map(({ point }) => point)).toEqual(expect.arrayContaining([...scenario.passes]));
        const undisturbed = await endState(calm);

        const waiting = [...(ALL ? boundaries : notYetTried(boundaries))];
        const worker = async (): Promise<void> => {
          for (let next = waiting.shift(); next; next = waiting.shift()) {
            const { point, n } = next;
            const ns = `crash-${index}-${n}-x`;
            await prepare(scenario, ns);
            const died = await lookApart(ns, n);
            expect(died.signal, `${point}: ${died.printed}`).toBe('SIGKILL');
            const begin = Date.now();
            {
              await using site = await open(ns);
              await look(site);
            }
            expect(Date.now() - begin, `the lease, after ${point}`).toBeLessThan(LEASE_MS);
            expect(await endState(ns), `after ${point}`).toEqual(undisturbed);
          }
        };
        await Promise.all([worker(), worker()]);
      },
      TIMEOUT_MS,
    );
  },
);
