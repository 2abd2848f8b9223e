import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { unpackLayer } from '../../../bundles/formats/archive/unpack-layer.ts';
import { readBundle } from '../../../bundles/formats/bundle/read-bundle.ts';
import { openLayout } from '../../../bundles/formats/layout/layout.ts';
import { readBlob } from '../../../bundles/formats/layout/verified.ts';
import { PREDICATES } from '../../../bundles/media-types.ts';
import type { BundlePredicate } from '../../../bundles/formats/statements/predicates.ts';
import { verifyStatement } from '../../../bundles/trust/statements/verify-statement.ts';
import { readDocuments } from '../../../scheduler/load/releases/artifact.ts';
import { readRelease } from '../../../scheduler/load/releases/read-release.ts';
import { releaseReference } from '../../../scheduler/load/releases/references.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { digestsOf, makeCompany } from '../../harness/fleets/company.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const PRINTER = 'apps/label-printer/host/package.yaml';

test('build gives the same digests in two directories, in another order and on eight threads', async () => {
  await using one = await temporaryDirectory();
  await using two = await temporaryDirectory();
  const environments = ['prod'];
  const first = await (await makeCompany(one.path)).build({ environments, workers: 1 });
  const second = await (await makeCompany(two.path, 'shuffled')).build({ environments, workers: 8 });
  expect(first.channels).toHaveLength(6);
  expect(first.channels.flatMap(({ held }) => held)).toEqual([]);
  expect(digestsOf(second)).toEqual(digestsOf(first));
});

test('a change of one application changes only its bundles', async () => {
  await using folder = await temporaryDirectory();
  const company = await makeCompany(folder.path);
  const before = digestsOf(await company.build());
  await company.edit('apps/info-screen/host/index.html', (text) => `${text}<!-- new -->\n`);
  const outcome = await company.build();
  const changed = Object.entries(digestsOf(outcome)).filter(
    ([channel, digest]) => digest !== before[channel],
  );
  expect(changed.map(([channel]) => channel)).toEqual(['dev/kiosk', 'qa/kiosk', 'prod/kiosk']);
  expect(
    outcome.channels.filter(({ outcome: word }) => word === 'released').map(({ version }) => version),
  ).toEqual([2, 2, 2]);
});

test('a build without changes releases nothing', async () => {
  await using folder = await temporaryDirectory();
  const company = await makeCompany(folder.path);
  await company.build({ environments: ['prod'] });
  const again = await company.build({ environments: ['prod'] });
  expect(new Set(again.channels.map(({ outcome }) => outcome))).toEqual(new Set(['unchanged']));
  expect(new Set(again.channels.map(({ version }) => version))).toEqual(new Set([1]));
});

test('a package that cannot be built is held with its position, without affecting others', async () => {
  await using folder = await temporaryDirectory();
  const company = await makeCompany(folder.path);
  await company.edit(PRINTER, (text) => text.replace('source: label.zpl', 'source: lable.zpl'));
  const outcome = await company.build({ environments: ['prod'] });
  const floor = outcome.channels.find(({ clusterType }) => clusterType === 'factory-host');
  expect(floor?.outcome).toBe('released');
  expect(floor?.assignments).toBe(1);
  const [held] = floor?.held ?? [];
  expect(held?.assignment).toBe('label-printer-host');
  expect(held?.code).toBe('REFERENCE_MISSING');
  expect(held?.message).toContain('there is no file lable.zpl');
  expect(held?.at).toMatchObject({ file: expect.stringContaining('package.yaml'), line: 10 });
  expect(
    outcome.channels.filter(({ clusterType }) => clusterType !== 'factory-host').flatMap((it) => it.held),
  ).toEqual([]);
});

test('a channel with a held package is blocked without --previous, and released with its last good version with it', async () => {
  await using folder = await temporaryDirectory();
  const company = await makeCompany(folder.path);
  const before = digestsOf(await company.build({ environments: ['prod'] }));
  await company.edit(PRINTER, (text) => text.replace('source: label.zpl', 'source: lable.zpl'));
  const blocked = await company.build({ environments: ['prod'] });
  expect(blocked.channels.find(({ clusterType }) => clusterType === 'factory-host')?.outcome).toBe('blocked');
  await company.edit('apps/scale-reader/host/scale.json', (text) =>
    text.replace('"decimals": 3', '"decimals": 2'),
  );
  const layout = join(folder.path, 'releases');
  const kept = await company.build({ environments: ['prod'], previous: layout });
  const floor = kept.channels.find(({ clusterType }) => clusterType === 'factory-host');
  expect(floor?.outcome).toBe('released');
  expect(floor?.bundle).not.toBe(before['prod/factory-host']);
  expect(floor?.assignments).toBe(2);
  const opened = await openLayout(layout);
  const [old, now] = await Promise.all(
    [before['prod/factory-host'], floor?.bundle].map(
      async (digest) => (await readBundle(opened.blobs, digest as never)).config,
    ),
  );
  const printer = (config: typeof old) =>
    config?.assignments.find(({ id }) => id === 'label-printer-host')?.package;
  expect(printer(now)).toBe(printer(old));
  const statement = await bundleStatement(folder.path, floor?.bundle as string);
  expect(statement.held).toEqual([
    expect.objectContaining({
      assignment: 'label-printer-host',
      code: 'REFERENCE_MISSING',
      kept: printer(old),
    }),
  ]);
});

