import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { type GeneratedFleet, makeFleet } from '../../../bench/fleet/make-fleet.ts';
import { digestOf } from '../../../bundles/digest.ts';
import { formatError } from '../../../bundles/errors.ts';
import { openBlobDirectory } from '../../../bundles/formats/layout/blob-directory.ts';
import { canonicalBytes } from '../../../bundles/json/canonical.ts';
import type { TextCache } from '../../../scheduler/assemble/bundle/prepared-manifest.ts';
import type { EnvironmentBuild } from '../../../scheduler/assemble/environment-build.ts';
import { openKeptBundles } from '../../../scheduler/assemble/kept/kept-bundles.ts';
import { openKeptFiles } from '../../../scheduler/assemble/kept/kept-files.ts';
import { openKeptManifests } from '../../../scheduler/assemble/kept/kept-manifests.ts';
import { openKeptObjects } from '../../../scheduler/assemble/kept/kept-objects.ts';
import { openKeptRenderings } from '../../../scheduler/assemble/kept/kept-renderings.ts';
import type { KeptPlaces } from '../../../scheduler/assemble/kept/recall-bundle.ts';
import { buildLoaded } from '../../../scheduler/build/pipeline.ts';
import { loadPlatform, sourcesOf } from '../../../scheduler/load/load-platform.ts';
import type { ParsedFiles } from '../../../scheduler/load/sources/parsed-files.ts';
import { LONG } from '../../harness/run/long.ts';
import { verdict } from '../../bundles/verdict.ts';
import { temporaryDirectory } from '../../scheduler/file-tree.ts';
import { CONFIGS, type Edit, FLEET_EDITS, toggle } from './platform-edits.ts';

const SIZE = { workloads: 3, clusterTypes: 2, configs: 11, share: 1 };
const SECRET = Buffer.alloc(32, 7);
const PROGRAM = digestOf('program');

/** Some exclude each other: not each changes a file. */
const EDITS: readonly Edit[] = [
  ...FLEET_EDITS,
  ['platform/base/cluster-types/type-0001.yaml', '"configmap"', '"nowhere"'],
  ['platform/base/cluster-types/type-0001.yaml', '"kubernetes"', '"kubernetes", "offline": true'],
  ['apps/app-0001/manifests/service.yaml', 'spec:\n', 'spec:\n  image: registry.example.com/other:1\n'],
  ['apps/app-0001/manifests/service.yaml', 'kind: Service', '# A note.\nkind: Service'],
  ['apps/app-0002/workload/workload.yaml', '"tier": "batch"', '"tier": "back"'],
  ['apps/app-0002/workload/workload.yaml', 'kind: Workload', 'kind: Workloads'],
  ['platform/base/schema.yaml', '"TIMEZONE"\n', '"NOWHERE"\n'],
  ['platform/base/schema.yaml', '"warning"', '"warning", "verbose"'],
];

const loadFleet = async (fleet: GeneratedFleet, parsed?: ParsedFiles) => {
  const options = { ...fleet, fleet: 'bench', cacheDirectory: join(fleet.platform, 'none'), env: {} };
  const sources = sourcesOf({ ...options, parsed });
  return { sources, platform: await loadPlatform({ ...options, sources, holdWorkloads: true }) };
};

const buildIt = (
  loaded: Awaited<ReturnType<typeof loadFleet>>,
  kept?: KeptPlaces,
): Promise<EnvironmentBuild> =>
  buildLoaded(
    { ...loaded, images: 'unchecked', previous: undefined, workers: 2, kept },
    new AbortController().signal,
  );

/** All that a build says and signs. */
const saidBy = ({ bundles, advice, candidate }: EnvironmentBuild) => ({
  candidate,
  advice: advice.map(formatError),
  bundles: bundles.map(({ bundle, held, images, emptyFiles }) => ({
    digest: bundle.digest,
    bytes: [...bundle.blobs, bundle.manifest].map(({ bytes }) => digestOf(bytes)),
    config: digestOf(canonicalBytes(bundle.config, 'doubles')),
    images: images.map(({ entry }) => entry),
    emptyFiles: [...emptyFiles],
    held: held.map(({ error }) => formatError(error)),
  })),
});

