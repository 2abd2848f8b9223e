import { describe, expect, it } from 'vitest';
import { acceptRelease } from '#bundles/trust/accept/accept-release';
import { canonicalBytes } from '#bundles/json/canonical';
import { digestOf } from '#bundles/digest';
import { IN_TOTO, SIGSTORE_BUNDLE } from '#bundles/media-types';
import { preAuthEncoding } from '#bundles/formats/statements/envelope';
import { verdict } from '../../verdict.ts';
import { edited, names, row, signedRelease } from './attack-row.ts';
import {
  after,
  agent,
  approver,
  at,
  BUNDLE_A,
  BUNDLE_B,
  bundlePayload,
  bundleStatements,
  CHANNEL,
  clock,
  documentsOf,
  enrolled,
  importMedium,
  lease,
  type Medium,
  POLICY,
  release,
  releaseMedium,
  releasePayload,
  root1,
  rootOf,
  scheduler,
  sign,
  sitePayload,
  stranger,
} from './signed-world.ts';

const signedText = async (text: string): Promise<Medium> => ({
  release: await sign(Buffer.from(text), release),
});

describe('who signed', () => {
  row('M1: happy path -> ACCEPT', () => ({}));
  row('M1: re-import of the same medium -> ACCEPT', () => ({}), { state: () => after({}) });

  it('M2: unsigned release -> UNSIGNED', async () => {
    const documents = await documentsOf({ release: false });
    const root = (await after({})).root;
    if (!root) throw new Error('the fixture has no root');
    const accept = () => acceptRelease(enrolled, root, documents, CHANNEL, 1, clock(), POLICY);
    expect(await verdict(accept)).toBe('UNSIGNED');
  });

  it('M2: a medium without the release file brings nothing to run and moves no floor', async () => {
    const accepted = await importMedium(enrolled, { release: false });
    expect(accepted).toMatchObject({ release: undefined, selected: false });
    expect(accepted.site.statement.version).toBe(1);
  });

  row('M3: unknown key -> UNKNOWN_KEY', async () => ({ release: await signedRelease({}, stranger) }));
  row('M4: borrowed hint -> BAD_SIGNATURE', async () => ({
    release: await signedRelease({}, { public: release.public, sign: stranger.sign }),
  }));
  row('M5: payload flip -> BAD_SIGNATURE', async () => {
    const [file] = (await signedRelease()) as [Buffer];
    const other = releasePayload({ version: 2 }).toString('base64');
    return { release: [edited(file, (json) => (json.dsseEnvelope.payload = other))] };
  });
  row('M6: role confusion, the lease key signs a release -> UNKNOWN_KEY', async () => ({
    release: await signedRelease({}, lease),
  }));
  row('M6: role confusion, the release key signs a bundle -> UNKNOWN_KEY', async () => ({
    bundles: new Map([[BUNDLE_A, await sign(bundlePayload(BUNDLE_A), release, scheduler)]]),
  }));
  row('M6: role confusion, the agent key signs the site statement -> UNKNOWN_KEY', async () => ({
    site: await sign(sitePayload(), agent),
  }));
  row('M7: below threshold, one of two bundle signers -> THRESHOLD', async () => ({
    bundles: new Map([[BUNDLE_A, await sign(bundlePayload(BUNDLE_A), scheduler)]]),
  }));
  row('M7: below threshold, the same signer twice -> THRESHOLD', async () => ({
    bundles: new Map([[BUNDLE_A, await sign(bundlePayload(BUNDLE_A), scheduler, scheduler)]]),
  }));
  row('M8: split payload -> PAYLOAD_MISMATCH', async () => ({
    bundles: new Map([
      [
        BUNDLE_A,
        [
          ...(await sign(bundlePayload(BUNDLE_A), scheduler)),
          ...(await sign(bundlePayload(BUNDLE_A, { builder: 'somebody' }), approver)),
        ],
      ],
    ]),
  }));
});

