import { isDigest } from '#bundles/digest';
import type { Destination } from '#bundles/transport/publish/destination';

/**
 * Calls `confirm` right before each tag is moved, so that a replica that no longer leads moves none. An error of `confirm`
 * refuses the pointer.
 */
export const fenceDestination = (
  destination: Destination,
  confirm: (() => Promise<void>) | undefined,
): Destination => {
  if (!confirm) return destination;
  return {
    ...destination,
    repository: (path) => {
      const target = destination.repository(path);
      return {
        ...target,
        pushManifest: async (reference, ...rest) => {
          if (!isDigest(reference)) await confirm();
          return target.pushManifest(reference, ...rest);
        },
      };
    },
  };
};
