import type { BundleKind } from '../../names.ts';
import { allowsName } from '../bounds/package-bounds.ts';
import type { Bounds } from '../bounds/bounds-of.ts';
import type { SiteInputField } from '../bundle/config.ts';

type Field = Pick<SiteInputField, 'input' | 'file'>;

/** Sentences about the site inputs of one package that its workspace does not permit: values that it may not read, and objects that are the platform's. */
export const inputViolations = (
  kind: BundleKind,
  bounds: Bounds,
  fields: readonly Field[],
): readonly string[] => [
  ...foreignValues(bounds, fields),
  ...(kind === 'kubernetes' ? foreignObjects(bounds, fields) : []),
];

/** Bundles of versions without this bound let every package read every value. */
const foreignValues = (bounds: Bounds, fields: readonly Field[]): readonly string[] => {
  if (typeof bounds === 'string' || bounds.siteValues === undefined) return [];
  return [...new Set(fields.map(({ input }) => input))]
    .filter((name) => !allowsName(bounds.siteValues, name))
    .map((name) => `the site value ${JSON.stringify(name)} is not one that it may read`);
};

/** The objects of the platform's templates are no tenant's to change; only its configuration is completed with site values. */
const foreignObjects = (bounds: Bounds, fields: readonly Field[]): readonly string[] =>
  bounds === 'platform'
    ? []
    : fields
        .filter(({ file }) => !file.startsWith(MANIFESTS) && !file.startsWith('platform-config.'))
        .map(
          ({ input, file }) =>
            `the site value ${JSON.stringify(input)} goes to ${file}, which is the platform's`,
        );

/** Folder of an application's own objects in its package. */
const MANIFESTS = 'manifests/';