describe('what is signed', () => {
  row('M9: two-signature envelope -> BUNDLE_FORMAT', async () => {
    const [file] = (await signedRelease()) as [Buffer];
    const twice = edited(file, ({ dsseEnvelope }) =>
      dsseEnvelope.signatures.push(dsseEnvelope.signatures[0]),
    );
    return { release: [twice] };
  });
  row('M9: message-signature bundle -> BUNDLE_FORMAT', async () => {
    const payload = releasePayload();
    const file = {
      mediaType: SIGSTORE_BUNDLE,
      verificationMaterial: { publicKey: { hint: release.public.hint } },
      messageSignature: {
        messageDigest: {
          algorithm: 'SHA2_256',
          digest: Buffer.from(digestOf(payload).slice(7), 'hex').toString('base64'),
        },
        signature: (await release.sign(payload)).toString('base64'),
      },
    };
    return { release: [canonicalBytes(file)] };
  });
  row('M10: predicate confusion -> PREDICATE_TYPE', async () => ({
    release: await sign(bundlePayload(BUNDLE_A), release),
  }));
  row('M10: predicate confusion, a site statement as release -> PREDICATE_TYPE', async () => ({
    release: await sign(sitePayload(), release),
  }));
  row('M11: foreign payloadType -> PAYLOAD_TYPE', async () => {
    const [file] = (await signedRelease()) as [Buffer];
    const payloadType = 'application/json';
    const signature = await release.sign(preAuthEncoding(payloadType, releasePayload()));
    return {
      release: [
        edited(file, ({ dsseEnvelope }) => {
          dsseEnvelope.payloadType = payloadType;
          dsseEnvelope.signatures[0].sig = signature.toString('base64');
        }),
      ],
    };
  });
  row('M11: foreign payloadType under a good signature -> BAD_SIGNATURE', async () => {
    const [file] = (await signedRelease()) as [Buffer];
    const other = releasePayload({ version: 2 });
    const signature = await release.sign(preAuthEncoding('application/json', other));
    return {
      release: [
        edited(file, ({ dsseEnvelope }) => {
          expect(dsseEnvelope.payloadType).toBe(IN_TOTO);
          dsseEnvelope.payload = other.toString('base64');
          dsseEnvelope.signatures[0].sig = signature.toString('base64');
        }),
      ],
    };
  });
});

describe('for somebody else', () => {
  const audience = { fleet: 'acme', ...CHANNEL };
  const plant8 = () => sign(sitePayload({ audience: { fleet: 'acme', site: 'plant-8' } }), release);

  row('M20: wrong site -> WRONG_SITE', async () => ({ site: await plant8(), claimedSite: 'plant-8' }));
  row('M20: wrong site under a false claim -> WRONG_SITE', async () => ({ site: await plant8() }));
  row(
    'M20: wrong site for an agent that has its own statement -> WRONG_SITE',
    async () => ({ site: await plant8(), claimedSite: 'plant-8' }),
    { state: () => after({}) },
  );
  row('M20: wrong site in the values -> WRONG_SITE', async () => {
    const values = { fleet: 'acme', site: 'plant-8', values: {}, agents: {} };
    return { values: [canonicalBytes(values)], site: await sign(sitePayload({ values }), release) };
  });
  row('M20: values of another fleet -> WRONG_SITE', async () => {
    const values = { fleet: 'other', site: 'plant-7', values: {}, agents: {} };
    return { values: [canonicalBytes(values)], site: await sign(sitePayload({ values }), release) };
  });
  const staging = { environment: 'staging', clusterType: 'server' };
  row(
    'M20: wrong channel -> WRONG_CHANNEL',
    async () => ({
      ...(await releaseMedium({ audience: { fleet: 'acme', ...staging } })),
      claimedChannel: staging,
      site: false,
    }),
    { state: () => after({}) },
  );
  row('M20: wrong channel under a false claim -> WRONG_CHANNEL', () =>
    releaseMedium({ audience: { fleet: 'acme', ...staging } }),
  );
  row('M21: wrong type, release for another cluster type -> WRONG_TYPE', () =>
    releaseMedium({ audience: { ...audience, clusterType: 'server' } }),
  );
  row('M21: wrong type, bundle for another cluster type -> WRONG_TYPE', async () => ({
    bundles: new Map([
      [BUNDLE_A, await sign(bundlePayload(BUNDLE_A, { clusterType: 'server' }), scheduler, approver)],
    ]),
  }));
  row('M21: wrong type, a Kubernetes bundle as the host bundle -> WRONG_TYPE', async () => ({
    bundles: new Map([
      [BUNDLE_A, await sign(bundlePayload(BUNDLE_A, { kind: 'kubernetes' }), scheduler, approver)],
    ]),
  }));
  row('M22: wrong fleet, release -> WRONG_FLEET', () =>
    releaseMedium({ audience: { ...audience, fleet: 'other' } }),
  );
  row('M22: wrong fleet, site statement -> WRONG_FLEET', async () => ({
    site: await sign(sitePayload({ audience: { fleet: 'other', site: 'plant-7' } }), release),
  }));
  row('M22: wrong fleet, bundle -> WRONG_FLEET', async () => ({
    bundles: new Map([
      [BUNDLE_A, await sign(bundlePayload(BUNDLE_A, { fleet: 'other' }), scheduler, approver)],
    ]),
  }));
  row('M22: wrong environment -> WRONG_ENVIRONMENT', async () => ({
    bundles: new Map([
      [BUNDLE_A, await sign(bundlePayload(BUNDLE_A, { environment: 'dev' }), scheduler, approver)],
    ]),
  }));
});

