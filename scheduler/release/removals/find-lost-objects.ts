import { defined } from '#bundles/defined';
import { compareBytes, type Digest } from '#bundles/digest';
import type { BundleAssignment } from '#bundles/formats/bundle/config';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { unpackPackages } from '#bundles/formats/bundle/unpack-packages';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';
import type { BuiltBundle } from '../../assemble/bundle/built-bundle.ts';
import { MANIFESTS } from '../../assemble/bundle/assemble-kubernetes.ts';
import { packageContent } from '../../assemble/bundle/package-content.ts';
import type { LostObjects, Removal } from './removal.ts';

const MAX_LAYER = 1 << 30;

/**
 * Finds the packages of a bundle that stay and lose objects of their application in a way that may be an accident: all of them, all of a
 * file that still exists, or at least FEW and more than half. What the platform's templates add does not count.
 * @param previous digest of the channel's last bundle of this kind
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, LAYOUT_INVALID
 */
export const findLostObjects = async (
  { bundle, held, emptyFiles }: Pick<BuiltBundle, 'bundle' | 'held' | 'emptyFiles'>,
  previous: Digest,
  blobs: BlobSource,
  signal: AbortSignal,
): Promise<readonly Removal[]> => {
  const { config: before } = await readBundle(blobs, previous, signal);
  const old = new Map(before.assignments.map((one) => [one.id, one]));
  // A held package is kept as it was, or as a person took it back.
  const kept = new Set(held.map(({ assignment }) => assignment.target.name));
  const changed = bundle.config.assignments.flatMap((now) => {
    const was = old.get(now.id);
    return was && was.package !== now.package && !kept.has(now.id) ? [{ was, now }] : [];
  });
  if (changed.length === 0) return [];
  const layers = (of: 'was' | 'now'): ReadonlySet<Digest> => new Set(changed.map((one) => one[of].layer));
  const wasFiles = unpackPackages(
    await Promise.all([...layers('was')].map((layer) => readBlob(blobs, layer, MAX_LAYER, signal))),
  );
  const nowLayers = layers('now');
  const nowFiles = unpackPackages(
    bundle.blobs.filter(({ descriptor }) => nowLayers.has(descriptor.digest)).map(({ bytes }) => bytes),
  );
  return changed.flatMap(({ was, now }) => {
    const lost = lossOf(
      bundle.kind,
      { files: wasFiles.get(was.id) ?? new Map(), assignment: was },
      { files: nowFiles.get(now.id) ?? new Map(), assignment: now },
      emptyFiles.get(now.id) ?? [],
    );
    const { id, workspace } = now;
    return lost ? [{ ...lost, assignment: id, ...defined({ workspace }) }] : [];
  });
};

type Side = {
  readonly files: ReadonlyMap<string, Buffer>;
  readonly assignment: BundleAssignment;
};

/** Below this number more than half of the objects may go unasked, but not all. */
const SMALL_PACKAGE = 5;

const lossOf = (
  kind: BuiltBundle['bundle']['kind'],
  was: Side,
  now: Side,
  emptied: readonly string[],
): LostObjects | undefined => {
  if (isSameFiles(was.files, now.files)) return undefined;
  const before = packageContent(kind, was.files, was.assignment);
  const after = packageContent(kind, now.files, now.assignment);
  const all = [...before.values()].flat();
  const left = new Set([...after.values()].flat().map(withoutHash));
  const gone = all.filter((one) => !left.has(withoutHash(one))).toSorted(compareBytes);
  if (gone.length === 0) return undefined;
  const objects = { why: 'objects', of: all.length } as const;
  if (left.size === 0) return { ...objects, because: 'none-left', gone };
  const file = emptied.find((path) => before.get(MANIFESTS + path)?.some((one) => gone.includes(one)));
  if (file !== undefined) {
    const inside = before.get(MANIFESTS + file) ?? [];
    return {
      ...objects,
      because: 'emptied-file',
      in: file,
      gone: gone.filter((one) => inside.includes(one)),
    };
  }
  if (gone.length < SMALL_PACKAGE || 2 * gone.length <= all.length) return undefined;
  return { ...objects, because: 'most', gone };
};

/** Content is read only where files of the application differ: configuration changes much more often. */
const isSameFiles = (was: Side['files'], now: Side['files']): boolean =>
  [...was].every(
    ([path, bytes]) =>
      !(path.startsWith(MANIFESTS) || path === 'package.json') || now.get(path)?.equals(bytes) === true,
  );

/** Kustomize ends the names of generated ConfigMaps and Secrets with a hash of their content. */
const withoutHash = (object: string): string =>
  object.replace(/^((?:ConfigMap|Secret) .*)-[2456789bcdfghkmt]{10}$/, '$1');
