import type { Digest } from '#bundles/digest';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { SignedVersion, SignerState } from '../open-state.ts';

/** What a signer bases its decision on. */
export type Judging = {
  /** The newest root of the signer's own directory. */
  readonly root: TrustRoot;
  /** All roots, oldest first. */
  readonly roots: readonly TrustRoot[];
  readonly now: Date;
  readonly state: Pick<SignerState, 'signed' | 'revoked'>;
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
  readonly revoked?: { readonly channel: string; readonly digests: readonly Digest[] };
};
