import type { Digest } from '#bundles/digest';
import type { TrustRoot } from '#bundles/trust/root';
import type { SignedVersion, SignerState } from '../open-state.ts';

/** What a signer goes by when it is asked for a signature. */
export type Judging = {
  /** The newest root of the signer's own directory. */
  readonly root: TrustRoot;
  /** All of them, oldest first. */
  readonly roots: readonly TrustRoot[];
  readonly now: Date;
  readonly state: Pick<SignerState, 'signed' | 'revoked'>;
  /** Signature files and lists that came with the request; nothing in them is believed unchecked. */
  readonly evidence: readonly Buffer[];
};

/** What limits count, each on its own. */
export const LIMITED = ['bundle', 'release', 'site', 'lease', 'certificate'] as const;
export type Limited = (typeof LIMITED)[number];

/** Yes, and what is to be remembered before the signature leaves. */
export type Permit = {
  /** For the log and for people: 'release 4 of prod/kiosk'. */
  readonly what: string;
  /** The sort of signature whose number in an hour is limited; receipts and repetitions are not. */
  readonly limited: Limited | undefined;
  /** The next version of something that only goes forward. */
  readonly order?: { readonly line: string; readonly signed: SignedVersion };
  readonly revoked?: { readonly channel: string; readonly digests: readonly Digest[] };
};
