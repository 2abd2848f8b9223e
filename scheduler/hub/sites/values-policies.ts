import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { type Channel, parseChannel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import type { TrustRoot } from '#bundles/trust/root/root';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import { readOnce } from '../../load/releases/read-once.ts';
import { readSiteLayers } from '../../load/releases/read-site-layers.ts';
import { bundlesOf, readRelease } from '../../load/releases/read-release.ts';
import { readStatement, withNewestStatement } from '../../load/releases/newest-statement.ts';
import type { StagePlan } from '../../model/promotion.ts';
import { readPlan } from '../../release/rollout/plan-document.ts';
import type { Hub } from '../hub.ts';

/** The stages of each environment; one without an entry gets changes of values at once. */
export type ValuesPolicies = ReadonlyMap<string, StagePlan>;

/**
 * The stages in which changes of values by people reach the sites of these environments: those of the layers that the environment has released; where
 * it has none, those of the newest release.
 * @throws FleetError the codes of readRelease
 */
export const readValuesPolicies = async (
  hub: Pick<Hub, 'keys' | 'layout' | 'valuesStages'>,
  environments: ReadonlySet<string>,
): Promise<ValuesPolicies> => {
  const layout = await openOrStartLayout(hub.layout);
  const channels = channelsIn(layout).map((name) => parseChannel(name));
  const found = new Map<string, StagePlan>();
  for (const environment of environments) {
    const said = hub.valuesStages?.[environment];
    if (said === 'atOnce') continue;
    for (const channel of channels.filter((one) => one.environment === environment)) {
      const plan = await readStages(hub, layout, channel);
      if (!plan || (plan.siteValues === 'at-once' && said !== 'stages')) continue;
      found.set(environment, plan);
      break;
    }
  }
  return found;
};

/** The same for all environments that agents follow. @throws FleetError the codes of readRelease */
export const policiesFor = async (hub: Hub): Promise<ValuesPolicies> => {
  const rows = await hub.store.db
    .selectFrom('agent')
    .select('environment')
    .distinct()
    .where('revoked_at', 'is', null)
    .where('follower', 'is', null)
    .execute();
  return readValuesPolicies(hub, new Set(rows.map(({ environment }) => environment)));
};

/** Read once while the layout names the same release: every agent that enrols asks. */
const readStages = (
  { keys: { roots } }: Pick<Hub, 'keys'>,
  layout: Layout,
  channel: Channel,
): Promise<StagePlan | undefined> =>
  readOnce({ layout, roots, repository: channelRepository(channel), what: 'stages' }, () =>
    stagesOf(layout, channel, roots),
  );

const stagesOf = async (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
): Promise<StagePlan | undefined> => {
  const own = await readRelease(layout, channel, roots);
  if (!own) return undefined;
  const release = await withNewestStatement(layout, own);
  for (const bundle of bundlesOf(release)) {
    const digest = (await readStatement(layout, release, release.documents, bundle))?.siteLayers;
    if (digest) return (await readSiteLayers(layout, channel, digest)).rollout;
  }
  return (await readPlan(layout, own))?.plan;
};
