import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { addDays, formatTime, type Timestamp } from '#bundles/time';
import { noteChange } from '../changes/note-change.ts';
import { enrolledAgents } from '../sites/enrolled-agents.ts';
import { issueSite, type SiteSigner } from '../sites/issue-site.ts';
import { openRequests } from '../sites/open-requests.ts';
import { siteMissing } from '../sites/set-values.ts';
import type { Store } from '../store/open-store.ts';
import type { SiteRow } from '../store/tables.ts';

/** A site, or one agent of it. */
export type SupportTarget = { readonly site: string; readonly agent: string | undefined };

export type RequestedSupport = {
  /** '<site>/<agent>' */
  readonly agent: string;
  readonly id: string;
  readonly until: Timestamp;
  /** True: an earlier request waits for its answer, and stays as it is. */
  readonly waited: boolean;
};

/**
 * Asks agents for a support bundle: the next site statement has the request, signed as all of it, for each agent by name. Noted for the
 * audit log with person and reason.
 * @param random 8 bytes of randomness for each call
 * @throws FleetError SITE_MISSING, AGENT_UNKNOWN; as issueSite
 */
export const requestSupport = (
  store: Store,
  { site, agent }: SupportTarget,
  {
    signer,
    now,
    days,
    random,
  }: {
    readonly signer: SiteSigner;
    readonly now: Date;
    readonly days: number;
    readonly random: () => Buffer;
  },
): Promise<{ readonly site: SiteRow; readonly requests: readonly RequestedSupport[] }> =>
  store.transact(async (tx) => {
    const before = await tx.selectFrom('site').selectAll().where('name', '=', site).executeTakeFirst();
    if (!before) throw siteMissing(site);
    const agents = (await enrolledAgents(tx, site)).filter(
      ({ name }) => agent === undefined || name === agent,
    );
    if (agents.length === 0)
      throw new FleetError(
        'AGENT_UNKNOWN',
        agent === undefined
          ? `site ${site} has no agent that could be asked`
          : `no agent ${agent} is enrolled at site ${site}`,
        { hint: 'See fleet-scheduler sites list' },
      );
    const open = await openRequests(tx, site, now);
    const requests: RequestedSupport[] = [];
    for (const { id: name } of agents.toSorted((a, b) => compareBytes(a.id, b.id))) {
      const waiting = open.get(name);
      if (waiting) {
        requests.push({ agent: name, ...waiting, waited: true });
        continue;
      }
      const request = { id: random().toString('hex'), until: formatTime(addDays(now, days)) };
      await tx
        .insertInto('support_request')
        .values({
          id: request.id,
          agent: name,
          person: store.by.person,
          reason: store.by.reason,
          requested_at: formatTime(now),
          until_at: request.until,
          answered_at: null,
        })
        .execute();
      await noteChange(
        tx,
        { change: 'support request', about: name, old: null, new: request },
        store.by,
        now,
      );
      requests.push({ agent: name, ...request, waited: false });
    }
    const isNew = requests.some(({ waited }) => !waited);
    return { site: isNew ? await issueSite(tx, site, signer, now) : before, requests };
  });
