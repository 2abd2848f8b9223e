import { FleetError } from '#bundles/errors';
import type { BundleInput } from '../../assemble/bundle/bundle-input.ts';
import type { ManifestJudge } from '../../assemble/bundle/prepared-manifest.ts';
import type { ClusterType, Platform, RenderedPackage } from '../../model/model.ts';
import { createObjectCheck, type ObjectCheck } from '../../plan/validate/kubernetes/create-object-check.ts';
import { type DefinitionFile, readCustomKinds } from '../../plan/validate/kubernetes/custom-kinds.ts';
import { definitionFiles } from '../../plan/validate/kubernetes/definition-files.ts';

export type Judges = {
  /** Files that define kinds. */
  readonly definitions: readonly DefinitionFile[];
  /** Cluster types whose rendered templates may define kinds. */
  readonly defining: ReadonlySet<ClusterType>;
  readonly judgeOf: (clusterType: ClusterType) => ManifestJudge;
};

/**
 * Judges objects as the clusters of a type would, with the kinds that the platform and its applications define.
 * @param override a range of Kubernetes versions instead of the range that each type requires
 */
export const openJudges = (
  platform: Platform,
  packages: readonly RenderedPackage[],
  applicationOf: BundleInput['applicationOf'],
  override?: string,
): Judges => {
  const { files: definitions, defining } = definitionFiles(platform, packages, applicationOf);
  const objects = createObjectCheck(readCustomKinds(definitions));
  return { definitions, defining, judgeOf: (clusterType) => judgeFor(objects, clusterType, override) };
};

/** Judges objects for the clusters of one type. */
export const judgeFor = (
  objects: ObjectCheck,
  { name, requirements, at }: ClusterType,
  override?: string,
): ManifestJudge => {
  const requirement = override ?? requirements.kubernetes;
  return {
    target: requirement ?? 'any',
    judge: (object) => {
      try {
        return objects.judge(object, requirement);
      } catch (error) {
        if (!(error instanceof FleetError) || error.code !== 'FIELD_INVALID') throw error;
        const { code, message, hint } = error;
        return [new FleetError(code, message, { subject: `ClusterType ${name}`, at, hint })];
      }
    },
    isUnknown: (object) => objects.isUnknown(object, requirement),
  };
};
