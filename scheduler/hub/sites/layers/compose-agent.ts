import { FleetError } from '#bundles/errors';
import type { ComposedValues, SiteValues } from '#bundles/formats/statements/predicates';
import { formatChannel, sameChannel } from '#bundles/names';
import type { Hub } from '../../hub.ts';
import type { AgentRow, Tx } from '../../store/tables.ts';
import { channelOf } from '../agent-record.ts';
import { siteValuesOf } from '../issue-site.ts';
import type { ComposeMoved } from '../set-values.ts';
import { decideComposition, reasonOf } from './decide-composition.ts';
import { withComposed } from './plan-sites.ts';
import { noteLayers } from './refuse-older-layers.ts';

/** Values of one agent from layers. */
export type ComposedAgent = {
  /** undefined: no layer gives it any. */
  readonly values: ComposedValues | undefined;
  /** 'layers of prod sha256:0123...' */
  readonly reason: string;
};

/**
 * @param given the values that the site gets beside with the same statement; undefined: it keeps those that it has
 * @returns undefined if the agent keeps the composed values that its site has for it @throws FleetError ENROLMENT_WAITS
 */
export type ComposeAgent = (
  tx: Tx,
  row: AgentRow,
  known: AgentRow | undefined,
  given?: SiteValues,
) => Promise<ComposedAgent | undefined>;

/**
 * Composes the values of an agent in the transaction that enrols it, so that its first statement has them and it never applies anything without them. The
 * other agents of its site keep theirs. If the values cannot be composed, a new agent, or one that moves to another channel, is not enrolled yet.
 */
export const composeAgent =
  (hub: Hub, now: Date): ComposeAgent =>
  async (tx, row, known, given) => {
    const within = inTransaction(hub, tx);
    const site = await tx.selectFrom('site').selectAll().where('name', '=', row.site).executeTakeFirst();
    const state = await tx
      .selectFrom('site_layers')
      .select('declared')
      .where('site', '=', row.site)
      .executeTakeFirst();
    const facts = {
      site: row.site,
      values: given ?? siteValuesOf(site, hub.store.fleet, row.site),
      agents: [row],
      declared: state?.declared ?? null,
    };
    const { layers, faults, planned } = await decideComposition(within, {
      sites: [facts],
      agents: [row],
      now,
      dryRun: false,
      isPart: true,
    });
    const [one] = planned;
    const [fault] = [...faults, ...(one?.held ?? [])];
    if (fault) {
      if (known && known.revoked_at === null && sameChannel(channelOf(known), channelOf(row)))
        return undefined;
      throw waits(row, known, fault);
    }
    await noteLayers(within, layers);
    return { values: one?.composed?.[row.name], reason: reasonOf(layers) };
  };

/**
 * Composes the values of agents that follow another channel from now on, so that the statement which moves them has those of its layers. One that cannot have
 * any keeps its channel.
 */
export const composeMoved = (hub: Hub, now: Date): ComposeMoved => {
  const compose = composeAgent(hub, now);
  return async (tx, values, moved) => {
    let composed = values.composed ?? {};
    for (const { before, after } of moved) {
      const own = await compose(tx, after, before, values);
      if (!own) continue;
      const { [after.name]: _, ...others } = composed;
      composed = own.values ? { ...others, [after.name]: own.values } : others;
    }
    return withComposed(values, composed);
  };
};

/** The hub for code that opens transactions and runs in one already. */
const inTransaction = (hub: Hub, tx: Tx): Hub => ({
  ...hub,
  store: { ...hub.store, db: tx, transact: (work) => work(tx) },
});

const waits = (row: AgentRow, known: AgentRow | undefined, { message, at, hint }: FleetError): FleetError => {
  const isKnown = known !== undefined && known.revoked_at === null;
  const then = isKnown || row.follower !== null ? 'repeat this' : 'let it ask again';
  const what = isKnown
    ? `${row.id} keeps ${formatChannel(channelOf(known))}, because its values for ${formatChannel(channelOf(row))}`
    : `${row.id} is not enrolled yet, because its values`;
  return new FleetError('ENROLMENT_WAITS', `${what} cannot be composed: ${message}`, {
    at,
    hint: hint ?? `Correct its layers and build; then ${then}`,
  });
};