/** Writes the blobs of bundles into the layout, as their release does. */
const release = async ({ bundles }: EnvironmentBuild, { blobs }: Places): Promise<void> => {
  for (const { bundle } of bundles)
    for (const { descriptor, bytes } of [...bundle.blobs, bundle.manifest])
      await blobs.write(descriptor.digest, descriptor.size, bytes);
};

type Places = Omit<KeptPlaces, 'blobs'> & {
  readonly blobs: ReturnType<typeof openBlobDirectory>;
};

const openPlaces = async (root: string, secret = SECRET): Promise<Places> => {
  const files = openKeptFiles(join(root, 'cache'), secret, PROGRAM);
  return {
    bundles: openKeptBundles(files),
    renderings: await openKeptRenderings(files, 'fleet'),
    manifests: openKeptManifests(files, 'fleet'),
    blobs: openBlobDirectory(join(root, 'layout')),
  };
};

/** The objects of files of earlier runs, and how many files had some. */
const openObjects = async (root: string, secret = SECRET) => {
  const { parsed, save } = await openKeptObjects(
    openKeptFiles(join(root, 'cache'), secret, PROGRAM),
    'fleet',
  );
  let found = 0;
  const find: ParsedFiles['find'] = (name, bytes) => {
    const objects = parsed.find(name, bytes);
    if (objects !== undefined) found += 1;
    return objects;
  };
  return { parsed: { ...parsed, find }, save, found: () => found };
};

/** Counts the results that were found, the cluster types whose packages were rendered before, and manifests that were prepared or taken. */
const counting = (places: Places) => {
  let [found, rendered, prepared, taken] = [0, 0, 0, 0];
  const cacheOf: Places['manifests']['cacheOf'] = async (common) => {
    const cache = await places.manifests.cacheOf(common);
    return { ...cache, get: (key) => counted(cache.get(key)) };
  };
  const counted = (texts: TextCache | undefined): TextCache | undefined =>
    texts && {
      ...texts,
      get: (text) => {
        const known = texts.get(text);
        if (known) taken += 1;
        return known;
      },
      set: (text, made) => {
        prepared += 1;
        return texts.set(text, made);
      },
    };
  const has: Places['renderings']['has'] = (rendering) => {
    const isKnown = places.renderings.has(rendering);
    if (isKnown) rendered += 1;
    return isKnown;
  };
  const find: KeptPlaces['bundles']['find'] = async (channel, inputs) => {
    const result = await places.bundles.find(channel, inputs);
    if (result !== undefined) found += 1;
    return result;
  };
  const countedPlaces: Places = {
    ...places,
    bundles: { ...places.bundles, find },
    renderings: { ...places.renderings, has },
    manifests: { ...places.manifests, cacheOf },
  };
  return {
    places: countedPlaces,
    found: () => found,
    rendered: () => rendered,
    prepared: () => prepared,
    taken: () => taken,
  };
};

const resultFiles = async (root: string): Promise<readonly string[]> =>
  (await readdir(join(root, 'cache/results')).catch(() => [])).map((name) =>
    join(root, 'cache/results', name),
  );

const setup = async () => {
  const root = await temporaryDirectory();
  const fleet = await makeFleet(join(root, 'fleet'), 'fleet', SIZE);
  const loaded = await loadFleet(fleet);
  const places = await openPlaces(root);
  const cold = await buildIt(loaded, places);
  await release(cold, places);
  return { root, fleet, loaded, places, cold: saidBy(cold) };
};

const RUNS = LONG ? 20 : 2;

