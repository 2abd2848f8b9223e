import type { Digest } from '#bundles/digest';
import type { SealedSet } from '#bundles/trust/secrets/secret-set';
import type { State } from './state.ts';

/** The sealed sets of the site statement in force, sorted by name. Their bytes are blobs; opened secrets are never stored. */
export const readSecretSets = ({ db }: State): readonly SealedSet[] =>
  db.prepare('SELECT name, digest FROM secret_set ORDER BY name').all() as SealedSet[];

/** Must run inside the accepting transaction. */
export const saveSecretSets = ({ db }: State, sets: readonly SealedSet[]): void => {
  db.prepare('DELETE FROM secret_set').run();
  const insert = db.prepare('INSERT INTO secret_set VALUES (?, ?)');
  for (const { name, digest } of sets) insert.run(name, digest);
};

/** Names of the sets that a package uses, cached by the digest of its content. 'all': not known, so all of them. */
export type SetsUsed = readonly string[] | 'all';

export const findSetsUsed = ({ db }: State, content: Digest): SetsUsed | undefined => {
  const row = db.prepare('SELECT names FROM secret_use WHERE package = ?').get(content) as
    | { readonly names: string | null }
    | undefined;
  return row && (row.names === null ? 'all' : (JSON.parse(row.names) as string[]));
};

export const saveSetsUsed = ({ db }: State, content: Digest, used: SetsUsed): void => {
  const names = used === 'all' ? null : JSON.stringify(used);
  db.prepare('INSERT OR REPLACE INTO secret_use VALUES (?, ?)').run(content, names);
};

/** Deletes the entries of packages that no release names any more. */
export const forgetSetsUsed = ({ db }: State, kept: ReadonlySet<Digest>): void => {
  const rows = db.prepare('SELECT package FROM secret_use').all() as { readonly package: Digest }[];
  const remove = db.prepare('DELETE FROM secret_use WHERE package = ?');
  for (const row of rows) if (!kept.has(row.package)) remove.run(row.package);
};
