import { beforeAll, expect, test } from 'vitest';
import { type Digest, digestOf } from '#bundles/digest';
import { parseDocument } from '#bundles/json/validate';
import { PREDICATES } from '#bundles/media-types';
import { formatTime } from '#bundles/time';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeSummary, type PassedBundle } from '#bundles/trust/statements/verification-summary';
import { encodeStatement, parseStatement } from '#bundles/trust/statements/verify-statement';
import { verdict } from '../../../bundles/verdict.ts';
import {
  BUNDLE,
  bundlePayload,
  NOW,
  newWorld,
  startSigner,
  type TestSigner,
  toSign,
  type World,
} from './signer-world.ts';

const SHARED = digestOf('shared');
const CANDIDATE = digestOf('candidate');

let world: World;
let started: TestSigner;
let stranger: World;

beforeAll(async () => {
  world = await newWorld();
  stranger = await newWorld();
  started = await startSigner(world);
  return () => started[Symbol.asyncDispose]();
});

const PROMOTION = encodeStatement([{ name: 'candidate', digest: CANDIDATE }], PREDICATES.promotion, {
  fleet: 'acme',
  from: 'qa',
  to: 'prod',
  number: 1,
  shared: SHARED,
  mode: 'manual',
  person: 'ann',
  reason: null,
  policy: digestOf('policy'),
  verdict: null,
  approvals: [],
  previous: null,
  time: formatTime(NOW),
  critical: [],
});

const bundleOf = (over: Parameters<typeof bundlePayload>[1] = {}) =>
  bundlePayload(BUNDLE, { environment: 'qa', shared: SHARED, ...over });

const passed = (bundle: Buffer): PassedBundle => ({
  promotion: {
    payload: digestOf(PROMOTION),
    candidate: CANDIDATE,
    said: parseDocument('promotion-predicate', parseStatement(PROMOTION, 'it').predicate, 'it'),
  },
  bundle: {
    payload: digestOf(bundle),
    digest: BUNDLE,
    said: parseDocument('bundle-predicate', parseStatement(bundle, 'it').predicate, 'it'),
  },
});

type Asked = {
  readonly bundle?: Buffer;
  readonly change?: (text: string) => string;
  readonly by?: World;
  readonly without?: 'bundle' | 'promotion';
};

const ask = async ({ bundle = bundleOf(), change = (text) => text, by = world, without }: Asked = {}) => {
  const payload = Buffer.from(change(encodeSummary(passed(bundle)).toString()));
  const evidence = [
    ...(without === 'promotion' ? [] : [await signPayload(PROMOTION, by.keys.release)]),
    ...(without === 'bundle' ? [] : [await signPayload(bundle, by.keys.bundle)]),
  ];
  return started.signer.sign('release', toSign(payload), evidence);
};

test('a signer signs the verification summary that follows from a promotion and a bundle statement', async () => {
  expect((await ask()).byteLength).toBeGreaterThan(60);
});

test('a signer refuses a verification summary of a promotion by a release key that a rotation took away', async () => {
  const next = await newWorld();
  await using rotated = await startSigner({ ...next, roots: [world.root, next.root] });
  const bundle = bundleOf();
  const payload = encodeSummary(passed(bundle));
  const signedBy = (by: World) =>
    verdict(async () =>
      rotated.signer.sign('release', toSign(payload), [
        await signPayload(PROMOTION, by.keys.release),
        await signPayload(bundle, world.keys.bundle),
      ]),
    );
  expect(await signedBy(world)).toBe('UNKNOWN_KEY');
  expect(await signedBy(next)).toBe('ACCEPT');
});

const other: Digest = digestOf('another');

test.for<readonly [title: string, asked: () => Asked, code: string]>([
  ['a bundle of another environment', () => ({ bundle: bundleOf({ environment: 'dev' }) }), 'SIGNER_REFUSED'],
  ['a bundle of another candidate', () => ({ bundle: bundleOf({ shared: other }) }), 'SIGNER_REFUSED'],
  [
    'a bundle with a held assignment',
    () => ({
      bundle: bundleOf({ held: [{ assignment: 'oven', code: 'IMAGE_UNSIGNED', message: 'no signature' }] }),
    }),
    'SIGNER_REFUSED',
  ],
  ['a request without the promotion', () => ({ without: 'promotion' }), 'SIGNER_REFUSED'],
  ['a request without the bundle statement', () => ({ without: 'bundle' }), 'SIGNER_REFUSED'],
  ['another result', () => ({ change: (text) => text.replace('PASSED_QA', 'PASSED_LAB') }), 'SIGNER_REFUSED'],
  [
    'another bundle',
    () => ({ change: (text) => text.replace(BUNDLE.slice(7), other.slice(7)) }),
    'SIGNER_REFUSED',
  ],
  ['statements by keys of nobody', () => ({ by: stranger }), 'UNKNOWN_KEY'],
])('a signer refuses a verification summary with %s', async ([, asked, code]) => {
  expect(await verdict(() => ask(asked()))).toBe(code);
});