describe('caps and form', () => {
  it('M37: failed import changes nothing, the next good one -> ACCEPT', async () => {
    const state = await after({});
    const before = JSON.stringify({ ...state, root: state.root?.digest });
    const half = {
      ...(await releaseMedium({ version: 2, ...names(BUNDLE_B) })),
      site: await sign(sitePayload({ version: 2, issuedAt: at(0) }), release),
      roots: [root1, await rootOf(2)],
      bundles: new Map([[BUNDLE_B, await sign(bundlePayload(BUNDLE_B), scheduler)]]),
    };
    expect(await verdict(() => importMedium(state, half))).toBe('THRESHOLD');
    expect(JSON.stringify({ ...state, root: state.root?.digest })).toBe(before);
    const whole = { ...half, bundles: await bundleStatements(BUNDLE_B) };
    expect(await verdict(() => importMedium(state, whole))).toBe('ACCEPT');
    expect((await importMedium(state, whole)).release).toMatchObject({
      news: 'newer',
      statement: { version: 2 },
    });
  });

  row('M38: endless data, a statement of 10 MB -> TOO_LARGE', () => ({
    release: [Buffer.alloc(10_000_000, ' ')],
  }));
  row('M38: endless data, a root of 10 MB -> TOO_LARGE', () => ({ roots: [Buffer.alloc(10_000_000, ' ')] }));
  row('M38: endless data, 4,096 signatures in a file -> TOO_LARGE', async () => {
    const [file] = (await signedRelease()) as [Buffer];
    return {
      release: [
        edited(file, ({ dsseEnvelope }) => {
          dsseEnvelope.signatures = Array(4096).fill(dsseEnvelope.signatures[0]);
        }),
      ],
    };
  });
  row('M38: endless data, 4,096 signature files -> TOO_MANY', async () => ({
    release: Array(4096).fill((await signedRelease())[0]),
  }));
  row('M38: endless data, 4,096 roots -> TOO_MANY', () => ({ roots: Array(4096).fill(root1) }));

  row('M39: parser games, JSON 9,000 deep -> TOO_DEEP', () =>
    signedText(`{"predicate":${'['.repeat(9000)}${']'.repeat(9000)}}`),
  );
  row('M39: parser games, a key twice -> BAD_JSON', () =>
    signedText(releasePayload().toString().replace('"version":1', '"version":1,"vers\\u0069on":2')),
  );
  row('M39: parser games, version 10.5 -> SCHEMA', () =>
    signedText(releasePayload().toString().replace('"version":1', '"version":10.5')),
  );
  row('M39: parser games, five years valid -> SCHEMA', () => releaseMedium({ expires: at(5 * 365) }));
  row('M39: parser games, expired before it was issued -> SCHEMA', () =>
    releaseMedium({ issuedAt: at(0), expires: at(-1) }),
  );
  row('M39: parser games, 30 February -> SCHEMA', () => releaseMedium({ expires: '2027-02-30T00:00:00Z' }));
  row('M39: parser games, a release without bundles -> SCHEMA', () =>
    releaseMedium({ subjects: [{ name: 'constructor', digest: BUNDLE_A }] }),
  );
});
