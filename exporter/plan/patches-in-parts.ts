import { blobPath } from '#bundles/formats/medium/open-tar';
import { DELTAS_FOLDER } from '#bundles/formats/medium/medium';
import type { Plan, PlannedBlob } from './plan.ts';

/** The plan of a set: a part has blobs alone, so a patch becomes one, and lies in whichever part has room for it. */
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
