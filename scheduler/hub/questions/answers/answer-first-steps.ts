import { formatChannel, parseChannel } from '#bundles/names';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { hexOf } from '#bundles/digest';
import type { FirstSteps } from '#bundles/schemas/types/hub-decisions';
import { formatTime } from '#bundles/time';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import type { Visible } from '../../people/visible.ts';
import type { Hub } from '../../hub.ts';
import { isCarried } from '../state/is-carried.ts';
import { readLinkStates } from '../state/link-states.ts';

export type SetUp = {
  /** People sign in at a provider. */
  readonly signIn: boolean;
  /** Alarms have a receiver. */
  readonly alarms: boolean;
};

type FirstStepsAsked = {
  readonly visible: Visible | undefined;
  /** Parts that the configuration of the hub has; undefined: neither. */
  readonly setUp: SetUp | undefined;
};

/** Whether the first steps with a hub were done, and names for the commands of those that were not. */
export const answerFirstSteps = async (
  { store: { db, fleet }, keys, layout }: Pick<Hub, 'store' | 'keys' | 'layout'>,
  { visible, setUp }: FirstStepsAsked,
  now: Date,
): Promise<FirstSteps> => {
  const [first = keys.root] = keys.roots;
  const head = { at: formatTime(now), fleet, rootSha256: hexOf(first.digest) };
  if (visible !== undefined) return { ...head, steps: null, channel: null, site: null, promotion: null };
  const channels = channelsIn(await openOrStartLayout(layout));
  const agent = await db
    .selectFrom('agent')
    .select(['site', 'environment', 'cluster_type'])
    .orderBy('site')
    .limit(1)
    .executeTakeFirst();
  const carried = await db.selectFrom('agent').select('id').where(isCarried).limit(1).executeTakeFirst();
  const media = await Promise.all(
    (['medium_departure', 'medium_return'] as const).map((table) =>
      db.selectFrom(table).select('created_at').limit(1).executeTakeFirst(),
    ),
  );
  const isFilled = media.some((one) => one !== undefined);
  const links = await readLinkStates(db);
  const hasNoChain = channels.length > 0 && links.length === 0;
  const released = new Set(channels.map((name) => parseChannel(name).environment));
  const link = links.find(({ from }) => !links.some(({ to }) => to === from)) ?? links[0];
  const followed =
    agent && formatChannel({ environment: agent.environment, clusterType: agent.cluster_type });
  return {
    ...head,
    steps: {
      enrolled: agent !== undefined,
      built: channels.length > 0,
      // A fleet whose agents are all on line, or report through a follower, needs no medium.
      filled: !isFilled && agent !== undefined && carried === undefined ? null : isFilled,
      signIn: setUp?.signIn ?? false,
      alarms: setUp?.alarms ?? false,
      promoted: hasNoChain ? null : links.some(({ to }) => released.has(to)),
    },
    channel: followed ?? channels[0] ?? null,
    site: agent?.site ?? null,
    promotion: link === undefined ? null : { from: link.from, to: link.to },
  };
};
