import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { OCI_MANIFEST } from '#bundles/media-types';
import { readIdentity } from '../../../agent/store/identity.ts';
import { openState } from '../../../agent/store/state.ts';
import { createCertifiedFleet, startHubServer } from '../../agent/hub-server.ts';
import { type Blobs, closureEntry, putImage, putLayer } from '../../agent/images/image-fixture.ts';
import { onePackage } from '../../agent/world.ts';
import { copyBuiltAgent } from '../../harness/run/built-programs.ts';
import { startContainerd } from '../../harness/hosts/containerd.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { startCluster } from '../../harness/kubernetes/start-cluster.ts';
import { packKubernetesBundle } from '../../harness/fleets/kubernetes-bundle.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { type Outcome, runCommand, succeed } from '../../harness/run/run-command.ts';
import {
  createTestFleet,
  packTestBundle,
  type TestBundle,
  type TestFleet,
  writeTestMedium,
} from '../../harness/fleets/signed-medium.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

/** One agent of its own: a state directory, a stick, and the program with nothing around it that it could import. */
type Machine = AsyncDisposable & {
  readonly folder: string;
  readonly agent: (words: readonly string[], env?: NodeJS.ProcessEnv) => Promise<Outcome>;
  readonly enroll: () => Promise<Outcome>;
  readonly medium: (version: number, bundle: TestBundle) => Promise<string>;
};

