import type { Drift } from '../../../model/target.ts';
import type { Wanted } from '../desired/read-wanted.ts';
import { type HostTargetOptions, whyInert } from '../host-options.ts';
import { imageKey } from '../owned-state.ts';
import { readPodman } from '../images/podman-storage.ts';

/** Images of the package that are no longer in Podman's storage. @throws FleetError PERMISSION, IO */
export const observeImages = async (
  options: HostTargetOptions,
  { images }: Pick<Wanted, 'images'>,
): Promise<readonly Drift[]> => {
  if (images.length === 0 || whyInert(options) !== undefined || !options.isRoot) return [];
  const inPodman = await readPodman(options.root);
  return images
    .filter((name) => inPodman(name) === 'missing')
    .map((name) => ({
      key: imageKey(name),
      what: 'missing',
      message: `the image ${name} is not in Podman's storage`,
    }));
};
