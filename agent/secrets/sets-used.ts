import type { BundleKind } from '#bundles/bundle/config';
import { parseHostPackage } from '#bundles/bundle/host-package';
import { compareBytes } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { SECRET_SET, secretSetsIn } from '#bundles/secrets/annotations';
import { parseManifests } from '../apply/kubernetes/desired/parse-manifests.ts';
import type { SetsUsed } from '../store/secret-sets.ts';

/**
 * Names of the sealed sets that a package's files ask for, sorted. A package that cannot be read says so when it is applied;
 * until then it counts as using all, so that whatever mends it is tried.
 */
export const setsUsed = (kind: BundleKind, files: ReadonlyMap<string, Buffer>): SetsUsed => {
  try {
    const names = kind === 'host' ? ofHost(files) : ofManifests(files);
    return [...new Set(names)].toSorted(compareBytes);
  } catch (error) {
    if (isFleetError(error)) return 'all';
    throw error;
  }
};

const ofHost = (files: ReadonlyMap<string, Buffer>): readonly string[] => {
  const document = files.get('package.json');
  return document
    ? (parseHostPackage(document).secrets ?? []).flatMap((it) => ('set' in it ? it.set : []))
    : [];
};

/** Most packages have none, and reading YAML takes time. */
const ofManifests = (files: ReadonlyMap<string, Buffer>): readonly string[] => {
  const mentioning = [...files].filter(([, bytes]) => bytes.includes(SECRET_SET));
  return parseManifests(new Map(mentioning)).flatMap(({ value }) => secretSetsIn(value));
};
