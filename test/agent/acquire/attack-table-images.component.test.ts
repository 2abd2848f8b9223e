import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { BundleConfig, ClosureEntry } from '#bundles/formats/bundle/config';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Bundle } from '#bundles/formats/bundle/read-bundle';
import { PREDICATES } from '#bundles/media-types';
import type { ImagePolicy } from '#bundles/formats/bundle/image-policy';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { fetchBlobs } from '../../../agent/acquire/blobs/fetch-blobs.ts';
import {
  policyOf,
  putSignedIndex,
  signSimply,
  signWithBundle,
  withAttachments,
} from '../../bundles/trust/images/sign-image.ts';
import { certificatePolicy, IDENTITY, ISSUER, WHO } from '../../bundles/trust/images/judged-image.ts';
import { certifySimply, certifyWithBundle } from '../../bundles/trust/images/sign-by-certificate.ts';
import { verdict } from '../../bundles/verdict.ts';
import { newSigstore, type Sigstore } from '../../harness/sigstore/sigstore.ts';
import { type Blobs, closureEntry, putImage, putIndex, putLayer, sourceOf } from '../images/image-fixture.ts';
import { kubernetesBundle } from '../images/kubernetes-bundle.ts';
import { memoryProvider } from '../images/memory-provider.ts';
import { createWorld, storedBlobs, type World } from '../world.ts';

/** Rows S of the attack table: what is expected stands in the title, and only there. */

const team = loadSigningKey(generatePrivateKey());
const stranger = loadSigningKey(generatePrivateKey());
const NAME = 'registry.example/team/app';

let world: World;
let blobs: Blobs;
let manifest: Descriptor;
let image: ClosureEntry;
beforeEach(async () => {
  world = await createWorld();
  blobs = new Map();
  manifest = putImage(blobs, { layers: [await putLayer(blobs, { app: 'app' })] });
  image = closureEntry(manifest, NAME);
});
afterEach(() => world[Symbol.asyncDispose]());

type Attack = {
  readonly closure: readonly ClosureEntry[];
  readonly imagePolicy?: readonly ImagePolicy[];
  /** What this machine demands automatically. */
  readonly own?: readonly ImagePolicy[];
};

/** The bundle as a thief of its signers' keys could have made it: whatever he wants, signed. */
const bundleOf = async ({ closure, imagePolicy = [policyOf(team)] }: Attack): Promise<Bundle> => {
  const bundle = await kubernetesBundle(blobs, closure);
  const config: BundleConfig = { ...bundle.config, imagePolicy, critical: ['imagePolicy'] };
  return { ...bundle, config };
};

const row = (title: string, make: () => Attack | Promise<Attack>): void => {
  it(title, async () => {
    const attack = await make();
    const bundle = await bundleOf(attack);
    const provider = memoryProvider();
    const before = await storedBlobs(world.agent.state);
    const agent = { ...world.agent, images: [provider], imagePolicy: attack.own };
    const code = await verdict(() => fetchBlobs(agent, { blobs: sourceOf(blobs) }, [bundle]));
    expect(code).toBe(title.split(' -> ')[1]);
    const refused = code !== 'ACCEPT';
    expect(provider.asked).toEqual(refused ? [] : [image.digest]);
    if (refused) expect(await storedBlobs(world.agent.state)).toEqual(before);
  });
};

const attached = (...attachments: readonly Descriptor[]) => withAttachments(blobs, image, ...attachments);

