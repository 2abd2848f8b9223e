import { type Digest, isDigest } from '#bundles/digest';

/** What lies beside an image in its registry and travels with it: a signature, an attestation, an SBOM. */
export type Attachment = {
  /** Of its manifest. */
  readonly digest: Digest;
  /** The tag it is found under; undefined: it is a referrer, and says itself what it refers to. */
  readonly tag?: string;
};

/** How much of what lies beside images is taken along. */
export type Take = {
  readonly attachments: 'all' | 'signatures' | 'none';
  /** A larger one is left behind, and that is said. */
  readonly maxBytes: number;
};

export const TAKE_ALL: Take = { attachments: 'all', maxBytes: 16 << 20 };

/** cosign's names for what is about a manifest, and nothing else: a lock file cannot make a site move another tag. */
export const ATTACHMENT_TAG = /^sha256-[0-9a-f]{64}\.(?:sig|att|sbom)$/;

/** 'sha256:<hex>', or 'sha256-<hex>.sig@sha256:<hex>' for one that is found by its tag. */
export const formatAttachment = ({ digest, tag }: Attachment): string =>
  tag === undefined ? digest : `${tag}@${digest}`;

export const parseAttachment = (text: string): Attachment | undefined => {
  if (isDigest(text)) return { digest: text };
  const [tag = '', digest, more] = text.split('@');
  return ATTACHMENT_TAG.test(tag) && isDigest(digest) && more === undefined ? { digest, tag } : undefined;
};
