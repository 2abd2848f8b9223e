import type { BundleKind } from '#bundles/names';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { compareBytes } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { SECRET_SET, secretSetsIn } from '#bundles/trust/secrets/annotations';
import { parseManifests } from '#bundles/formats/bundle/parse-manifests';
import type { SetsUsed } from '../store/secret-sets.ts';

/**
 * Names of the sealed sets that a package's files refer to, sorted. Returns 'all' for a package that cannot be read, so that a
 * change of any set triggers a retry; the apply reports the error.
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

/** Parses only files that mention a secret set, because parsing YAML is slow. */
const ofManifests = (files: ReadonlyMap<string, Buffer>): readonly string[] => {
  const mentioning = [...files].filter(([, bytes]) => bytes.includes(SECRET_SET));
  return parseManifests(new Map(mentioning)).flatMap(({ value }) => secretSetsIn(value));
};
