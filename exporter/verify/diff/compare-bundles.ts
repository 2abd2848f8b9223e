import type { BundleAssignment, BundleConfig, ClosureEntry } from '#bundles/formats/bundle/config';
import type { BundleKind } from '#bundles/names';
import { type Bundle, readBundle } from '#bundles/formats/bundle/read-bundle';
import type { ItemDiff } from '#bundles/formats/diff/compare-items';
import { compareBytes, type Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { type ClosureBlob, readClosure } from '#bundles/formats/bundle/read-closure';
import { type SideBlobs, type PackageFiles, packageFiles } from './package-files.ts';
import type { SideBundle } from './side.ts';

type Outcome = 'created' | 'configured' | 'deleted';

export type PackageDiff = {
  readonly assignment: string;
  readonly outcome: Outcome;
  readonly before: Digest | undefined;
  readonly after: Digest | undefined;
  /** Objects of a Kubernetes package, files of a host package. */
  readonly objects: readonly ItemDiff[];
  /** Why no details are shown. */
  readonly note?: string;
};

export type ImageDiff = {
  readonly image: string;
  readonly outcome: Outcome;
  readonly before: readonly Digest[];
  readonly after: readonly Digest[];
};

export type FileDiff = {
  readonly digest: Digest;
  readonly size: number;
  readonly mediaType: string;
  readonly outcome: 'created' | 'deleted';
};

export type BundleDiff = {
  readonly kind: BundleKind;
  readonly before: Digest | undefined;
  readonly after: Digest | undefined;
  readonly packages: readonly PackageDiff[];
  readonly images: readonly ImageDiff[];
  /** Blobs of the closure that are not images: files of packages, signatures. */
  readonly files: readonly FileDiff[];
  /** Why it is not compared further. */
  readonly note?: string;
};

/** A bundle with the blobs that are available on either side. */
type Known = {
  readonly bundle: Bundle;
  readonly files: PackageFiles;
  readonly closure: readonly ClosureBlob[];
};

export type Compared = {
  readonly diff: BundleDiff;
  readonly closures: Readonly<Record<'before' | 'after', readonly ClosureBlob[]>>;
};

export const compareBundles = async (
  before: SideBundle | undefined,
  after: SideBundle | undefined,
  atHand: SideBlobs,
  signal?: AbortSignal,
): Promise<Compared> => {
  const kind = (after ?? before)?.kind ?? 'kubernetes';
  const [left, right] = [await known(before, atHand, signal), await known(after, atHand, signal)];
  const closures = { before: left?.closure ?? [], after: right?.closure ?? [] };
  const base = { kind, before: before?.digest, after: after?.digest };
  const lost = (before && !left) || (after && !right);
  if (lost) return { diff: { ...base, ...NOTHING_DIFFERS, note: LOST }, closures };
  if (base.before === base.after) return { diff: { ...base, ...NOTHING_DIFFERS }, closures };
  const configs = [left?.bundle.config, right?.bundle.config] as const;
  const packages = await comparePackages(left, right);
  const diff = { ...base, packages, images: compareImages(...configs), files: compareFiles(...configs) };
  return { diff, closures };
};

const LOST = 'a bundle is on neither side, so its differences cannot be shown';
const NOTHING_DIFFERS = { packages: [], images: [], files: [] } as const;

const known = async (
  side: SideBundle | undefined,
  atHand: SideBlobs,
  signal: AbortSignal | undefined,
): Promise<Known | undefined> => {
  if (!side) return undefined;
  const { blobs } = atHand;
  try {
    const bundle = await readBundle(blobs, side.digest, signal);
    return {
      bundle,
      files: packageFiles(atHand, bundle.kind, signal),
      closure: await readClosure(blobs, bundle, signal),
    };
  } catch (error) {
    if (isFleetError(error, 'MISSING_BLOB') || isFleetError(error, 'PARTS_MISSING')) return undefined;
    throw error;
  }
};

const comparePackages = async (
  left: Known | undefined,
  right: Known | undefined,
): Promise<readonly PackageDiff[]> => {
  const before = byId(left);
  const after = byId(right);
  const ids = [...new Set([...before.keys(), ...after.keys()])].toSorted(compareBytes);
  const found: PackageDiff[] = [];
  for (const id of ids) {
    const [one, other] = [before.get(id), after.get(id)];
    if (one?.package === other?.package) continue;
    const base = {
      assignment: id,
      outcome: outcomeOf(one, other),
      before: one?.package,
      after: other?.package,
    };
    const [gone, come] = [await filesIn(left, one), await filesIn(right, other)];
    if (typeof gone === 'string' || typeof come === 'string') {
      const why = [gone, come].find((one) => typeof one === 'string');
      found.push({ ...base, objects: [], note: `${why}: only its digest is compared` });
    } else found.push({ ...base, objects: await compareFilesOf(gone, come) });
  }
  return found;
};

const filesIn = async (
  known: Known | undefined,
  assignment: BundleAssignment | undefined,
): Promise<ReadonlyMap<string, Buffer> | string> =>
  (assignment && (await known?.files.of(assignment))) ?? new Map<string, Buffer>();

const byId = (known: Known | undefined): ReadonlyMap<string, BundleAssignment> =>
  new Map((known?.bundle.config.assignments ?? []).map((one) => [one.id, one]));

const outcomeOf = (before: unknown, after: unknown): Outcome => {
  if (before === undefined) return 'created';
  return after === undefined ? 'deleted' : 'configured';
};

/** Loaded on demand, because it includes the YAML reader. */
const compareFilesOf = async (
  before: ReadonlyMap<string, Buffer>,
  after: ReadonlyMap<string, Buffer>,
): Promise<readonly ItemDiff[]> => {
  const [{ compareItems }, { readItems }] = await Promise.all([
    import('#bundles/formats/diff/compare-items'),
    import('#bundles/formats/diff/read-items'),
  ]);
  const [left, right] = [readItems(before), readItems(after)];
  const keys = [...new Set([...left.keys(), ...right.keys()])].toSorted(compareBytes);
  return keys.flatMap((key) => compareItems(left.get(key), right.get(key)) ?? []);
};

const compareImages = (
  before: BundleConfig | undefined,
  after: BundleConfig | undefined,
): readonly ImageDiff[] => {
  const [left, right] = [imagesOf(before), imagesOf(after)];
  const names = [...new Set([...left.keys(), ...right.keys()])].toSorted(compareBytes);
  return names.flatMap((image) => {
    const [one, other] = [left.get(image), right.get(image)];
    if (one?.join() === other?.join()) return [];
    return [{ image, outcome: outcomeOf(one, other), before: one ?? [], after: other ?? [] }];
  });
};

/** 'host/repository' -> its digests, sorted. */
const imagesOf = (config: BundleConfig | undefined): ReadonlyMap<string, readonly Digest[]> => {
  const named = (config?.closure ?? []).flatMap(({ digest, names = [] }) =>
    names.map((name) => ({ image: name.replace(/@[^@]*$/, ''), digest })),
  );
  return new Map(
    [...Map.groupBy(named, ({ image }) => image)].map(([image, entries]) => [
      image,
      entries.map(({ digest }) => digest).toSorted(compareBytes),
    ]),
  );
};

const compareFiles = (
  before: BundleConfig | undefined,
  after: BundleConfig | undefined,
): readonly FileDiff[] => {
  const [left, right] = [filesOf(before), filesOf(after)];
  const gone = [...left.values()].filter(({ digest }) => !right.has(digest));
  const come = [...right.values()].filter(({ digest }) => !left.has(digest));
  return [...gone.map(fileDiff('deleted')), ...come.map(fileDiff('created'))].toSorted((a, b) =>
    compareBytes(a.digest, b.digest),
  );
};

const filesOf = (config: BundleConfig | undefined): ReadonlyMap<Digest, ClosureEntry> =>
  new Map(
    (config?.closure ?? [])
      .filter(({ names = [] }) => names.length === 0)
      .map((entry) => [entry.digest, entry]),
  );

const fileDiff =
  (outcome: FileDiff['outcome']) =>
  ({ digest, size, mediaType }: ClosureEntry): FileDiff => ({ digest, size, mediaType, outcome });
