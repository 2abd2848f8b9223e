import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { delimiter, dirname, extname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { digestsOf, filesOf } from '../../exporter/files-of.ts';
import { bundleOf, KIOSK, makeKioskWorld, type World } from '../../exporter/world.ts';
import { copyBuiltPrograms } from '../../harness/run/built-programs.ts';
import { type Outcome, runCommand, runOrFail, succeed } from '../../harness/run/run-command.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { connect, serve, startOffice } from '../hub/hub-process.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const REPOSITORY = join(import.meta.dirname, '../../..');
const PLATFORM = join(REPOSITORY, 'examples/platform');

type Form = 'checkout' | 'built';

let folder: TemporaryDirectory;
let world: World;
let env: NodeJS.ProcessEnv;
let programs: Readonly<Record<Form, Readonly<Record<'agent' | 'export' | 'scheduler', string>>>>;

beforeAll(async () => {
  folder = await temporaryDirectory('built programs');
  world = await makeKioskWorld();
  // So much that a tar is read back while it is written.
  const images = [{ name: 'web', layers: [Buffer.alloc(40 << 20, 'much')] }];
  await world.layout.release({ channel: KIOSK, version: 2, bundles: [{ ...bundleOf('two'), images }] });
  const made = join(folder.path, 'made');
  const installed = join(folder.path, 'installed');
  await copyBuiltPrograms(made);
  // It may lie anywhere, and nothing of where it was made is looked for.
  await rename(made, installed);
  const home = join(folder.path, 'home');
  await mkdir(home);
  env = {
    HOME: home,
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    FLEET_NOW: NOW.toISOString(),
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  };
  programs = {
    checkout: {
      agent: join(REPOSITORY, 'agent/fleet-agent.js'),
      export: join(REPOSITORY, 'exporter/fleet-export.js'),
      scheduler: join(REPOSITORY, 'scheduler/fleet-scheduler.js'),
    },
    built: {
      agent: join(installed, 'agent/fleet-agent'),
      export: join(installed, 'exporter/fleet-export'),
      scheduler: join(installed, 'scheduler/fleet-scheduler'),
    },
  };
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** As if a Node of another version ran what NODE_OPTIONS of this are given to. */
const nodeOf = async (version: string): Promise<NodeJS.ProcessEnv> => {
  const file = join(folder.path, 'version.cjs');
  const said = { version: `v${version}`, versions: { ...process.versions, node: version } };
  await writeFile(
    file,
    `for (const [name, value] of Object.entries(${JSON.stringify(said)})) Object.defineProperty(process, name, { value });`,
  );
  return { ...env, NODE_OPTIONS: `--require ${JSON.stringify(file)}` };
};

const inBoth = async <T>(run: (form: Form) => Promise<T>): Promise<void> => {
  expect(await run('built')).toEqual(await run('checkout'));
};

describe.each(['agent', 'export', 'scheduler'] as const)('fleet-%s with an old Node.js', (program) => {
  it.each([
    ['checkout', `Start it with "npx fleet-${program}" in the checkout, which brings its own.`],
    ['built', 'Install one where PATH finds it first.'],
  ] as const)('names the path of a newer one: %s', async (form, hint) => {
    const { code, stderr } = await runCommand([programs[form][program], '--version'], {
      env: await nodeOf('20.19.2'),
    });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `fleet-${program}: NODE_TOO_OLD: Node v20.19.2 runs this, but 24 or newer is needed. ${hint}\n`,
    });
  });
});

describe('an installed fleet-export', () => {
  const start = (form: Form, words: readonly string[]): Promise<Outcome> =>
    runCommand([programs[form].export, ...words], { env });

  it.each(['tar', 'set of parts'])('writes the same bytes as in the checkout: %s', async (to) => {
    await inBoth(async (form) => {
      const medium = join(folder.path, form, to === 'tar' ? 'medium.tar' : to);
      await mkdir(dirname(medium), { recursive: true });
      const words = ['create', '--from', world.path('layout'), '--site', 'plant-7', '--to', medium];
      const { code, stderr, stdout } = await start(form, [
        ...words,
        ...(to === 'set of parts' ? ['--stick-size', '1GB'] : []),
      ]);
      expect(code, stderr).toBe(0);
      return {
        said: stdout.replaceAll(medium, 'medium'),
        files: to === 'tar' ? digestOf(readFileSync(medium)) : digestsOf(medium),
      };
    });
  });

  it('prints the same help', async () => {
    for (const words of [
      ['help', 'exit-codes'],
      ['completion', 'bash'],
      ['create', '--help'],
    ])
      await inBoth((form) => start(form, words));
  });

  it('prints the same refusals', async () => {
    for (const words of [['creat'], ['verify', '/no', '--json']]) await inBoth((form) => start(form, words));
  });

  it("keeps compiled code in its user's cache folder, and compiles again when that is damaged", async () => {
    const home = join(folder.path, 'another home');
    await mkdir(home);
    const version = () =>
      runOrFail([programs.built.export, '--version'], {
        env: { ...env, HOME: home, NODE_COMPILE_CACHE: undefined },
      });
    await version();
    const code = join(home, '.cache/fleet-ferry/code');
    const [kept = ''] = (await readdir(code, { recursive: true })).filter((name) =>
      name.includes('exporter-'),
    );
    const whole = await readFile(join(code, kept));
    await version();
    expect(await readFile(join(code, kept))).toEqual(whole);
    const damaged = Buffer.from(whole);
    damaged.fill(0xff, damaged.length >> 1);
    await writeFile(join(code, kept), damaged);
    await version();
    expect((await readFile(join(code, kept))).subarray(-64)).not.toEqual(damaged.subarray(-64));
    expect(
      (await readdir(join(code, dirname(kept)))).filter((name) => name.includes('exporter-')),
    ).toHaveLength(1);
  });
});

describe('an installed fleet-scheduler', () => {
  const start = (form: Form, words: readonly string[]): Promise<Outcome> =>
    runCommand([programs[form].scheduler, ...words], { env });

  it('prints the same help', async () => {
    for (const words of [
      ['build', '--help'],
      ['completion', 'zsh'],
    ])
      await inBoth((form) => start(form, words));
  });

  it('finds its own files: built-in templates, facts about Kubernetes, a new platform', async () => {
    await inBoth((form) => start(form, ['validate', '--platform', PLATFORM]));
    await inBoth(async (form) => {
      const rendered = join(folder.path, form, 'rendered');
      const words = ['render', '--platform', PLATFORM, '--environment', 'prod', '--out', rendered];
      succeed(await start(form, words));
      return filesOf(rendered);
    });
    await inBoth(async (form) => {
      const platform = join(folder.path, form, 'new platform');
      succeed(await start(form, ['init', platform, '--fleet', 'acme']));
      return filesOf(platform);
    });
  });

  it('serves the page of the hub with its assets and their licences', async () => {
    await using office = await startOffice();
    const words = ['--listen', '127.0.0.1:0'];
    await using hub = await serve(office.path, words, programs.built.scheduler);
    await using client = connect(hub.url, office.authority);
    const index = await client.get('/ui/sites/plant-7');
    expect(index.status).toBe(200);
    const assets = [...index.text.matchAll(/"(\/ui\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
    expect(new Set(assets.map((path) => extname(path)))).toEqual(new Set(['.css', '.js', '.svg']));
    for (const path of assets) expect((await client.get(path)).status).toBe(200);
    expect((await client.get('/ui/LICENCES.txt')).text).toMatch(/^react 19.* \(MIT\)$/m);
  });
});