test('an assignment that depends on a held one is held too', async () => {
  await using folder = await temporaryDirectory();
  const company = await makeCompany(folder.path);
  await company.edit('apps/scale-reader/host/package.yaml', (text) =>
    text.replace('source: serve.py', 'source: gone.py'),
  );
  const outcome = await company.build({ environments: ['dev'] });
  const floor = outcome.channels.find(({ clusterType }) => clusterType === 'factory-host');
  expect(floor?.held.map(({ assignment, code }) => [assignment, code])).toEqual([
    ['scale-reader-host', 'REFERENCE_MISSING'],
    ['label-printer-host', 'DEPENDENCY_MISSING'],
  ]);
});

test('of two packages that own one path the second is held', async () => {
  await using folder = await temporaryDirectory();
  const company = await makeCompany(folder.path);
  // Both applications are of the workspace production, which is a name of either.
  await company.edit(PRINTER, (text) =>
    text.replaceAll('/opt/label-printer/print-loop', '/opt/production/serve'),
  );
  await company.edit('apps/scale-reader/host/package.yaml', (text) =>
    text.replaceAll('/opt/scale-reader/serve.py', '/opt/production/serve'),
  );
  const outcome = await company.build({ environments: ['dev'] });
  const held = outcome.channels.flatMap((channel) => channel.held);
  expect(held.map(({ assignment, code }) => [assignment, code])).toContainEqual([
    'scale-reader-host',
    'OBJECT_CLASH',
  ]);
});

test('an unpinned image is refused with the line that names it', async () => {
  await using folder = await temporaryDirectory();
  const company = await makeCompany(folder.path);
  let line = 0;
  await company.edit('apps/line-control/kubernetes/deployment.yaml', (text) => {
    line = text.slice(0, text.indexOf('line-control:5.0.4')).split('\n').length;
    return text.replace('line-control:5.0.4', 'line-control:5.1.0');
  });
  const outcome = await company.build({ environments: ['dev'] });
  const [held] = outcome.channels.flatMap((channel) => channel.held);
  expect(held).toMatchObject({ code: 'IMAGE_UNPINNED', at: { line } });
});

test('imagePullPolicy: Always is held for cluster types without a network', async () => {
  await using folder = await temporaryDirectory();
  const company = await makeCompany(folder.path);
  await company.edit('apps/telemetry/edge/deployment.yaml', (text) => text.replace('IfNotPresent', 'Always'));
  await company.edit('apps/telemetry/collector/deployment.yaml', (text) =>
    text.replace('IfNotPresent', 'Always'),
  );
  const outcome = await company.build({ environments: ['dev'] });
  const held = outcome.channels.flatMap(({ clusterType, held: lines }) =>
    lines.map(({ code }) => [clusterType, code]),
  );
  expect(held).toEqual([
    ['factory-line', 'PULL_POLICY'],
    ['factory-line', 'DEPENDENCY_MISSING'],
    ['ship', 'PULL_POLICY'],
  ]);
});

test('the Kubernetes bundle is one layer that kustomize reads, with pinned images and namespaces', async () => {
  await using folder = await temporaryDirectory();
  const outcome = await (await makeCompany(folder.path)).build({ environments: ['prod'] });
  const cloud = outcome.channels.find(({ clusterType }) => clusterType === 'cloud-region');
  const { blobs } = await openLayout(join(folder.path, 'releases'));
  const bundle = await readBundle(blobs, cloud?.bundle as never);
  expect(bundle.manifest.layers).toHaveLength(1);
  const layer = await readBlob(blobs, bundle.manifest.layers[0]?.digest as never, 1 << 20);
  const files = unpackLayer(layer, { maxBytes: 1 << 20, maxEntries: 1000 });
  const text = (path: string): string => files.get(path)?.bytes.toString() ?? '';
  expect(text('kustomization.yaml')).toContain('- "order-api-cloud"');
  expect(text('order-api-cloud/kustomization.yaml')).toContain('- "manifests/deployment.yaml"');
  const deployment = text('order-api-cloud/manifests/deployment.yaml');
  expect(deployment).toMatch(/image: registry\.halden\.example\/order-api@sha256:[0-9a-f]{64}\n/);
  expect(deployment).toContain('namespace: prod-cloud-region-order-api-cloud');
  expect(deployment).toContain('# Everything the platform decides arrives as one ConfigMap.');
  expect(bundle.config.closure.map(({ names }) => names)).toHaveLength(2);
});

