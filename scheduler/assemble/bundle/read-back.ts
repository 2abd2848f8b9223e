import { parseBundleConfig } from '#bundles/formats/bundle/config';
import { LAYER_LIMITS } from '#bundles/formats/bundle/layer-limits';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Candidate } from '#bundles/formats/candidate';
import { compareBytes, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { withBytes } from '#bundles/formats/layout/with-bytes';
import { missingBlob } from '#bundles/formats/layout/verified';
import { canonicalBytes } from '#bundles/json/canonical';
import { parseDocument } from '#bundles/json/validate';
import { toMistake } from '../../model/problems.ts';
import type { AssembledPackage } from './assembled-package.ts';
import { type BundleAbout, bundleConfig } from './bundle-config.ts';
import type { PackedBundle } from './pack-bundle.ts';

const NOTHING = {
  name: 'a new bundle',
  size: async () => undefined,
  open: (digest: `sha256:${string}`) => Promise.reject(missingBlob(digest, 'a new bundle')),
};

/**
 * Reads a packed bundle as agents and the next build do, before it is signed.
 * @throws FleetError the codes of readBundle
 */
export const readBack = async (packed: PackedBundle): Promise<PackedBundle> => {
  const blobs = [...packed.blobs, packed.manifest].map(({ descriptor, bytes }) => [descriptor.digest, bytes]);
  await readBundle(withBytes(NOTHING, new Map(blobs as [`sha256:${string}`, Buffer][])), packed.digest);
  return packed;
};

const ANY_LAYER = digestOf('');

/**
 * As readBack, without packing: whether readers accept the config and the layers of a bundle of these packages.
 * @throws FleetError SCHEMA, TOO_LARGE, TOO_DEEP, BAD_JSON, OBJECT_CLASH
 */
export const checkReadable = (about: BundleAbout, packages: readonly AssembledPackage[]): void => {
  const sorted = packages.toSorted((a, b) => compareBytes(a.id, b.id));
  const sizes = packages.map(sizeInLayer);
  const layers = about.clusterType.target === 'host' ? sizes : [sizes.reduce(sum, { bytes: 0, entries: 1 })];
  for (const { bytes, entries } of layers) {
    if (bytes <= LAYER_LIMITS.maxBytes && entries <= LAYER_LIMITS.maxEntries) continue;
    const [has, most] =
      bytes > LAYER_LIMITS.maxBytes
        ? [`${bytes} bytes`, LAYER_LIMITS.maxBytes]
        : [`${entries} files and folders`, LAYER_LIMITS.maxEntries];
    throw new FleetError('TOO_LARGE', `the layer would have ${has}, at most ${most} are read`);
  }
  const uncompressed = sizes.reduce(sum, { bytes: 0, entries: 0 }).bytes;
  const config = bundleConfig(about, sorted, { layerOf: () => ANY_LAYER, uncompressed });
  parseBundleConfig(canonicalBytes(config, 'doubles'));
};

/**
 * Finds the packages that readers would refuse in a bundle with that package alone, or in a candidate with its contents. All are judged together first:
 * what readers accept together they accept alone. Packages with site values are judged one by one, as a bundle has one schema for each shared value.
 * @returns FIELD_INVALID, which says what they refuse
 */
export const refusedAlone = (
  packages: readonly AssembledPackage[],
  aboutOf: (packages: readonly AssembledPackage[]) => BundleAbout,
): ReadonlyMap<AssembledPackage, FleetError> => {
  const whyNot = (some: readonly AssembledPackage[]): FleetError | undefined => {
    try {
      const about = aboutOf(some);
      checkReadable(about, some);
      parseDocument('candidate', partOfCandidate(about, some), 'the candidate');
      return undefined;
    } catch (error) {
      return toMistake(error, `reading ${some.map(({ id }) => id).join()}`);
    }
  };
  const { shared = [], own = [] } = Object.groupBy(packages, ({ siteInputs }) =>
    siteInputs.length > 0 ? 'shared' : 'own',
  );
  return new Map(
    (whyNot(own) ? packages : shared).flatMap((made) => {
      const cause = whyNot([made]);
      return cause ? [[made, notTaken(cause)]] : [];
    }),
  );
};

const notTaken = (cause: FleetError): FleetError =>
  cause.code === 'INTERNAL'
    ? cause
    : new FleetError('FIELD_INVALID', `no agent would take this package: ${cause.message}`, {
        hint: 'Make it shorter or smaller',
        cause,
      });

const partOfCandidate = ({ fleet }: BundleAbout, packages: readonly AssembledPackage[]): Candidate => {
  const contents = packages.flatMap((made) => made.contents ?? []);
  return {
    fleet,
    sources: [],
    images: [...new Set(packages.flatMap(({ images }) => images))].map((name) => ({
      name,
      digest: ANY_LAYER,
    })),
    charts: contents.flatMap(({ from }) => (from && 'chart' in from ? from.chart : [])),
    files: contents.flatMap(({ from, digest }) =>
      from && 'url' in from ? [{ name: from.url, digest }] : [],
    ),
  };
};

type Size = { readonly bytes: number; readonly entries: number };

const BLOCK = 512;

/** Bytes and entries of its files and folders in a tar. */
export const sizeInLayer = ({ files }: Pick<AssembledPackage, 'files'>): Size => {
  const folders = new Set(files.map(({ path }) => path.slice(0, Math.max(0, path.lastIndexOf('/')))));
  for (const folder of folders) {
    const end = folder.lastIndexOf('/');
    folders.add(end < 0 ? '' : folder.slice(0, end));
  }
  const entries = files.length + folders.size;
  const bytes = files.reduce(
    (total, file) => total + roundUp(Buffer.byteLength(file.bytes)),
    BLOCK * entries,
  );
  return { bytes, entries };
};

const roundUp = (size: number): number => Math.ceil(size / BLOCK) * BLOCK;

const sum = (a: Size, b: Size): Size => ({ bytes: a.bytes + b.bytes, entries: a.entries + b.entries });
