import { createCipheriv } from 'node:crypto';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { bundleOf, KIOSK, makeWorld, type World } from '../world.ts';

const MIB = 1 << 20;

/** A file is synced, and read back, after each 32 MiB. */
export const LARGEST = 36 * MIB;

/** No two pages of it are the same, and it is the same each time. */
const layerOf = (name: string, size: number): Buffer =>
  createCipheriv('aes-128-ctr', digestOf(name).slice(-16), Buffer.alloc(16)).update(Buffer.alloc(size));

/** A release so large that a tar is read back while it is written. */
export const makeLargeWorld = async (): Promise<
  World & { readonly layers: readonly { readonly digest: Digest; readonly file: string }[] }
> => {
  const world = await makeWorld();
  const layers = [LARGEST, 5 * MIB + 5, 2 * MIB].map((size, at) => layerOf(`layer ${at}`, size));
  const bundle = { ...bundleOf('large'), images: [{ name: 'web', layers }] };
  await world.layout.release({ channel: KIOSK, version: 1, bundles: [bundle] });
  return {
    ...world,
    layers: layers.map((layer) => {
      const digest = digestOf(layer);
      return { digest, file: world.path('layout/blobs/sha256', hexOf(digest)) };
    }),
  };
};
