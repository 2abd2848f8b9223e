import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeManifest } from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import { decryptKey } from '#bundles/trust/keys/cosign-key';
import { OCI_EMPTY, OCI_MANIFEST, SIGSTORE_BUNDLE } from '#bundles/media-types';
import { openSecretSet } from '#bundles/trust/secrets/open';
import { parseSecretSet } from '#bundles/trust/secrets/parse';
import { isRecipient } from '#bundles/trust/age/recipient';
import { readSignatures } from '#bundles/trust/images/read-signatures';
import { signatureKey } from '#bundles/trust/images/signature-key';
import { openManifests } from '../../../agent/secrets/open-manifests.ts';
import { blobsInMemory } from '../../bundles/blobs-in-memory.ts';
import { file } from '../../bundles/golden-corpus.ts';
import { LOCKED_KEY, PLAIN_KEY } from '../../bundles/trust/keys/fixtures.ts';
import { mutateBytes } from '../mutate-bytes.ts';
import { mutatePem } from '../mutate-der.ts';
import { mutateEnvelope, mutateJson } from '../mutate-json.ts';
import { mutateText } from '../mutate-text.ts';
import { insist, type Target } from '../target.ts';

const corpus = (name: string): Buffer => readFileSync(join(import.meta.dirname, '..', 'corpus', name));

/** A throw-away key, readable by anyone who runs this. */
const IDENTITY = corpus('age-identity.txt').toString().trim();
const ADDRESS = { fleet: 'golden', site: 'plant-7', name: 'database' };
const SEALED = corpus('secret-set.age');
const SET = { ...ADDRESS, version: 1, values: { password: 'c2VzYW1l', 'tls.key': 'YWRh' } };

const PKCS8 = createPrivateKey(PLAIN_KEY).export({ type: 'pkcs8', format: 'der' });

const SIMPLE_SIGNING = 'application/vnd.dev.cosign.simplesigning.v1+json';
const SIMPLE = {
  critical: {
    identity: { 'docker-reference': 'registry.example/app' },
    image: { 'docker-manifest-digest': `sha256:${'a'.repeat(64)}` },
    type: 'cosign container image signature',
  },
  optional: null,
};

export const SECRETS: readonly Target[] = [
  {
    name: 'secret-set',
    corpus: [canonicalBytes(SET)],
    mutate: mutateJson,
    run: (input) => {
      const set = parseSecretSet(input, 'a set');
      for (const name of Object.keys(set.values)) insist(!/[/\\\s]|^\.{1,2}$/.test(name), `the key ${name}`);
    },
  },
  {
    name: 'age',
    corpus: [SEALED],
    mutate: mutateBytes,
    run: async (input) => {
      const { values } = await openSecretSet(input, IDENTITY, ADDRESS);
      insist(values['password'] === 'c2VzYW1l', 'a changed secret was opened');
    },
  },
  {
    name: 'sops',
    corpus: [corpus('secret.sops.yaml')],
    mutate: (random, input, others) => (random.chance(50) ? mutateText : mutateBytes)(random, input, others),
    run: async (input) => {
      await openManifests(new Map([['secret.yaml', input]]), 'app', async () => IDENTITY);
    },
  },
  {
    name: 'recipient',
    corpus: [corpus('recipient.txt')],
    mutate: mutateText,
    run: (input) => {
      const text = input.toString('latin1');
      if (isRecipient(text))
        insist(text === corpus('recipient.txt').toString(), 'two recipients that differ by a typing mistake');
    },
  },
  {
    name: 'cosign-key',
    // With the settings of an older cosign: it opens in half the time.
    corpus: [Buffer.from(LOCKED_KEY)],
    mutate: mutatePem,
    run: (input) => {
      insist(decryptKey(input.toString('latin1'), 'correct horse').equals(PKCS8), 'a changed key was opened');
    },
  },
  {
    name: 'signature-key',
    corpus: ['root', 'bundle', 'release-1'].map((name) => file(`keys/${name}.pub`)),
    mutate: mutatePem,
    run: (input) => signatureKey(input.toString('latin1')),
  },
  {
    name: 'image-signature',
    corpus: [canonicalBytes(SIMPLE), file('statements/bundle-host-1.sigstore.json')],
    mutate: mutateEnvelope,
    run: async (input) => {
      const blobs = blobsInMemory();
      const empty = { mediaType: OCI_EMPTY, digest: blobs.put('{}'), size: 2 };
      const digest = blobs.put(input);
      for (const mediaType of [SIMPLE_SIGNING, SIGSTORE_BUNDLE]) {
        const { bytes } = encodeManifest({
          schemaVersion: 2,
          mediaType: OCI_MANIFEST,
          config: empty,
          layers: [
            {
              mediaType,
              digest,
              size: input.length,
              annotations: { 'dev.cosignproject.cosign/signature': 'AAAA' },
            },
          ],
        });
        await readSignatures(blobs, blobs.put(bytes));
      }
    },
  },
];
