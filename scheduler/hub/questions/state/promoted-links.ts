import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { isFleetError } from '#bundles/errors';
import { parseChannel } from '#bundles/names';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import type { TrustRoot } from '#bundles/trust/root/root';
import { promotedTo, readAuditLog, rejectionOf } from '../../../load/releases/audit-log.ts';
import { lineagesOf } from '../../../load/releases/check-promoted.ts';
import { withNewestStatement } from '../../../load/releases/newest-statement.ts';
import { readOnce } from '../../../load/releases/read-once.ts';
import { readRelease } from '../../../load/releases/read-release.ts';
import type { Hub } from '../../hub.ts';
import type { LinkState } from './link-states.ts';

type PromotionHub = Pick<Hub, 'layout' | 'keys'>;

/**
 * The last verdicts of `serve`, corrected by promotions that it has not seen: a person may have promoted since, without a running hub,
 * too. A promotion that no release of the environment is made from says so, so that "complies" is not read as complying with it.
 * A log or release that cannot be read corrects nothing.
 * @param environment at either end; undefined: all links
 */
export const withPromotions = async (
  hub: PromotionHub,
  links: readonly LinkState[],
  environment: string | undefined,
): Promise<readonly LinkState[]> => {
  try {
    const made = await readPromotions(hub);
    const wanted = made.filter(
      ({ from, to }) => environment === undefined || from === environment || to === environment,
    );
    const corrected = links.map((link) => {
      const own = wanted.find(({ to }) => to === link.to);
      if (!own || own.from !== link.from) return link;
      const isSeen = link.candidate !== own.candidate && link.state !== 'promoted';
      return isSeen || isSameNews(link, own) ? link : { ...own, mode: link.mode };
    });
    const others = wanted.filter(({ to, why }) => why !== null && !links.some((link) => link.to === to));
    return [...corrected, ...others];
  } catch (error) {
    if (isFleetError(error)) return links;
    throw error;
  }
};

const isSameNews = (link: LinkState, own: LinkState): boolean =>
  link.state === own.state && link.candidate === own.candidate && link.why === own.why;

/** The newest promotion to each environment that was not rejected. */
const readPromotions = async ({ layout: directory, keys }: PromotionHub): Promise<readonly LinkState[]> => {
  const layout = await openOrStartLayout(directory);
  const log = await readAuditLog(layout, keys.roots);
  const targets = new Set(
    log.entries.flatMap((entry) => (entry.kind === 'promotion' ? [entry.predicate.to] : [])),
  );
  const states: LinkState[] = [];
  for (const to of targets) {
    const last = promotedTo(log, to);
    if (!last || rejectionOf(log.entries, to, last.shared) !== undefined) continue;
    const released = await readReleased(layout, keys.roots, to);
    const isReleased = released.includes(last.shared);
    states.push({
      from: last.from,
      to,
      mode: last.predicate.mode,
      state: 'promoted',
      candidate: last.candidate,
      waitsFor: null,
      unmet: [],
      why: isReleased
        ? null
        : `promotion ${last.number} is not released in ${to} yet; release it with: fleet-scheduler build --environment ${to}`,
      since: last.predicate.time,
    });
  }
  return states;
};

/** The shared digest that each current release of an environment was promoted with, by its newest statement. */
const readReleased = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  environment: string,
): Promise<readonly (string | undefined)[]> => {
  const channels = channelsIn(layout).filter((name) => name.startsWith(`${environment}/`));
  return await Promise.all(
    channels.map((repository) =>
      readOnce({ layout, roots, repository, what: 'promoted' }, async () => {
        const release = await readRelease(layout, parseChannel(repository), roots);
        if (!release) return undefined;
        return (await lineagesOf(layout, await withNewestStatement(layout, release)))[0]?.promoted;
      }),
    ),
  );
};
