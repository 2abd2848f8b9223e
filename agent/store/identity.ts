import type { Digest } from '#bundles/digest';
import { notEnrolled, type State } from './state.ts';

/** The identity of this agent; written once at enrolment. */
export type Identity = {
  readonly fleet: string;
  readonly site: string;
  readonly agent: string;
  /** SPKI PEM. */
  readonly key: string;
  /** SHA-256 of the root file that the operator supplied. */
  readonly pinnedRoot: Digest;
  /** The request as written to a medium; stored so that writing it again yields the same bytes. */
  readonly request: string;
};

/** '<site>/<agent>', the form used in events and paths. */
export const fullName = ({ site, agent }: Pick<Identity, 'site' | 'agent'>): string => `${site}/${agent}`;

type Row = Omit<Identity, 'pinnedRoot'> & { readonly pinned_root: Digest };

export const findIdentity = ({ db }: State): Identity | undefined => {
  const row = db.prepare('SELECT * FROM identity').get() as Row | undefined;
  if (!row) return undefined;
  const { fleet, site, agent, key, pinned_root: pinnedRoot, request } = row;
  return { fleet, site, agent, key, pinnedRoot, request };
};

/** @throws FleetError NOT_ENROLLED */
export const readIdentity = (state: State): Identity => {
  const identity = findIdentity(state);
  if (!identity) throw notEnrolled(state.directory);
  return identity;
};

/** Inserts the identity and the initial rows that belong to it. Must run inside a transaction. */
export const insertIdentity = ({ db }: State, identity: Identity, genesis: Digest): void => {
  db.prepare(`INSERT INTO identity VALUES (1, @fleet, @site, @agent, @key, @pinnedRoot, @request)`).run(
    identity,
  );
  db.prepare('INSERT INTO trust (one) VALUES (1)').run();
  db.prepare('INSERT INTO chain VALUES (1, 1, ?)').run(genesis);
};

/** Replaces the stored request, to add the age recipient that older agents did not send. */
export const saveRequest = ({ db }: State, request: string): void => {
  db.prepare('UPDATE identity SET request = ?').run(request);
};

/** Deletes the identity after a refused enrolment. No event has left this agent yet. The key stays for the next attempt. */
export const forgetIdentity = ({ db }: State): void => {
  const forget = db.transaction(() => {
    for (const table of ['identity', 'trust', 'chain', 'outbox']) db.prepare(`DELETE FROM ${table}`).run();
  });
  forget.immediate();
};
