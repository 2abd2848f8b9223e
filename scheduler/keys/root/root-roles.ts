import { FleetError } from '#bundles/errors';
import type { PublicKey } from '#bundles/trust/keys/key';
import type { TrustRoot } from '#bundles/trust/root/root';

type HeldRole = { readonly keys: readonly PublicKey[]; readonly threshold: number };

/**
 * The roles of a root, with access to their keys and thresholds. One key is enough for receipt and audit, which install nothing.
 */
export const ROOT_ROLES = {
  root: { of: ({ roles }: TrustRoot): HeldRole => roles.root, counted: true },
  bundle: { of: ({ roles }: TrustRoot): HeldRole => roles.bundle, counted: true },
  release: { of: ({ roles }: TrustRoot): HeldRole => roles.release, counted: true },
  lease: { of: ({ roles }: TrustRoot): HeldRole => roles.lease, counted: true },
  receipt: { of: ({ receipt }: TrustRoot): HeldRole => ({ keys: receipt, threshold: 1 }), counted: false },
  audit: { of: ({ audit }: TrustRoot): HeldRole => ({ keys: audit, threshold: 1 }), counted: false },
} as const;

export type RootRole = keyof typeof ROOT_ROLES;
/** Roles with a threshold that can be set. */
export type CountedRole = 'root' | 'bundle' | 'release' | 'lease';

/** Parses a role; 'officer' is accepted for 'root'. @throws FleetError USAGE */
export const parseRole = (text: string): RootRole => {
  const name = text === 'officer' ? 'root' : text;
  if (Object.hasOwn(ROOT_ROLES, name)) return name as RootRole;
  throw new FleetError('USAGE', `there is no role ${JSON.stringify(text.slice(0, 80))}`, {
    hint: `It is one of officer, ${Object.keys(ROOT_ROLES).slice(1).join(', ')}`,
  });
};

export const isCounted = (role: RootRole): role is CountedRole => ROOT_ROLES[role].counted;

/** 'bundle key', 'officer's key'. */
export const keyOf = (role: RootRole): string => (role === 'root' ? "officer's key" : `${role} key`);
