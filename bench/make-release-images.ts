/**
 * The input of the transfer benchmarks: 10 images of 4 layers, one base shared by all, 559 MB unique in 51 blobs (the
 * base and each image's own layers are half noise, half text that gzip shortens, as real layers are). Always the same
 * bytes. `node bench/make-release-images.ts <directory>` writes an OCI layout with an entry for each image.
 */
import { createCipheriv } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { writeTar } from '../bundles/formats/archive/write-tar.ts';
import { type Descriptor, encodeManifest } from '../bundles/formats/layout/manifest.ts';
import { canonicalBytes } from '../bundles/json/canonical.ts';
import { digestOf } from '../bundles/digest.ts';
import {
  type Layout,
  openOrStartLayout,
  withReference,
  writeLayoutIndex,
} from '../bundles/formats/layout/layout.ts';
import { OCI_MANIFEST } from '../bundles/media-types.ts';

const MIB = 1 << 20;
const LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip';

export const imageName = (index: number): string =>
  `registry.example/app-${String(index).padStart(2, '0')}:1`;
const IMAGES = 10;

/** Seed of the changed layer; no other layer has it. */
const CHANGED = 10_000;

/** Reproducible noise: a stream cipher over zeros. */
const noise = (seed: number, size: number): Buffer =>
  createCipheriv('aes-128-ctr', keyOf(seed), Buffer.alloc(16)).update(Buffer.alloc(size));

/** Seeds of one byte repeat that byte, so that the layers of earlier versions of this bench keep their bytes. */
const keyOf = (seed: number): Buffer => {
  const key = Buffer.alloc(16, seed);
  if (seed > 255) key.writeUInt32BE(seed);
  return key;
};

const text = (seed: number, size: number): Buffer => {
  const lines: string[] = [];
  const traces = noise(seed + 100, size / 5).toString('hex');
  for (let length = 0, line = 0; length < size; line++) {
    const trace = traces.slice(line * 16, line * 16 + 16);
    const entry = `2026-11-21T08:00:${String(line % 60).padStart(2, '0')} unit-${seed} trace ${trace} done\n`;
    lines.push(entry);
    length += entry.length;
  }
  return Buffer.from(lines.join('')).subarray(0, size);
};

const put = async (layout: Layout, mediaType: string, bytes: Buffer): Promise<Descriptor> => {
  const descriptor = { mediaType, digest: digestOf(bytes), size: bytes.byteLength };
  await layout.blobs.write(descriptor.digest, descriptor.size, bytes);
  return descriptor;
};

type Layer = { readonly descriptor: Descriptor; readonly diffId: string };

const createLayer = async (
  layout: Layout,
  name: string,
  seed: number,
  noiseBytes: number,
  textBytes: number,
): Promise<Layer> => {
  const files = [
    { path: `srv/${name}/data.bin`, content: noise(seed, noiseBytes) },
    { path: `srv/${name}/log.txt`, content: text(seed, textBytes) },
  ];
  const tar = Buffer.concat(
    await Array.fromAsync(writeTar(files.map((file) => ({ ...file, size: file.content.byteLength })))),
  );
  return { descriptor: await put(layout, LAYER, gzipSync(tar, { level: 1 })), diffId: digestOf(tar) };
};

/**
 * @param count of images; each adds 53 MB to the 26 of the base
 * @param release 2 differs from 1 in the small layer of the first image alone
 * @returns the descriptor of each image
 */
export const makeReleaseImages = async (
  directory: string,
  count = IMAGES,
  release: 1 | 2 = 1,
): Promise<readonly Descriptor[]> => {
  let layout = await openOrStartLayout(directory);
  const base = await createLayer(layout, 'base', 1, 20 * MIB, 20 * MIB);
  const images: Descriptor[] = [];
  for (let index = 0; index < count; index++) {
    const name = `app-${index}`;
    const layers = [
      base,
      await createLayer(layout, `${name}-a`, 10 + index * 3, 20 * MIB, 20 * MIB),
      await createLayer(layout, `${name}-b`, 11 + index * 3, 20 * MIB, 20 * MIB),
      await createLayer(
        layout,
        `${name}-c`,
        12 + index * 3 + (release === 2 && index === 0 ? CHANGED : 0),
        MIB,
        MIB,
      ),
    ];
    const config = {
      architecture: 'amd64',
      os: 'linux',
      config: {},
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    };
    const { bytes, descriptor } = encodeManifest({
      schemaVersion: 2,
      mediaType: OCI_MANIFEST,
      config: await put(layout, 'application/vnd.oci.image.config.v1+json', canonicalBytes(config)),
      layers: layers.map((layer) => layer.descriptor),
    });
    await put(layout, OCI_MANIFEST, bytes);
    layout = await writeLayoutIndex(layout, withReference(layout.manifests, imageName(index), descriptor));
    images.push(descriptor);
  }
  return images;
};

if (import.meta.main) {
  const [directory] = process.argv.slice(2);
  if (!directory) throw new Error('usage: node bench/make-release-images.ts <directory>');
  const images = await makeReleaseImages(directory);
  process.stdout.write(`${images.length} images in ${directory}\n`);
}
