import { setImmediate } from 'node:timers/promises';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { compareBytes, isDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { fileArtifact } from '../content/file-artifact.ts';
import { firstOfEachField } from '../images/first-of-each-field.ts';
import { imageRules } from '../images/image-rules.ts';
import type { ClusterType, HeldAssignment, RenderedPackage } from '../../model/model.ts';
import { toMistake } from '../../model/problems.ts';
import { withPlace } from '../../model/with-place.ts';
import { firstOfEachKind } from '../../plan/validate/kubernetes/unknown-kinds.ts';
import { assembleHost } from './host/assemble-host.ts';
import { assembleKubernetes } from './assemble-kubernetes.ts';
import type { AssembledPackage } from './assembled-package.ts';
import { holdOverTime } from './hold-over-time.ts';
import { refuseReaders } from './refuse-readers.ts';
import { settleClaims } from './settle-claims.ts';
import { droppedWithLastGood, undeclared, unreadable, withLastGood, withoutKept } from './stand-ins.ts';
import { imagesInPackage } from '../lock/images-in-package.ts';
import type { BundleAbout } from './bundle-config.ts';
import { holdUnpackable } from './hold-unpackable.ts';
import { mergeImage } from '../images/merge-image.ts';
import { checkPackable, packBundle } from './pack-bundle.ts';
import { pinImage } from '../images/pin-image.ts';
import { rankPackages } from './rank-packages.ts';
import { checkReadable, readBack, refusedAlone } from './read-back.ts';
import type { ResolvedImage } from '../images/resolved-image.ts';
import type { ResolveImages } from '../images/resolve-once.ts';
import type { BuiltBundle, HeldPackage } from './built-bundle.ts';
import type { BundleInput } from './bundle-input.ts';

/** Packages assembled between two turns of the event loop: tens of milliseconds if all manifests are new. */
const PAUSE = 20;

/** Builds the bundle of one cluster type. An error in a package holds that package only. */
export const buildBundle = async (input: BundleInput, signal: AbortSignal): Promise<BuiltBundle> => {
  const { platform, clusterType } = input;
  const held: HeldAssignment[] = [...input.held];
  const all: AssembledPackage[] = [];
  /** By package. */
  const images = new Map<string, readonly ResolvedImage[]>();
  const resolve: ResolveImages = async (names, platforms) =>
    names.length === 0 ? [] : ((await input.resolve?.(names, platforms)) ?? []);
  const aboutOf = (packages: readonly AssembledPackage[]): BundleAbout => ({
    fleet: platform.fleet,
    environment: platform.environment,
    clusterType,
    closure: closureOf([...imagesOf(packages, images), ...contentsOf(packages)], clusterType.target),
    policies: platform.imagePolicies,
  });
  for (const [at, rendered] of input.packages.toSorted((a, b) => compareBytes(idOf(a), idOf(b))).entries()) {
    if (at % PAUSE === 0) {
      signal.throwIfAborted();
      await setImmediate();
    }
    const hold = input.holds?.get(idOf(rendered));
    if (hold) {
      held.push({ assignment: rendered.assignment, error: hold.error });
      continue;
    }
    try {
      const made = await assemble(rendered, input);
      const back = input.rolledBack.get(made.id);
      if (back && (back.instead ?? made.digest) === made.digest) {
        held.push({ assignment: rendered.assignment, error: back.error });
        continue;
      }
      checkPackable(made);
      const found = await resolve(made.images, clusterType.platforms);
      images.set(made.id, found);
      all.push(withImageBlobs(made, found));
    } catch (error) {
      const mistake = toMistake(error, `building ${idOf(rendered)}`);
      held.push(heldFor(rendered, placeImage(mistake, rendered, input)));
    }
  }
  const refused = refusedAlone(all, aboutOf);
  const assembled = all.filter((made) => !refused.has(made));
  held.push(
    ...[...refused].map(([made, error]) => heldFor(made, error)),
    ...refuseReaders(assembled, input),
    ...holdOverTime(assembled, platform.workspaces),
  );
  const refusals = new Set(held.map(({ assignment }) => assignment));
  const built = await settleClaims(
    {
      assembled: assembled.filter(({ assignment }) => !refusals.has(assignment)),
      held: [
        ...(await Array.fromAsync(held, (one) => withLastGood(one, input))),
        ...(await undeclared(input, assembled, held)),
        ...(await unreadable(input, assembled, held)),
      ],
    },
    input,
  );
  const withKept: HeldPackage[] = [];
  for (const one of built.held) {
    try {
      // What was released stays, also on a cluster type that got another platform since.
      const found = await resolve(one.kept?.images ?? [], []);
      if (one.kept) images.set(one.kept.id, found);
      withKept.push(one.kept ? { ...one, kept: withImageBlobs(one.kept, found) } : one);
    } catch (error) {
      withKept.push(withoutKept(one, toMistake(error)));
    }
  }
  const kept = withKept.flatMap((one) => one.kept ?? []);
  const packages = [...built.assembled, ...kept];
  const ready = await holdUnpackable(
    { packages, held: withKept },
    {
      pack: async (some) => readBack(await packBundle(aboutOf(some), some)),
      check: (some) => checkReadable(aboutOf(some), some),
      rank: (some) => rankPackages(some, input.lastGood.config),
    },
  );
  const dropped = await droppedWithLastGood(ready.held, withKept, input);
  if (dropped.size > 0)
    return await buildBundle({ ...input, holds: new Map([...(input.holds ?? []), ...dropped]) }, signal);
  const contents = contentsOf(ready.packages);
  return {
    clusterType,
    bundle: ready.bundle,
    images: imagesOf(ready.packages, images),
    contents,
    fetched: ready.packages.flatMap((one) => one.contents ?? []).filter(({ from }) => from !== undefined),
    held: ready.held,
    previous: input.lastGood.bundle,
    unknown: firstOfEachKind(built.assembled.flatMap(({ unknown = [] }) => unknown)),
    suspects: firstOfEachField(built.assembled.flatMap(({ suspects = [] }) => suspects)),
    plainSecrets: built.assembled.flatMap((made) => made.plainSecrets ?? []),
    emptyFiles: new Map(
      built.assembled.flatMap(({ id, emptyFiles }) => (emptyFiles ? [[id, emptyFiles]] : [])),
    ),
  };
};

/** An error without a place gets the place of the line that assigns the package. */
const heldFor = ({ assignment }: Pick<RenderedPackage, 'assignment'>, error: FleetError): HeldAssignment => ({
  assignment,
  error: withPlace(error, assignment.target.at, error.subject ?? assignment.target.name),
});

/** The images of some packages, each once with all its names. */
const imagesOf = (
  packages: readonly AssembledPackage[],
  found: ReadonlyMap<string, readonly ResolvedImage[]>,
): readonly ResolvedImage[] => {
  const images = new Map<string, ResolvedImage>();
  for (const { id } of packages) for (const image of found.get(id) ?? []) mergeImage(images, image);
  return [...images.values()];
};

/** Lists the blobs of its images in a host package, whose store keeps them. */
const withImageBlobs = (made: AssembledPackage, found: readonly ResolvedImage[]): AssembledPackage => {
  if (made.assignment.clusterType.target !== 'host' || found.length === 0) return made;
  const blobs = found.filter(({ entry }) => entry.names).flatMap((image) => image.blobs);
  return { ...made, imageBlobs: [...new Set(blobs.map(({ digest }) => digest))] };
};

/**
 * Images by their manifests, which reach all other blobs; signatures and images of hosts blob by blob, as sites keep them.
 */
const closureOf = (
  images: readonly ResolvedImage[],
  target: ClusterType['target'],
): readonly ClosureEntry[] => {
  const blobs = images
    .filter(({ entry }) => target === 'host' || !entry.names)
    .flatMap((image) => image.blobs.map(toEntry));
  const named = images.flatMap(({ entry }) => (entry.names ? [entry] : []));
  const once = [...new Map([...blobs, ...named].map((entry) => [entry.digest, entry])).values()];
  return once.flatMap(splitNames);
};

/** Most names of one entry that readers take. */
const MAX_NAMES = 64;

/** An image with more names than one entry holds has several entries, which every reader merges by their digest. */
const splitNames = (entry: ClosureEntry): readonly ClosureEntry[] => {
  const { names = [] } = entry;
  if (names.length <= MAX_NAMES) return [entry];
  return Array.from({ length: Math.ceil(names.length / MAX_NAMES) }, (_, at) => ({
    ...entry,
    names: names.slice(at * MAX_NAMES, (at + 1) * MAX_NAMES),
  }));
};

const contentsOf = (packages: readonly AssembledPackage[]): readonly ResolvedImage[] => {
  const contents = packages.flatMap((one) => one.contents ?? []);
  return [...new Map(contents.map((content) => [content.digest, content])).values()].map(fileArtifact);
};

const toEntry = ({ digest, size, mediaType }: Descriptor): ClosureEntry => ({ digest, size, mediaType });

/** The place of an error is the line that names the image. */
const placeImage = (error: FleetError, rendered: RenderedPackage, input: BundleInput): FleetError => {
  if (error.at || !isDigest(error.subject)) return error;
  const { imageLocks, imageFields } = input.platform;
  const rules = imageRules(imageFields);
  const found = imagesInPackage(rendered, input.applicationOf(rendered), rules, []).find(({ image, at }) =>
    pinImage(image, imageLocks, at).endsWith(`@${error.subject}`),
  );
  const { code, message, subject, hint } = error;
  return found ? new FleetError(code, message, { subject, at: found.at, hint, cause: error }) : error;
};

const idOf = (rendered: RenderedPackage): string => rendered.assignment.target.name;

const assemble = (
  rendered: RenderedPackage,
  input: BundleInput,
): AssembledPackage | Promise<AssembledPackage> => {
  const application = input.applicationOf(rendered);
  switch (rendered.assignment.clusterType.target) {
    case 'kubernetes':
      return assembleKubernetes(
        rendered,
        application,
        input.platform.imageLocks,
        input.manifests,
        input.judge,
        imageRules(input.platform.imageFields),
      );
    case 'host':
      return assembleHost(rendered, application ?? { shown: '', files: new Map() }, input.contents);
  }
};
