/**
 * `npm run bench export-medium`: ten images, 559 MB unique in 51 blobs, from a docker-registry on loopback to a medium; again after
 * one small layer changed; the medium into an empty registry; a look at it. Beside it what a person would use instead and the floors,
 * all in turn in the same run. FLEET_BENCH_ROUNDS (5), FLEET_BENCH_IMAGES (10; 95 are 5 GB), FLEET_BENCH_ONLY (part of a tool's name).
 */
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Descriptor, isManifestType } from '../bundles/formats/layout/manifest.ts';
import { openLayout } from '../bundles/formats/layout/layout.ts';
import { openRegistry } from '../bundles/transport/registry/open-registry.ts';
import { pushTree } from '../bundles/transport/registry/push-tree.ts';
import { buildPrograms } from '../test/harness/run/build-programs.ts';
import { type Registry, startRegistry } from '../test/harness/neighbours/registry.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { watchDisk } from './export-medium/disk-held.ts';
import { findPeer } from './export-medium/find-peer.ts';
import { makeRelease } from './export-medium/make-release.ts';
import { floors, ours, type PushedBlob } from './export-medium/our-commands.ts';
import { type Peer, PEER_NAMES, peersOf, writeDigests } from './export-medium/peers.ts';
import { gatherPart } from './gather-part.ts';
import { imageName, makeReleaseImages } from './make-release-images.ts';
import { type Measured, measure, median, medianOf } from './measure.ts';
import { figure, formatTable } from './table.ts';

const ROUNDS = Number(process.env['FLEET_BENCH_ROUNDS'] ?? 5);
const IMAGES = Number(process.env['FLEET_BENCH_IMAGES'] ?? 10);
const ONLY = process.env['FLEET_BENCH_ONLY'] ?? '';

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const [dockerRegistry, skopeo, oras] = [
  await gatherPart('dockerRegistry'),
  await gatherPart('skopeo'),
  await gatherPart('oras'),
];
// First, because a machine that has never built them compiles for minutes; none for a run of other tools alone.
const peer = async (name: 'imgpkg' | 'zarf'): Promise<string | undefined> =>
  PEER_NAMES[name].some((tool) => tool.includes(ONLY)) ? await findPeer(name, say) : undefined;
