import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { readPackages } from '../../agent/store/applied/packages.ts';
import { openState } from '../../agent/store/state.ts';
import { bundleAgent } from '../harness/run/bundle-agent.ts';
import { describeWith } from '../harness/run/describe-with.ts';
import { runCommand } from '../harness/run/run-command.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { startOwnCluster } from '../harness/kubernetes/own-cluster.ts';
import { enrolOnCluster } from './reliability/agent-on-cluster.ts';
import { below, seeded } from './reliability/field.ts';
import { expectWholeHistory } from './reliability/whole-history.ts';

const MINUTES = Number(process.env['FLEET_SOAK_MINUTES'] ?? 30);
const SEED = Number(process.env['FLEET_SOAK_SEED'] ?? 1);
const PACKAGES = 4;
const MAPS = 12;

type Maps = ReadonlyMap<string, Readonly<Record<string, string>>>;

/** Some of the ConfigMaps of each package, in two waves, and a Deployment that mounts the first of them. */
const makeRelease = (version: number, random: (below: number) => number) => {
  const wanted = new Map<string, Maps>();
  const packages: Record<string, string> = {};
  for (let index = 0; index < PACKAGES; index++) {
    const ns = `soak-${index}`;
    const maps = new Map<string, Record<string, string>>([
      ['always', { text: `v${version}`, fought: 'ours' }],
    ]);
    for (let number = 0; number < MAPS; number++)
      if (random(3) > 0) maps.set(`map-${number}`, { text: `v${random(4)}`, of: ns });
    wanted.set(ns, maps);
    const objects: object[] = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: ns } },
      ...[...maps].map(([name, data]) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name,
          namespace: ns,
          ...(name.endsWith('1') && { annotations: { 'fleet-ferry/wave': '1' } }),
        },
        data,
      })),
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web', namespace: ns },
        spec: {
          replicas: 1,
          selector: { matchLabels: { app: 'web' } },
          template: {
            metadata: { labels: { app: 'web' }, annotations: { version: String(version % 3) } },
            spec: {
              containers: [{ name: 'web', image: 'web' }],
              volumes: [{ name: 'settings', configMap: { name: 'always' } }],
            },
          },
        },
      },
    ];
    packages[ns] = objects.map((object) => JSON.stringify(object)).join('\n---\n');
  }
  return { wanted, packages };
};

