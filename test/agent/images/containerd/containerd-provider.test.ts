import { expect, it } from 'vitest';
import { containerdProvider } from '../../../../agent/images/containerd/containerd-provider.ts';
import type { Ctr } from '../../../../agent/images/containerd/open-ctr.ts';
import { type Blobs, closureEntry, putImage, putLayer, sourceOf } from '../image-fixture.ts';

const { signal } = new AbortController();

/** The calls of ctr that importing needs, over content that a node has already. */
const nodeWith = (content: Blobs): { readonly ctr: Ctr; readonly fetched: string[] } => {
  const fetched: string[] = [];
  const ctr: Ctr = async ([noun, verb, digest = ''], { input }) => {
    if (input) for await (const _ of input);
    if (noun !== 'content') return Buffer.from('');
    if (verb === 'ls') return Buffer.from([...content.keys()].join('\n'));
    fetched.push(digest);
    return content.get(digest as `sha256:${string}`) ?? Buffer.from('');
  };
  return { ctr, fetched };
};

it('fetches a manifest that a delta leaves out from containerd once', async () => {
  const blobs: Blobs = new Map();
  const layer = await putLayer(blobs, { app: 'one' });
  const image = closureEntry(putImage(blobs, { layers: [layer] }), 'edge.example/web');
  const { ctr, fetched } = nodeWith(blobs);
  const medium = sourceOf(new Map([[layer.digest, blobs.get(layer.digest) ?? Buffer.from('')]]));
  expect(await containerdProvider('/run/containerd.sock', ctr).bring(image, medium, signal)).toBe('there');
  expect(fetched).toEqual([image.digest]);
});
