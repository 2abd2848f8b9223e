/**
 * `npm run bench pull-images`: ten images, 555 MB unique, from a docker-registry on loopback into a directory, as an agent
 * brings them to a site; beside it what a person would use instead, in turn in the same run. FLEET_BENCH_ROUNDS (5).
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openLayout } from '../bundles/formats/layout/layout.ts';
import { openRegistry } from '../bundles/transport/registry/open-registry.ts';
import { pushTree } from '../bundles/transport/registry/push-tree.ts';
import { startRegistry } from '../test/harness/neighbours/registry.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { gatherPart } from './gather-part.ts';
import { makeReleaseImages } from './make-release-images.ts';
import { type Measured, measure, median, medianOf } from './measure.ts';
import { figure, formatTable } from './table.ts';

const ROUNDS = Number(process.env['FLEET_BENCH_ROUNDS'] ?? 5);
const REPOSITORY = 'bench/images';

await using folder = await temporaryDirectory('bench-pull');
const layoutPath = join(folder.path, 'layout');
process.stdout.write('Making ten images of 555 MB, always the same ...\n');
const images = await makeReleaseImages(layoutPath);
const [dockerRegistry, skopeo] = [await gatherPart('dockerRegistry'), await gatherPart('skopeo')];
await using registry = await startRegistry(dockerRegistry);
const tags = images.map((_, index) => `app-${index}`);
const blobs = new Set<string>();
{
  await using client = openRegistry({ host: registry.host, prefix: '' }, { plainHttp: [], env: {} });
  const { blobs: source } = await openLayout(layoutPath);
  for (const [index, image] of images.entries()) {
    await pushTree(client.repository(REPOSITORY), source, image, {
      tag: tags[index],
      onBlob: (blob) => blobs.add(blob.digest),
    });
  }
}

const target = join(folder.path, 'target');
const script = join(import.meta.dirname, 'pull-images', 'pull-into-store.ts');
const url = `${registry.url}/v2/${REPOSITORY}/blobs`;
const shell = (lines: readonly string[]): readonly string[] => ['sh', '-ec', lines.join('\n')];
const commands: Readonly<Record<string, readonly string[]>> = {
  'fleet-agent': [process.execPath, script, registry.host, REPOSITORY, target, ...tags],
  'skopeo copy': shell(
    tags.map(
      (tag) =>
        `${skopeo} copy --quiet --preserve-digests --src-tls-verify=false docker://${registry.host}/${REPOSITORY}:${tag} oci:${target}:${tag}`,
    ),
  ),
  'floor: curl of the blobs': shell(
    Array.from(blobs, (digest) => `curl -fsS -o ${target}/${digest.slice(7)} ${url}/${digest} || true`),
  ),
};

const runs = new Map<string, Measured[]>(Object.keys(commands).map((name) => [name, []]));
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, argv] of Object.entries(commands)) {
    await rm(target, { recursive: true, force: true });
    await mkdir(target);
    runs.get(name)?.push(await measure(argv));
  }
}

const plain = runs.get('skopeo copy') ?? [];
process.stdout.write(
  `\nPull of ten images, ${blobs.size} blobs, median of ${ROUNDS} rounds; x = wall against skopeo copy, round by round.\n\n`,
);
process.stdout.write(
  `${formatTable(
    ['tool', 'wall s', 'x', 'cpu s', 'peak MiB'],
    [...runs].map(([name, list]) => {
      const { wallSeconds, cpuSeconds, peakMiB } = medianOf(list);
      const ratio = median(
        list.map((run, round) => run.wallSeconds / (plain[round]?.wallSeconds ?? Number.NaN)),
      );
      return [name, figure(wallSeconds), figure(ratio), figure(cpuSeconds), figure(peakMiB)];
    }),
  )}\n`,
);
