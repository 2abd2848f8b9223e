import { beforeAll, expect, it } from 'vitest';
import { preAuthEncoding } from '#bundles/formats/statements/envelope';
import { canonicalBytes } from '#bundles/json/canonical';
import { hexOf } from '#bundles/digest';
import {
  COSIGN_CERTIFICATE,
  COSIGN_LOG_ENTRY,
  DSSE_ENVELOPE,
  IN_TOTO,
  IN_TOTO_STATEMENT,
  OCI_EMPTY,
  OCI_MANIFEST,
} from '#bundles/media-types';
import { readAttestations } from '#bundles/trust/images/read-attestations';
import { whyUnsigned } from '#bundles/trust/images/satisfies-policy';
import { type Blobs, put, putImage, putJson, sourceOf } from '../../../agent/images/image-fixture.ts';
import { newSigstore, pemOf, sha256, type Sigstore } from '../../../harness/sigstore/sigstore.ts';
import { certificatePolicy, WHO } from './judged-image.ts';

const TYPE = 'https://slsa.dev/provenance/v1';

let sigstore: Sigstore;

beforeAll(async () => {
  sigstore = await newSigstore();
});

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

/**
 * A `.att` manifest as cosign 2 writes it for a signer without a key, judged by the policy of the instance.
 * @param changed what an attacker has in place of a part
 */
const judged = async (
  changed: { certificate?: string; entry?: string; logged?: Buffer } = {},
): Promise<string | undefined> => {
  const blobs: Blobs = new Map();
  const image = putImage(blobs, { layers: [] });
  const payload = canonicalBytes({
    _type: IN_TOTO_STATEMENT,
    subject: [{ name: 'app', digest: { sha256: hexOf(image.digest) } }],
    predicateType: TYPE,
    predicate: {},
  });
  const { certificate, sign } = await sigstore.issue(WHO);
  const signature = sign(preAuthEncoding(IN_TOTO, payload));
  const pem = pemOf('CERTIFICATE', certificate);
  const envelope = canonicalBytes({
    payload: base64(payload),
    payloadType: IN_TOTO,
    signatures: [{ keyid: '', sig: base64(signature) }],
  });
  const hashOf = (bytes: Uint8Array) => ({ algorithm: 'sha256', value: sha256(bytes).toString('hex') });
  const { canonicalizedBody, integratedTime, logIndex, logId, inclusionPromise } = sigstore.logWithTime({
    kind: 'dsse',
    apiVersion: '0.0.1',
    spec: {
      envelopeHash: hashOf(envelope),
      payloadHash: hashOf(changed.logged ?? payload),
      signatures: [{ signature: base64(signature), verifier: base64(Buffer.from(pem)) }],
    },
  });
  const entry = JSON.stringify({
    SignedEntryTimestamp: inclusionPromise?.signedEntryTimestamp,
    Payload: {
      body: canonicalizedBody,
      integratedTime: Number(integratedTime),
      logIndex: Number(logIndex),
      logID: Buffer.from(logId.keyId, 'base64').toString('hex'),
    },
  });
  const annotations = {
    [COSIGN_CERTIFICATE]: changed.certificate ?? pem,
    [COSIGN_LOG_ENTRY]: changed.entry ?? entry,
  };
  const { digest } = putJson(blobs, OCI_MANIFEST, {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    config: put(blobs, OCI_EMPTY, Buffer.from('{}')),
    layers: [{ ...put(blobs, DSSE_ENVELOPE, envelope), annotations }],
  });
  const { attestations, unreadable } = await readAttestations(sourceOf(blobs), digest);
  expect(unreadable).toEqual([]);
  const [found] = attestations;
  expect(found).toMatchObject({ type: TYPE, about: [image.digest] });
  return found && whyUnsigned(found, certificatePolicy(sigstore));
};

it("an attestation by certificate in cosign 2's form holds with the log entry in its annotations", async () => {
  expect(await judged()).toBeUndefined();
});

it.each([
  [
    'an entry of another statement',
    { logged: Buffer.from('another') },
    'its log entry is of another signature',
  ],
  ['a broken entry', { entry: '{' }, 'its certificate, log entry or timestamp cannot be read'],
  ['a broken certificate', { certificate: 'none' }, 'its certificate, log entry or timestamp cannot be read'],
  ['no entry', { entry: '' }, 'neither a signed timestamp nor a log entry with a signed time proves'],
])('%s beside it is named as the reason why it does not count', async (_, changed, reason) => {
  expect(await judged(changed)).toContain(reason);
});
