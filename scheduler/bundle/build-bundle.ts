import { compareBytes } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import type {
  Assignment,
  ClusterType,
  HeldAssignment,
  Platform,
  RenderedPackage,
} from '../platform/model.ts';
import type { Application } from './application.ts';
import { assembleHost } from './assemble-host.ts';
import { assembleKubernetes } from './assemble-kubernetes.ts';
import type { AssembledPackage } from './assembled-package.ts';
import { newClaims } from './claim-package.ts';
import type { LastGood } from './last-good-packages.ts';
import { checkPackable, type PackedBundle, packBundle } from './pack-bundle.ts';
import type { ManifestCache } from './prepare-manifest.ts';
import { type PullImage, type ResolvedImage, resolveImages } from './resolve-images.ts';

export type BuiltBundle = {
  readonly clusterType: ClusterType;
  readonly bundle: PackedBundle;
  readonly images: readonly ResolvedImage[];
  /** What could not be built and is not in it, or is in it as an earlier release had it. */
  readonly held: readonly HeldPackage[];
};

export type HeldPackage = HeldAssignment & { readonly kept?: AssembledPackage };

export type BundleInput = {
  readonly platform: Platform;
  readonly clusterType: ClusterType;
  readonly packages: readonly RenderedPackage[];
  readonly held: readonly HeldAssignment[];
  /** Files of the application of a package; undefined where another reconciler fetches them; throws what held it. */
  readonly applicationOf: (rendered: RenderedPackage) => Application | undefined;
  /** An assignment's package as the previous release had it, for what is held now. */
  readonly lastGood: LastGood;
  /** Layouts with images; 'unchecked' where nothing is released and it does not matter. */
  readonly images: readonly BlobSource[] | 'unchecked';
  /** Where images come from that are in none of them; undefined: from nowhere. */
  readonly pull?: PullImage | undefined;
  /** Shared by all cluster types of an environment. */
  readonly manifests: ManifestCache;
};

/** Everything of one cluster type in one bundle; a mistake in one package holds that one. */
export const buildBundle = async (input: BundleInput, signal: AbortSignal): Promise<BuiltBundle> => {
  const { platform, clusterType } = input;
  const held: HeldAssignment[] = [...input.held];
  const assembled: AssembledPackage[] = [];
  const images = new Map<string, ResolvedImage>();
  const resolve = async (names: readonly string[]): Promise<readonly ResolvedImage[]> =>
    input.images === 'unchecked' ? [] : await resolveImages(input.images, names, signal, input.pull);
  const claim = newClaims();
  for (const rendered of input.packages.toSorted((a, b) => compareBytes(idOf(a), idOf(b)))) {
    try {
      const made = assemble(rendered, input);
      checkPackable(made);
      const found = await resolve(made.images);
      claim(made);
      for (const image of found) images.set(image.entry.digest, image);
      assembled.push(made);
    } catch (error) {
      const known = toFleetError(error, `building ${idOf(rendered)}`);
      if (known.code === 'INTERNAL' || known.code === 'ABORTED') throw known;
      held.push({ assignment: rendered.assignment, error: withPlace(known, rendered.assignment) });
    }
  }
  const withKept: HeldPackage[] = [];
  for (const one of [
    ...held.map((it) => withLastGood(it, input.lastGood)),
    ...unreadable(input, assembled, held),
  ]) {
    try {
      const found = await resolve(one.kept?.images ?? []);
      if (one.kept) claim(one.kept);
      for (const image of found) images.set(image.entry.digest, image);
      withKept.push(one);
    } catch (error) {
      withKept.push(withoutKept(one, toFleetError(error)));
    }
  }
  const kept = withKept.flatMap((one) => one.kept ?? []);
  const packages = [...assembled, ...kept];
  const ready = dropUnsupported(packages, withKept);
  const closure = [...images.values()].map(({ entry }) => entry);
  return {
    clusterType,
    bundle: packBundle(platform.fleet, platform.environment, clusterType, ready.packages, closure),
    images: [...images.values()],
    held: ready.held,
  };
};

/** A mistake without a place of its own is one of the lines that ask for the package. */
const withPlace = (error: FleetError, { target }: Assignment): FleetError =>
  error.at
    ? error
    : new FleetError(error.code, error.message, {
        subject: error.subject ?? target.name,
        at: target.at,
        hint: error.hint,
        cause: error,
      });

/** The last good package of a held one does not fit any more: then nothing is released, and both reasons are told. */
const withoutKept = ({ assignment, error }: HeldPackage, why: FleetError): HeldPackage => {
  if (why.code === 'INTERNAL' || why.code === 'ABORTED') throw why;
  const { code, subject, at, hint } = error;
  const message = `${error.message}; and its last good package cannot stay: ${why.message}`;
  return {
    assignment,
    error: new FleetError(code, message, { subject, at, hint: hint ?? why.hint, cause: why }),
  };
};

const withLastGood = (held: HeldAssignment, lastGood: LastGood): HeldPackage => {
  const kept = lastGood.of(held.assignment);
  return kept ? { ...held, kept } : held;
};

/**
 * Packages of applications whose repository cannot be read today. Nobody knows any more which targets they have, so
 * what the release before had of their workspaces stays.
 */
const unreadable = (
  { platform, lastGood }: BundleInput,
  assembled: readonly AssembledPackage[],
  held: readonly HeldAssignment[],
): readonly HeldPackage[] => {
  const workloads = platform.heldWorkloads ?? [];
  const known = new Set([
    ...assembled.map(({ id }) => id),
    ...held.map(({ assignment }) => assignment.target.name),
  ]);
  return lastGood.ofWorkspaces(new Set(workloads.map(({ workspace }) => workspace)), known).map((kept) => {
    const because = workloads.find(({ workspace }) => workspace === kept.assignment.target.workspace)
      ?.errors[0];
    const error = because ?? new FleetError('SOURCE_UNREACHABLE', 'its repository cannot be read');
    return { assignment: kept.assignment, error, kept };
  });
};

const idOf = (rendered: RenderedPackage): string => rendered.assignment.target.name;

const assemble = (rendered: RenderedPackage, input: BundleInput): AssembledPackage => {
  const application = input.applicationOf(rendered);
  switch (rendered.assignment.clusterType.target) {
    case 'kubernetes':
      return assembleKubernetes(rendered, application, input.platform.imageLocks, input.manifests);
    case 'host':
      return assembleHost(rendered, application ?? { shown: '', files: new Map() });
  }
};

/** A package whose dependency is not in the bundle is held too: it would wait at the site for ever. */
const dropUnsupported = (
  packages: readonly AssembledPackage[],
  held: BuiltBundle['held'],
): { readonly packages: readonly AssembledPackage[]; readonly held: BuiltBundle['held'] } => {
  const ids = new Set(packages.map(({ id }) => id));
  const lame = packages.filter(({ assignment }) => assignment.target.dependsOn.some((id) => !ids.has(id)));
  if (lame.length === 0) return { packages, held };
  const more = lame.map(({ assignment }): HeldAssignment => {
    const missing = assignment.target.dependsOn.find((id) => !ids.has(id));
    return {
      assignment,
      error: new FleetError(
        'DEPENDENCY_MISSING',
        `${assignment.target.name} depends on ${missing}, which is not in this bundle`,
        {
          subject: assignment.target.name,
          at: assignment.target.at,
        },
      ),
    };
  });
  return dropUnsupported(
    packages.filter((it) => !lame.includes(it)),
    [...held, ...more],
  );
};