test(`a build with kept results gives the same bytes as one without, after each of ${RUNS * 50} random edits`, async () => {
  const root = await temporaryDirectory();
  let [found, parsed, rendered, prepared, taken] = [0, 0, 0, 0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...EDITS), { minLength: 50, maxLength: 50 }), async (edits) => {
      await rm(root, { recursive: true, force: true });
      const fleet = await makeFleet(join(root, 'fleet'), 'fleet', SIZE);
      for (const edit of edits) {
        await toggle(join(root, 'fleet'), edit);
        const objects = await openObjects(root);
        const counted = counting(await openPlaces(root));
        const loaded = await loadFleet(fleet, objects.parsed);
        const warm = await buildIt(loaded, counted.places);
        const cold = await loadFleet(fleet);
        expect(loaded.platform).toEqual(cold.platform);
        expect(saidBy(warm)).toEqual(saidBy(await buildIt(cold)));
        await release(warm, counted.places);
        await objects.save();
        await counted.places.renderings.save();
        await counted.places.manifests.save();
        rendered += counted.rendered();
        found += counted.found();
        prepared += counted.prepared();
        taken += counted.taken();
        parsed += objects.found();
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
  expect(found).toBeGreaterThan(0);
  expect(rendered).toBeGreaterThanOrEqual(found);
  expect(taken).toBeGreaterThan(prepared);
  // All files but those of an edit.
  expect(parsed).toBeGreaterThan(RUNS * 49 * 20);
}, 600_000);

test('a second build takes every bundle from the results of the first', async () => {
  const { loaded, places, cold } = await setup();
  const { places: counted, found } = counting(places);
  expect(saidBy(await buildIt(loaded, counted))).toEqual(cold);
  expect(found()).toBe(SIZE.clusterTypes);
});

/** A namespace template of type-0001 that also brings what a configuration of the cluster type names. */
const KINDS_TEMPLATE = `apiVersion: fleet-ferry/v1alpha1
kind: Template
metadata: {name: kinds}
spec:
  type: namespace
  engine: handlebars
  manifests:
    - |
      apiVersion: v1
      kind: Namespace
      metadata:
        name: {{namespace}}
    - |
      {{configData.EXTRA}}
`;

const definitionOf = (field: string): string =>
  JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'boilers.plant.example' },
    spec: {
      group: 'plant.example',
      scope: 'Namespaced',
      names: { kind: 'Boiler', plural: 'boilers' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', required: [field], properties: { [field]: {} } } },
            },
          },
        },
      ],
    },
  });

test('a kind that a template defines is known to all cluster types, also to those that were rendered before', async () => {
  const { root, fleet, places } = await setup();
  await mkdir(join(root, 'fleet/platform/base/templates'));
  await writeFile(join(root, 'fleet/platform/base/templates/kinds.yaml'), KINDS_TEMPLATE);
  await toggle(join(root, 'fleet'), [
    'platform/base/cluster-types/type-0001.yaml',
    '"namespaceService": "namespace"',
    '"namespaceService": "kinds"',
  ]);
  const config = join(root, 'fleet', CONFIGS, 'kinds.yaml');
  const boiler = join(root, 'fleet/apps/app-0001/manifests/boiler.yaml');
  await writeFile(
    boiler,
    'apiVersion: plant.example/v1\nkind: Boiler\nmetadata: {name: one}\nspec: {bar: 3}\n',
  );
  const said: unknown[] = [];
  for (const field of ['bar', 'bar', 'pascal', 'bar', 'pascal']) {
    const values = JSON.stringify({ EXTRA: definitionOf(field) });
    await writeFile(
      config,
      `apiVersion: fleet-ferry/v1alpha1\nkind: Config\nmetadata: {name: kinds}\nspec: {selector: {cluster-type: type-0001}, values: ${values}}\n`,
    );
    const loaded = await loadFleet(fleet);
    const cold = saidBy(await buildIt(loaded));
    const counted = counting({ ...places, ...(await openPlaces(root)) });
    const warm = await buildIt(loaded, counted.places);
    expect(saidBy(warm)).toEqual(cold);
    await release(warm, counted.places);
    await counted.places.renderings.save();
    const held = warm.bundles.flatMap(({ held: all }) => all.map(({ error }) => error.code));
    said.push({
      rendered: counted.rendered(),
      refused: held.filter((code) => code === 'PLATFORM_INVALID').length,
    });
  }
  expect(said).toEqual([
    { rendered: 0, refused: 0 },
    { rendered: 1, refused: 0 },
    { rendered: 1, refused: 2 },
    { rendered: 1, refused: 0 },
    { rendered: 1, refused: 2 },
  ]);
});

