import { formatTime } from '#bundles/time';
import { recordFreshness } from '../../../../../scheduler/hub/questions/state/freshness-policies.ts';
import { applied, days, PROD, QA, shop } from '../history/shop-hub.ts';
import { chain, enrolled, report } from '../../test-hub.ts';

/** Sites with what can differ at one, among them names that agents and sites sort differently. */
export const shopFleet = async () => {
  const hub = await shop();
  const day = 86_400;
  await recordFreshness(hub.store, [
    {
      name: 'prod',
      environment: 'prod',
      clusterTypes: [],
      lateSeconds: 2 * day,
      staleSeconds: 20 * day,
      visitsSeconds: undefined,
      at: { file: 'promotion/prod.yaml' },
    },
  ]);
  const say = async (
    name: string,
    channel: typeof PROD,
    ago: number,
    { runs = hub.first, failed = false } = {},
  ): Promise<void> => {
    const agent = await enrolled(hub, name, channel);
    const check = { type: 'check', assignment: 'web', outcome: 'failed', code: 'CHECK_FAILED' } as const;
    const lines = chain(agent, [
      applied('web', runs, days(-ago)),
      ...(failed ? [{ ...check, at: formatTime(days(-ago)) }] : []),
    ]);
    const stick = await hub.stick(name.replace('/', '-'));
    await report(stick, agent, lines);
    await hub.importFrom(stick, days(-ago));
  };
  await say('ship/bridge', PROD, 1);
  await say('ship/engine', QA, 3, { failed: true });
  await say('ship-2/bridge', PROD, 5);
  await say('yard/crane', PROD, 30, { runs: hub.prodSecond });
  await enrolled(hub, 'zoo/gate', PROD);
  return hub;
};
