import { describe, expect, it } from 'vitest';
import {
  bundleKindOf,
  childrenOf,
  encodeManifest,
  isManifestType,
  MAX_MANIFEST_BYTES,
  parseImageManifest,
  parseManifest,
} from '#bundles/formats/layout/manifest';
import { digestOf } from '#bundles/digest';
import { BUNDLE_CONFIG, DOCKER_INDEX, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST } from '#bundles/media-types';
import { refusal } from '../../refusal.ts';
import { descriptorOf, sampleBundle } from '../bundle/sample-bundle.ts';

const { manifest } = sampleBundle();
const config = JSON.stringify(descriptorOf('c', BUNDLE_CONFIG));
const refusalOf = (text: string) => refusal(() => parseManifest(Buffer.from(text)));

describe('a manifest', () => {
  it('is parsed to what was encoded, and has one digest for any order of its keys', () => {
    const { bytes, descriptor } = encodeManifest(manifest);
    expect(parseImageManifest(bytes)).toEqual(manifest);
    expect(descriptor).toEqual({
      mediaType: OCI_MANIFEST,
      artifactType: manifest.artifactType,
      digest: digestOf(bytes),
      size: bytes.length,
    });
    const { layers, ...rest } = manifest;
    expect(encodeManifest({ layers, ...rest }).descriptor).toEqual(descriptor);
    expect(childrenOf(manifest)).toEqual([manifest.config, ...manifest.layers]);
  });

  it('may be an index, except where an image manifest is required', () => {
    const index = Buffer.from(`{"schemaVersion":2,"manifests":[${config}]}`);
    expect(childrenOf(parseManifest(index))).toEqual([JSON.parse(config)]);
    expect(refusal(() => parseImageManifest(index))).toBe('LAYOUT_INVALID');
  });

  it.each([
    'null',
    '7',
    '"manifests"',
    '[]',
    '{}',
    `{"config":${config}}`,
    `{"layers":[]}`,
    `{"config":null,"layers":[]}`,
    `{"config":${config},"layers":[null]}`,
    `{"config":${config},"layers":{"0":1}}`,
    '{"manifests":[7]}',
    '{"manifests":null}',
    `{"manifests":[],"config":${config},"layers":[]}`,
    `{"manifests":null,"config":${config},"layers":[]}`,
    '{"schemaVersion":1,"fsLayers":[]}',
    ...[
      '"size":-1',
      '"size":1.5',
      '"size":"1"',
      '"mediaType":7',
      '"digest":"md5:00"',
      '"annotations":[]',
    ].map(
      (change) =>
        `{"manifests":[${JSON.stringify({ ...JSON.parse(config), ...JSON.parse(`{${change}}`) })}]}`,
    ),
  ])('is not %s', (text) => {
    expect(refusalOf(text)).toBe('LAYOUT_INVALID');
  });

  it('larger than registries accept is refused before it is parsed', () => {
    expect(refusal(() => parseManifest(Buffer.alloc(MAX_MANIFEST_BYTES + 1)))).toBe('TOO_LARGE');
  });

  it('is distinguished from other blobs by its media type', () => {
    expect([OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_INDEX].map(isManifestType)).toEqual(
      Array(4).fill(true),
    );
    expect(isManifestType(BUNDLE_CONFIG)).toBe(false);
  });

  it('is recognised as a bundle by its artifact type and config media type', () => {
    expect(bundleKindOf(manifest)).toBe('host');
    expect(
      bundleKindOf(sampleBundle({}, (it) => ({ ...it, artifactType: undefined })).manifest),
    ).toBeUndefined();
    expect(bundleKindOf({ ...manifest, config: descriptorOf('c', 'application/json') })).toBeUndefined();
  });
});
