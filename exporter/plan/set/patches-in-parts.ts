import { blobPath } from '#bundles/formats/medium/blob-path';
import { DELTAS_FOLDER } from '#bundles/formats/medium/medium';
import type { Plan, PlannedBlob } from '../plan.ts';

/** Converts the plan for a set: parts hold only blobs, so each patch becomes a blob. */
export const patchesInParts = (plan: Plan): Plan => {
  const { deltas } = plan.medium;
  if (!deltas) return plan;
  const patches = deltas.map(
    ({ patch: { digest, size } }): PlannedBlob => ({
      digest,
      size,
      repository: DELTAS_FOLDER,
      rank: 'layer',
      shared: false,
    }),
  );
  return {
    ...plan,
    medium: {
      ...plan.medium,
      deltas: deltas.map((delta) => ({
        ...delta,
        patch: { ...delta.patch, path: blobPath(delta.patch.digest) },
      })),
    },
    blobs: [...plan.blobs, ...patches],
    files: plan.files.filter(({ repository }) => repository !== DELTAS_FOLDER),
  };
};