describeWith(['kube', 'kwok'], 'an agent on a cluster in trouble for a long time', ({ kube, kwok }) => {
  it(
    `has the last release in the end, no object more, and each event once (seed ${SEED}, ${MINUTES} minutes)`,
    async () => {
      await using folder = await temporaryDirectory('soak');
      const program = await bundleAgent(join(folder.path, 'bundle'));
      await using cluster = await startOwnCluster({ kube, kwok, nodes: 1 });
      await using agent = await enrolOnCluster({
        program,
        kubeconfig: cluster.kubeconfig,
        home: join(folder.path, 'agent'),
      });
      const random = below(seeded(SEED));
      const until = performance.now() + MINUTES * 60_000;
      const counts = { kills: 0, restarts: 0, releases: 0, edits: 0, fights: 0, ends: 0 };
      const ask = (method: string, path: string, body?: object): Promise<unknown> =>
        cluster.request(method, path, body).catch(() => undefined);
      const start = (...words: string[]): ChildProcess =>
        spawn(process.execPath, [program, ...words], { env: agent.env, stdio: ['ignore', 'ignore', 'pipe'] });
      const endOf = async (child: ChildProcess): Promise<number | null> => {
        let errors = '';
        child.stderr?.on('data', (text: Buffer) => {
          errors += text.toString();
        });
        const [code] = (await once(child, 'exit')) as [number | null];
        expect(errors, 'an error of the program itself').not.toMatch(/INTERNAL|TypeError|STORE_CORRUPT/);
        return code;
      };
      const textOf = async (...words: string[]): Promise<string> =>
        (await runCommand([process.execPath, program, ...words], { env: agent.env })).stdout;
      let { wanted, packages } = makeRelease(0, random);
      let medium = await agent.release(packages);

      /** Sets one field of each package again, as a controller that was never told to stop. */
      const fight = async (): Promise<void> => {
        while (performance.now() < until) {
          for (let index = 0; index < PACKAGES; index++) {
            counts.fights += 1;
            await ask(
              'PATCH',
              `/api/v1/namespaces/soak-${index}/configmaps/always?fieldManager=other-controller`,
              { data: { fought: 'theirs' } },
            );
          }
          await sleep(3000);
        }
      };
      const disturb = async (): Promise<void> => {
        while (performance.now() < until) {
          await sleep(500 + random(4000));
          const ns = `soak-${random(PACKAGES)}`;
          const maps = `/api/v1/namespaces/${ns}/configmaps/map-${random(MAPS)}`;
          const what = random(20);
          if (what === 0) {
            counts.restarts += 1;
            await cluster.killApiServer();
            await sleep(random(8000));
            await cluster.startApiServer();
          } else {
            counts.edits += 1;
            if (what < 6) await ask('DELETE', maps);
            else if (what < 8) await ask('DELETE', `/apis/apps/v1/namespaces/${ns}/deployments/web`);
            else await ask('PATCH', `${maps}?fieldManager=by-hand`, { data: { text: `by hand ${what}` } });
          }
        }
      };
      const work = async (): Promise<void> => {
        while (performance.now() < until) {
          const isRelease = random(3) === 0;
          if (isRelease) {
            counts.releases += 1;
            ({ wanted, packages } = makeRelease(counts.releases, random));
            medium = await agent.release(packages);
          }
          const child = isRelease || random(4) === 0 ? start('import', medium) : start('run', '--once');
          const ended = endOf(child);
          if (random(2) === 0) {
            const killed = new AbortController();
            const timer = sleep(random(6000), undefined, { signal: killed.signal }).then(
              () => child.kill('SIGKILL') && (counts.kills += 1),
              () => {},
            );
            await ended;
            killed.abort();
            await timer;
          } else await ended;
          counts.ends += 1;
        }
      };
      await Promise.all([fight(), disturb(), work()]);

      // The last release, until a look has nothing to do.
      await endOf(start('import', medium));
      await expect
        .poll(
          async () => ((await endOf(start('run', '--once'))) === 0 ? 'in sync' : await textOf('status')),
          {
            timeout: 300_000,
            interval: 5000,
          },
        )
        .toBe('in sync');
      await expect
        .poll(
          async () => {
            const problems: string[] = [];
            for (const [ns, maps] of wanted) {
              const { body } = await cluster.request('GET', `/api/v1/namespaces/${ns}/configmaps`);
              const { items } = body as {
                items: { metadata: { name: string }; data?: Record<string, string> }[];
              };
              const live = new Map(
                items
                  .filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt')
                  .map(({ metadata, data = {} }) => [metadata.name, data]),
              );
              for (const name of live.keys()) if (!maps.has(name)) problems.push(`${ns}/${name} is left`);
              for (const [name, data] of maps)
                if (!isDeepStrictEqual(live.get(name), data))
                  problems.push(`${ns}/${name} is ${JSON.stringify(live.get(name))}`);
              const web = await cluster.request('GET', `/apis/apps/v1/namespaces/${ns}/deployments/web`);
              if (web.status !== 200) problems.push(`${ns}/web is gone`);
            }
            if (problems.length > 0) await endOf(start('run', '--once'));
            return problems;
          },
          { timeout: 900_000, interval: 15_000 },
        )
        .toEqual([]);

      using state = openState(agent.state);
      expect(readPackages(state).map(({ assignment, status }) => `${assignment} ${status}`)).toEqual(
        [...wanted.keys()].map((ns) => `${ns} healthy`),
      );
      const events = expectWholeHistory(state);
      process.stdout.write(`soak: ${JSON.stringify({ ...counts, events: events.length })}\n`);
    },
    (MINUTES + 30) * 60_000,
  );
});