test.each<[string, (text: string) => string]>([
  ['is empty', () => ''],
  ['was cut short', (text) => text.slice(0, -20)],
  ['has a changed byte', (text) => text.replace('"manifest"', '"Manifest"')],
  ['has another code', (text) => `${'0'.repeat(64)}${text.slice(64)}`],
  ['has no code', (text) => text.slice(65)],
])('I22: a kept result that %s is not used, and is replaced', async (_, damage) => {
  const { root, loaded, places, cold } = await setup();
  const before = new Map<string, string>();
  for (const file of await resultFiles(root)) {
    before.set(file, await readFile(file, 'utf8'));
    await writeFile(file, damage(before.get(file) ?? ''));
  }
  const { places: counted, found } = counting(places);
  expect(saidBy(await buildIt(loaded, counted))).toEqual(cold);
  expect(found()).toBe(0);
  for (const [file, text] of before) expect(await readFile(file, 'utf8')).toBe(text);
  expect(await verdict(() => buildIt(loaded, counted))).toBe('ACCEPT');
});

test.each<[string, (file: string) => Promise<unknown>]>([
  ['a pipe', async (file) => execFileSync('mkfifo', [file])],
  ['a folder', (file) => mkdir(file)],
  ['a link to a device without an end', (file) => symlink('/dev/zero', file)],
  ['a file of 100 GB', (file) => writeFile(file, '').then(() => truncate(file, 100e9))],
  ['a file of 1 GB', (file) => writeFile(file, '').then(() => truncate(file, 1e9))],
])('I22: %s in the place of a kept result neither stops a build nor fills the memory', async (_, put) => {
  const { root, loaded, places, cold } = await setup();
  for (const file of await resultFiles(root)) {
    await rm(file);
    await put(file);
  }
  const before = process.memoryUsage().rss;
  const { places: counted, found } = counting(places);
  expect(saidBy(await buildIt(loaded, counted))).toEqual(cold);
  expect(found()).toBe(0);
  expect(process.memoryUsage().rss - before).toBeLessThan(500e6);
  expect(await verdict(() => buildIt(loaded, counted))).toBe('ACCEPT');
});

test('I22: a result under the name of other inputs is not used', async () => {
  const { root, fleet, loaded, places } = await setup();
  const [one] = (await resultFiles(root)).map((file) => readFile(file, 'utf8'));
  const foreign = await one;
  await toggle(join(root, 'fleet'), EDITS[1] as Edit);
  const changed = await loadFleet(fleet);
  const cold = saidBy(await buildIt(changed, places));
  for (const file of await resultFiles(root)) await writeFile(file, foreign ?? '');
  const { places: counted, found } = counting(places);
  expect(saidBy(await buildIt(changed, counted))).toEqual(cold);
  expect(found()).toBe(0);
  expect(saidBy(await buildIt(loaded, places)).bundles.length).toBe(SIZE.clusterTypes);
  expect(await verdict(() => buildIt(changed, counted))).toBe('ACCEPT');
});

test('I22: a result that another bundle key made is not used', async () => {
  const { root, loaded, cold } = await setup();
  const { places, found } = counting(await openPlaces(root, Buffer.alloc(32, 8)));
  expect(saidBy(await buildIt(loaded, places))).toEqual(cold);
  expect(found()).toBe(0);
  expect(await verdict(() => buildIt(loaded, places))).toBe('ACCEPT');
});

test('a bundle whose blobs are missing or damaged in the layout is built again', async () => {
  const { loaded, places, cold } = await setup();
  const [first, second] = await places.blobs.list();
  if (first) await rm(places.blobs.path(first));
  if (second) await writeFile(places.blobs.path(second), 'damaged');
  expect(saidBy(await buildIt(loaded, places))).toEqual(cold);
});

