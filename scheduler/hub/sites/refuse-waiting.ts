import { FleetError } from '#bundles/errors';
import type { Database, Tx } from '../store/tables.ts';
import { contentOf, runningRollouts, shortRollout } from './values-rollout.ts';

/** A change of the values of a site, or of one of its agents. */
type Asked = {
  readonly site: string;
  readonly agent?: string | undefined;
  readonly set: object;
  readonly unset: readonly string[];
};

/**
 * Refuses a change of a value that waits for a stage of a rollout: the second person sees it.
 * @throws FleetError VALUES_CHANGED, with the name of who changed it
 */
export const refuseWaiting = async (db: Database | Tx, changes: readonly Asked[]): Promise<void> => {
  const running = new Map((await runningRollouts(db, 'values')).map((one) => [one.id, one]));
  if (running.size === 0) return;
  const wanted = Map.groupBy(changes, ({ site, agent = '' }) => JSON.stringify([site, agent]));
  const waiting = await db
    .selectFrom('values_unit')
    .selectAll()
    .where('state', '=', 'waiting')
    .where('rollout', 'in', [...running.keys()])
    .execute();
  for (const unit of waiting) {
    const content = contentOf(unit);
    const stored = running.get(unit.rollout);
    const asked = wanted.get(JSON.stringify([unit.site, unit.agent])) ?? [];
    if (!stored || !('set' in content)) continue;
    const names = new Set([...Object.keys(content.set), ...content.unset]);
    const name = asked
      .flatMap((one) => [...Object.keys(one.set), ...one.unset])
      .find((one) => names.has(one));
    if (name === undefined) continue;
    const { person, time, plan } = stored.rollout;
    const whose = unit.agent === '' ? unit.site : `${unit.site}/${unit.agent}`;
    throw new FleetError(
      'VALUES_CHANGED',
      `${person ?? 'a rule'} changed the value ${name} of ${whose} at ${time}, which waits for stage ${plan.stages[unit.stage]?.name ?? ''} of its rollout`,
      {
        subject: shortRollout(unit.rollout),
        hint: `Wait for it, or withdraw it at this site: fleet-scheduler sites values rollback ${unit.site} --to <present version>`,
      },
    );
  }
};
