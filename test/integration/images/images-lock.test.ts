import { readFile, rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLayout, referenceOf } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { EXAMPLE_IMAGES } from '../../../examples/make-images.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { type Outcome, succeed } from '../../harness/run/run-command.ts';
import { type RegistryCompany, startRegistryCompany } from './registry-company.ts';

describeWith(['dockerRegistry', 'skopeo'], 'images of a platform from a registry', (paths) => {
  let registry: Registry;
  let office: RegistryCompany;

  beforeAll(async () => {
    registry = await startRegistry(paths.dockerRegistry);
    office = await startRegistryCompany(registry, paths.skopeo);
    await rm(office.at('images'), { recursive: true });
  });
  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]();
    await office?.[Symbol.asyncDispose]();
  });

  const run = (...words: readonly string[]): Promise<Outcome> => office.run(...words);
  const BUILD = ['--platform', 'platform', '--keys', 'keys', '--layout', 'releases'];
  const build = (...words: readonly string[]) => run('build', ...BUILD, '--environment', 'prod', ...words);
  const lockFile = () => readFile(office.at('platform/images.lock.yaml'), 'utf8');

  it('are held as unpinned until they are locked', async () => {
    const { code, stdout, stderr } = await build();
    expect(code).toBe(8);
    expect(stdout + stderr).toContain('IMAGE_UNPINNED');
    expect(stdout + stderr).toContain('fleet-scheduler images lock');
  });

  it('are locked by the digests of the registry, once', async () => {
    const first = await run('images', 'lock', '--platform', 'platform');
    expect(first.stderr + first.stdout).toContain('3 written, 0 as before');
    succeed(first);
    const text = await lockFile();
    for (const image of EXAMPLE_IMAGES) expect(text).toContain(image.replace(/^[^/]+/, registry.host));
    const again = await run('images', 'lock', '--platform', 'platform');
    expect(again.stdout + again.stderr).toContain('0 written, 3 as before');
    expect(await lockFile()).toBe(text);
  });

  it('are pulled by build only with --pull-images, verified, and never twice', async () => {
    const untold = await build();
    expect(untold.code).toBe(8);
    expect(untold.stdout + untold.stderr).toContain('MISSING_BLOB');
    await rm(office.at('releases'), { recursive: true });
    const told = await build('--pull-images');
    expect(told.stderr + told.stdout).toContain('released');
    expect(told.code, told.stderr + told.stdout).toBe(0);
    const layout = await openLayout(office.at('releases'));
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

  it('are reported with registry and line when the registry does not answer', async () => {
    const { code, stdout, stderr } = await run('images', 'lock', '--platform', 'platform', '--update');
    expect(stdout + stderr).toContain('REGISTRY_UNREACHABLE');
    expect(stdout + stderr).toMatch(/deployment\.yaml:\d+:\d+/);
    expect(code).toBe(5);
    expect(await lockFile()).toContain(registry.host);
  });
});
