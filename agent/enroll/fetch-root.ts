import { acceptRoot } from '#bundles/trust/accept/accept-root';
import type { Clock } from '#bundles/trust/accept/trust-state';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { ROOTS_PATH, type RootsAnswer } from '#bundles/formats/events/hub-api';
import { parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import { type HubOptions, openHub } from '../hub/hub-client.ts';

/** 64 roots of 512 KB (docs/bundle-format.md section 15), in base64. */
const MAX_ROOTS_BYTES = 48 << 20;
const MAX_ROOTS = 64;

/**
 * Fetches the fleet's newest root from a hub, given only the SHA-256 of one root. TLS is not verified yet, so no credential is
 * sent, and roots are accepted only along the chain from the pinned one.
 * @param fleet undefined: the fleet that the pinned root names
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
  throw new FleetError(
    'HUB_REFUSED',
    `trust root ${root.version} does not let agents enrol over the network`,
    {
      hint: 'This fleet enrols by medium only, until its officers sign a root with "agentCertificates"',
    },
  );
};

/** Empty trust state: the acceptance of a root uses only fleet and digest. */
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
    throw new FleetError('HUB_REFUSED', `${url}${ROOTS_PATH} does not answer with a list of roots`, {
      hint: 'Check that this is the address of a hub',
    });
  }
  if (roots.length > MAX_ROOTS)
    throw new FleetError('TOO_MANY', `${url} gives ${roots.length} roots, at most ${MAX_ROOTS} are read`);
  return roots.map((root) => Buffer.from(root, 'base64'));
};
