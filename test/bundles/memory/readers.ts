import { parseBundleConfig } from '#bundles/formats/bundle/config';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { MAX_MANIFEST_BYTES, parseManifest } from '#bundles/formats/layout/manifest';
import { MAX_MEDIUM_BYTES, parseMedium } from '#bundles/formats/medium/medium';
import { parseStrictJson } from '#bundles/json/strict-json';
import { parseDocument } from '#bundles/json/validate';

/** A reader of unsigned documents: its cap, and where in a document of its kind a flood lies. */
export type Reader = {
  readonly cap: number;
  readonly before: string;
  readonly after: string;
  readonly read: (bytes: Buffer) => unknown;
};

const MIB = 1 << 20;
const MEDIUM =
  '"format":1,"fleet":"acme","createdAt":"2026-11-21T08:00:00Z","documents":[],"chunks":[],"critical":[]';
const INDEX = '"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json"';
const MEDIUM_READER = { cap: MAX_MEDIUM_BYTES, read: parseMedium };

export const READERS = {
  'medium.json, unknown field': { ...MEDIUM_READER, before: `{${MEDIUM},"bundles":[],"later":`, after: '}' },
  'medium.json, known field': { ...MEDIUM_READER, before: `{${MEDIUM},"bundles":`, after: '}' },
  'index.json': {
    cap: 64 * MIB,
    before: `{${INDEX},"manifests":[],"later":`,
    after: '}',
    read: (bytes) => parseManifest(bytes, 'index.json', 64 * MIB),
  },
  'bundle config': { cap: 16 * MIB, before: '{"closure":', after: '}', read: parseBundleConfig },
  needs: {
    cap: 16 * MIB,
    before: '{"blobs":',
    after: '}',
    read: (bytes) => parseDocument('needs', parseStrictJson(bytes, { maxBytes: 16 * MIB }), 'needs'),
  },
  'package.json': { cap: 8 * MIB, before: '{"files":', after: '}', read: parseHostPackage },
  'OCI manifest': {
    cap: MAX_MANIFEST_BYTES,
    before: '{"layers":',
    after: '}',
    read: (bytes) => parseManifest(bytes),
  },
} as const satisfies Readonly<Record<string, Reader>>;

export type ReaderName = keyof typeof READERS;
