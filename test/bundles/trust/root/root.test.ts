import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import type { SigningKey } from '#bundles/trust/keys/key';
import { checkRootExpiry, createRoot, parseRoot, type RootInput, signRoot } from '#bundles/trust/root/root';
import { readRootDocument, signedBytes } from '#bundles/trust/root/root-document';
import { flippedByte, replacedValue } from '../../mutate.ts';
import { refusal } from '../../refusal.ts';
import { AGENT_CA, P384_PEM } from './fixtures.ts';
import { newKey, publics } from './new-key.ts';
import { runs } from '../../../harness/run/long.ts';

const officers = [newKey(), newKey(), newKey()] as const;
const [bundle, approver, release, lease, receipt, audit] = Array.from({ length: 6 }, newKey) as [
  SigningKey,
  SigningKey,
  SigningKey,
  SigningKey,
  SigningKey,
  SigningKey,
];
const input: RootInput = {
  fleet: 'acme',
  version: 1,
  expires: new Date('2028-11-21T08:00:00Z'),
  keys: {
    root: publics(officers),
    bundle: publics([bundle, approver]),
    release: publics([release]),
    lease: publics([lease]),
    receipt: publics([receipt]),
    audit: publics([audit]),
  },
  thresholds: { bundle: 2 },
  agentCertificates: [AGENT_CA],
};
const bytes = await createRoot(input, officers.slice(0, 2));

/** Whatever JSON.parse says it is: these tests reach into it to break it. */
type Signed = ReturnType<typeof JSON.parse>;

/** The root with something in its signed part changed. Its form is looked at before its signatures. */
const changed = (change: (signed: Signed) => void): Buffer => {
  const json = JSON.parse(bytes.toString());
  change(json.signed);
  return Buffer.from(JSON.stringify(json));
};

const hints = (keys: readonly SigningKey[]) => keys.map((key) => key.public.hint).toSorted();

describe('a root', () => {
  const root = parseRoot(bytes);

  it('is parsed with every role, key and threshold that it was created with', () => {
    expect(root).toMatchObject({ version: 1, fleet: 'acme', expires: input.expires, dev: false });
    expect(root.agentCertificates).toEqual([AGENT_CA]);
    expect(root.bytes.equals(bytes)).toBe(true);
    expect(root.digest).toBe(digestOf(bytes));
    const said = Object.entries(root.roles).map(([name, { keys, threshold }]) => [
      name,
      keys.map(({ hint }) => hint).toSorted(),
      threshold,
    ]);
    expect(said).toEqual([
      ['root', hints(officers), 2],
      ['bundle', hints([bundle, approver]), 2],
      ['release', hints([release]), 1],
      ['lease', hints([lease]), 1],
    ]);
    expect(root.receipt.map(({ hint }) => hint)).toEqual(hints([receipt]));
    expect(root.audit.map(({ hint }) => hint)).toEqual(hints([audit]));
  });

  it('is a TUF 1.0.31 root in canonical JSON', () => {
    const { signed, signatures } = JSON.parse(bytes.toString());
    expect(signed).toMatchObject({ _type: 'root', spec_version: '1.0.31', consistent_snapshot: true });
    expect(Object.keys(signed.roles)).toEqual(['root', 'snapshot', 'targets', 'timestamp']);
    expect(signatures).toHaveLength(2);
    expect(bytes.byteLength).toBeLessThan(6000);
  });

  it('has the same signed content each time it is created', async () => {
    const again = await createRoot(input, officers.slice(1));
    expect(signedBytes(readRootDocument(again))).toEqual(signedBytes(readRootDocument(bytes)));
  });

  it('is signed as a draft by one officer after another until the threshold is met', async () => {
    const draft = await createRoot(input, [officers[0]]);
    expect(refusal(() => parseRoot(draft))).toBe('ROOT_THRESHOLD_NEW');
    expect(refusal(() => parseRoot(draft.subarray(0, 10)))).toBe('BAD_JSON');
    expect(parseRoot(await signRoot(draft, [officers[2]])).version).toBe(1);
  });

  it('counts an officer who signs twice once', async () => {
    const draft = await createRoot(input, [officers[0], officers[0]]);
    expect(refusal(() => parseRoot(draft))).toBe('ROOT_THRESHOLD_NEW');
    const again = await signRoot(draft, [officers[0]]);
    expect(refusal(() => parseRoot(again))).toBe('ROOT_THRESHOLD_NEW');
  });

  it('with dev may have one officer, and is marked as dev', async () => {
    const keys = { ...input.keys, root: publics([officers[0]]) };
    const dev = await createRoot({ ...input, keys, dev: true }, [officers[0]]);
    expect(parseRoot(dev)).toMatchObject({ dev: true, roles: { root: { threshold: 1 } } });
  });

  it('M31 is expired from the second of its expiry', () => {
    expect(() => checkRootExpiry(root, new Date('2028-11-21T07:59:59Z'))).not.toThrow();
    expect(refusal(() => checkRootExpiry(root, new Date('2028-11-21T08:00:00Z')))).toBe('ROOT_EXPIRED');
  });
});

