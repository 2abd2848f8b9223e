import { isDeepStrictEqual } from 'node:util';
import { defined } from '#bundles/defined';
import type { Application } from '../../load/applications/application.ts';
import type { Platform } from '../../model/model.ts';

/**
 * Replaces every object of a platform that equals the one of the previous build by that object, so that equal inputs are
 * identical and their results can be looked up.
 */
export const internPlatform = (before: Platform | undefined, now: Platform): Platform => {
  if (!before) return now;
  const templates = keep([...before.templates.values()], [...now.templates.values()]);
  return {
    ...now,
    templates: new Map(templates.map((template) => [template.name, template])),
    clusterTypes: keep(before.clusterTypes, now.clusterTypes),
    targets: keep(before.targets, now.targets),
    policies: keep(before.policies, now.policies),
    configs: keep(before.configs, now.configs),
    schemas: keep(before.schemas, now.schemas),
    imageLocks: isDeepStrictEqual(before.imageLocks, now.imageLocks) ? before.imageLocks : now.imageLocks,
    ...defined({
      imageFields:
        isDeepStrictEqual(before.imageFields, now.imageFields) && before.imageFields
          ? before.imageFields
          : undefined,
    }),
  };
};

const keep = <T extends { readonly name: string }>(before: readonly T[], now: readonly T[]): readonly T[] => {
  const known = Map.groupBy(before, ({ name }) => name);
  return now.map((one) => {
    const [old, ...others] = known.get(one.name) ?? [];
    // Two objects of one name are an error whose message needs both.
    return old && others.length === 0 && isDeepStrictEqual(old, one) ? old : one;
  });
};

/** Reuses the previous application if it has the same files under the same names. */
export const isSameApplication = (a: Application, b: Application): boolean => {
  if (a.shown !== b.shown || a.files.size !== b.files.size) return false;
  // Functions that name generated files in messages are never identical and do not count.
  if (a.madeFrom || b.madeFrom) return false;
  for (const [path, bytes] of a.files) if (!b.files.get(path)?.equals(bytes)) return false;
  return true;
};
