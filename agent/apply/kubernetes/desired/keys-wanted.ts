import type { DesiredPackage } from '../../target.ts';
import { policyOf } from './marks.ts';
import { keyOf } from './object-key.ts';
import { isRecord } from './parse-manifests.ts';
import { type Manifest, readManifests } from './read-wanted.ts';

/**
 * Keys of the objects that a package will own, without asking the cluster. Which kinds have namespaces is not known here, so each
 * object counts with its namespace and without. @throws FleetError YAML_SYNTAX, OBJECT_INVALID, SITE_VALUES, SECRET_MISSING
 */
export const keysWanted = (desired: DesiredPackage): ReadonlySet<string> =>
  new Set(
    readManifests(desired)
      .filter(isOverriding)
      .flatMap(({ apiVersion, kind, name, namespace }) => [
        keyOf({ apiVersion, kind, name, namespace }),
        keyOf({ apiVersion, kind, name }),
      ]),
  );

const isOverriding = ({ fields }: Manifest): boolean => {
  const metadata = isRecord(fields['metadata']) ? fields['metadata'] : {};
  const annotations = isRecord(metadata['annotations']) ? metadata['annotations'] : {};
  return policyOf(annotations).apply === 'override';
};
