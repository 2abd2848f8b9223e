import type { PackageBounds } from '#bundles/bounds/package-bounds';
import type { SiteInputField } from '#bundles/bundle/config';
import { type PackageFile, packageDigest } from '#bundles/bundle/package-digest';
import { compareBytes, type Digest } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import { isName } from '#bundles/names';
import type { Content } from '../content/content.ts';
import type { Assignment, Value } from '../platform/model.ts';
import { digestIn, filesIn, type PackageImage, type Pieces } from './package-image.ts';
import type { PreparedObject } from './prepared-manifest.ts';
import { kubernetesBoundsOf } from './tenancy.ts';

/** A package ready to be packed: every file of its folder, final. */
export type AssembledPackage = {
  readonly assignment: Assignment;
  /** Its folder's name in the bundle: the deployment target's. */
  readonly id: string;
  readonly namespace: string | undefined;
  readonly files: readonly PackageFile[];
  readonly digest: Digest;
  readonly siteInputs: readonly (Omit<SiteInputField, 'assignment'> & {
    readonly schema: { readonly [key: string]: Value };
  })[];
  /** What it would own at a site ('Deployment default/x', '/etc/x.conf'): no two packages of a bundle may share one. */
  readonly owns: readonly string[];
  /** The namespace that all of it is in: then only what names that namespace may be the same as something of it. */
  readonly within?: string | undefined;
  /** Images its objects run, normalised 'host/repo@sha256:...'. */
  readonly images: readonly string[];
  /** Files that travel as blobs of the closure; the same bytes may come from several places. */
  readonly contents?: readonly Content[];
  /** Its objects of kinds that nobody knows. */
  readonly unknown?: readonly PreparedObject[];
  /** What in them may be an image and is in no rule, as advice. */
  readonly suspects?: readonly FleetError[];
  /** What its agent has to make of secrets; a reader that knows nothing of them must not carry it out. */
  readonly needsSecrets?: boolean;
  /** Secrets in plain text. */
  readonly plainSecrets?: readonly PreparedObject[];
  /** What it may name, for its agent to check once more; absent for a package of the platform's own. */
  readonly bounds?: PackageBounds | undefined;
  /** What `files` are written from, where other packages differ from it in their namespace alone. */
  readonly image?: PackageImage;
};

/** Sorts the files and takes their digest. */
export const assembled = (parts: Omit<AssembledPackage, 'digest' | 'image'>): AssembledPackage => {
  const files = parts.files.toSorted((a, b) => compareBytes(a.path, b.path));
  return { ...parts, files, digest: packageDigest(files) };
};

/** What packages of one image have in common. */
type ImageParts = {
  readonly image: PackageImage;
  /** In the order they were read, in which clashes are told. */
  readonly owns: readonly Pieces[];
  /** No two can be the same, whatever the namespace, and none can be the same as one of another namespace. */
  readonly apart: boolean;
  readonly images: readonly string[];
};

/** A package of an image. A class, because a fleet has 50,000 of them; its files are made when somebody wants them. */
export class ImagePackage implements AssembledPackage {
  readonly assignment: Assignment;
  readonly namespace: string;
  readonly image: PackageImage;
  readonly images: readonly string[];
  readonly unknown: readonly PreparedObject[];
  readonly digest: Digest;
  readonly parts: ImageParts;

  constructor(
    assignment: Assignment,
    namespace: string,
    parts: ImageParts,
    unknown: readonly PreparedObject[],
  ) {
    this.assignment = assignment;
    this.namespace = namespace;
    this.image = parts.image;
    this.images = parts.images;
    this.unknown = unknown;
    this.digest = digestIn(parts.image, namespace);
    this.parts = parts;
  }

  get owns(): readonly string[] {
    return this.parts.owns.map((own) => own.join(this.namespace));
  }

  get within(): string | undefined {
    return this.parts.apart && isName(this.namespace) ? this.namespace : undefined;
  }

  get id(): string {
    return this.image.id;
  }

  get files(): readonly PackageFile[] {
    return filesIn(this.image, this.namespace);
  }

  get bounds(): PackageBounds | undefined {
    return kubernetesBoundsOf(this.assignment.target, []);
  }

  get siteInputs(): AssembledPackage['siteInputs'] {
    return NO_INPUTS;
  }
}

const NO_INPUTS: AssembledPackage['siteInputs'] = [];
