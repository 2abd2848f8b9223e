import { defined } from '#bundles/defined';
import { type Digest, digestOf } from '#bundles/digest';
import { valueDifferences } from '#bundles/formats/author-schema/decided-values';
import { FleetError } from '#bundles/errors';
import { canonicalJson } from '#bundles/json/canonical';
import { formatTime } from '#bundles/time';
import { type ProposedValue, type ProposedValues, readProposal } from '../../../model/proposed-values.ts';
import { noteChange } from '../../changes/note-change.ts';
import type { Hub } from '../../hub.ts';
import { readHidden } from '../../sites/hidden-values.ts';
import { siteValuesOf } from '../../sites/issue-site.ts';
import { planValues } from '../../sites/set-many-values.ts';
import type { ValueChange } from '../../sites/set-values.ts';
import type { Store } from '../../store/open-store.ts';
import type { Tx, ValuesProposalRow } from '../../store/tables.ts';

/** A proposal, and its row. */
export type Proposal = { readonly row: ValuesProposalRow; readonly proposed: ProposedValues };

type Terms = {
  readonly now: Date;
  /** Names that no release asks for are accepted, also when it is approved. */
  readonly allowUnknown: boolean;
  /** Runs first in the transaction, and ends it by an error. */
  readonly within?: ((tx: Tx) => Promise<void>) | undefined;
};

/**
 * Stores a change of values, with what they are now, until people approve or reject it. Nothing is signed for a site.
 * @returns undefined: no value would change @throws FleetError VALUES_CHANGED if another proposal of one of the values waits; SITE_MISSING, AGENT_UNKNOWN
 */
export const proposeValues = (
  hub: Pick<Hub, 'keys' | 'layout' | 'store'>,
  changes: readonly ValueChange[],
  { now, allowUnknown, within }: Terms,
): Promise<Proposal | undefined> =>
  hub.store.transact(async (tx) => {
    await within?.(tx);
    const { fleet, by } = hub.store;
    const planned = await planValues(tx, fleet, changes, (agents) => readHidden(hub, agents));
    const proposedChanges = planned.flatMap(({ site, row, after }) =>
      valueDifferences(siteValuesOf(row, fleet, site), after).map(
        ({ agent = null, name, old, new: next }): ProposedValue => ({
          site,
          agent,
          name,
          ...defined({ old, new: next, local: localIn(changes, site, name) }),
        }),
      ),
    );
    if (proposedChanges.length === 0) return undefined;
    await refuseEdited(tx, proposedChanges);
    const proposed: ProposedValues = {
      fleet,
      person: by.person ?? 'a rule',
      reason: by.reason,
      time: formatTime(now),
      ...defined({ allowUnknown: allowUnknown || undefined }),
      changes: proposedChanges,
    };
    const document = canonicalJson(proposed, 'doubles');
    const row: ValuesProposalRow = {
      id: digestOf(document),
      document,
      person: proposed.person,
      at: proposed.time,
      state: 'waiting',
      ended_by: null,
      ended_reason: null,
      ended_at: null,
    };
    await tx.insertInto('values_proposal').values(row).execute();
    for (const { changes: noted } of planned)
      for (const one of noted) await noteChange(tx, { change: 'sites values propose', ...one }, by, now);
    return { row, proposed };
  });

const localIn = (changes: readonly ValueChange[], site: string, name: string): ProposedValue['local'] => {
  const answers = changes.filter((one) => one.site === site).flatMap((one) => one.answers ?? []);
  const found = answers.find((one) => one.name === name);
  return found && { agent: found.agent, edit: found.edit };
};

/** @throws FleetError VALUES_CHANGED */
const refuseEdited = async (tx: Tx, changes: readonly ProposedValue[]): Promise<void> => {
  const wanted = new Map(changes.map((one) => [placeOf(one), one]));
  for (const { row, proposed } of await readProposals(tx, 'waiting')) {
    const same = proposed.changes.map((one) => wanted.get(placeOf(one))).find((one) => one);
    if (!same) continue;
    throw new FleetError(
      'VALUES_CHANGED',
      `${row.person} proposed another value ${same.name} of ${whoseOf(same)} at ${row.at}, which waits for review`,
      {
        subject: shortId(row.id),
        hint: `Wait until it is decided, or reject it first: fleet-scheduler sites values reject ${shortId(row.id)}`,
      },
    );
  }
};

/** Proposals in this state, oldest first. */
export const readProposals = async (
  db: Tx | Store['db'],
  state: ValuesProposalRow['state'],
): Promise<readonly Proposal[]> => {
  const rows = await db
    .selectFrom('values_proposal')
    .selectAll()
    .where('state', '=', state)
    .orderBy('at')
    .orderBy('id')
    .execute();
  return rows.flatMap((row) => {
    const proposed = readProposal(row.document);
    return proposed ? [{ row, proposed }] : [];
  });
};

/** The waiting proposal whose id begins so. @throws FleetError NOTHING_AWAITING; USAGE for several */
export const findProposal = async (db: Tx | Store['db'], id: string): Promise<Proposal> => {
  const waiting = await readProposals(db, 'waiting');
  const found = waiting.filter(
    ({ row }) => row.id === id || (id.length >= 4 && hexOfId(row.id).startsWith(id)),
  );
  const [only, other] = found;
  if (only && !other) return only;
  if (other)
    throw new FleetError('USAGE', `${found.length} proposals begin with ${id}`, {
      hint: 'Write more of its digits',
    });
  throw new FleetError('NOTHING_AWAITING', `no proposal ${JSON.stringify(id.slice(0, 80))} waits`, {
    hint: 'See them with: fleet-scheduler sites values proposals',
  });
};

const hexOfId = (id: Digest): string => id.slice('sha256:'.length);

/** As people write it. */
export const shortId = (id: Digest): string => hexOfId(id).slice(0, 12);

/** The changes of a proposal by site and agent. */
export const changesOf = ({ changes }: ProposedValues): readonly ValueChange[] =>
  [...Map.groupBy(changes, ({ site, agent }) => JSON.stringify([site, agent])).values()].flatMap((own) => {
    const [first] = own;
    if (!first) return [];
    const { site, agent } = first;
    return [
      {
        site,
        ...defined({ agent: agent ?? undefined }),
        set: Object.fromEntries(
          own.flatMap((one) => (one.new === undefined ? [] : [[one.name, one.new] as const])),
        ),
        unset: own.flatMap((one) => (one.new === undefined ? [one.name] : [])),
        ...defined({ answers: answersIn(own) }),
      },
    ];
  });

const answersIn = (changes: readonly ProposedValue[]): ValueChange['answers'] => {
  const answers = changes.flatMap(({ name, local }) =>
    local ? [{ ...local, name, outcome: 'accepted' as const }] : [],
  );
  return answers.length > 0 ? answers : undefined;
};

const placeOf = ({ site, agent, name }: ProposedValue): string => JSON.stringify([site, agent, name]);

/** 'plant-7' or 'plant-7/press-1'. */
export const whoseOf = ({ site, agent }: Pick<ProposedValue, 'site' | 'agent'>): string =>
  agent === null ? site : `${site}/${agent}`;
