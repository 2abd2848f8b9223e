import { parseBundleConfig } from '#bundles/formats/bundle/config';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { childrenOf, parseManifest } from '#bundles/formats/layout/manifest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { isFleetError } from '#bundles/errors';
import { parseArtifact } from '#bundles/formats/layout/artifact';
import { parseMedium } from '#bundles/formats/medium/medium';
import { parseStrictJson } from '#bundles/json/strict-json';
import { type DocumentName, parseDocument } from '#bundles/json/validate';
import { blobsInMemory } from '../../bundles/blobs-in-memory.ts';
import { file, paths } from '../../bundles/golden-corpus.ts';
import { mutateJson } from '../mutate-json.ts';
import { agreeOnJson } from '../plain-json.ts';
import { insist, type Target } from '../target.ts';
import { packageDescriptions } from './package-descriptions.ts';

const MANIFESTS = [
  'host/manifest.json',
  'host-2/manifest.json',
  'kubernetes/manifest.json',
  'media/full/index.json',
];
const CONFIGS = ['host/config.json', 'host-2/config.json', 'kubernetes/config.json'];

/** By what an input looks like it is judged by every schema: each must be a FleetError or fit. */
const NAMES: readonly DocumentName[] = [
  'candidate',
  'revocations',
  'site-values',
  'needs',
  'request',
  'event',
  'hub-error',
  'hub-roots',
  'hub-report',
  'hub-report-answer',
  'hub-enroll-request',
  'hub-enroll-answer',
  'hub-certificate-request',
  'hub-certificate-answer',
];

const HUB_ANSWERS = [
  { code: 'TOO_MANY', message: 'Come back later.', hint: 'Wait.' },
  { roots: ['e30='] },
  { statement: {}, events: '{}\n' },
  { receipts: [{}] },
  { certificate: 'x', authority: 'y', documents: [] },
  { request: '-----BEGIN CERTIFICATE REQUEST-----' },
].map((answer) => Buffer.from(JSON.stringify(answer)));

const objects = paths.filter((path) => path.endsWith('.json')).map(file);

/** Runs all; what is not a FleetError goes through. */
const judgeAll = (judges: readonly (() => unknown)[]): void => {
  for (const judge of judges) {
    try {
      judge();
    } catch (error) {
      if (!isFleetError(error)) throw error;
    }
  }
};

/** A fraction has no canonical form; its writer has to know. */
const isWhole = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).every(isWhole)
    : typeof value !== 'number' || Number.isSafeInteger(value);

export const DOCUMENTS: readonly Target[] = [
  {
    name: 'json',
    corpus: objects.slice(0, 40),
    mutate: mutateJson,
    run: (input) =>
      agreeOnJson(input, (bytes) => parseStrictJson(bytes, { maxBytes: 1 << 20, maxDepth: 32 })),
  },
  {
    name: 'canonical',
    corpus: objects.slice(0, 40),
    mutate: mutateJson,
    run: (input) => {
      const value = parseStrictJson(input, { maxBytes: 1 << 20, maxDepth: 32 }) as Json;
      if (!isWhole(value)) return;
      const bytes = canonicalBytes(value);
      const again = canonicalBytes(JSON.parse(bytes.toString()) as Json);
      insist(again.equals(bytes), 'the canonical form is not its own');
    },
  },
  {
    name: 'manifest',
    corpus: MANIFESTS.map(file),
    mutate: mutateJson,
    run: (input) => {
      judgeAll([() => parseArtifact(input, { what: 'an artifact' })]);
      for (const { digest, size } of childrenOf(parseManifest(input))) {
        insist(/^sha256:[0-9a-f]{64}$/.test(digest) && size >= 0, `the child ${digest} of ${size} bytes`);
      }
    },
  },
  {
    name: 'bundle-config',
    corpus: CONFIGS.map(file),
    mutate: mutateJson,
    run: (input) => parseBundleConfig(input),
  },
  {
    name: 'bundle',
    corpus: [...MANIFESTS.slice(0, 3), ...CONFIGS].map(file),
    mutate: mutateJson,
    run: async (input) => {
      const blobs = blobsInMemory();
      for (const path of CONFIGS) blobs.put(file(path));
      const config = input.includes('"layers"') ? undefined : blobs.put(input);
      const manifest = config === undefined ? input : withConfig(config, input.length);
      const bundle = await readBundle(blobs, blobs.put(manifest));
      const layers = new Set(bundle.manifest.layers.map(({ digest }) => digest));
      insist(
        bundle.config.assignments.every(({ layer }) => layers.has(layer)),
        'an assignment has no layer',
      );
    },
  },
  {
    name: 'host-package',
    corpus: packageDescriptions(),
    mutate: mutateJson,
    run: (input) => {
      const { files, directories } = parseHostPackage(input);
      for (const { path } of [...files, ...directories]) {
        insist(path.startsWith('/') && !path.split('/').includes('..'), `the path ${path}`);
      }
    },
  },
  {
    name: 'medium',
    corpus: [
      'media/full/fleet/medium.json',
      'media/delta/fleet/medium.json',
      'media/parts/fleet/medium.json',
    ].map(file),
    mutate: mutateJson,
    run: (input) => {
      const { chunks } = parseMedium(input);
      for (const { path } of chunks.flatMap(({ files }) => files)) {
        insist(/^fleet\/chunks\/[a-z0-9._-]+$/.test(path), `a piece at ${path}`);
      }
    },
  },
  {
    name: 'documents',
    corpus: [
      ...['candidate', 'revocations-host-2', 'site-values'].map((name) => file(`documents/${name}.json`)),
      file('reports/needs.json'),
      file('reports/request.json'),
      Buffer.from(file('reports/000000000001-000000000003.ndjson').toString().split('\n')[0] ?? ''),
      ...HUB_ANSWERS,
    ],
    mutate: mutateJson,
    run: (input) => {
      const value = parseStrictJson(input, { maxBytes: 1 << 20 });
      judgeAll(NAMES.map((name) => () => parseDocument(name, value, 'a document')));
    },
  },
];

const withConfig = (digest: string, size: number): Buffer => {
  const manifest = JSON.parse(file('host/manifest.json').toString()) as { config: object };
  return Buffer.from(JSON.stringify({ ...manifest, config: { ...manifest.config, digest, size } }));
};
