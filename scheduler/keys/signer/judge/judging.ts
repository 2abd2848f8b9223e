import type { Digest } from '#bundles/digest';
import type { Channel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { SiteAgent } from '#bundles/formats/statements/predicates';
import type { NamedBundle } from '../state/evidence-state.ts';
import type { ChainLink } from '../chain.ts';
import type { AgentValues, ComposedAgent } from '../compose-released.ts';
import type { ValuesRule } from '../values-rule.ts';
import type { SignedVersion, SignerState } from '../state/open-state.ts';

/** Inputs of a signer's decision. */
export type Judging = {
  /** The newest root of the signer's own directory. */
  readonly root: TrustRoot;
  /** All roots, oldest first. */
  readonly roots: readonly TrustRoot[];
  readonly now: Date;
  readonly state: Pick<
    SignerState,
    'signed' | 'revoked' | 'promoted' | 'releasedSince' | 'wasPromoted' | 'evidence' | 'valuesOf'
  >;
  /** Of the signer's own configuration; empty: releases are not judged by promotions. */
  readonly chain: readonly ChainLink[];
  /** Rule for other values of a site; undefined: none. */
  readonly values?: ValuesRule | undefined;
  /** Values of an agent from the layers that were shown (ShownLayers). */
  readonly compose: (channel: Channel, agent: ComposedAgent) => AgentValues;
  /** Names of values that some shown release of a channel hid (ShownLayers). */
  readonly hiddenBefore: (channel: Channel) => ReadonlySet<string>;
  /** Schemas of site inputs in the release of a channel that was shown (ShownLayers); empty: none was. */
  readonly inputSchemas: (channel: Channel) => readonly unknown[];
  /** Signature files and revocation lists from the request. Untrusted until verified. */
  readonly evidence: readonly Buffer[];
};

/** The kinds of signatures that are limited, each separately. */
export const LIMITED = ['bundle', 'release', 'site', 'lease', 'certificate'] as const;
export type Limited = (typeof LIMITED)[number];

/** Permission to sign, and what must be stored before the signature is returned. */
export type Permit = {
  /** For the log and for people: 'release 4 of prod/kiosk'. */
  readonly what: string;
  /** The limit that this signature counts towards; undefined for receipts and repeated requests. */
  readonly limited: Limited | undefined;
  /** The next version of a line of statements, whose versions only increase. */
  readonly order?: { readonly line: string; readonly signed: SignedVersion };
  /** Shared digests that a release shows to be in an environment of the chain. */
  readonly released?: { readonly environment: string; readonly shared: readonly Digest[] } | undefined;
  /** Content of the newest promotion to an environment. */
  readonly promoted?: { readonly environment: string; readonly shared: Digest };
  /** Bundles that a release of the chain names. */
  readonly named?: readonly NamedBundle[] | undefined;
  /** The agents of a site from now on. */
  readonly agents?: { readonly site: string; readonly agents: readonly SiteAgent[] };
  /** The values document of a site from now on. */
  readonly values?: { readonly site: string; readonly digest: Digest };
  /** Events that a receipt acknowledges. */
  readonly acknowledged?: { readonly agent: string; readonly seq: number };
  readonly revoked?: { readonly channel: string; readonly digests: readonly Digest[] };
};