test('a release increments the number, names the former release and contains every root', async () => {
  await using folder = await temporaryDirectory();
  const company = await makeCompany(folder.path);
  await company.build({ environments: ['prod'] });
  await company.edit('apps/info-screen/host/index.html', (text) => `${text}\n`);
  const layout = join(folder.path, 'releases');
  const { root } = await openKeyDirectory(join(folder.path, 'keys'));
  const kiosk = { environment: 'prod', clusterType: 'kiosk' };
  const first = await readRelease(await openLayout(layout), kiosk, [root]);
  await company.build({ environments: ['prod'] });
  const second = await readRelease(await openLayout(layout), kiosk, [root]);
  expect(first?.predicate).toMatchObject({
    version: 1,
    previous: null,
    issuedAt: '2026-11-21T08:00:00Z',
    expires: '2027-05-20T08:00:00Z',
  });
  expect(second?.predicate).toMatchObject({ version: 2, previous: first?.digest });
  const roles = (await readDocuments(await openLayout(layout), releaseReference(kiosk))).map(
    ({ role }) => role,
  );
  expect(roles.toSorted()).toEqual(['bundle', 'candidate', 'release', 'revocations', 'root']);
});

test('a build with keys of another fleet is refused for this layout', async () => {
  await using folder = await temporaryDirectory();
  await using other = await temporaryDirectory();
  const company = await makeCompany(folder.path);
  await company.build({ environments: ['prod'] });
  const foreign = await makeCompany(other.path);
  await expect(
    foreign.build({ environments: ['prod'], layout: join(folder.path, 'releases') }),
  ).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
});

test('statements contain no path of the building machine', async () => {
  await using folder = await temporaryDirectory();
  const outcome = await (await makeCompany(folder.path)).build({ environments: ['prod'] });
  for (const { bundle } of outcome.channels) {
    expect(JSON.stringify(await bundleStatement(folder.path, bundle as string))).not.toContain(folder.path);
  }
});

const bundleStatement = async (
  folder: string,
  bundle: string,
  name = 'releases',
): Promise<BundlePredicate> => {
  const layout = await openLayout(join(folder, name));
  const { root } = await openKeyDirectory(join(folder, 'keys'));
  for (const { annotations } of layout.manifests) {
    const reference = annotations?.['org.opencontainers.image.ref.name'] ?? '';
    const documents = await readDocuments(layout, reference.endsWith(':release') ? reference : 'none');
    const found = documents.find(({ role, about }) => role === 'bundle' && about === bundle);
    if (!found) continue;
    const bytes = await readFile(layout.blobs.path(found.digest));
    return verifyStatement([bytes], root.roles.bundle, PREDICATES.bundle, 'statement')
      .predicate as BundlePredicate;
  }
  throw new Error(`no statement about ${bundle}`);
};

test('an application whose repository cannot be read blocks its channels and no other', async () => {
  await using folder = await temporaryDirectory();
  const company = await makeCompany(folder.path);
  await company.build({ environments: ['prod'] });
  await company.edit('apps/label-printer/workload/workload.yaml', (text) => `${text}: [`);
  await company.edit('apps/info-screen/host/index.html', (text) => `${text}\n`);
  const blocked = await company.build({ environments: ['prod'] });
  const words = (outcome: typeof blocked) =>
    Object.fromEntries(outcome.channels.map((it) => [it.clusterType, it.outcome]));
  expect(words(blocked)).toMatchObject({ 'factory-host': 'blocked', kiosk: 'released', ship: 'unchanged' });
  const kept = await company.build({ environments: ['prod'], previous: join(folder.path, 'releases') });
  expect(words(kept)['factory-host']).toBe('unchanged');
  const floor = kept.channels.find(({ clusterType }) => clusterType === 'factory-host');
  expect(floor?.held.map(({ assignment, code }) => [assignment, code])).toEqual([
    ['label-printer-host', 'YAML_SYNTAX'],
  ]);
});

test('an unrelated commit changes no digest, and the statement names the commit', async () => {
  await using folder = await temporaryDirectory();
  await using git = await temporaryDirectory();
  const company = await makeCompany(folder.path);
  const tree = join(git.path, 'tree');
  for (const part of ['platform', 'apps'])
    await cp(join(folder.path, part), join(tree, part), { recursive: true });
  const repository = join(git.path, 'company.git');
  const { main: first } = await makeGitRepository(repository, { main: tree });
  const platform = `file://${repository}#main:platform`;
  const environments = ['prod'];
  const before = await company.build({ platform, environments });
  expect(before.channels.flatMap(({ held }) => held)).toEqual([]);

  await writeFile(join(tree, 'README.md'), 'Nothing that runs.\n');
  const second = await commitFolder(repository, 'main', tree);
  expect(second).not.toBe(first);
  const after = await company.build({ platform, environments, layout: join(folder.path, 'elsewhere') });
  expect(digestsOf(after)).toEqual(digestsOf(before));

  const plain = await company.build({ environments, layout: join(folder.path, 'from-directories') });
  expect(digestsOf(plain)).toEqual(digestsOf(before));
  const [channel] = after.channels;
  const statement = await bundleStatement(folder.path, channel?.bundle as string, 'elsewhere');
  expect(new Set(statement.sources.map(({ commit }) => commit))).toEqual(new Set([second]));
});
