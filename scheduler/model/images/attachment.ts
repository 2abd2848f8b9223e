import { type Digest, isDigest } from '#bundles/digest';

/** A manifest that belongs to an image and travels with it: a signature, an attestation or an SBOM. */
export type Attachment = {
  /** Digest of the attachment's manifest. */
  readonly digest: Digest;
  /** The tag it is found under; undefined for a referrer, whose manifest names its subject. */
  readonly tag?: string;
};

/** Which attachments of images are included. */
export type Take = {
  readonly attachments: 'all' | 'signatures' | 'none';
  /** A larger attachment is left out and reported. */
  readonly maxBytes: number;
};

export const TAKE_ALL: Take = { attachments: 'all', maxBytes: 16 << 20 };

/** cosign's tag names for attachments. Nothing else matches, so a lock file cannot move any other tag at a site. */
export const ATTACHMENT_TAG = /^sha256-[0-9a-f]{64}\.(?:sig|att|sbom)$/;

/** 'sha256:<hex>', or 'sha256-<hex>.sig@sha256:<hex>' for an attachment with a tag. */
export const formatAttachment = ({ digest, tag }: Attachment): string =>
  tag === undefined ? digest : `${tag}@${digest}`;

export const parseAttachment = (text: string): Attachment | undefined => {
  if (isDigest(text)) return { digest: text };
  const [tag = '', digest, more] = text.split('@');
  return ATTACHMENT_TAG.test(tag) && isDigest(digest) && more === undefined ? { digest, tag } : undefined;
};
