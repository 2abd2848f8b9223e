import type { Logger } from 'pino';
import type { Digest } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import type { Authority } from '#bundles/trust/root/certificate';
import type { PublicKey, SigningKey } from '#bundles/trust/keys/key';
import { checkRootExpiry, type TrustRoot } from '#bundles/trust/root/root';
import { type Shown, takeReports } from './evidence/take-reports.ts';
import { takeRestated } from './evidence/take-restated.ts';
import type { EvidenceState } from './state/evidence-state.ts';
import { judgeRequest } from './judge/judge-request.ts';
import type { ChainLink } from './chain.ts';
import type { ComposeReleased } from './compose-released.ts';
import type { ValuesRule } from './values-rule.ts';
import { type Limits, HOUR_MS, LINE_LIMIT } from './limits.ts';
import type { SignerState } from './state/open-state.ts';
import type { SignerRole } from '../remote/protocol.ts';
import type { Judging, Permit } from './judge/judging.ts';
import { createShownLayers } from './layers/shown-layers.ts';

/** Signs requests that its rules permit (judgeRequest). */
export type Signer = {
  readonly publicKey: (role: SignerRole) => PublicKey;
  /** @throws FleetError the reason for a refusal (docs/signing.md) */
  readonly sign: (role: SignerRole, bytes: Buffer, evidence: readonly Buffer[]) => Promise<Buffer>;
  /** The last event of each agent that was shown. @throws FleetError USAGE if this signer judges no reports */
  readonly heads: () => ReturnType<EvidenceState['heads']>;
  /**
   * Takes the release of a channel with its bundles' statements and configurations, or the layers that such statements name.
   * @returns the digest of the layers to show next; undefined: none @throws FleetError USAGE if this signer has no rule for values; the codes of ShownLayers
   */
  readonly showLayers: (shown: LayersShown) => Promise<Digest | undefined>;
  /** Takes reports as evidence for promotions. @throws FleetError USAGE; the codes of takeReports */
  readonly show: (shown: Shown) => Promise<number>;
};

/** `past`: documents of a release that may be an older one, for the values that it hides. */
export type LayersShown =
  | { readonly documents: readonly Buffer[] }
  | { readonly past: readonly Buffer[] }
  | { readonly layers: Buffer };

export type SignerParts = {
  readonly roots: readonly TrustRoot[];
  readonly root: TrustRoot;
  readonly keys: ReadonlyMap<SignerRole, SigningKey>;
  readonly authority: Authority | undefined;
  readonly state: SignerState;
  readonly limits: Limits;
  readonly chain: readonly ChainLink[];
  /** Rule for other values of a site; undefined: none. */
  readonly values?: ValuesRule | undefined;
  readonly composeReleased: ComposeReleased;
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
  const layers = createShownLayers(parts.composeReleased, parts);
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
      // Statements about released bundles count for every chain, reports only for one that judges them.
      const judges = chain.some(({ evidence }) => evidence);
      if (shown.reports.length > 0 || chain.length === 0) checkJudges();
      try {
        const taken = await inTurn(async () => {
          const restated = takeRestated(state, shown.documents, { root, chain, now: clock() });
          if (restated === 0) checkJudges();
          const reports = judges ? await takeReports(state, shown, { fleet: root.fleet, now: clock() }) : 0;
          return restated + reports;
        });
        log.info({ reports: shown.reports.length, taken }, 'shown');
        return taken;
      } catch (error) {
        const { code, message, subject } = toFleetError(error, 'reading reports');
        log.warn({ code, subject, reason: message }, 'refused');
        throw error;
      }
    },
    showLayers: async (shown) => {
      if (!parts.values)
        throw new FleetError('USAGE', 'this signer judges no values of sites', {
          hint: 'Start it with --site-values',
        });
      try {
        return await inTurn(async () => {
          if ('documents' in shown) return layers.takeRelease(shown.documents);
          if ('past' in shown) layers.takePast(shown.past);
          else layers.takeLayers(shown.layers);
          return undefined;
        });
      } catch (error) {
        const { code, message, subject } = toFleetError(error, 'reading layers');
        log.warn({ code, subject, reason: message }, 'refused');
        throw error;
      }
    },
    publicKey: (role) => keyOf(role).public,
    sign: async (role, bytes, evidence) => {
      try {
        const key = keyOf(role);
        const what = await inTurn(() => permit({ ...parts, ...layers }, role, bytes, evidence));
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
  {
    roots,
    root,
    authority,
    state,
    limits,
    chain,
    values,
    compose,
    inputSchemas,
    hiddenBefore,
    clock,
  }: SignerParts & Pick<Judging, 'compose' | 'inputSchemas' | 'hiddenBefore'>,
  role: SignerRole,
  bytes: Buffer,
  evidence: readonly Buffer[],
): Promise<string> => {
  const now = clock();
  checkRootExpiry(root, now);
  const judging = { roots, root, now, state, chain, values, compose, inputSchemas, hiddenBefore, evidence };
  const judged = await judgeRequest(role, bytes, judging, authority);
  remember(state, judged, limits, now);
  return judged.what;
};

/**
 * Stores a permit before its statement is signed. The permit is on disk afterwards, so that no other content is signed under its version.
 * @throws FleetError TOO_MANY if a limit for the last hour is reached, with nothing written; DISK_FULL, IO
 */
const remember = (state: SignerState, permit: Permit, limits: Limits, now: Date): void => {
  const { what, limited, order, revoked, released, promoted, named, agents, acknowledged, values } = permit;
  const isLearned = promoted || acknowledged || revoked?.digests.length || released?.shared.length;
  if (!limited && !order && !isLearned) return;
  const at = now.getTime();
  const within = (sort: string, most: number): void => {
    if (state.countSince(sort, at - HOUR_MS) < most) return;
    throw new FleetError('TOO_MANY', `${what} is not signed: ${most} of ${sort} were signed within an hour`, {
      hint: 'If all of them were intended, wait or start the signer with a higher --limit; if not, stop the program that uses its socket',
    });
  };
  state.commit(() => {
    if (limited) {
      within(limited, limits[limited]);
      state.count(limited, at);
    }
    if (order) {
      within(order.line, LINE_LIMIT);
      state.count(order.line, at);
      state.addSigned(order.line, order.signed);
    }
    if (released) state.addReleased(released.environment, released.shared, at);
    if (named) state.evidence.addNamed(named);
    if (agents) state.evidence.setAgents(agents.site, agents.agents, at);
    if (values) state.setValues(values.site, values.digest, at);
    if (acknowledged) state.evidence.acknowledge(acknowledged.agent, acknowledged.seq);
    if (promoted) state.setPromoted(promoted.environment, promoted.shared);
    if (revoked) state.addRevoked(revoked.channel, revoked.digests);
  });
};