describe('a root is refused', () => {
  it('M30 when other keys than the officers signed it, or the officers signed other content', async () => {
    const strangers = await createRoot(input, [newKey(), newKey()]);
    expect(refusal(() => parseRoot(strangers))).toBe('ROOT_THRESHOLD_NEW');
    const edited = Buffer.from(bytes.toString().replace('"version":1', '"version":2'));
    expect(refusal(() => parseRoot(edited))).toBe('ROOT_THRESHOLD_NEW');
  });

  it('M32 when one key counts twice under two ids', () => {
    const forged = changed((signed) => {
      const [id] = signed.roles.root.keyids;
      const other = 'f'.repeat(64);
      signed.keys[other] = signed.keys[id];
      signed.roles.root = { keyids: [id, other], threshold: 2 };
    });
    expect(refusal(() => parseRoot(forged))).toBe('ROOT_FORMAT');
  });

  it('M32 when one key counts twice as a compressed and a plain point', () => {
    const forged = changed((signed) => {
      const [id] = signed.roles.root.keyids;
      const other = 'f'.repeat(64);
      signed.keys[other] = structuredClone(signed.keys[id]);
      signed.keys[other].keyval.public = compressed(signed.keys[id].keyval.public);
      signed.roles.root = { keyids: [id, other], threshold: 2 };
    });
    expect(refusal(() => parseRoot(forged))).toBe('ROOT_FORMAT');
  });

  it.each<[string, (signed: Signed) => void]>([
    ['its version is a fraction', (signed) => Object.assign(signed, { version: 10.5 })],
    ['there is a fraction in a field of its own', (signed) => Object.assign(signed, { later: 0.5 })],
    ['its version is zero', (signed) => Object.assign(signed, { version: 0 })],
    ['its expiry is not a plain UTC time', (signed) => Object.assign(signed, { expires: '2028-11-21' })],
    ['it is of TUF 2', (signed) => Object.assign(signed, { spec_version: '2.0.0' })],
    ['it is another type of TUF file', (signed) => Object.assign(signed, { _type: 'targets' })],
    ['it belongs to no fleet', (signed) => delete signed['x-fleet']],
    ['its fleet has a strange name', (signed) => Object.assign(signed['x-fleet'], { name: '../x' })],
    ['dev is not a boolean', (signed) => Object.assign(signed['x-fleet'], { dev: 'yes' })],
    ['it has no list of receipt keys', (signed) => delete signed['x-fleet'].receiptKeys],
    [
      'an audit key is not a key',
      (signed) => Object.assign(signed['x-fleet'].auditKeys, { a: { keytype: 1 } }),
    ],
    ['a certificate is none', (signed) => Object.assign(signed['x-fleet'], { agentCertificates: ['x'] })],
    [
      'there is text around a certificate',
      (signed) => Object.assign(signed['x-fleet'], { agentCertificates: [`hello\n${AGENT_CA}`] }),
    ],
    [
      'an officer has a name of another line',
      (signed) => Object.assign(signed['x-fleet'], { officers: { ['a'.repeat(64)]: 'ada\nben' } }),
    ],
    ['a name is of no key', (signed) => Object.assign(signed['x-fleet'], { officers: { ada: 'ada' } })],
    ['one officer alone may change it', (signed) => Object.assign(signed.roles.root, { threshold: 1 })],
    ['a threshold is more than the keys', (signed) => Object.assign(signed.roles.root, { threshold: 4 })],
    ['a threshold is zero', (signed) => Object.assign(signed.roles.timestamp, { threshold: 0 })],
    ['a threshold is a fraction', (signed) => Object.assign(signed.roles.targets, { threshold: 1.5 })],
    ['a role has no key', (signed) => Object.assign(signed.roles.snapshot, { keyids: [] })],
    ['a role is missing', (signed) => delete signed.roles.snapshot],
    ['there is a fifth role', (signed) => Object.assign(signed.roles, { other: signed.roles.root })],
    [
      'a role names a key that is not there',
      (signed) => Object.assign(signed.roles.snapshot, { keyids: ['a'.repeat(64)] }),
    ],
    [
      'a key is P-384',
      (signed) => Object.assign(signed.keys[signed.roles.snapshot.keyids[0]].keyval, { public: P384_PEM }),
    ],
    [
      'a key is of another scheme',
      (signed) => Object.assign(signed.keys[signed.roles.snapshot.keyids[0]], { scheme: 'ed25519' }),
    ],
    [
      'a key stands beside other text',
      (signed) => {
        const { keyval } = signed.keys[signed.roles.snapshot.keyids[0]];
        keyval.public = `${keyval.public}${P384_PEM}`;
      },
    ],
  ])('when %s', (_why, change) => {
    expect(refusal(() => parseRoot(changed(change)))).toBe('ROOT_FORMAT');
  });

  it('when it lists one receipt key under two ids', () => {
    const forged = changed((signed) => {
      const [key] = Object.values(signed['x-fleet'].receiptKeys);
      signed['x-fleet'].receiptKeys.other = key;
    });
    expect(refusal(() => parseRoot(forged))).toBe('ROOT_FORMAT');
  });

  it('M38 when it is larger than any root', () => {
    expect(refusal(() => parseRoot(Buffer.alloc(512_001, ' ')))).toBe('TOO_LARGE');
  });

  it('M38 when it has thousands of keys, roles or signatures', () => {
    const json = JSON.parse(bytes.toString());
    json.signatures = Array(2000).fill(json.signatures[0]);
    expect(refusal(() => parseRoot(Buffer.from(JSON.stringify(json))))).toBe('TOO_MANY');
    const thousands = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [index, {}]));
    for (const signed of [{ keys: thousands }, { roles: thousands }]) {
      expect(refusal(() => parseRoot(Buffer.from(JSON.stringify({ signed }))))).toBe('TOO_MANY');
    }
  });

  it('M39 when it is nested 9,000 deep or repeats a key', () => {
    const deep = Buffer.from(`${'['.repeat(9000)}${']'.repeat(9000)}`);
    expect(refusal(() => parseRoot(deep))).toBe('TOO_DEEP');
    const twice = Buffer.from(bytes.toString().replace('"version":1', '"version":1,"version":9'));
    expect(refusal(() => parseRoot(twice))).toBe('BAD_JSON');
  });

  it('when it is JSON without the fields of a root', () => {
    for (const text of ['null', '1', '[]', '{}', '{"signed":null,"signatures":[]}']) {
      expect(refusal(() => parseRoot(Buffer.from(text)))).toBe('ROOT_FORMAT');
    }
  });

  it('at creation with an unreachable threshold or an invalid fleet name', async () => {
    await expect(createRoot({ ...input, thresholds: { bundle: 3 } }, officers)).rejects.toMatchObject({
      code: 'ROOT_FORMAT',
    });
    await expect(createRoot({ ...input, fleet: 'Acme Ltd' }, officers)).rejects.toMatchObject({
      code: 'ROOT_FORMAT',
    });
  });
});