const [imgpkg, zarf] = [await peer('imgpkg'), await peer('zarf')];
await using folder = await temporaryDirectory('bench-export');
say(`Making ${IMAGES} images, always the same, and two signed releases of them ...`);
const repositoryOf = (index: number): string =>
  imageName(index)
    .replace(/^[^/]*\//, '')
    .replace(/:.*/, '');
const push = async (registry: Registry, layoutPath: string, images: readonly Descriptor[], tag: string) => {
  const blobs = new Map<string, PushedBlob>();
  await using client = openRegistry({ host: registry.host, prefix: '' }, { plainHttp: [], env: {} });
  const { blobs: source } = await openLayout(layoutPath);
  for (const [index, image] of images.entries()) {
    const repository = repositoryOf(index);
    const onBlob = ({ digest, size, mediaType }: Descriptor): void => {
      if (!isManifestType(mediaType)) blobs.set(digest, { digest, size, repository });
    };
    await pushTree(client.repository(repository), source, image, { tag, onBlob });
  }
  return [...blobs.values()];
};

await using registry = await startRegistry(dockerRegistry);
const layouts = [join(folder.path, 'images-1'), join(folder.path, 'images-2')] as const;
const first = await makeReleaseImages(layouts[0], IMAGES);
const second = await makeReleaseImages(layouts[1], IMAGES, 2);
const blobs = await push(registry, layouts[0], first, '1');
await push(registry, layouts[1], second, '2');
await makeRelease(folder.path, registry.host, [
  { layout: layouts[0], images: first },
  { layout: layouts[1], images: second },
]);
const names = (tag: string): readonly string[] => first.map((_, index) => `${repositoryOf(index)}:${tag}`);
await writeDigests(
  folder.path,
  Object.fromEntries(
    [first, second].flatMap((images, which) =>
      images.map(({ digest }, index) => [`${repositoryOf(index)}:${which + 1}`, digest]),
    ),
  ),
);

const steps = {
  exportFull: 'registry -> medium, nothing there before',
  exportDelta: 'again, one layer of 1.3 MB changed',
  importFull: 'medium -> empty registry',
  importDelta: 'second medium -> registry that has the first',
  inspect: 'what is on it',
} as const satisfies Record<keyof Omit<Peer, 'name'>, string>;
type Step = keyof typeof steps;

const work = join(folder.path, 'work');
const outputOf = async (path: string): Promise<number> => {
  const found = await stat(path).catch(() => undefined);
  if (!found) return 0;
  if (found.isFile()) return found.size;
  const sizes = await Promise.all((await readdir(path)).map((name) => outputOf(join(path, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
};

type Run = Measured & { readonly output: number; readonly held: number };
const results = new Map<string, Run[]>();

/** A tool's steps of one round, in folders of its own: `first`, `second` and one for each import. */
const runTool = async (tool: Peer, target: Registry, round: number): Promise<void> => {
  const cwd = {
    exportFull: 'first',
    exportDelta: 'second',
    importFull: 'load',
    importDelta: 'load-2',
    inspect: 'look',
  };
  await rm(work, { recursive: true, force: true });
  for (const step of Object.keys(steps) as Step[]) {
    const script = tool[step]?.replaceAll('TARGET', target.host);
    if (script === undefined) continue;
    const at = join(work, cwd[step]);
    await mkdir(at, { recursive: true });
    const disk = await watchDisk(folder.path);
    const measured = await measure(['sh', '-ec', script], { cwd: at, env: { TMPDIR: at } });
    const held = disk.stop();
    const run = { ...measured, held, output: await outputOf(join(at, 'out')) };
    if (round > 0) results.set(`${step} ${tool.name}`, [...(results.get(`${step} ${tool.name}`) ?? []), run]);
  }
};

const input = {
  source: registry.host,
  target: 'TARGET',
  first: names('1'),
  second: names('2'),
  skopeo,
  oras,
  imgpkg,
  zarf,
};
say('Building fleet-export as it is installed ...');
const programs = join(folder.path, 'programs');
await buildPrograms(programs);
const tools = [
  ...ours(join(programs, 'exporter', 'fleet-export'), registry.host),
  ...peersOf(input),
  ...floors(registry.url, layouts[0], blobs),
].filter(({ name }) => name.includes(ONLY));
// The first round fills the file cache and is not counted.
for (let round = 0; round <= ROUNDS; round++) {
  for (const tool of tools) {
    // An empty registry for each import.
    await using target = await startRegistry(dockerRegistry);
    await runTool(tool, target, round);
  }
  say(`Round ${round} of ${ROUNDS}${round === 0 ? ' (not counted)' : ''} is done.`);
}

const unique = blobs.reduce((sum, { size }) => sum + size, 0);
say(
  `\n${IMAGES} images, ${blobs.length} blobs, ${figure(unique / 1e6)} MB unique; median of ${ROUNDS} rounds; x = wall against skopeo, round by round.`,
);
for (const [step, title] of Object.entries(steps)) {
  const plain = results.get(`${step} skopeo, tar`) ?? [];
  const rows = tools.flatMap(({ name }) => {
    const runs = results.get(`${step} ${name}`);
    if (!runs) return [];
    const { wallSeconds, cpuSeconds, peakMiB } = medianOf(runs);
    const ratio = median(
      runs.map((run, round) => run.wallSeconds / (plain[round]?.wallSeconds ?? Number.NaN)),
    );
    const output = median(runs.map((run) => run.output));
    return [
      [
        name,
        figure(wallSeconds),
        Number.isNaN(ratio) ? '-' : figure(ratio),
        figure(cpuSeconds),
        figure(peakMiB),
        output === 0 ? '-' : (output / 1e6).toFixed(2),
        figure(median(runs.map((run) => run.held)) / 1e6),
      ],
    ];
  });
  say(
    `\n${title}\n\n${formatTable(['tool', 'wall s', 'x', 'cpu s', 'peak MiB', 'output MB', 'most disk MB'], rows)}`,
  );
}
