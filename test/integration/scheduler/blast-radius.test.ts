import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acceptRequests } from '../../harness/fleets/accept-requests.ts';
import { verdict } from '../../bundles/verdict.ts';
import { makeTeams, plainTeam } from '../../harness/fleets/two-teams.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { runAgent } from '../../harness/run/run-agent.ts';
import { succeed } from '../../harness/run/run-command.ts';
import { runExporter } from '../../harness/run/run-exporter.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { temporaryDirectory } from '../../scheduler/file-tree.ts';
import { readAllSigned } from '../../scheduler/release/read-all-signed.ts';
import { buildDeb } from '../hosts/debs-host/test-deb.ts';
import { type Attack, attack, filesOf, type Kind, KINDS } from './blast-radius/hostile-team.ts';

/**
 * The blast radius of a team is its own assignments: whatever one of them writes, the next version of another is built, travels on a
 * medium, is applied on a host and on a cluster, and what the platform withdraws leaves both. Eight teams attack at a time.
 */
const TEAMS = Object.keys(KINDS).length;
/** Releases: 24 attacks, and 504 in the long run. */
const SHIPPED = LONG ? 63 : 3;

type WorldOptions = { readonly cluster: OwnCluster; readonly helm: string };

const startWorld = async ({ cluster, helm }: WorldOptions) => {
  const folder = await temporaryDirectory();
  const teams = await makeTeams(folder);
  const image = teams.images.get('registry.halden.example/telemetry:1.8.1') ?? '';
  const env = { ...process.env, PATH: [dirname(helm), process.env['PATH']].join(delimiter) };
  const build = () => teams.build({ env });
  const [medium, host] = [join(folder, 'medium'), join(folder, 'host')];
  for (const one of [medium, host]) await mkdir(one);
  await writeFile(
    join(folder, 'fleet-scheduler.yaml'),
    `platform: platform\nkeys: keys\nlayout: releases\ndb: hub.db\ncache: cache\n`,
  );
  // Two agents of one site: a host in a folder, on which no service runs, and a cluster. What never gets healthy is soon given up.
  const agents = {
    press: `root: ${host}\nservices: none\n`,
    rack: `targets: [kubernetes]\nkubeconfig: ${cluster.kubeconfig}\nhealthTimeout: 1s\n`,
  };
  for (const [name, config] of Object.entries(agents))
    await writeFile(join(folder, `${name}.yaml`), `state: ${folder}/${name}\npruneBudget: 100\n${config}`);
  const agent = (name: keyof typeof agents, ...words: readonly string[]) =>
    runAgent(folder, [...words, '--config', join(folder, `${name}.yaml`)]);
  const debs = new Map<string, Buffer>();
  /** One of the attackers. */
  const write = async (name: string, kind: Kind, hit?: Attack): Promise<void> => {
    const host = { users: KINDS[kind].users(name) };
    await teams.team(
      name,
      {
        ...filesOf(name, image, { kind, ...(hit && { attack: hit }) }),
        [`host/debs/${name}.deb`]: debs.get(name) ?? '',
      },
      {
        host: kind === 'quadlets' ? { ...host, paths: ['/etc/containers/systemd'] } : host,
        siteValues: ['*'],
      },
    );
  };
  await teams.team('payments', plainTeam('payments', 0));
  const kinds = Object.keys(KINDS) as Kind[];
  for (const [at, kind] of kinds.entries()) {
    const name = `h${at}`;
    debs.set(name, await buildDeb(folder, { name, version: '1.0', files: { [`/usr/share/${name}`]: '1' } }));
    await write(name, kind);
  }
  const { channels } = await build();
  expect(channels.flatMap(({ held }) => held.map(({ error }) => error.message))).toEqual([]);
  const root = createHash('sha256')
    .update(await readFile(join(folder, 'keys/1.root.json')))
    .digest('hex');
  const ask = ['enroll', medium, '--fleet', 'acme', '--site', 'plant', '--root-sha256', root];
  succeed(await agent('press', ...ask, '--name', 'press', '--channel', 'prod/host'));
  succeed(await agent('rack', ...ask, '--name', 'rack', '--channel', 'prod/cluster'));
  succeed(await runScheduler(folder, ['sites', 'enroll', medium, ...(await acceptRequests(medium))]));
  succeed(await runScheduler(folder, ['sites', 'set', 'plant', 'line=seven']));
  let version = 0;
  const onCluster = async (team: string): Promise<string> => {
    const { body } = await cluster.request('GET', '/api/v1/configmaps?fieldSelector=metadata.name%3Dversion');
    const { items } = body as {
      readonly items: readonly {
        readonly metadata: { readonly namespace: string };
        readonly data: { readonly version: string };
      }[];
    };
    return (
      items.find(({ metadata }) => metadata.namespace.endsWith(`${team}-cluster`))?.data.version ?? 'gone'
    );
  };
  const onHost = (team: string) => readFile(join(host, 'etc', team, 'version'), 'utf8').catch(() => 'gone');
  return {
    /** Ships the next version of a team, and every second time withdraws or brings a guest. */
    ship: async (attacks: readonly Attack[]): Promise<void> => {
      version += 1;
      await teams.team('payments', plainTeam('payments', version));
      if (version % 2 === 0) await teams.dismiss('guest');
      else await teams.team('guest', plainTeam('guest', version));
      for (const [at, one] of attacks.entries()) await write(`h${at}`, one.kind, one);
      const built = await build();
      expect(built.channels.map(({ clusterType, outcome }) => [clusterType, outcome])).toEqual([
        ['cluster', 'released'],
        ['host', 'released'],
      ]);
      const held = built.channels.flatMap((channel) => channel.held.map(({ assignment }) => assignment));
      expect(held.filter((name) => /^(?:payments|guest)-/.test(name))).toEqual([]);
      expect(await verdict(() => readAllSigned(teams.layout))).toBe('ACCEPT');
      expect(await readAllSigned(teams.layout)).toMatchObject({
        'payments-host': `${version}`,
        'payments-cluster': `${version}`,
      });
      succeed(
        await runExporter(folder, ['create', '--from', teams.layout, '--site', 'plant', '--to', medium]),
      );
      // Packages of the attackers may fail.
      const said = [await agent('press', 'import', medium), await agent('rack', 'import', medium)];
      const guest = version % 2 === 0 ? 'gone' : `${version}`;
      expect(
        [
          await onHost('payments'),
          await onHost('guest'),
          await onCluster('payments'),
          await onCluster('guest'),
        ],
        said.map(({ stdout, stderr }) => stdout + stderr).join('\n'),
      ).toEqual([`${version}`, guest, `${version}`, guest]);
    },
  };
};

describeWith(['kube', 'kwok', 'helm'], 'teams of a fleet', ({ kube, kwok, helm }) => {
  let cluster: OwnCluster;
  beforeAll(async () => {
    cluster = await startOwnCluster({ kube, kwok });
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  test('N62: a hostile value in any field of any team keeps no other team from shipping, or from leaving -> ACCEPT', async () => {
    let world = await startWorld({ cluster, helm });
    let isWhole = true;
    await fc.assert(
      fc.asyncProperty(fc.array(attack, { minLength: TEAMS, maxLength: TEAMS }), async (attacks) => {
        // A world in which something went wrong says nothing about the next attack.
        if (!isWhole) world = await startWorld({ cluster, helm });
        isWhole = false;
        await world.ship(attacks);
        isWhole = true;
      }),
      { numRuns: SHIPPED },
    );
  }, 3_600_000);
});
