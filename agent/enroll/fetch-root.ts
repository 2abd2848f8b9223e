import { acceptRoot } from '#bundles/accept/accept-root';
import type { Clock } from '#bundles/accept/trust-state';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { ROOTS_PATH, type RootsAnswer } from '#bundles/hub/hub-api';
import { parseRoot, type TrustRoot } from '#bundles/trust/root';
import { type HubOptions, openHub } from '../hub/hub-client.ts';

/** 64 roots of 512 KB (docs/bundle-format.md section 15), in base64. */
const MAX_ROOTS_BYTES = 48 << 20;
const MAX_ROOTS = 64;

/**
 * The fleet's newest root from a hub that nothing is known of but the SHA-256 of one root: TLS proves nothing yet, so
 * nothing is sent, and what comes is believed only along the chain from that root.
 * @param fleet undefined: whatever fleet the root is of; its digest was given by hand
 * @throws FleetError ROOT_*, HUB_UNREACHABLE, HUB_REFUSED
 */
export const fetchRoot = async (
  url: string,
  pinnedRoot: Digest,
  fleet: string | undefined,
  clock: Clock,
  options: HubOptions,
  signal: AbortSignal,
): Promise<TrustRoot> => {
  await using hub = openHub(url, { authorities: undefined }, options);
  const offered = readRoots(await hub.get(ROOTS_PATH, MAX_ROOTS_BYTES, signal), url);
  const pinned = offered.find((bytes) => digestOf(bytes) === pinnedRoot);
  const said = fleet ?? (pinned ? parseRoot(pinned).fleet : '');
  const root = acceptRoot({ ...NOBODY, fleet: said, pinnedRoot }, offered, clock);
  if (root.agentCertificates.length > 0) return root;
  throw new FleetError('HUB_REFUSED', `trust root ${root.version} names no authority for agents`, {
    hint: 'This fleet enrols by stick only, until its officers sign a root with "agentCertificates"',
  });
};

/** Acceptance of a root looks at fleet and digest only. */
const NOBODY = {
  site: '',
  agent: '',
  key: '',
  root: undefined,
  siteStatement: undefined,
  release: undefined,
  channel: undefined,
  time: undefined,
} as const;

const readRoots = (answer: unknown, url: string): readonly Buffer[] => {
  const { roots } = (answer ?? {}) as Partial<RootsAnswer>;
  if (!Array.isArray(roots) || !roots.every((root) => typeof root === 'string')) {
    throw new FleetError('HUB_REFUSED', `${url}${ROOTS_PATH} gives no list of roots`, {
      hint: 'Is this the address of a hub?',
    });
  }
  if (roots.length > MAX_ROOTS)
    throw new FleetError('TOO_MANY', `${url} gives ${roots.length} roots, at most ${MAX_ROOTS} are read`);
  return roots.map((root) => Buffer.from(root, 'base64'));
};
