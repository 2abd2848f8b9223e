import { FleetError } from '#bundles/errors';
import { fingerprint, type PublicKey } from '#bundles/trust/keys/key';
import type { RootInput, TrustRoot } from '#bundles/trust/root/root';
import { describeAuthority } from './describe-root.ts';
import { checkInput, rootInput } from './root-input.ts';
import { type CountedRole, keyOf, type RootRole } from './root-roles.ts';

/** The changes in the next root. */
export type Rotation = {
  readonly add: readonly {
    readonly role: RootRole;
    readonly key: PublicKey;
    readonly name?: string | undefined;
  }[];
  /** Keys by fingerprint, or the beginning of one. */
  readonly remove: readonly { readonly role: RootRole; readonly key: string }[];
  readonly thresholds: { readonly [role in CountedRole]?: number };
  readonly expires: Date;
  /** PEM. */
  readonly addAuthorities: readonly string[];
  /** SHA-256 of certificates, or the beginning of one. */
  readonly removeAuthorities: readonly string[];
};

/** Default number of officers who must sign, for a first root and for a development root that becomes an officers' root. */
export const DEFAULT_THRESHOLD = 2;

/**
 * Derives root N+1 from root N. A development root that gets a second officer becomes an officers' root with a threshold of two,
 * unless the rotation sets a threshold.
 * @throws FleetError USAGE for a change that is not possible
 */
export const rotateRoot = (before: TrustRoot, rotation: Rotation): Required<RootInput> => {
  const was = rootInput(before);
  const keys = { ...was.keys };
  for (const { role, key } of rotation.remove) keys[role] = without(keys[role], role, key, before.version);
  for (const { role, key } of rotation.add) keys[role] = withKey(keys[role], role, key, before.version);
  const given = rotation.thresholds.root;
  const becomesReal = before.dev && given === undefined && keys.root.length >= DEFAULT_THRESHOLD;
  const root = given ?? (becomesReal ? DEFAULT_THRESHOLD : was.thresholds.root) ?? DEFAULT_THRESHOLD;
  const next = {
    ...was,
    version: before.version + 1,
    expires: rotation.expires,
    keys,
    thresholds: { ...was.thresholds, ...rotation.thresholds, root },
    agentCertificates: changeAuthorities(was.agentCertificates, rotation),
    dev: before.dev && root < DEFAULT_THRESHOLD,
    officers: officersOf(keys.root, was.officers, rotation.add),
  };
  for (const role of ['bundle', 'release', 'lease', 'receipt', 'audit'] as const) {
    if (keys[role].length === 0 && was.keys[role].length > 0) throw empty(role);
  }
  checkInput(next);
  return next;
};

const officersOf = (
  keys: readonly PublicKey[],
  before: TrustRoot['officers'],
  added: Rotation['add'],
): TrustRoot['officers'] =>
  Object.fromEntries(
    keys.flatMap((key) => {
      const name =
        added.find((one) => one.role === 'root' && one.key === key)?.name ?? before[fingerprint(key)];
      return name === undefined ? [] : [[fingerprint(key), name]];
    }),
  );

const withKey = (
  keys: readonly PublicKey[],
  role: RootRole,
  key: PublicKey,
  version: number,
): readonly PublicKey[] => {
  if (!keys.some(({ hint }) => hint === key.hint)) return [...keys, key];
  throw new FleetError('USAGE', `root ${version} has this ${keyOf(role)} already: ${fingerprint(key)}`, {
    hint: 'Leave out this --add',
  });
};

const without = (
  keys: readonly PublicKey[],
  role: RootRole,
  wanted: string,
  version: number,
): readonly PublicKey[] => {
  const found = keys.filter((key) => fingerprint(key).startsWith(wanted));
  if (found.length === 1) return keys.filter((key) => key !== found[0]);
  throw new FleetError(
    'USAGE',
    `root ${version} has ${found.length === 0 ? 'no' : 'more than one'} ${keyOf(role)} ${wanted}`,
    { hint: `It has ${keys.map(fingerprint).join(', ')}` },
  );
};

const changeAuthorities = (
  pems: readonly string[],
  { addAuthorities, removeAuthorities }: Rotation,
): readonly string[] => {
  const left = removeAuthorities.reduce((rest, wanted) => {
    const found = rest.filter((pem) => describeAuthority(pem).sha256.startsWith(wanted));
    if (found.length === 1) return rest.filter((pem) => pem !== found[0]);
    throw new FleetError(
      'USAGE',
      `the root has ${found.length === 0 ? 'no' : 'more than one'} authority of agents ${wanted}`,
      { hint: `It has ${pems.map((pem) => describeAuthority(pem).sha256).join(', ') || 'none'}` },
    );
  }, pems);
  return [...left, ...addAuthorities.filter((pem) => !left.includes(pem))];
};

const empty = (role: RootRole): FleetError =>
  new FleetError('USAGE', `no ${keyOf(role)} would be left`, {
    hint: `Give the new one with --add ${role}=<file>, in the same rotation`,
  });
