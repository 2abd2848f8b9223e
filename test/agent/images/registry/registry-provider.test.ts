import { expect, it } from 'vitest';
import { registryProvider } from '../../../../agent/images/registry/registry-provider.ts';
import { memoryRegistry } from '../../../bundles/transport/publish/memory-destination.ts';
import { type Blobs, closureEntry, putImage, putLayer, sourceOf } from '../image-fixture.ts';

const never = new AbortController().signal;

it('a registry that has collected a blob no longer counts as having it, so that a delta is not imported over it', async () => {
  const registry = memoryRegistry();
  const provider = registryProvider(registry);
  const blobs: Blobs = new Map();
  const base = await putLayer(blobs, { app: 'base' });
  const image = closureEntry(putImage(blobs, { layers: [base] }), 'edge.example/first');
  await provider.bring(image, sourceOf(blobs), never);
  expect(await provider.has([base.digest], [image], never)).toEqual(new Set([base.digest]));
  for (const name of registry.content.keys()) if (name.endsWith(base.digest)) registry.content.delete(name);
  expect(await provider.has([base.digest], [image], never)).toEqual(new Set());
});
