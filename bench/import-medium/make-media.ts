/**
 * An enrolled agent, and a medium of its site with one host bundle of sixteen layers, as a folder and as one tar; always the same
 * layers. `node bench/import-medium/make-media.ts <folder> <MB>`
 */
import { createCipheriv } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { enroll } from '../../agent/enroll/enroll.ts';
import { readIdentity } from '../../agent/store/identity.ts';
import { openState } from '../../agent/store/state.ts';
import { writeTar } from '../../bundles/formats/archive/write-tar.ts';
import type { BundleConfig } from '../../bundles/formats/bundle/config.ts';
import { bundleManifest, type Descriptor, encodeManifest } from '../../bundles/formats/layout/manifest.ts';
import { canonicalBytes } from '../../bundles/json/canonical.ts';
import { type Digest, digestOf } from '../../bundles/digest.ts';
import { BUNDLE_CONFIG, LAYER_HOST } from '../../bundles/media-types.ts';
import { SITE, testEdge } from '../../test/agent/world.ts';
import {
  CHANNEL,
  createTestFleet,
  type TestBundle,
  writeTestMedium,
} from '../../test/harness/fleets/signed-medium.ts';

const LAYERS = 16;

const [folder = '', megabytes = '64'] = process.argv.slice(2);

/** Incompressible content, as that of images and programs. */
const layerOf = async (seed: number, bytes: number): Promise<Buffer> => {
  const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16, seed), Buffer.alloc(16)).update(
    Buffer.alloc(bytes),
  );
  const tar = await Array.fromAsync(
    writeTar([{ path: `p${seed}/files/data.bin`, size: noise.length, content: noise }]),
  );
  return gzipSync(Buffer.concat(tar), { level: 0 });
};

const fleet = await createTestFleet('bench');
const blobs = new Map<Digest, Buffer>();
const add = (mediaType: string, bytes: Buffer): Descriptor => {
  const digest = digestOf(bytes);
  blobs.set(digest, bytes);
  return { mediaType, digest, size: bytes.byteLength };
};
const layers: Descriptor[] = [];
for (let seed = 0; seed < LAYERS; seed++) {
  layers.push(add(LAYER_HOST, await layerOf(seed, Math.floor((Number(megabytes) * 1_000_000) / LAYERS))));
}
const config: BundleConfig = {
  fleet: fleet.name,
  ...CHANNEL,
  kind: 'host',
  assignments: layers.map(({ digest }, index) => ({
    id: `p${index}`,
    package: digest,
    path: `p${index}`,
    layer: digest,
    dependsOn: [],
    critical: false,
  })),
  siteInputs: { schema: { type: 'object' }, fields: [] },
  requirements: {},
  closure: [],
  critical: [],
};
const { bytes, descriptor } = encodeManifest(
  bundleManifest('host', add(BUNDLE_CONFIG, canonicalBytes(config)), layers),
);
blobs.set(descriptor.digest, bytes);
const bundle: TestBundle = {
  channel: CHANNEL,
  digest: descriptor.digest,
  config,
  manifest: descriptor,
  layers: new Map(layers.map((layer, index) => [`p${index}`, layer])),
  blobs,
};

await mkdir(join(folder, 'request'), { recursive: true });
using state = openState(join(folder, 'state'), { create: true });
await enroll(
  state,
  testEdge(),
  {
    fleet: fleet.name,
    site: SITE,
    agent: 'kiosk-1',
    channel: CHANNEL,
    labels: {},
    pinnedRoot: digestOf(fleet.roots[0] ?? ''),
  },
  join(folder, 'request'),
);
const agents = [{ name: 'kiosk-1', key: readIdentity(state).key }];
for (const name of ['medium', 'medium.tar']) {
  await writeTestMedium(join(folder, name), fleet, {
    site: { site: SITE, version: 1, agents },
    release: { version: 1, bundle },
  });
}