describe('images under a policy', () => {
  row('S0: signed with a sigstore bundle -> ACCEPT', async () => ({
    closure: attached(await signWithBundle(blobs, manifest, team)),
  }));
  row('S0: signed in the older form -> ACCEPT', async () => ({
    closure: attached(await signSimply(blobs, manifest.digest, team)),
  }));
  row('S0: the index that it was chosen from is signed -> ACCEPT', async () => {
    const index = putIndex(blobs, [manifest]);
    const wrapped = putSignedIndex(blobs, blobs.get(index.digest) as Buffer);
    return { closure: attached(await signWithBundle(blobs, index, team), wrapped) };
  });
  row('S0: an image that no policy names needs no signature -> ACCEPT', () => ({
    closure: [image],
    imagePolicy: [policyOf(team, { match: ['other.example/**'] })],
  }));
  row('S1: signature removed -> IMAGE_UNSIGNED', () => ({ closure: [image] }));
  row('S2: signature of another image -> IMAGE_UNSIGNED', async () => {
    const other = putImage(blobs, { layers: [await putLayer(blobs, { app: 'other' })] });
    return { closure: attached(await signWithBundle(blobs, other, team)) };
  });
  row(
    'S2: signature of another image under a manifest that says it is about this one -> IMAGE_UNSIGNED',
    async () => {
      const other = putImage(blobs, { layers: [await putLayer(blobs, { app: 'other' })] });
      return { closure: attached(await signWithBundle(blobs, manifest, team, { about: other.digest })) };
    },
  );
  row('S3: signature by another key -> IMAGE_UNSIGNED', async () => ({
    closure: attached(await signWithBundle(blobs, manifest, stranger)),
  }));
  row('S3: older signature by another key -> IMAGE_UNSIGNED', async () => ({
    closure: attached(await signSimply(blobs, manifest.digest, stranger)),
  }));
  row('S3: one of two policies has no signature -> IMAGE_UNSIGNED', async () => ({
    closure: attached(await signWithBundle(blobs, manifest, team)),
    imagePolicy: [policyOf(team), policyOf(stranger, { name: 'second', match: ['**'] })],
  }));
  row('S4: manifest of the signature missing -> MISSING_BLOB', async () => {
    const signature = await signWithBundle(blobs, manifest, team);
    const closure = attached(signature);
    blobs.delete(signature.digest);
    return { closure };
  });
  row('S4: the signature itself missing -> MISSING_BLOB', async () => {
    const closure = attached(await signWithBundle(blobs, manifest, team));
    blobs.delete(closure.at(-1)?.digest as never);
    return { closure };
  });
  row('S5: signature changed -> DIGEST_MISMATCH', async () => {
    const closure = attached(await signWithBundle(blobs, manifest, team));
    const last = closure.at(-1) as ClosureEntry;
    const bytes = Buffer.from(blobs.get(last.digest) as Buffer);
    bytes[200] = (bytes[200] ?? 0) ^ 1;
    blobs.set(last.digest, bytes);
    return { closure };
  });
  row('S6: signed index that names other images -> IMAGE_UNSIGNED', async () => {
    const other = putImage(blobs, { layers: [await putLayer(blobs, { app: 'other' })] });
    const index = putIndex(blobs, [other]);
    const wrapped = putSignedIndex(blobs, blobs.get(index.digest) as Buffer);
    return { closure: attached(await signWithBundle(blobs, index, team), wrapped) };
  });
  row('S6: signed index without the index -> IMAGE_UNSIGNED', async () => {
    const index = putIndex(blobs, [manifest]);
    return { closure: attached(await signWithBundle(blobs, index, team)) };
  });
  row('S7: attestation by the right key instead of a signature -> IMAGE_UNSIGNED', async () => ({
    closure: attached(await signWithBundle(blobs, manifest, team, { predicateType: PREDICATES.bundle })),
  }));
  row('S8: signature beside the bundle and not in its closure -> IMAGE_UNSIGNED', async () => {
    const [entry] = attached(await signWithBundle(blobs, manifest, team));
    return { closure: [entry as ClosureEntry] };
  });
  row('S9: bundle without policies at a machine with one of its own -> IMAGE_UNSIGNED', () => ({
    closure: [image],
    imagePolicy: [],
    own: [policyOf(team)],
  }));
  row('S9: another key is enough for the bundle, but not for the machine -> IMAGE_UNSIGNED', async () => ({
    closure: attached(await signWithBundle(blobs, manifest, stranger)),
    imagePolicy: [policyOf(stranger)],
    own: [policyOf(team)],
  }));
});

describe('images under a policy by certificate', () => {
  let sigstore: Sigstore;
  let own: Sigstore;
  let ended: Sigstore;
  beforeAll(async () => {
    sigstore = await newSigstore();
    own = await newSigstore();
    ended = await newSigstore({ issuedAt: new Date(Date.now() - 3_600_000) });
  });
  const wanted = (by = sigstore) => ({ imagePolicy: [certificatePolicy(by)] });
  const signed = async (
    by: Sigstore,
    ...[who = WHO, proofs]: [who?: typeof WHO, proofs?: Parameters<typeof certifyWithBundle>[4]]
  ) => attached(await certifyWithBundle(blobs, manifest, by, who, proofs));

  row('S0: signed with a certificate -> ACCEPT', async () => ({
    ...wanted(),
    closure: await signed(sigstore),
  }));
  row('S0: signed with a certificate, in the older form -> ACCEPT', async () => ({
    ...wanted(),
    closure: attached(await certifySimply(blobs, manifest, sigstore, WHO)),
  }));
  row('S10: certificate for another identity -> IMAGE_UNSIGNED', async () => ({
    ...wanted(),
    closure: await signed(sigstore, { identity: `${IDENTITY}-rc1`, issuer: ISSUER }),
  }));
  row('S10: certificate by another issuer -> IMAGE_UNSIGNED', async () => ({
    ...wanted(),
    closure: await signed(sigstore, { identity: IDENTITY, issuer: `${ISSUER}.evil.example` }),
  }));
  row('S10: the identity of the owner at his machine alone -> IMAGE_UNSIGNED', async () => {
    const { imagePolicy } = wanted();
    const strange = { identity: 'https://git.example/stranger', issuer: ISSUER };
    return {
      imagePolicy: [certificatePolicy(sigstore, {}, strange)],
      own: imagePolicy,
      closure: await signed(sigstore, strange),
    };
  });
  row('S11: an instance of their own -> IMAGE_UNSIGNED', async () => ({
    ...wanted(),
    closure: await signed(own),
  }));
  row('S11: a timestamp of their own -> IMAGE_UNSIGNED', async () => ({
    ...wanted(),
    closure: await signed(sigstore, WHO, { timestampBy: own }),
  }));
  row('S12: ended certificate, true time -> IMAGE_UNSIGNED', async () => ({
    ...wanted(ended),
    closure: await signed(ended, WHO, { log: 1 }),
  }));
  row('S12: ended certificate, timestamp of an earlier signature -> IMAGE_UNSIGNED', async () => ({
    ...wanted(),
    closure: await signed(sigstore, WHO, { timestampOf: Buffer.from('an earlier signature') }),
  }));
  row('S12: ended certificate, no time -> IMAGE_UNSIGNED', async () => ({
    ...wanted(ended),
    closure: await signed(ended, WHO, { timestamped: false }),
  }));
  row('S13: signature in no log -> IMAGE_UNSIGNED', async () => ({
    ...wanted(),
    closure: await signed(sigstore, WHO, { log: 'none', timestamped: true }),
  }));
  row('S13: entry of another signature -> IMAGE_UNSIGNED', async () => ({
    ...wanted(),
    closure: await signed(sigstore, WHO, { logged: Buffer.from('another signature') }),
  }));
});
