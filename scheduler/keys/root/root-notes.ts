import { fingerprint } from '#bundles/trust/keys/key';
import type { TrustRoot } from '#bundles/trust/root/root';
import { keyOf, ROOT_ROLES, type RootRole } from './root-roles.ts';

/** Warnings about a root that is valid but risky, one sentence each. */
export const rootNotes = (root: TrustRoot, before?: TrustRoot): readonly string[] => [
  ...sharedKeys(root),
  ...(!root.dev && root.roles.root.threshold === root.roles.root.keys.length
    ? ['Every officer must sign each rotation: if one loses their key, this root can never be changed again.']
    : []),
  ...(before?.dev && !root.dev ? keysOfDevelopment(root, before) : []),
];

/**
 * Warns about a key shared by roles for which one stolen key would then be enough. Receipts, leases and audit heads install
 * nothing at a site, so these roles may share a key, except with officers.
 */
const sharedKeys = (root: TrustRoot): readonly string[] => {
  const holders = new Map<string, RootRole[]>();
  for (const role of Object.keys(ROOT_ROLES) as RootRole[]) {
    for (const key of ROOT_ROLES[role].of(root).keys) {
      const name = fingerprint(key);
      holders.set(name, [...(holders.get(name) ?? []), role]);
    }
  }
  return [...holders]
    .filter(([, roles]) => roles.length > 1 && isDangerous(roles))
    .map(([key, roles]) => `${key} is ${roles.map(keyOf).join(' and ')}: stealing this one key is enough.`);
};

const isDangerous = (roles: readonly RootRole[]): boolean =>
  roles.includes('root') || (roles.includes('bundle') && roles.includes('release'));

const keysOfDevelopment = (root: TrustRoot, before: TrustRoot): readonly string[] =>
  (Object.keys(ROOT_ROLES) as RootRole[]).flatMap((role) => {
    // Anyone who copied the unprotected key can still sign with it.
    const old = ROOT_ROLES[role].of(before).keys.map(({ hint }) => hint);
    return ROOT_ROLES[role]
      .of(root)
      .keys.filter(({ hint }) => old.includes(hint))
      .map(
        (key) =>
          `${keyOf(role)} ${fingerprint(key)} is of the development root, where it lay unprotected: remove it.`,
      );
  });
