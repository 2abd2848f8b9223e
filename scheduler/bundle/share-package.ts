import type { Application } from '../application/application.ts';
import { identityNumber } from '../identity-number.ts';
import type { DeploymentTarget, RenderedFile, RenderedPackage } from '../platform/model.ts';
import type { TextField } from '../render/watch-context.ts';
import { type AssembledPackage, ImagePackage } from './assembled-package.ts';
import {
  type FileImage,
  imageOfFile,
  imageOfPackage,
  type PackageImage,
  type Pieces,
} from './package-image.ts';
import type {
  ManifestCache,
  ManifestJudge,
  PreparedManifest,
  PreparedObject,
  SharedManifest,
} from './prepared-manifest.ts';
import { fillings, objectIn } from './share-manifest.ts';

/** A package of a deployment target, whatever its namespace. */
type SharedPackage = {
  readonly application: Application | undefined;
  readonly image: PackageImage;
  /** In the order they were read, in which clashes are told. */
  readonly owns: readonly Pieces[];
  /** No two can be the same, whatever the namespace. */
  readonly apart: boolean;
  readonly images: readonly string[];
  /** Objects of kinds that nobody knows, with the stand-in for the namespace and the file they are shown in. */
  readonly unknown: readonly {
    readonly object: PreparedObject;
    readonly standIn: string;
    readonly shown: string;
  }[];
};

/** A target whose packages all differ is not worth keeping. */
const MAX_EACH = 64;

type Shared = {
  readonly packages: Map<string, SharedPackage>;
  /** Files by what they are made of; most packages of a target have most of them in common. */
  readonly files: Map<string, FileImage>;
};

const known = new WeakMap<ManifestCache, WeakMap<DeploymentTarget, Shared>>();

const sharedOf = (cache: ManifestCache, target: DeploymentTarget): Shared => {
  const byTarget = known.get(cache) ?? new WeakMap<DeploymentTarget, Shared>();
  known.set(cache, byTarget);
  const shared = byTarget.get(target) ?? { packages: new Map(), files: new Map() };
  byTarget.set(target, shared);
  return shared;
};

/** All that a package of this target is made of but its namespace; undefined where that cannot be told. */
const keyOf = (
  { assignment: { clusterType }, files, namespace }: RenderedPackage,
  judge: ManifestJudge | undefined,
): string | undefined => {
  if (!isPlain(namespace)) return undefined;
  let key = `${clusterType.reconciler} ${clusterType.offline} ${namespace.length} ${judge?.target}`;
  for (const { path, from } of files) {
    if (!from) return undefined;
    key += `\0${path} ${identityNumber(from.mould)} ${fillings(from)}`;
  }
  return key;
};

/** The package, where one of its target that differs in nothing but the namespace was assembled before. */
export const findSharedPackage = (
  rendered: RenderedPackage,
  application: Application | undefined,
  cache: ManifestCache,
  judge: ManifestJudge | undefined,
): AssembledPackage | undefined => {
  const { assignment, namespace } = rendered;
  const key = keyOf(rendered, judge);
  const found = key === undefined ? undefined : sharedOf(cache, assignment.target).packages.get(key);
  if (!found || found.application !== application) return undefined;
  // An object may name a namespace that is another's.
  if (!found.apart && new Set(found.owns.map((own) => own.join(namespace))).size < found.owns.length)
    return undefined;
  const unknown = found.unknown.map(({ object, standIn, shown }) =>
    objectIn(object, standIn, namespace, shown),
  );
  return new ImagePackage(assignment, namespace, found, unknown);
};

/** What a package is assembled from. */
type Parts = {
  readonly manifests: readonly { readonly path: string; readonly made: PreparedManifest }[];
  readonly other: readonly RenderedFile[];
  /** The text of its kustomization.yaml. */
  readonly list: string;
  readonly images: readonly string[];
};

/**
 * The package, kept for others, where every file of it is one that is told by its namespace alone; nothing else of it may
 * need telling. @returns undefined where it has to be assembled of its own
 */
export const makeSharedPackage = (
  rendered: RenderedPackage,
  application: Application | undefined,
  cache: ManifestCache,
  judge: ManifestJudge | undefined,
  { manifests, other, list, images: pinned }: Parts,
): AssembledPackage | undefined => {
  const { namespace, assignment } = rendered;
  const key = keyOf(rendered, judge);
  const shared = manifests.flatMap(({ made: { shared: one } }) => (one && !tells(one) ? [one] : []));
  if (key === undefined || shared.length < manifests.length || other.some(({ from }) => !from))
    return undefined;
  const id = assignment.target.name;
  const { packages, files } = sharedOf(cache, assignment.target);
  const image = (path: string, origin: string, pieces: () => Pieces): FileImage => {
    const name = `${namespace.length} ${path}\0${origin}`;
    const found = files.get(name) ?? imageOfFile(id, path, pieces(), namespace);
    files.set(name, found);
    return found;
  };
  const images = [
    ...manifests.map(({ path }, at) => {
      const one = shared[at] as SharedManifest;
      return image(path, `#${identityNumber(one)}`, () => one.pieces);
    }),
    ...other.flatMap(({ path, from }) =>
      from ? [image(path, `${identityNumber(from.mould)} ${fillings(from)}`, () => piecesOf(from))] : [],
    ),
  ];
  images.push(image(KUSTOMIZATION, list, () => [list]));
  if (packages.size >= MAX_EACH) packages.clear();
  if (files.size >= MAX_EACH * images.length) files.clear();
  const owns = shared.flatMap((one) => one.owns);
  const kept: SharedPackage = {
    application,
    image: imageOfPackage(id, images),
    owns,
    apart: owns.every(isOwnPlace),
    images: pinned,
    unknown: shared.flatMap(({ unknown, standIn }, at) =>
      unknown.map((object, index) => ({
        object,
        standIn,
        shown: manifests[at]?.made.unknown[index]?.at.file ?? '',
      })),
    ),
  };
  packages.set(key, kept);
  const unknown = manifests.flatMap(({ made }) => made.unknown);
  return new ImagePackage(assignment, namespace, kept, unknown);
};

const KUSTOMIZATION = 'kustomization.yaml';

/** One byte a character: what is written into an image. */
const isPlain = (namespace: string): boolean => /^[ -~]+$/.test(namespace);

/**
 * `Deployment.apps <namespace>/web` or `Namespace <namespace>`: two such are the same in every namespace, or in none. With no
 * other space or slash it cannot be taken for one of another namespace.
 */
const isOwnPlace = ([kind = '', name, ...more]: Pieces): boolean =>
  more.length === 0 && name !== undefined && /^[^ /]+ $/.test(kind) && /^(?:\/[^ /]*)?$/.test(name);

/** The text of a rendered file, cut where its namespace goes. */
const piecesOf = ({ mould, context }: NonNullable<RenderedFile['from']>): Pieces => {
  const pieces: string[] = [];
  let text = mould.pieces[0] as string;
  for (const [at, field] of mould.holes.entries()) {
    if (field === 'namespace') {
      pieces.push(text);
      text = '';
    } else text += context[field as TextField];
    text += mould.pieces[at + 1];
  }
  return [...pieces, text];
};

/** Is there more to say of it than its text? */
const tells = (from: SharedManifest): boolean =>
  from.secrets !== undefined ||
  from.suspects !== undefined ||
  from.images.some((image) => image.includes(from.standIn));
