import { type ImageName, parseImageName } from '#bundles/formats/bundle/image-name';
import { imagesIn } from '#bundles/formats/diff/images-in';
import { type KubernetesObject, readItems } from '#bundles/formats/diff/read-items';
import type { CandidateSource } from '#bundles/formats/statements/predicates';

/** Name of a package for people: the version of its application. */
export type Version = {
  /** The workload, or the assignment where the package names none. */
  readonly name: string;
  /**
   * Like '2.4.1': from the DeploymentDescriptor, otherwise the requested Git tag, otherwise the labels of the objects or the
   * tag of the image; null if there is none.
   */
  readonly version: string | null;
  /** Commit of the application: the one that it was made from if a DeploymentDescriptor names it. */
  readonly commit: string | null;
  /** Branch or tag of the application that was asked for. */
  readonly ref: string | null;
  readonly chart: string | null;
  readonly images: readonly string[];
};

/** 'order-api 2.4.1 (a1b2c3d)' */
export const formatVersion = ({ name, version, commit }: Version): string =>
  [name, version, commit === null ? null : `(${commit.slice(0, 7)})`]
    .filter((part) => part !== null)
    .join(' ');

/** @param source the application's folder in the candidate @param files of the package, by path */
export const describePackage = (
  name: string,
  source: Pick<CandidateSource, 'ref' | 'commit' | 'described'> | undefined,
  files: ReadonlyMap<string, Buffer>,
): Version => {
  const objects = [...readItems(files).values()].flatMap(({ object }) => (object ? [object] : []));
  const images = [...new Set(objects.flatMap(imagesIn))].toSorted();
  const ref = source?.ref ?? null;
  return {
    name,
    version:
      source?.described?.version ||
      (ref !== null && tagVersion(ref)) ||
      labelOf(objects, VERSION_LABEL) ||
      tagOf(images, name),
    commit: source?.described?.commit ?? source?.commit ?? null,
    ref,
    chart: labelOf(objects, CHART_LABEL),
    images,
  };
};

/** 'v2.4.1' or 'order-api-2.4.1': a tag with a version in it, not a branch. */
const tagVersion = (ref: string): string | null =>
  /(?:^|[/-])v?(\d+(?:\.\d+)+(?:[-+][0-9A-Za-z.+-]+)?)$/.exec(ref)?.[1] ?? null;

/** Labels that Helm and others set (kubernetes.io, "Recommended Labels"). */
const VERSION_LABEL = 'app.kubernetes.io/version';
const CHART_LABEL = 'helm.sh/chart';

/** The value of a label if all objects that have it agree. */
const labelOf = (objects: readonly KubernetesObject[], label: string): string | null => {
  const values = new Set(
    objects.flatMap(({ metadata }) => {
      const { labels } = (metadata ?? {}) as { readonly labels?: Readonly<Record<string, unknown>> | null };
      const value = labels?.[label];
      return typeof value === 'string' && value !== '' ? [value] : [];
    }),
  );
  const [only] = values;
  return values.size === 1 ? (only ?? null) : null;
};

/** The tag of the only image, or of the one that is called like the workload. */
const tagOf = (images: readonly string[], name: string): string | null => {
  const parsed = images.flatMap((image) => parseImageName(image) ?? []);
  const own: ImageName | undefined =
    parsed.length === 1 ? parsed[0] : parsed.find(({ path }) => path.split('/').at(-1) === name);
  return own?.tag ?? null;
};
