import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import type { LocalEditRow, LocalEditState } from '../store/local-edit-row.ts';
import type { Database, Tx } from '../store/tables.ts';

/** An edit and the site of its agent. */
export type SiteEdit = LocalEditRow & {
  readonly site: string;
  readonly agentName: string;
  /** The life that the agent has now. */
  readonly agentLife: number;
};

type Wanted = {
  readonly site?: string | undefined;
  /** Default: all. */
  readonly states?: readonly LocalEditState[] | undefined;
};

/** Edits of people at sites, in the order of each agent's events. */
export const readLocalEdits = async (
  db: Database | Tx,
  { site, states }: Wanted = {},
): Promise<readonly SiteEdit[]> => {
  let query = db
    .selectFrom('local_edit')
    .innerJoin('agent', 'agent.id', 'local_edit.agent')
    .selectAll('local_edit')
    .select(['agent.site', 'agent.name as agentName', 'agent.life as agentLife'])
    .orderBy('local_edit.agent')
    .orderBy('local_edit.life')
    .orderBy('local_edit.seq');
  if (site !== undefined) query = query.where('agent.site', '=', site);
  if (states) query = query.where('local_edit.state', 'in', [...states]);
  return query.execute();
};

/** The newest edit of each value that an agent has not ended, as far as its reports tell: waiting, or answered and not confirmed. */
export const readLocalInForce = async (db: Database | Tx, site?: string): Promise<readonly SiteEdit[]> => {
  const edits = await readLocalEdits(db, { site, states: ['waiting', 'accepted', 'refused'] });
  const newest = new Map(edits.map((one) => [JSON.stringify([one.agent, one.life, one.name]), one]));
  return [...newest.values()].filter(
    ({ confirmed, life, agentLife }) => confirmed === 0 && life === agentLife,
  );
};

const MAX_PERSON = 256;

/** 'anna at plant-7/press-1'. */
export const authorOf = ({ person, agent }: Pick<LocalEditRow, 'person' | 'agent'>): string =>
  `${person} at ${agent}`.slice(0, MAX_PERSON);

/** As people write it. */
export const shortEdit = (edit: Digest): string => edit.slice('sha256:'.length, 'sha256:'.length + 12);

/** The waiting edit whose digest begins so. @throws FleetError NOTHING_AWAITING; USAGE for several */
export const findLocalEdit = async (db: Database | Tx, id: string): Promise<SiteEdit> => {
  const waiting = await readLocalEdits(db, { states: ['waiting'] });
  const found = waiting.filter(
    ({ edit }) => edit === id || (id.length >= 4 && edit.slice('sha256:'.length).startsWith(id)),
  );
  const [only, other] = found;
  if (only && !other) return only;
  if (other)
    throw new FleetError('USAGE', `${found.length} local values begin with ${id}`, {
      hint: 'Write more of its digits',
    });
  throw new FleetError('NOTHING_AWAITING', `no local value ${JSON.stringify(id.slice(0, 80))} waits`, {
    hint: 'See them with: fleet-scheduler sites values local',
  });
};

export type Answering = {
  readonly outcome: 'accepted' | 'refused';
  /** null: the program, by a rule. */
  readonly person: string | null;
  readonly reason: string | null;
  readonly now: Date;
};

/**
 * Records the answer to an edit in the transaction that signs it.
 * @throws FleetError VALUES_CHANGED if it does not wait any more: the site changed the value again, or somebody has answered
 */
export const answerLocalEdit = async (
  tx: Tx,
  { agent, edit }: Pick<LocalEditRow, 'agent' | 'edit'>,
  { outcome, person, reason, now }: Answering,
): Promise<void> => {
  const { numUpdatedRows } = await tx
    .updateTable('local_edit')
    .set({
      state: outcome,
      note: null,
      decided_by: person,
      decided_reason: reason,
      decided_at: formatTime(now),
    })
    .where('agent', '=', agent)
    .where('edit', '=', edit)
    .where('state', '=', 'waiting')
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw notWaiting({ agent, edit });
};

/** @throws FleetError VALUES_CHANGED */
export const checkWaiting = async (
  tx: Tx,
  { agent, edit }: Pick<LocalEditRow, 'agent' | 'edit'>,
): Promise<void> => {
  const row = await tx
    .selectFrom('local_edit')
    .select('seq')
    .where('agent', '=', agent)
    .where('edit', '=', edit)
    .where('state', '=', 'waiting')
    .executeTakeFirst();
  if (!row) throw notWaiting({ agent, edit });
};

const notWaiting = ({ agent, edit }: Pick<LocalEditRow, 'agent' | 'edit'>): FleetError =>
  new FleetError(
    'VALUES_CHANGED',
    `the local value ${shortEdit(edit)} of ${agent} does not wait any more: it was changed again or taken back there, or somebody has answered it`,
    { hint: 'See it with: fleet-scheduler sites values local --all' },
  );
