import { createHash, type KeyObject, sign } from 'node:crypto';
import { canonicalBytes, type Json } from '#bundles/json/canonical';

/** A log with one entry before each that is added, so that a proof of inclusion has a hash. */

const FIRST = Buffer.from('the entry before');

const sha256 = (...parts: readonly Uint8Array[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();

const leafOf = (body: Uint8Array): Buffer => sha256(Buffer.of(0), body);

export type LogKey = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };

/** SubjectPublicKeyInfo in DER. */
export const spkiOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

/** Rekor's first version names a log by its key. */
export const keyIdOf = ({ publicKey }: LogKey): Buffer => sha256(spkiOf(publicKey));

/** Its second version names it by name and key, as checkpoints do (C2SP signed-note), and signs with Ed25519. */
export const noteKeyIdOf = (origin: string, { publicKey }: LogKey): Buffer =>
  sha256(Buffer.from(`${origin}\n`), Buffer.of(1), spkiOf(publicKey).subarray(-32));

type Proof = { readonly hashes: readonly Buffer[]; readonly rootHash: Buffer; readonly checkpoint: string };

const prove = (
  origin: string,
  body: Uint8Array,
  keyId: Buffer,
  signNote: (note: Buffer) => Buffer,
): Proof => {
  const before = leafOf(FIRST);
  const rootHash = sha256(Buffer.of(1), before, leafOf(body));
  const note = `${origin}\n2\n${rootHash.toString('base64')}\n`;
  const signature = Buffer.concat([keyId.subarray(0, 4), signNote(Buffer.from(note))]);
  const name = origin.split(' ')[0];
  return {
    hashes: [before],
    rootHash,
    checkpoint: `${note}\n— ${name} ${signature.toString('base64')}\n`,
  };
};

/** An entry in the JSON of a sigstore bundle. */
export type LogEntry = {
  readonly logIndex: string;
  readonly logId: { readonly keyId: string };
  readonly kindVersion: { readonly kind: string; readonly version: string };
  readonly integratedTime?: string;
  readonly inclusionPromise?: { readonly signedEntryTimestamp: string };
  readonly inclusionProof: {
    readonly logIndex: string;
    readonly rootHash: string;
    readonly treeSize: string;
    readonly hashes: readonly string[];
    readonly checkpoint: { readonly envelope: string };
  };
  readonly canonicalizedBody: string;
};

type Kind = { readonly kind: string; readonly apiVersion: string };

const toEntry = ({ kind, apiVersion }: Kind, body: Buffer, keyId: Buffer, proof: Proof): LogEntry => ({
  logIndex: '1',
  logId: { keyId: keyId.toString('base64') },
  kindVersion: { kind, version: apiVersion },
  inclusionProof: {
    logIndex: '1',
    rootHash: proof.rootHash.toString('base64'),
    treeSize: '2',
    hashes: proof.hashes.map((hash) => hash.toString('base64')),
    checkpoint: { envelope: proof.checkpoint },
  },
  canonicalizedBody: body.toString('base64'),
});

/** As Rekor's first version: its promise of inclusion signs the time of the entry. */
export const logWithTime = (
  entry: Kind & { readonly spec: Json },
  { host, key, time }: { readonly host: string; readonly key: LogKey; readonly time: Date },
): LogEntry & { readonly integratedTime: string } => {
  const body = canonicalBytes(entry);
  const keyId = keyIdOf(key);
  const proof = prove(`${host} - 1193050959916656506`, body, keyId, (note) =>
    sign('sha256', note, key.privateKey),
  );
  const integratedTime = Math.floor(time.getTime() / 1000);
  const promise = canonicalBytes({
    body: body.toString('base64'),
    integratedTime,
    logID: keyId.toString('hex'),
    logIndex: 1,
  });
  return {
    ...toEntry(entry, body, keyId, proof),
    integratedTime: `${integratedTime}`,
    inclusionPromise: { signedEntryTimestamp: sign('sha256', promise, key.privateKey).toString('base64') },
  };
};

/** As Rekor's second version: an entry has no time, which an authority for timestamps signs. */
export const logWithoutTime = (
  entry: Kind & { readonly spec: Json },
  { host, key }: { readonly host: string; readonly key: LogKey },
): LogEntry => {
  const body = canonicalBytes(entry);
  const keyId = noteKeyIdOf(host, key);
  return toEntry(
    entry,
    body,
    keyId,
    prove(host, body, keyId, (note) => sign(null, note, key.privateKey)),
  );
};
