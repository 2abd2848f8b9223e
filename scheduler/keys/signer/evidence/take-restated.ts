import { digestOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { parseDocument } from '#bundles/json/validate';
import { PREDICATES } from '#bundles/media-types';
import { formatChannel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root/root';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import type { ChainLink } from '../chain.ts';
import type { SignerState } from '../state/open-state.ts';
import type { NamedBundle } from '../state/evidence-state.ts';

type State = Pick<SignerState, 'commit' | 'signed' | 'promoted' | 'addReleased' | 'evidence'>;

/** A statement about a released bundle: another candidate gave the same content. */
type Restated = Omit<NamedBundle, 'version' | 'shared'> & {
  readonly environment: string;
  readonly shared: NonNullable<NamedBundle['shared']>;
};

/**
 * Takes statements about bundles that the newest releases of their channels name already. A candidate that gives the same bundle is
 * in the environment with it, from now on by this signer's clock: no earlier, so that nobody skips the soak time by stating that
 * what runs is of another candidate. Documents that are no such statement, or lack signatures, are passed over.
 * @returns how many statements count
 */
export const takeRestated = (
  state: State,
  documents: readonly Buffer[],
  {
    root,
    chain,
    now,
  }: { readonly root: TrustRoot; readonly chain: readonly ChainLink[]; readonly now: Date },
): number => {
  const found = [...byPayload(documents).values()].flatMap(
    (files) => readOne(state, files, root, chain) ?? [],
  );
  if (found.length === 0) return 0;
  state.commit(() => {
    for (const { environment, channel, bundle, shared } of found) {
      state.addReleased(environment, [shared], now.getTime());
      state.evidence.addTried({ channel, bundle, shared });
    }
  });
  return found.length;
};

/** Signature files of the same statement together: several keys sign the same bytes. */
const byPayload = (documents: readonly Buffer[]): ReadonlyMap<string, readonly Buffer[]> => {
  const found = new Map<string, Buffer[]>();
  for (const bytes of documents) {
    const payload = tried(() => digestOf(parseEnvelope(bytes, 'a document').payload));
    if (payload !== undefined) found.set(payload, [...(found.get(payload) ?? []), bytes]);
  }
  return found;
};

const readOne = (
  state: State,
  files: readonly Buffer[],
  root: TrustRoot,
  chain: readonly ChainLink[],
): Restated | undefined => {
  const read = tried(() => {
    const what = 'a bundle statement';
    const { subjects, predicate } = verifyStatement(files, root.roles.bundle, PREDICATES.bundle, what);
    return { subjects, said: parseDocument('bundle-predicate', predicate, what) };
  });
  const [bundle, more] = read?.subjects ?? [];
  if (!read || !bundle || more) return undefined;
  const { fleet, environment, shared, promoted, held } = read.said;
  if (fleet !== root.fleet || shared === undefined || held.length > 0) return undefined;
  const isChained = chain.some((link) => link.environment === environment);
  if (!isChained && !chain.some(({ promotedFrom }) => promotedFrom === environment)) return undefined;
  if (isChained && (promoted === undefined || promoted !== state.promoted(environment))) return undefined;
  const channel = formatChannel(read.said);
  const [newest] = state.signed(`release:${channel}`);
  const named = newest ? state.evidence.namedBy(channel, newest.version) : [];
  if (!named.some((one) => one.bundle === bundle.digest && one.shared !== null)) return undefined;
  return { environment, channel, bundle: bundle.digest, shared };
};

const tried = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch (error) {
    if (isFleetError(error)) return undefined;
    throw error;
  }
};
