import type { Digest } from '#bundles/digest';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';

const NOT_ANCHORED =
  'no --root-sha256 was given: the medium is consistent with its own root, which an attacker could have made';

/** Warnings about this root, as sentences without a full stop. @param pinned the digest given by hand */
export const trustNotes = (
  root: { readonly dev: boolean } | undefined,
  pinned: Digest | undefined,
): readonly string[] => [
  ...(pinned === undefined ? [NOT_ANCHORED] : []),
  ...(root?.dev ? [DEV_ROOT_NOTICE.replace(/\.$/, '')] : []),
];
