import type { SiteValues } from '#bundles/formats/statements/predicates';
import type { IsHidden } from '#bundles/formats/author-schema/hidden-values';
import type { Database } from '../store/tables.ts';
import { shownValues } from './hidden-values.ts';
import { contentOf, readPins, runningRollouts, shortRollout } from './values-rollout.ts';

/** A change of values that a site or an agent of it does not have yet. */
export type WaitingValues = {
  readonly site: string;
  /** null: of the site. */
  readonly agent: string | null;
  readonly rollout: string;
  readonly stage: string;
  readonly person: string | null;
  readonly reason: string | null;
  readonly since: string;
  /** Values that it will have; empty for those of layers. */
  readonly set: SiteValues['values'];
  /** Names of the values that it changes. */
  readonly names: readonly string[];
  readonly isPinned: boolean;
};

/** Changes that wait for their stage, by site, then by agent. @param site only of this one */
export const readWaiting = async (db: Database, site?: string): Promise<readonly WaitingValues[]> => {
  const running = new Map((await runningRollouts(db)).map((one) => [one.id, one]));
  if (running.size === 0) return [];
  const pins = await readPins(db);
  let query = db
    .selectFrom('values_unit')
    .selectAll()
    .where('state', '=', 'waiting')
    .where('rollout', 'in', [...running.keys()]);
  if (site !== undefined) query = query.where('site', '=', site);
  const units = await query.orderBy('site').orderBy('agent').orderBy('rollout').execute();
  return units.flatMap((unit): WaitingValues[] => {
    const stored = running.get(unit.rollout);
    if (!stored) return [];
    const { plan, person, reason, time, environment } = stored.rollout;
    const content = contentOf(unit);
    const set = 'set' in content ? content.set : {};
    const names = 'set' in content ? [...Object.keys(set), ...content.unset] : content.names;
    return [
      {
        site: unit.site,
        agent: unit.agent === '' ? null : unit.agent,
        rollout: shortRollout(unit.rollout),
        stage: plan.stages[unit.stage]?.name ?? '',
        person,
        reason,
        since: time,
        set,
        names,
        isPinned: pins.has(environment),
      },
    ];
  });
};

/** 'gate, port wait for stage quarter of rollout 0123456789ab, by ann at 2026-...: new gateway' */
export const describeWaiting = ({
  names,
  stage,
  rollout,
  person,
  reason,
  since,
  isPinned,
}: WaitingValues): string =>
  `${names.join(', ')} ${names.length === 1 ? 'waits' : 'wait'} for stage ${stage} of rollout ${rollout}, by ${person ?? 'a rule'} at ${since}${reason === null ? '' : `: ${reason}`}${isPinned ? '; the values of its environment are pinned' : ''}`;

/** Without the text of hidden values. */
export const withoutHidden = (one: WaitingValues, isHidden: IsHidden): WaitingValues => ({
  ...one,
  set: shownValues(one.set, isHidden),
});
