import type { Digest } from '#bundles/digest';
import { notEnrolled, type State } from './state.ts';

/** Who this agent is; written once at enrolment. */
export type Identity = {
  readonly fleet: string;
  readonly site: string;
  readonly agent: string;
  /** SPKI PEM. */
  readonly key: string;
  /** SHA-256 of the root file that a person gave. */
  readonly pinnedRoot: Digest;
  /** The request as it goes onto a medium, so that writing it again writes the same. */
  readonly request: string;
};

/** '<site>/<agent>', as events and paths name it. */
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

/** Inside a transaction: the identity and the empty rows that go with it. */
export const insertIdentity = ({ db }: State, identity: Identity, genesis: Digest): void => {
  db.prepare(`INSERT INTO identity VALUES (1, @fleet, @site, @agent, @key, @pinnedRoot, @request)`).run(
    identity,
  );
  db.prepare('INSERT INTO trust (one) VALUES (1)').run();
  db.prepare('INSERT INTO chain VALUES (1, 1, ?)').run(genesis);
};

/** The same words, and the recipient that an agent of before did not have. */
export const saveRequest = ({ db }: State, request: string): void => {
  db.prepare('UPDATE identity SET request = ?').run(request);
};

/** An enrolment that was refused: nobody has heard of this agent, so nothing is lost. The key stays and is used again. */
export const forgetIdentity = ({ db }: State): void => {
  const forget = db.transaction(() => {
    for (const table of ['identity', 'trust', 'chain', 'outbox']) db.prepare(`DELETE FROM ${table}`).run();
  });
  forget.immediate();
};
