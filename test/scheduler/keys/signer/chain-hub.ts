import type { Json } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { PREDICATES } from '#bundles/media-types';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { formatTime } from '#bundles/time';
import type { ChainLink } from '../../../../scheduler/keys/signer/chain.ts';
import {
  AUDIENCE,
  BUNDLE,
  bundlePayload,
  evidenceFor,
  NOW,
  newWorld,
  releasePayload,
  startSigner,
  type TestSigner,
  toSign,
} from './signer-world.ts';

const world = await newWorld();
const { keys } = world;
export const S1 = digestOf('shared 1');
export const HOUR_MS = 3_600_000;

export type Hub = TestSigner & {
  readonly later: (hours: number) => void;
  readonly promote: (over?: { readonly [field: string]: Json }) => Promise<Buffer>;
  /** Asks for the next release of an environment, with what its bundle statement says. */
  readonly release: (
    environment: string,
    said: { readonly shared?: Digest; readonly promoted?: Digest; readonly held?: Json },
    bundle?: Digest,
  ) => Promise<Buffer>;
  /** Shows the statement of another candidate about a bundle, as a build does that released nothing. @returns how many count */
  readonly restate: (
    environment: string,
    said: { readonly shared?: Digest; readonly promoted?: Digest; readonly held?: Json },
    bundle?: Digest,
    signers?: readonly SigningKey[],
  ) => Promise<number>;
};

/** A scheduler that has the signer's socket and the bundle key, and asks for what it likes. */
export const openHub = async (chain: readonly ChainLink[]): Promise<Hub> => {
  let now = NOW;
  const started = await startSigner(world, { clock: () => now, chain });
  const { signer } = started;
  const releases = new Map<string, { version: number; payload: Digest; file: Buffer }>();
  const promotions = new Map<string, { number: number; payload: Digest }>();
  return {
    ...started,
    later: (hours) => {
      now = new Date(now.getTime() + hours * HOUR_MS);
    },
    promote: async (over = {}) => {
      const to = typeof over['to'] === 'string' ? over['to'] : 'prod';
      const last = promotions.get(to);
      const number = (last?.number ?? 0) + 1;
      const payload = encodeStatement(
        [{ name: 'candidate', digest: digestOf('candidate') }],
        PREDICATES.promotion,
        {
          fleet: 'acme',
          from: 'qa',
          to,
          number,
          shared: S1,
          mode: 'manual',
          person: 'mallory',
          reason: null,
          policy: null,
          verdict: null,
          approvals: [],
          previous: last?.payload ?? null,
          time: formatTime(now),
          critical: [],
          ...over,
        },
      );
      const signature = await signer.sign('release', toSign(payload), []);
      promotions.set(to, { number, payload: digestOf(payload) });
      return signature;
    },
    release: async (environment, said, bundle = BUNDLE) => {
      const audience = { ...AUDIENCE, environment };
      const last = releases.get(environment);
      const version = (last?.version ?? 0) + 1;
      const revocations = { ...audience, revoked: [] };
      const payload = releasePayload({
        bundle,
        revocations,
        over: {
          audience,
          version,
          previous: last?.payload ?? null,
          issuedAt: formatTime(now),
          expires: formatTime(new Date(now.getTime() + 100 * 24 * HOUR_MS)),
        },
      });
      const evidence = await evidenceFor([keys.bundle], {
        payload: bundlePayload(bundle, { environment, ...said }),
        revocations,
      });
      const signature = await signer.sign('release', toSign(payload), [
        ...evidence,
        ...(last ? [last.file] : []),
      ]);
      releases.set(environment, {
        version,
        payload: digestOf(payload),
        file: await signPayload(payload, keys.release),
      });
      return signature;
    },
    restate: async (environment, said, bundle = BUNDLE, signers = [keys.bundle]) => {
      const payload = bundlePayload(bundle, { environment, ...said });
      const documents = await Promise.all(signers.map((key) => signPayload(payload, key)));
      // A signer that judges no reports refuses what has no statement that counts.
      return await signer.show({ reports: [], documents }).catch((error: unknown) => {
        if (isFleetError(error, 'USAGE')) return 0;
        throw error;
      });
    },
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
};
