import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openRegistry } from '../../../bundles/transport/registry/open-registry.ts';
import { cachedCharts } from '../../../scheduler/load/charts/chart-cache.ts';
import { openChartPlaces } from '../../../scheduler/load/charts/chart-places.ts';
import { openCharts } from '../../../scheduler/load/charts/charts.ts';
import { openImageRegistries, registryPlaces } from '../../../scheduler/load/images/image-places.ts';
import { lockPlatform } from '../../../scheduler/build/lock/lock-platform.ts';
import { describeOnVersions } from '../../harness/run/describe-on-versions.ts';
import { freePort } from '../../harness/neighbours/free-port.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import {
  applicationFiles,
  applicationWorld,
  IMAGE,
  makeApplications,
} from './applications/application-world.ts';

describeOnVersions('helm', ['dockerRegistry'], 'a chart of another repository', (paths) => {
  const signal = new AbortController().signal;
  const programs = [paths.helm];
  const cleanup = new AsyncDisposableStack();
  let registry: Registry;
  let folder: string;
  let repository: string;
  let server: Server;

  const publish = async (word: string): Promise<void> => {
    await rm(join(folder, 'web'), { recursive: true, force: true });
    await writeFiles(folder, {
      'web/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.2.3\n',
      'web/values.yaml': 'word: none\n',
      'web/templates/map.yaml': `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}"}\ndata: {word: "{{ .Values.word }}", made: ${word}, image: "${IMAGE}"}\n`,
      'web/templates/pod.yaml':
        '{{ with .Values.pod }}apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: main, image: {{ . | quote }}}]\n{{ end }}',
    });
    await runOrFail([paths.helm, 'package', join(folder, 'web'), '--destination', folder]);
    await runOrFail([
      paths.helm,
      'push',
      join(folder, 'web-1.2.3.tgz'),
      `oci://${registry.host}/charts`,
      '--plain-http',
    ]);
    await runOrFail([paths.helm, 'repo', 'index', folder]);
  };

  beforeAll(async () => {
    registry = cleanup.use(await startRegistry(paths.dockerRegistry));
    folder = cleanup.use(await temporaryDirectory('charts')).path;
    await publish('first');
    const port = await freePort();
    server = createServer((request, response) => {
      readFile(join(folder, new URL(request.url ?? '/', 'http://x').pathname)).then(
        (bytes) => response.end(bytes),
        () => response.writeHead(404).end(),
      );
    });
    await new Promise<void>((resolve) => {
      server.listen(port, '127.0.0.1', resolve);
    });
    repository = `http://127.0.0.1:${port}`;
  });
  afterAll(async () => {
    server?.close();
    await cleanup.disposeAsync();
  });

  const world = (chart: string, more = '', files = {}) =>
    applicationWorld(applicationFiles(`{chart: "${chart}", version: 1.2.3${more}}`, files));
  const withPlaces = async <T>(work: (places: ReturnType<typeof placesOf>) => Promise<T>): Promise<T> => {
    const places = placesOf();
    await using _one = places.registries;
    await using _two = places.charts;
    return await work(places);
  };
  const placesOf = () => {
    const options = { plainHttp: [registry.host], env: {} };
    const registries = openImageRegistries(options, openRegistry);
    return { registries, charts: openChartPlaces(registries, options) };
  };
  const lock = (directory: string, update: 'all' | readonly string[] = []) =>
    withPlaces(({ registries, charts }) =>
      lockPlatform({
        platform: join(directory, 'platform'),
        maps: [],
        cacheDirectory: join(directory, 'cache'),
        env: { ...process.env, PATH: join(paths.helm, '..') + ':' + (process.env['PATH'] ?? '') },
        places: registryPlaces(registries),
        charts,
        update,
        signal,
      }),
    );
  const make = (directory: string) =>
    withPlaces(({ charts }) =>
      makeApplications(directory, programs, {
        charts: openCharts(cachedCharts(join(directory, 'cache'), charts.fetch)),
      }),
    );
  const lockFile = (directory: string) => join(directory, 'platform/images.lock.yaml');

  it('is held as unpinned until it is locked, and is then the locked one', async () => {
    for (const chart of [`oci://${registry.host}/charts/web`, `${repository}/web`]) {
      const directory = await world(chart, ', values: [values/prod.yaml]', {
        'values/prod.yaml': 'word: loud\n',
      });
      expect((await make(directory)).held.join()).toContain(
        `CHART_UNPINNED: shop-web: the chart ${chart}:1.2.3`,
      );
      const locked = await lock(directory);
      expect(locked.missing).toEqual([]);
      expect(locked.unread).toEqual([]);
      expect(await readFile(lockFile(directory), 'utf8')).toMatch(
        new RegExp(`charts:\\n    ${chart}:1\\.2\\.3: ${chart}@sha256:[0-9a-f]{64}\\n`),
      );
      const made = await make(directory);
      expect(made.held).toEqual([]);
      expect(made.files['edge/templates/map.yaml']).toMatch(/word: "loud", made: first/);
      expect(made.candidate.charts).toEqual([
        { name: chart, version: '1.2.3', digest: expect.stringMatching(/^sha256:/) },
      ]);
      const again = await lock(directory);
      expect(again.file).toBeUndefined();
      expect(again.unused).toEqual([]);
    }
  });

  it('stays the same when its version is published again, until it is locked again', async () => {
    const chart = `oci://${registry.host}/charts/web`;
    const directory = await world(chart);
    await lock(directory);
    const before = await make(directory);
    expect(before.held).toEqual([]);
    await publish('second');
    await rm(join(directory, 'cache'), { recursive: true });
    const after = await make(directory);
    expect(after.held).toEqual([]);
    expect(after.digests).toEqual(before.digests);
    // A chart repository has only what it has now, and that is refused.
    const other = await world(`${repository}/web`);
    await lock(other);
    await publish('third');
    await rm(join(other, 'cache'), { recursive: true });
    expect((await make(other)).held.join()).toContain('DIGEST_MISMATCH');
    await lock(other, [`${repository}/web:1.2.3`]);
    expect((await make(other)).files['edge/templates/map.yaml']).toContain('made: third');
  });

  it('is taken from the cache when the registry does not answer', async () => {
    const chart = `oci://${registry.host}/charts/web`;
    const directory = await world(chart);
    await lock(directory);
    const before = await make(directory);
    const offline = await makeApplications(directory, programs, {
      charts: openCharts(
        cachedCharts(join(directory, 'cache'), () => {
          throw new Error('asked');
        }),
      ),
    });
    expect(offline.held).toEqual([]);
    expect(offline.digests).toEqual(before.digests);
    const cached = JSON.stringify(before.candidate.charts).match(/sha256:([0-9a-f]{64})/)?.[1] ?? '';
    await writeFile(join(directory, 'cache/charts', `${cached}.tgz`), 'damaged');
    expect((await make(directory)).digests).toEqual(before.digests);
  });

  it('is rendered to find its images, which are locked with it', async () => {
    const image = `${registry.host}/nobody/web:1.0`;
    const directory = await world(`oci://${registry.host}/charts/web`, ', values: [v.yaml]', {
      'v.yaml': `pod: ${image}\n`,
    });
    const locked = await lock(directory);
    expect(locked.images.map(({ image: name }) => name)).toEqual([`oci://${registry.host}/charts/web:1.2.3`]);
    expect(locked.missing).toHaveLength(1);
    expect(locked.missing[0]?.message).toContain(`the image ${image} is not in its registry`);
    expect(locked.missing[0]?.at?.file).toMatch(/charts\/web:1\.2\.3\/templates\/pod\.yaml \(rendered\)$/);
  });

  it('brings the images in its artifacthub.io/images annotation', async () => {
    const image = `${registry.host}/nobody/started:1.0`;
    const annotation = `annotations:\n  artifacthub.io/images: |\n    - name: started\n      image: ${image}\n`;
    await writeFiles(folder, {
      'operator/Chart.yaml': `apiVersion: v2\nname: operator\nversion: 1.2.3\n${annotation}`,
      'operator/templates/map.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n',
    });
    await runOrFail([paths.helm, 'package', join(folder, 'operator'), '--destination', folder]);
    const archive = join(folder, 'operator-1.2.3.tgz');
    await runOrFail([paths.helm, 'push', archive, `oci://${registry.host}/charts`, '--plain-http']);
    const { missing } = await lock(await world(`oci://${registry.host}/charts/operator`));
    expect(missing.map(({ message, at }) => [message, at?.file])).toEqual([
      [
        `the image ${image} is not in its registry`,
        `oci://${registry.host}/charts/operator:1.2.3/Chart.yaml`,
      ],
    ]);
  });

  it('that is missing is reported with the line that names it', async () => {
    const directory = await world(`oci://${registry.host}/charts/absent`);
    const { missing } = await lock(directory);
    expect(missing).toHaveLength(1);
    expect(missing[0]).toMatchObject({ code: 'IMAGE_MISSING', at: { line: 7 } });
  });
});