describeWith(['kube', 'kwok', 'containerd', 'dockerRegistry'], 'the agent as one file', (paths) => {
  const stack = new AsyncDisposableStack();
  let program = '';
  let fleet: TestFleet;

  beforeAll(async () => {
    const folder = stack.use(await temporaryDirectory('bundled'));
    program = await copyBuiltAgent(join(folder.path, 'agent'));
    fleet = await createTestFleet();
  });
  afterAll(() => stack.disposeAsync());

  const startMachine = async (): Promise<Machine> => {
    const directory = await temporaryDirectory('machine');
    const folder = directory.path;
    const agent: Machine['agent'] = (words, env = {}) =>
      runCommand([process.execPath, program, ...words], {
        cwd: folder,
        env: {
          PATH: process.env['PATH'],
          FLEET_AGENT_STATE: join(folder, 'state'),
          FLEET_AGENT_ROOT: folder,
          FLEET_AGENT_SERVICES: 'none',
          ...env,
        },
      });
    const root = hexOf(digestOf(fleet.roots[0] ?? ''));
    return {
      folder,
      agent,
      enroll: () =>
        agent([
          'enroll',
          ...Object.entries({
            fleet: fleet.name,
            site: 'plant-7',
            name: 'kiosk-1',
            channel: 'prod/factory-host',
            'root-sha256': root,
          }).map(([flag, value]) => `--${flag}=${value}`),
          folder,
        ]),
      medium: async (version, bundle) => {
        using state = openState(join(folder, 'state'));
        const { key } = readIdentity(state);
        const site = { site: 'plant-7', version: 1, agents: [{ name: 'kiosk-1', key }] };
        return await writeTestMedium(join(folder, `medium-${version}`), fleet, {
          site,
          release: { version, bundle },
        });
      },
      [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
    };
  };

  it('is a program, its start file, its add-on and the name that people type', async () => {
    expect((await readdir(dirname(program))).toSorted()).toEqual([
      'LICENCES.txt',
      'better_sqlite3.node',
      'fleet-agent',
      'fleet-agent.mjs',
      'keep-compiled.mjs',
      'main.cjs',
      'run-compiled.mjs',
    ]);
    const typed = await runCommand([join(dirname(program), 'fleet-agent'), '--version']);
    expect(typed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^fleet-agent\/\d/), stderr: '' });
    // Of one byte a character in V8, and without a word of where it was made.
    const text = await readFile(mainOf(program), 'latin1');
    expect(text).not.toMatch(/[^\0-\x7f]/);
    // 12 MiB of web things that nobody asked for would come with it.
    expect(text).not.toMatch(/from ?"(node:)?http"/);
    expect(text).not.toContain(process.cwd());
  });

  it('enrols by stick, imports, repairs and tells, and evaluates nothing of Kubernetes for it', async () => {
    await using machine = await startMachine();
    const { folder, agent } = machine;
    expect(await machine.enroll()).toMatchObject({ code: 0, stderr: '' });
    const medium = await machine.medium(1, packTestBundle(fleet, [onePackage('line', 'one')]));
    expect(await agent(['import', medium])).toMatchObject({ code: 0, stderr: '' });
    expect(await readFile(join(folder, 'opt/line'), 'utf8')).toBe('one');
    await writeFile(join(folder, 'opt/line'), 'by hand');
    const coverage = join(folder, 'coverage');
    expect(await agent(['run', '--once'], { NODE_V8_COVERAGE: coverage })).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await readFile(join(folder, 'opt/line'), 'utf8')).toBe('one');
    expect(await timesEvaluated(program, coverage, KUBE_CONFIG)).toBe(0);
    expect(await agent(['status'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^line +\w+ /m) });
    expect(await agent(['reports', 'export', folder])).toMatchObject({ code: 0, stderr: '' });
    expect((await agent(['doctor', '--json'])).stdout).toContain('"findings"');
  });

  it('joins at a hub once: asked again, as by a pod that starts anew, it needs neither token nor hub', async () => {
    await using machine = await startMachine();
    const certified = await createCertifiedFleet();
    const hub = await startHubServer(certified, machine.folder);
    const token = join(machine.folder, 'token');
    await writeFile(token, 'token-1\n');
    const root = hexOf(digestOf(certified.roots[0] ?? ''));
    const names = [
      '--site=plant-7',
      '--name=kiosk-1',
      '--channel=prod/factory-host',
      `--root-sha256=${root}`,
    ];
    const enroll = () =>
      machine.agent(['enroll', ...names, `--hub=${hub.url}`, `--token-file=${token}`, '--json']);
    const first = await enroll();
    expect(first).toMatchObject({ code: 0, stderr: '' });
    await hub[Symbol.asyncDispose]();
    await rm(token);
    expect(await enroll()).toEqual(first);
  });

  it('applies to a cluster, with images for the containerd and the registry of the site', {
    timeout: 240_000,
  }, async () => {
    await using machine = await startMachine();
    const { agent, folder } = machine;
    await using cluster = await startCluster();
    await using containerd = await startContainerd(paths.containerd);
    await using registry = await startRegistry(paths.dockerRegistry);
    const env = {
      FLEET_AGENT_TARGETS: 'kubernetes',
      FLEET_AGENT_KUBECONFIG: cluster.kubeconfig,
      FLEET_AGENT_CONTAINERD: containerd.socket,
      FLEET_AGENT_IMAGE_REGISTRY: `oci://${registry.host}/mirror`,
      PATH: [dirname(paths.containerd), process.env['PATH']].join(delimiter),
    };
    const images: Blobs = new Map();
    const image = putImage(images, { layers: [await putLayer(images, { app: '#!/bin/sh\n' })] });
    const closure = [closureEntry(image, 'edge.example/line')];
    const manifests = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bundled-agent' } },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'line', namespace: 'bundled-agent' },
        data: { speed: '7' },
      },
    ];
    const yaml = manifests.map((object) => JSON.stringify(object)).join('\n---\n');
    succeed(await machine.enroll());
    const medium = await machine.medium(1, packKubernetesBundle(fleet, { line: yaml }, { closure, images }));
    const imported = await agent(['import', medium], env);
    expect(imported).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Brought 1 container image.'),
    });
    // A busy machine takes long enough for lines of progress.
    expect(imported.stderr.replaceAll(/^\{"phase":"bringing images",.*\}\n/gm, '')).toBe('');
    const speed = [
      'get',
      'configmap',
      'line',
      '--namespace=bundled-agent',
      '--output=jsonpath={.data.speed}',
    ];
    expect((await cluster.kubectl(speed)).stdout).toBe('7');
    expect(await containerd.ctr('images', 'ls', '-q')).toContain(`edge.example/line@${image.digest}`);
    const tag = `${registry.url}/v2/mirror/edge.example/line/manifests/i-${hexOf(image.digest)}`;
    expect((await fetch(tag, { method: 'HEAD', headers: { accept: OCI_MANIFEST } })).status).toBe(200);

    const patch = ['--type=merge', '--patch={"data":{"speed":"9"}}'];
    await cluster.kubectl(['patch', 'configmap', 'line', '--namespace=bundled-agent', ...patch]);
    const coverage = join(folder, 'coverage');
    expect(await agent(['run', '--once'], { ...env, NODE_V8_COVERAGE: coverage })).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect((await cluster.kubectl(speed)).stdout).toBe('7');
    expect(await timesEvaluated(program, coverage, KUBE_CONFIG)).toBe(1);
    await cluster.kubectl(['delete', 'namespace', 'bundled-agent', '--wait=false']);
  });
});

const KUBE_CONFIG = /\bclass KubeConfig\b|\bKubeConfig ?= ?class\b/;

type Coverage = {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly ranges: readonly {
        readonly startOffset: number;
        readonly endOffset: number;
        readonly count: number;
      }[];
    }[];
  }[];
};

const mainOf = (program: string): string => join(dirname(program), 'main.cjs');

/** How often V8 ran the piece of the program where `what` stands: the innermost counted range around it says so. */
const timesEvaluated = async (program: string, folder: string, what: RegExp): Promise<number | undefined> => {
  const offset = (await readFile(mainOf(program), 'latin1')).search(what);
  expect(offset).toBeGreaterThan(0);
  const [file = ''] = await readdir(folder);
  const { result } = JSON.parse(await readFile(join(folder, file), 'utf8')) as Coverage;
  const script = result.find(({ url }) => url.endsWith('/main.cjs'));
  const around = script?.functions
    .flatMap(({ ranges }) => ranges)
    .filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset)
    .toSorted((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset));
  return around?.[0]?.count;
};
