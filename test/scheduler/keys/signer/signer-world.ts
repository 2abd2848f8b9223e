import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { IN_TOTO, PREDICATES } from '#bundles/media-types';
import { preAuthEncoding } from '#bundles/formats/statements/envelope';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { addDays, formatTime } from '#bundles/time';
import { createAuthority } from '#bundles/trust/root/issue-certificate';
import { generatePrivateKey, loadSigningKey, type SigningKey } from '#bundles/trust/keys/key';
import { createRoot, parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import type { ChainLink } from '../../../../scheduler/keys/signer/chain.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../../scheduler/keys/signer/limits.ts';
import { openSignerState, type SignerState } from '../../../../scheduler/keys/signer/state/open-state.ts';
import type { SignerRole } from '../../../../scheduler/keys/remote/protocol.ts';
import { createSigner, type Signer } from '../../../../scheduler/keys/signer/signer.ts';
import type { ValuesRule } from '../../../../scheduler/keys/signer/values-rule.ts';
import { createComposeReleased } from '../../../../scheduler/plan/compose/compose-released.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

export const NOW = new Date('2026-11-21T08:00:00Z');
export const AUDIENCE = { fleet: 'acme', environment: 'prod', clusterType: 'kiosk' };

/** A fleet whose keys are known as PEM, to be put wherever a test wants them. */
export type World = {
  readonly pems: Readonly<Record<Holder, string>>;
  readonly keys: Readonly<Record<Holder, SigningKey>>;
  readonly root: TrustRoot;
  readonly certificate: string;
};

const HOLDERS = ['root', 'bundle', 'approver', 'release', 'lease', 'receipt', 'audit', 'ca'] as const;
export type Holder = (typeof HOLDERS)[number];

/** @param threshold bundle signers needed; with 2 the approver is one of them */
export const newWorld = async (threshold = 1): Promise<World> => {
  const pems = Object.fromEntries(HOLDERS.map((holder) => [holder, generatePrivateKey()])) as Record<
    Holder,
    string
  >;
  const keys = Object.fromEntries(HOLDERS.map((holder) => [holder, loadSigningKey(pems[holder])])) as Record<
    Holder,
    SigningKey
  >;
  const certificate = await createAuthority('acme', keys.ca, { now: NOW, serial: randomBytes(16) });
  const bytes = await createRoot(
    {
      fleet: 'acme',
      version: 1,
      expires: addDays(NOW, 600),
      dev: true,
      agentCertificates: [certificate],
      thresholds: { bundle: threshold },
      keys: {
        root: [keys.root.public],
        bundle: [keys.bundle.public, keys.approver.public],
        release: [keys.release.public],
        lease: [keys.lease.public],
        receipt: [keys.receipt.public],
        audit: [keys.audit.public],
      },
    },
    [keys.root],
  );
  return { pems, keys, root: parseRoot(bytes), certificate };
};

/** A key directory with the root and these keys, as files. */
export const writeKeys = async (
  world: World,
  directory: string,
  holders: readonly Holder[],
): Promise<void> => {
  await mkdir(directory, { mode: 0o700 });
  await writeFile(join(directory, '1.root.json'), world.root.bytes);
  for (const holder of holders)
    await writeFile(join(directory, `${holder}.key`), world.pems[holder], { mode: 0o600 });
};

export type TestSigner = AsyncDisposable & {
  readonly signer: Signer;
  readonly state: SignerState;
  /** What it logged, line by line. */
  readonly logged: readonly Readonly<Record<string, unknown>>[];
  readonly folder: string;
};

/** @param world with `roots` of a fleet that was rotated, oldest first */
export const startSigner = async (
  world: World & { readonly roots?: readonly TrustRoot[] },
  {
    limits = DEFAULT_LIMITS,
    clock = () => NOW,
    chain = [],
    values,
  }: {
    readonly limits?: Limits;
    readonly clock?: () => Date;
    readonly chain?: readonly ChainLink[];
    readonly values?: ValuesRule | undefined;
  } = {},
): Promise<TestSigner> => {
  const folder = await temporaryDirectory();
  const state = await openSignerState(join(folder.path, 'state'));
  const logged: Record<string, unknown>[] = [];
  const log = pino(
    { base: null },
    { write: (line: string) => logged.push(JSON.parse(line) as (typeof logged)[0]) },
  );
  const { keys, root, certificate } = world;
  const held: readonly (readonly [SignerRole, SigningKey])[] = [
    ['bundle', keys.bundle],
    ['release', keys.release],
    ['lease', keys.lease],
    ['receipt', keys.receipt],
    ['authority', keys.ca],
  ];
  const signer = createSigner({
    roots: world.roots ?? [root],
    root,
    keys: new Map(held),
    authority: { certificate, key: keys.ca },
    state,
    limits,
    chain,
    values,
    composeReleased: createComposeReleased(),
    clock,
    log,
  });
  return {
    signer,
    state,
    logged,
    folder: folder.path,
    [Symbol.asyncDispose]: async () => {
      state[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
};

export const BUNDLE = digestOf('a bundle');
export const REVOKES_NOTHING = { ...AUDIENCE, revoked: [] };

export const bundlePayload = (
  digest: Digest = BUNDLE,
  over: { readonly [field: string]: Json } = {},
): Buffer =>
  encodeStatement([{ name: 'bundle', digest }], PREDICATES.bundle, {
    ...AUDIENCE,
    kind: 'host',
    candidate: digestOf('a candidate'),
    sources: [],
    held: [],
    builder: 'test',
    builtAt: formatTime(NOW),
    ...over,
  });

export type ReleaseParts = {
  readonly over?: { readonly [field: string]: Json };
  readonly bundle?: Digest;
  readonly revocations?: Json;
  readonly subject?: string;
};

export const releasePayload = ({
  over = {},
  bundle = BUNDLE,
  revocations,
  subject,
}: ReleaseParts = {}): Buffer =>
  encodeStatement(
    [
      { name: subject ?? 'bundle/host', digest: bundle },
      { name: 'revocations', digest: digestOf(canonicalBytes(revocations ?? REVOKES_NOTHING)) },
    ],
    PREDICATES.release,
    {
      audience: AUDIENCE,
      version: 1,
      rollout: { percent: 100 },
      rootVersion: 1,
      issuedAt: formatTime(NOW),
      expires: formatTime(addDays(NOW, 180)),
      previous: null,
      minAgent: null,
      minSiteVersion: 0,
      auditHead: null,
      critical: [],
      ...over,
    },
  );

export const sitePayload = (version: number, over: { readonly [field: string]: Json } = {}): Buffer =>
  encodeStatement([{ name: 'site-values', digest: digestOf('{}') }], PREDICATES.site, {
    audience: { fleet: 'acme', site: 'plant-7' },
    version,
    agents: [],
    issuedAt: formatTime(NOW),
    expires: formatTime(addDays(NOW, 365)),
    critical: [],
    ...over,
  });

export const leasePayload = (version: number, release: Digest): Buffer =>
  encodeStatement([{ name: 'release', digest: release }], PREDICATES.lease, {
    audience: AUDIENCE,
    version,
    issuedAt: formatTime(NOW),
    expires: formatTime(addDays(NOW, 30)),
    critical: [],
  });

/** What a key is asked to sign for a payload. */
export const toSign = (payload: Uint8Array): Buffer => preAuthEncoding(IN_TOTO, payload);

/** The evidence for a release of BUNDLE by these signers. */
export const evidenceFor = async (
  signers: readonly SigningKey[],
  {
    payload = bundlePayload(),
    revocations = REVOKES_NOTHING,
  }: { readonly payload?: Buffer; readonly revocations?: Json } = {},
): Promise<Buffer[]> => [
  ...(await Promise.all(signers.map((key) => signPayload(payload, key)))),
  canonicalBytes(revocations),
];
