import { hexOf } from '#bundles/digest';
import { formatTime, type Timestamp } from '#bundles/time';
import { parseCertificate } from '#bundles/trust/root/certificate';
import { fingerprint } from '#bundles/trust/keys/key';
import type { TrustRoot } from '#bundles/trust/root/root';
import { ROOT_ROLES, type RootRole } from './root-roles.ts';

export type DescribedRoot = {
  readonly roles: readonly {
    readonly role: string;
    readonly threshold: number;
    /** Fingerprints. */
    readonly keys: readonly string[];
  }[];
  /** Names by fingerprint. */
  readonly officers: TrustRoot['officers'];
  readonly authorities: readonly { readonly sha256: string; readonly ends: Timestamp }[];
};

/** Keys and thresholds of all roles, with fingerprints in the form that people compare. */
export const describeRoot = (root: TrustRoot): DescribedRoot => ({
  roles: (Object.keys(ROOT_ROLES) as RootRole[]).map((role) => {
    const { keys, threshold } = ROOT_ROLES[role].of(root);
    return { role, threshold, keys: keys.map(fingerprint) };
  }),
  officers: root.officers,
  authorities: root.agentCertificates.map(describeAuthority),
});

export const describeAuthority = (pem: string): DescribedRoot['authorities'][number] => {
  const { fingerprint256, validToDate } = parseCertificate(pem, "the root's authority");
  return { sha256: fingerprint256.replaceAll(':', '').toLowerCase(), ends: formatTime(validToDate) };
};

/** Text of a root, for a person to review before signing it. */
export const rootLines = (root: TrustRoot, now: Date): readonly string[] => {
  const { roles, officers, authorities } = describeRoot(root);
  return [
    `fleet ${root.fleet}, root ${root.version}, valid until ${formatTime(root.expires)}${root.expires <= now ? ': ENDED' : ''}`,
    ...roles.flatMap(({ role, threshold, keys }) => [
      `${role}: ${threshold} of ${keys.length}`,
      ...keys.map((key) => (role === 'root' && officers[key] ? `  ${key}  ${officers[key]}` : `  ${key}`)),
    ]),
    ...authorities.map(
      ({ sha256, ends }) => `authority of agents: certificate SHA-256 ${sha256}, until ${ends}`,
    ),
    ...(authorities.length === 0 ? ['authority of agents: none, so no hub can serve this fleet'] : []),
  ];
};

export const shaLine = ({ version, digest }: TrustRoot): string =>
  `root ${version}  SHA-256 ${hexOf(digest)}`;
