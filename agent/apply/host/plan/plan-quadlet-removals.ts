import type { Step } from '../../../model/target.ts';
import { whyUnmanaged } from '../host-options.ts';
import { toStep } from '../host-step.ts';
import { unitKey } from '../owned/owned-state.ts';
import { isQuadlet, quadletOf } from '../systemd/quadlets.ts';
import { readGenerated } from '../systemd/read-generated.ts';
import { isTemplate } from '../systemd/unit-names.ts';
import type { UnitContext } from './plan-context.ts';

/**
 * Stops services of quadlets that leave or that get another name, and that the package never listed: the volume, network or pod of a
 * container, which systemd started with it. Without its quadlet systemd would keep such a service as active, and start it no more.
 */
export const planQuadletRemovals = async (
  context: UnitContext,
  changed: ReadonlySet<string>,
): Promise<readonly Step[]> => {
  const { options, owned, wanted, quadlets, taken, signal } = context;
  const paths = [...owned.files].flatMap(([path, { named }]) => [path, named ?? path]).filter(isQuadlet);
  if (!paths.some((path) => changed.has(path)) || whyUnmanaged(options) !== undefined) return [];
  const stays = (path: string): boolean =>
    quadlets.answer === 'unknown' &&
    [...(wanted?.files.values() ?? [])].some((file) => file.path === path || file.named === path);
  const generated = await readGenerated(options, signal);
  return generated
    .filter(
      ({ name, source }) =>
        paths.includes(source) &&
        !stays(source) &&
        quadletOf(quadlets, name) === undefined &&
        !isTemplate(name) &&
        !owned.units.has(name) &&
        !taken.has(unitKey(name)) &&
        !wanted?.units.some((unit) => unit.name === name),
    )
    .map(({ name }) =>
      toStep(unitKey(name), 'deleted', 'its quadlet is no longer in the package: stopped', {
        kind: 'unit-removal',
        detail: { name, stops: [] },
      }),
    );
};
