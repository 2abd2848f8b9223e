import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import { signatureTag } from '#bundles/transport/registry/attach-referrer';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { registryProvider } from '../../../agent/images/registry/registry-provider.ts';
import { type Blobs, closureEntry, putImage, putLayer, sourceOf } from '../../agent/images/image-fixture.ts';
import { signSimply } from '../../bundles/trust/images/sign-image.ts';
import { newKey } from '../../bundles/trust/root/new-key.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { type Outcome, runCommand } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const { signal } = new AbortController();
const PATH = 'registry.example/team/app';

describeWith(['cosign', 'dockerRegistry'], 'older signatures in the registry of a site', (paths) => {
  let registry: Registry;
  let folder: TemporaryDirectory;
  beforeAll(async () => {
    registry = await startRegistry(paths.dockerRegistry);
    folder = await temporaryDirectory('signatures');
  });
  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });
  const at = (name: string) => join(folder.path, name);
  const run = (...words: readonly string[]): Promise<Outcome> =>
    runCommand([...words], { cwd: folder.path, env: { PATH: process.env['PATH'], HOME: folder.path } });

  it('are found by cosign, each beside those that were there before', async () => {
    await using client = openRegistry({ host: registry.host, prefix: '' }, { plainHttp: [], env: {} });
    const provider = registryProvider(client);
    const blobs: Blobs = new Map();
    const manifest = putImage(blobs, { layers: [await putLayer(blobs, { app: 'signed' })] });
    const image = closureEntry(manifest, PATH);
    const keys = [newKey(), newKey(), newKey()] as const;
    const withSignature = async (key: (typeof keys)[number]): Promise<ClosureEntry> => ({
      ...image,
      attachments: [(await signSimply(blobs, image.digest, key)).digest],
    });
    const [first, second] = [await withSignature(keys[0]), await withSignature(keys[1])];
    expect(await provider.bring(first, sourceOf(blobs), signal)).toBe('brought');
    expect(await provider.keeps([first], signal)).toEqual(new Set([image.digest]));
    // A new signature of an image that is there already comes along with the next release.
    expect(await provider.keeps([second], signal)).toEqual(new Set());
    expect(await provider.bring(second, sourceOf(blobs), signal)).toBe('brought');
    expect(await provider.bring(second, sourceOf(blobs), signal)).toBe('there');

    const reference = `${registry.host}/${PATH}@${image.digest}`;
    const verifies = async (key: (typeof keys)[number]): Promise<boolean> => {
      await writeFile(at('key.pub'), key.public.pem);
      const words = ['--key', 'key.pub', '--insecure-ignore-tlog', '--allow-insecure-registry'];
      return (await run(paths.cosign, 'verify', ...words, reference)).code === 0;
    };
    expect([await verifies(keys[0]), await verifies(keys[1]), await verifies(keys[2])]).toEqual([
      true,
      true,
      false,
    ]);
    expect(await client.repository(PATH).tags()).toContain(signatureTag(image.digest));
  });
});
