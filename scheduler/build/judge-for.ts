import { FleetError } from '#bundles/errors';
import type { ManifestJudge } from '../assemble/bundle/prepared-manifest.ts';
import type { ClusterType } from '../model/model.ts';
import type { ObjectCheck } from '../plan/validate/kubernetes/create-object-check.ts';

/**
 * Judges objects for the clusters of one type.
 * @param override a range of versions instead of the range that the type requires
 */
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