test('a cache in which nothing can be written, or that was deleted, changes nothing', async () => {
  const { root, loaded, cold } = await setup();
  const file = join(root, 'cache/results');
  await rm(file, { recursive: true });
  await writeFile(file, 'a file in the way');
  expect(saidBy(await buildIt(loaded, await openPlaces(root)))).toEqual(cold);
  await rm(join(root, 'cache'), { recursive: true });
  expect(saidBy(await buildIt(loaded, await openPlaces(root)))).toEqual(cold);
});

test('objects of files are kept as plain data alone, and only as long as their bytes are the same', async () => {
  const root = await temporaryDirectory();
  const files = openKeptFiles(join(root, 'cache'), SECRET, PROGRAM);
  const { parsed, save } = await openKeptObjects(files, 'one');
  const [bytes, other] = [Buffer.from('a'), Buffer.from('b')];
  const plain = [{ map: new Map([['a', { at: undefined }]]), set: new Set([Number.NaN]) }];
  parsed.keep('plain', bytes, plain);
  parsed.keep('function', bytes, [{ judge: () => true }]);
  parsed.keep('instance', bytes, [new URL('file:///a')]);
  await save();
  for (const { find } of [parsed, (await openKeptObjects(files, 'one')).parsed]) {
    expect(find('plain', bytes)).toEqual(plain);
    for (const name of ['function', 'instance', 'unknown']) expect(find(name, bytes)).toBeUndefined();
    expect(find('plain', other)).toBeUndefined();
  }
  const elsewhere = await openKeptObjects(files, 'two');
  expect(elsewhere.parsed.find('plain', bytes)).toBeUndefined();
});

test('I22: kept objects that another key made, or that were changed, are not used', async () => {
  const root = await temporaryDirectory();
  const fleet = await makeFleet(join(root, 'fleet'), 'fleet', SIZE);
  const first = await openObjects(root);
  const { platform } = await loadFleet(fleet, first.parsed);
  await first.save();
  const foreign = await openObjects(root, Buffer.alloc(32, 8));
  expect((await loadFleet(fleet, foreign.parsed)).platform).toEqual(platform);
  expect(foreign.found()).toBe(0);
  for (const file of await resultFiles(root)) {
    const bytes = await readFile(file);
    bytes[bytes.length - 2] = (bytes.at(-2) ?? 0) ^ 1;
    await writeFile(file, bytes);
  }
  const changed = await openObjects(root);
  expect((await loadFleet(fleet, changed.parsed)).platform).toEqual(platform);
  expect(changed.found()).toBe(0);
  expect(await verdict(() => loadFleet(fleet, changed.parsed))).toBe('ACCEPT');
});

test('a changed value has no manifest prepared again that it does not change', async () => {
  const { root, fleet, places } = await setup();
  await places.manifests.save();
  const path = join(root, 'fleet', `${CONFIGS}/c00-everywhere.yaml`);
  await writeFile(path, (await readFile(path, 'utf8')).replace(/"port": \d+/, '"port": 7'));
  const changed = await loadFleet(fleet);
  const { places: counted, prepared, taken } = counting(await openPlaces(root));
  expect(saidBy(await buildIt(changed, counted))).toEqual(saidBy(await buildIt(changed)));
  // The ConfigMap of the configuration of each package.
  expect([prepared(), taken() > 10]).toEqual([SIZE.workloads * SIZE.clusterTypes, true]);
});

test('I22: prepared manifests that another key made, or that were changed, are not used', async () => {
  const { root, loaded, places, cold } = await setup();
  await places.manifests.save();
  const again = async (secret = SECRET) => {
    const { bundles: _, ...own } = await openPlaces(root, secret);
    // No bundle is found, so that each is built.
    const empty = { ...places.bundles, find: async () => undefined, keep: async () => {} };
    const counted = counting({ ...own, bundles: empty });
    expect(saidBy(await buildIt(loaded, counted.places))).toEqual(cold);
    return counted.prepared();
  };
  expect(await again()).toBe(0);
  expect(await again(Buffer.alloc(32, 8))).toBeGreaterThan(0);
  for (const file of await resultFiles(root)) {
    const bytes = await readFile(file);
    bytes[bytes.length - 2] = (bytes.at(-2) ?? 0) ^ 1;
    await writeFile(file, bytes);
  }
  expect(await again()).toBeGreaterThan(0);
  expect(await verdict(() => again())).toBe('ACCEPT');
});

