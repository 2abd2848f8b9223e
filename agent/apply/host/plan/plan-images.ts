import { compareBytes } from '#bundles/digest';
import type { Step } from '../../../model/target.ts';
import { whyUnmanaged } from '../host-options.ts';
import { note, toStep } from '../host-step.ts';
import { imageKey } from '../owned/owned-state.ts';
import type { Part, PlanContext } from './plan-context.ts';
import { type InPodman, readPodman } from '../images/podman-storage.ts';

/** `removals` run last: until then a container may run the image. */
type ImagePlan = Part & { readonly removals: readonly Step[] };

/**
 * Plans which images Podman lacks and which ones no package needs any more. Images may be shared by packages. One that the agent
 * did not load is used, and stays. One that a container used when its package left it is removed now. @throws FleetError PERMISSION, IO
 */
export const planImages = async ({ options, wanted, owned, taken }: PlanContext): Promise<ImagePlan> => {
  const names = wanted?.images ?? [];
  const leaving = [...owned.images].filter((name) => !names.includes(name)).toSorted(compareBytes);
  const owns = names.map((name) => ({ key: imageKey(name), state: {} }));
  if (names.length + leaving.length === 0) return { steps: [], removals: [], owns };
  const inert = whyUnmanaged(options) ?? (options.isRoot ? undefined : 'not root');
  if (inert !== undefined) {
    const skipped = (list: readonly string[]) => list.map((name) => note(imageKey(name), 'skipped', inert));
    return { steps: skipped(names), removals: skipped(leaving), owns };
  }
  const podman = await readPodman(options.root);
  const stays = new Set([...names, ...leaving]);
  const left = podman.loaded.filter((name) => !stays.has(name) && !taken.has(imageKey(name)));
  return {
    steps: names.map((name) => planImage(name, podman.find(name))),
    removals: [...leaving, ...left].map((name) =>
      planImageRemoval(name, podman.find(name), taken.get(imageKey(name))),
    ),
    owns,
  };
};

const planImage = (name: string, live: InPodman): Step =>
  live === 'missing'
    ? toStep(imageKey(name), 'created', "it is not in Podman's storage", { kind: 'image', detail: { name } })
    : note(imageKey(name), 'unchanged', 'as desired');

/** @param other another package that uses the image */
export const planImageRemoval = (name: string, live: InPodman, other: string | undefined): Step => {
  const key = imageKey(name);
  if (other !== undefined) return note(key, 'unchanged', `${other} uses it, too`);
  switch (live) {
    case 'missing':
      return note(key, 'unchanged', 'it is gone already');
    case 'here':
      return note(key, 'skipped', 'the agent did not load it');
    case 'loaded':
      return toStep(key, 'deleted', 'no longer in the package', { kind: 'image-removal', detail: { name } });
  }
};
