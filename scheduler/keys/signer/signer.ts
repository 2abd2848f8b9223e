import type { Logger } from 'pino';
import { FleetError, toFleetError } from '#bundles/errors';
import type { Authority } from '#bundles/trust/root/certificate';
import type { PublicKey, SigningKey } from '#bundles/trust/keys/key';
import { checkRootExpiry, type TrustRoot } from '#bundles/trust/root/root';
import { type Shown, takeReports } from './evidence/take-reports.ts';
import type { EvidenceState } from './evidence/state.ts';
import { judgeRequest } from './judge/judge-request.ts';
import type { ChainLink } from './chain.ts';
import type { Limits } from './limits.ts';
import type { SignerState } from './open-state.ts';
import type { SignerRole } from './protocol.ts';
import { remember } from './remember.ts';

/** Signs requests that its rules permit (judgeRequest). */
export type Signer = {
  readonly publicKey: (role: SignerRole) => PublicKey;
  /** @throws FleetError the reason for a refusal (docs/signing.md) */
  readonly sign: (role: SignerRole, bytes: Buffer, evidence: readonly Buffer[]) => Promise<Buffer>;
  /** The last event of each agent that was shown. @throws FleetError USAGE if this signer judges no reports */
  readonly heads: () => ReturnType<EvidenceState['heads']>;
  /** Takes reports as evidence for promotions. @throws FleetError USAGE; the codes of takeReports */
  readonly show: (shown: Shown) => Promise<number>;
};

export type SignerParts = {
  readonly roots: readonly TrustRoot[];
  readonly root: TrustRoot;
  readonly keys: ReadonlyMap<SignerRole, SigningKey>;
  readonly authority: Authority | undefined;
  readonly state: SignerState;
  readonly limits: Limits;
  readonly chain: readonly ChainLink[];
  readonly clock: () => Date;
  readonly log: Logger;
};

/** Creates a signer. Every signature and every refusal is logged, without keys and content. */
export const createSigner = (parts: SignerParts): Signer => {
  const { keys, log } = parts;
  const inTurn = takeTurns();
  const keyOf = (role: SignerRole): SigningKey => {
    const key = keys.get(role);
    if (key) return key;
    throw new FleetError('KEY_MISSING', `this signer holds no ${role} key`, {
      hint: `It was started without --role ${role}`,
    });
  };
  const { chain, state, root, clock } = parts;
  const checkJudges = (): void => {
    if (chain.some(({ evidence }) => evidence)) return;
    throw new FleetError('USAGE', 'this signer judges no reports', {
      hint: 'Start it with --evidence, like --evidence prod=95%, or take evidence: signed out of the PromotionPolicy',
    });
  };
  return {
    heads: () => {
      checkJudges();
      return state.evidence.heads();
    },
    show: async (shown) => {
      checkJudges();
      try {
        const work = () => takeReports(state, shown, { fleet: root.fleet, now: clock() });
        const taken = await inTurn(work);
        log.info({ reports: shown.reports.length, taken }, 'shown');
        return taken;
      } catch (error) {
        const { code, message, subject } = toFleetError(error, 'reading reports');
        log.warn({ code, subject, reason: message }, 'refused');
        throw error;
      }
    },
    publicKey: (role) => keyOf(role).public,
    sign: async (role, bytes, evidence) => {
      try {
        const key = keyOf(role);
        const what = await inTurn(() => permit(parts, role, bytes, evidence));
        const signature = await key.sign(bytes);
        log.info({ role, what }, 'signed');
        return signature;
      } catch (error) {
        const { code, message, subject } = toFleetError(error, 'signing');
        log.warn({ role, code, subject, reason: message }, 'refused');
        throw error;
      }
    },
  };
};

/** Runs requests one at a time: two concurrent ones cannot both be the next version. */
const takeTurns = () => {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work, work);
    last = next.catch(() => undefined);
    return next;
  };
};

const permit = async (
  { roots, root, authority, state, limits, chain, clock }: SignerParts,
  role: SignerRole,
  bytes: Buffer,
  evidence: readonly Buffer[],
): Promise<string> => {
  const now = clock();
  checkRootExpiry(root, now);
  const judged = await judgeRequest(role, bytes, { roots, root, now, state, chain, evidence }, authority);
  remember(state, judged, limits, now);
  return judged.what;
};