test('no plain Secret and no password of a URL is kept with prepared manifests', async () => {
  const { root, fleet } = await setup();
  const manifests = join(root, 'fleet/apps/app-0001/manifests');
  await writeFile(
    join(manifests, 'secret.yaml'),
    'apiVersion: v1\nkind: Secret\nmetadata: {name: one}\nstringData: {key: hunter2-plain}\n',
  );
  await writeFile(
    join(manifests, 'url.yaml'),
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: url}\ndata: {repo: "https://me:hunter2-url@git.example.com"}\n',
  );
  await rm(join(root, 'cache'), { recursive: true });
  const places = await openPlaces(root);
  const built = await buildIt(await loadFleet(fleet), places);
  expect(built.bundles.flatMap(({ plainSecrets }) => plainSecrets).length).toBeGreaterThan(0);
  await places.manifests.save();
  const kept = await Promise.all((await resultFiles(root)).map((file) => readFile(file, 'latin1')));
  expect(kept.length).toBeGreaterThan(0);
  expect(kept.filter((text) => text.includes('hunter2'))).toEqual([]);
});

test('at most four results of a cluster type are kept, those that were used last', async () => {
  const { root, fleet, places } = await setup();
  const old = new Date(Date.now() - 2 * 3_600_000);
  for (let port = 1; port <= 6; port += 1) {
    for (const file of await resultFiles(root)) await utimes(file, old, old);
    const path = join(root, 'fleet', `${CONFIGS}/c00-everywhere.yaml`);
    await writeFile(path, (await readFile(path, 'utf8')).replace(/"port": \d+/, `"port": ${port}`));
    await release(await buildIt(await loadFleet(fleet), places), places);
  }
  expect(await resultFiles(root)).toHaveLength(4 * SIZE.clusterTypes);
});

test('two builds at once use one cache', async () => {
  const { root, loaded, cold } = await setup();
  await rm(join(root, 'cache'), { recursive: true });
  await mkdir(join(root, 'cache'));
  const both = await Promise.all(
    [openPlaces(root), openPlaces(root)].map(async (it) => buildIt(loaded, await it)),
  );
  expect(both.map(saidBy)).toEqual([cold, cold]);
  expect(await resultFiles(root)).toHaveLength(SIZE.clusterTypes);
});

test('what a process that is killed was writing is found whole or not at all', async () => {
  const root = await temporaryDirectory();
  const script = join(import.meta.dirname, 'kept-results/keep-results.ts');
  const { bundles } = await openPlaces(root);
  let whole = 0;
  for (let round = 0; round < 5; round += 1) {
    const first = round * 1000;
    const argv = [script, join(root, 'cache'), SECRET.toString('hex'), `${first}`];
    const child = spawn(process.execPath, argv, { stdio: 'ignore' });
    const ended = once(child, 'exit');
    const has = (count: number) => async () =>
      expect((await resultFiles(root)).length).toBeGreaterThan(count);
    // At most one draft of each round is among them: two more results are whole.
    await vi.waitFor(has(whole + round + 2), { timeout: 60_000, interval: 5 });
    child.kill('SIGKILL');
    await ended;
    for (let number = first; number < first + 1000; number += 1) {
      const channel = { environment: 'prod', clusterType: `type-${number}` };
      const found = await bundles.find(channel, digestOf(`${number}`));
      if (found === undefined) break;
      expect(found).toEqual({ number, text: 'x'.repeat(4_000_000) });
      whole += 1;
    }
  }
  expect(whole).toBeGreaterThan(5);
  // The drafts are left, and the next build works.
  const loaded = await loadFleet(await makeFleet(join(root, 'fleet'), 'fleet', SIZE));
  expect(saidBy(await buildIt(loaded, await openPlaces(root)))).toEqual(saidBy(await buildIt(loaded)));
});
