import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLayout, referenceOf } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { EXAMPLE_IMAGES } from '../../../examples/make-images.ts';
import { type Company, makeCompany } from '../../harness/fleets/company.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { type Outcome, runOrFail, succeed } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const MANIFESTS = [
  'apps/telemetry/collector/deployment.yaml',
  'apps/telemetry/edge/deployment.yaml',
  'apps/line-control/kubernetes/deployment.yaml',
  'apps/order-api/kubernetes/deployment.yaml',
];
const HOST = 'registry.halden.example';

describeWith(['dockerRegistry', 'skopeo'], 'images of a platform from a registry', (paths) => {
  let registry: Registry;
  let folder: TemporaryDirectory;
  let company: Company;

  beforeAll(async () => {
    registry = await startRegistry(paths.dockerRegistry);
    folder = await temporaryDirectory('company');
    company = await makeCompany(folder.path);
    for (const image of EXAMPLE_IMAGES) {
      const target = `docker://${image.replace(HOST, registry.host)}`;
      const from = `oci:${join(folder.path, 'images')}:${image}`;
      await runOrFail([paths.skopeo, 'copy', '--all', '--dest-tls-verify=false', from, target]);
    }
    for (const file of MANIFESTS) await company.edit(file, (text) => text.replaceAll(HOST, registry.host));
    await rm(join(folder.path, 'platform/images.lock.yaml'));
    await rm(join(folder.path, 'images'), { recursive: true });
  });
  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  const run = (...words: readonly string[]): Promise<Outcome> =>
    runScheduler(folder.path, words, { ...process.env, HOME: folder.path });
  const build = (...words: readonly string[]) =>
    run('build', '--platform', 'platform', '--keys', 'keys', '--layout', 'releases', ...words);
  const lockFile = () => readFile(join(folder.path, 'platform/images.lock.yaml'), 'utf8');

  it('are unpinned until they are locked', async () => {
    const { code, stdout, stderr } = await build();
    expect(code).toBe(8);
    expect(stdout + stderr).toContain('IMAGE_UNPINNED');
    expect(stdout + stderr).toContain('fleet-scheduler images lock');
  });

  it('are locked by what the registry says, once', async () => {
    const first = await run('images', 'lock', '--platform', 'platform');
    expect(first.stderr + first.stdout).toContain('3 written, 0 as before');
    succeed(first);
    const text = await lockFile();
    for (const image of EXAMPLE_IMAGES) expect(text).toContain(image.replace(HOST, registry.host));
    const again = await run('images', 'lock', '--platform', 'platform');
    expect(again.stdout + again.stderr).toContain('0 written, 3 as before');
    expect(await lockFile()).toBe(text);
  });

  it('are pulled by build only with --pull-images, verified, and never twice', async () => {
    const untold = await build();
    expect(untold.code).toBe(8);
    expect(untold.stdout + untold.stderr).toContain('MISSING_BLOB');
    await rm(join(folder.path, 'releases'), { recursive: true });
    const told = await build('--pull-images');
    expect(told.stderr + told.stdout).toContain('released');
    expect(told.code, told.stderr + told.stdout).toBe(0);
    const layout = await openLayout(join(folder.path, 'releases'));
    const images = layout.manifests.filter((entry) => (referenceOf(entry) ?? '').includes(':i-'));
    expect(images.length).toBeGreaterThan(2);
    for (const { digest, size } of images) await readBlob(layout.blobs, digest, size);
    await registry[Symbol.asyncDispose]();
    const without = await build('--pull-images');
    expect(without.code, without.stderr + without.stdout).toBe(0);
    expect(without.stdout + without.stderr).toContain('unchanged');
    const later = await build();
    expect(later.code, later.stderr + later.stdout).toBe(0);
    expect(later.stdout).toContain('unchanged');
  });

  it('say who did not answer, with the line that names the image', async () => {
    const { code, stdout, stderr } = await run('images', 'lock', '--platform', 'platform', '--update');
    expect(stdout + stderr).toContain('REGISTRY_UNREACHABLE');
    expect(stdout + stderr).toMatch(/deployment\.yaml:\d+:\d+/);
    expect(code).toBe(5);
    expect(await lockFile()).toContain(registry.host);
  });
});
