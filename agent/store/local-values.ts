import { editDigest, type LocalEdit } from '#bundles/formats/events/local-value';
import type { Digest } from '#bundles/digest';
import { isRecord } from '#bundles/is-record';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import { parsePublicKey, type SigningKey, verifySignature } from '#bundles/trust/keys/key';
import { fullName, type Identity } from './identity.ts';
import type { State } from './state.ts';

/** A value that a person at the site set, with this agent's signature over the edit, in base64. */
export type LocalValue = { readonly edit: LocalEdit; readonly signature: string };

/** The local values in force here, sorted by name, also those that nothing takes. A row that is no edit is left out. */
export const readLocalValues = ({ db }: State): readonly LocalValue[] =>
  (
    db.prepare('SELECT edit, signature FROM local_value ORDER BY name').all() as {
      readonly edit: string;
      readonly signature: string;
    }[]
  ).flatMap(({ edit: text, signature }) => {
    const edit = editIn(text);
    return edit ? [{ edit, signature }] : [];
  });

const editIn = (text: string): LocalEdit | undefined => {
  try {
    const read = parseJson(text);
    if (!isRecord(read) || typeof read['name'] !== 'string' || typeof read['value'] !== 'string')
      return undefined;
    parseJson(read['value']);
    return read as LocalEdit;
  } catch {
    return undefined;
  }
};

/** Must run inside the transaction that appends the event of the edit. */
export const saveLocalValue = ({ db }: State, { edit, signature }: LocalValue): void => {
  db.prepare('INSERT OR REPLACE INTO local_value VALUES (?, ?, ?)').run(
    edit.name,
    canonicalJson(edit),
    signature,
  );
};

export const deleteLocalValue = ({ db }: State, name: string): void => {
  db.prepare('DELETE FROM local_value WHERE name = ?').run(name);
};

export const idOf = ({ edit }: LocalValue): Digest => editDigest(edit);

export const valueOf = ({ edit }: LocalValue): Json => parseJson(edit.value) as Json;

/** The bytes that are signed. The first line keeps them apart from every other signature of the key. */
const signedBytes = (edit: LocalEdit): Buffer =>
  Buffer.from(`fleet-ferry local value v1\n${canonicalJson(edit)}`);

export const signEdit = async (edit: LocalEdit, key: SigningKey): Promise<LocalValue> => ({
  edit,
  signature: (await key.sign(signedBytes(edit))).toString('base64'),
});

/** Whether the edit names this agent and has its signature. False for a row that was written into the database without its key, and for another agent's edit. */
export const isOwnEdit = (identity: Identity, { edit, signature }: LocalValue): boolean => {
  try {
    return (
      edit.agent === fullName(identity) &&
      verifySignature(parsePublicKey(identity.key), signedBytes(edit), Buffer.from(signature, 'base64'))
    );
  } catch {
    return false;
  }
};
