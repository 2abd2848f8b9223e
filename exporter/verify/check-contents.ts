import type { AcceptedRelease } from '#bundles/accept/accept-release';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Medium } from '#bundles/medium/medium';
import type { TrustRoot } from '#bundles/trust/root';

/** What the table of contents claims, against what is signed. @throws FleetError WRONG_FLEET */
export const checkFleet = (medium: Medium, root: TrustRoot): void => {
  if (medium.fleet === root.fleet) return;
  throw new FleetError('WRONG_FLEET', `the medium says fleet ${medium.fleet}, its root ${root.fleet}`);
};

/** Attack M24: a bundle that is signed, and that no release here asks for. */
export const checkExtra = (medium: Medium, releases: readonly AcceptedRelease[]): void => {
  const named = new Set<Digest | undefined>(
    releases.flatMap(({ bundles }) => bundles).map(({ digest }) => digest),
  );
  const abouts = medium.documents.filter(({ role }) => role === 'bundle').map(({ about }) => about);
  const extra = [...medium.bundles.map(({ digest }) => digest), ...abouts].find(
    (digest) => !named.has(digest),
  );
  if (extra === undefined) return;
  throw new FleetError('EXTRA_BUNDLE', `no accepted release names bundle ${shortDigest(extra)}`, {
    subject: extra,
  });
};