describe('a valid root with one thing changed', () => {
  const content = signedBytes(readRootDocument(bytes));
  const refusedOrSame = (other: Buffer) => {
    if (refusal(() => parseRoot(other)) !== undefined) return;
    expect(signedBytes(readRootDocument(other)).equals(content)).toBe(true);
  };

  it('is refused or has the signed content, for any changed byte', () => {
    fc.assert(fc.property(flippedByte(bytes), refusedOrSame), { numRuns: runs(300) });
  });

  it('is refused or has the signed content, for any replaced value', () => {
    fc.assert(fc.property(replacedValue(JSON.parse(bytes.toString())), refusedOrSame), {
      numRuns: runs(300),
    });
  });
});

/** The same point as x and a sign: 02 or 03 and 32 bytes (SEC 1, section 2.3.3). */
const compressed = (pem: string): string => {
  const der = Buffer.from(pem.replaceAll(/-----.*-----|\n/g, ''), 'base64');
  const head = Buffer.from('3039301306072a8648ce3d020106082a8648ce3d030107032200', 'hex');
  const sign = Buffer.from([2 + ((der.at(-1) as number) & 1)]);
  const base64 = Buffer.concat([head, sign, der.subarray(27, 59)]).toString('base64');
  return `-----BEGIN PUBLIC KEY-----\n${base64.match(/.{1,64}/g)?.join('\n')}\n-----END PUBLIC KEY-----\n`;
};
